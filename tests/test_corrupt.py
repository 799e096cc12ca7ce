import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bn_memorization.corrupt import flip_labels
from bn_memorization.errors import BadInput

SEEDS = st.integers(0, 2**32)
RATES = st.floats(0, 1, exclude_max=True)


@st.composite
def labeled(draw):
    n_classes = draw(st.integers(2, 12))
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=60))
    dtype = draw(st.sampled_from([np.uint8, np.int64]))
    return np.array(labels, dtype), n_classes


@given(labeled(), RATES, SEEDS)
def test_exactly_the_indexed_labels_differ(case, rate, seed):
    labels, n_classes = case
    given_labels, index = flip_labels(labels, rate, seed, n_classes)
    assert given_labels.dtype == labels.dtype
    assert index.dtype == np.int64
    np.testing.assert_array_equal(np.flatnonzero(given_labels != labels), index)
    assert given_labels.max() < n_classes
    assert given_labels.min() >= 0


@given(labeled(), RATES, SEEDS)
def test_number_of_flips(case, rate, seed):
    labels, n_classes = case
    _, index = flip_labels(labels, rate, seed, n_classes)
    assert len(index) == (max(1, round(rate * len(labels))) if rate else 0)


@given(labeled(), RATES, RATES, SEEDS)
def test_lower_rates_are_nested_in_higher_ones(case, one, other, seed):
    labels, n_classes = case
    few, few_index = flip_labels(labels, min(one, other), seed, n_classes)
    many, many_index = flip_labels(labels, max(one, other), seed, n_classes)
    assert set(few_index) <= set(many_index)
    np.testing.assert_array_equal(few[few_index], many[few_index])


@given(labeled(), RATES, SEEDS)
def test_seed_decides_and_input_is_kept(case, rate, seed):
    labels, n_classes = case
    before = labels.copy()
    first, again = (flip_labels(labels, rate, seed, n_classes) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    np.testing.assert_array_equal(labels, before)


def test_other_seed_flips_others():
    labels = np.zeros(1000, np.int64)
    first, second = (flip_labels(labels, 0.05, seed, 10)[1] for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_two_classes_can_only_swap():
    labels = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    given_labels, index = flip_labels(labels, 0.5, 3, 2)
    assert len(index) == 4
    np.testing.assert_array_equal(given_labels[index], 1 - labels[index])


def test_new_labels_are_uniform_over_the_other_classes():
    """Of 90,000 flips each of 90 pairs has 1,000 expected; 200 is over six standard deviations."""
    labels = np.arange(100_000) % 10
    given_labels, index = flip_labels(labels, 0.9, 0, 10)
    pairs = np.zeros((10, 10), int)
    np.add.at(pairs, (labels[index], given_labels[index]), 1)
    assert (np.diag(pairs) == 0).all()
    assert np.abs(pairs[~np.eye(10, dtype=bool)] - 1000).max() < 200


def test_positions_are_uniform():
    """Each tenth of 100,000 samples has 1,000 flips expected; 200 is over six deviations."""
    _, index = flip_labels(np.zeros(100_000, np.int64), 0.1, 5, 10)
    assert np.abs(np.bincount(index // 10_000, minlength=10) - 1000).max() < 200


def test_global_random_state_is_neither_read_nor_moved():
    labels = np.arange(50) % 10
    results, drawn = [], []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002 - the global generator is what is tested
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        results.append(flip_labels(labels, 0.2, 7, 10)[0])
        drawn.append(np.array_equal(before, np.random.get_state()[1]))  # noqa: NPY002
    np.testing.assert_array_equal(*results)
    assert all(drawn)


@pytest.mark.parametrize("rate", [-0.01, 1, 1.5, float("nan"), float("inf")])
def test_rate_outside_is_refused(rate):
    with pytest.raises(BadInput, match=rf"noise rate is {rate}, and must lie in \[0, 1\)"):
        flip_labels(np.array([0, 1]), rate, 0, 2)


@pytest.mark.parametrize("n_classes", [0, 1])
def test_fewer_than_two_classes_are_refused(n_classes):
    with pytest.raises(BadInput, match=rf"n_classes is {n_classes}, and must be at least 2"):
        flip_labels(np.array([0, 0]), 0.5, 0, n_classes)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([], np.int64), r"int64\[0\]"),
        (np.array([0.0, 1.0]), r"float64\[2\]"),
        (np.array([[0, 1]]), r"int64\[1, 2\]"),
        (np.array([0, 3]), r"run from 0 to 3, and must lie in \[0, 3\)"),
        (np.array([-1, 2]), r"run from -1 to 2"),
    ],
)
def test_other_labels_are_refused(labels, message):
    with pytest.raises(BadInput, match=message):
        flip_labels(labels, 0.5, 0, 3)
