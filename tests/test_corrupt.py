import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization.corrupt import flip_labels, inject_noise, inject_ood
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


N_CLASSES = 4
KINDS = ["ood", "noise"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def numbered(n, color=False):
    """Return images that are all alike but for their number, which stands in one pixel."""
    shape = (n, 5, 5, 3) if color else (n, 5, 5)
    images = np.full(shape, 7, np.uint8)
    images[:, 0, 0] = np.arange(n).reshape((n,) + (1,) * (len(shape) - 3))
    return images, np.arange(n) % N_CLASSES


def foreign(n=80):
    """Return images 100 to 100 + n, each of one shade."""
    return np.arange(100, 100 + n, dtype=np.uint8)[:, None, None].repeat(5, 1).repeat(5, 2)


def inject(kind, images, labels, rate, seed):
    if kind == "noise":
        return inject_noise(images, labels, rate, seed, N_CLASSES)
    return inject_ood(images, labels, rate, seed, N_CLASSES, foreign())


@every_kind
@given(st.integers(1, 60), RATES, SEEDS)
@settings(deadline=None)
def test_the_count_asked_for_and_nothing_else_is_replaced(kind, n, rate, seed):
    images, labels = numbered(n)
    kept_images, kept_labels = images.copy(), labels.copy()
    new, given_labels, index = inject(kind, images, labels, rate, seed)
    assert len(index) == (max(1, round(rate * n)) if rate else 0)
    assert (np.diff(index) > 0).all()  # sorted, no sample twice
    others = np.setdiff1d(np.arange(n), index)
    np.testing.assert_array_equal(new[others], images[others])
    np.testing.assert_array_equal(given_labels[others], labels[others])
    assert (new.dtype, given_labels.dtype, new.shape) == (np.uint8, labels.dtype, images.shape)
    assert given_labels.min() >= 0
    assert given_labels.max() < N_CLASSES
    np.testing.assert_array_equal(images, kept_images)  # what was given stays as it was
    np.testing.assert_array_equal(labels, kept_labels)


@given(st.integers(1, 60), RATES, SEEDS)
@settings(deadline=None)
def test_foreign_images_come_whole_and_none_twice(n, rate, seed):
    new, _, index = inject("ood", *numbered(n), rate, seed)
    shades = new[index].reshape(len(index), 25)
    assert (shades == shades[:, :1]).all()
    assert len(set(shades[:, 0])) == len(index)
    assert (shades[:, 0] >= 100).all()


@every_kind
@given(st.integers(2, 60), RATES, RATES, SEEDS)
@settings(deadline=None)
def test_lower_rates_of_every_kind_are_nested(kind, n, one, other, seed):
    few, few_labels, few_index = inject(kind, *numbered(n), min(one, other), seed)
    many, many_labels, many_index = inject(kind, *numbered(n), max(one, other), seed)
    assert set(few_index) <= set(many_index)
    np.testing.assert_array_equal(few[few_index], many[few_index])
    np.testing.assert_array_equal(few_labels[few_index], many_labels[few_index])


@every_kind
def test_every_kind_takes_the_samples_that_flips_take(kind):
    images, labels = numbered(60)
    flipped = flip_labels(labels, 0.2, 3, N_CLASSES)[1]
    np.testing.assert_array_equal(inject(kind, images, labels, 0.2, 3)[2], flipped)


@every_kind
def test_the_seed_decides(kind):
    images, labels = numbered(60)
    first, again, other = (inject(kind, images, labels, 0.5, seed) for seed in (1, 1, 2))
    for one, same, different in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, different)


@every_kind
def test_global_random_state_is_left_alone_by_every_kind(kind):
    results = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002 - the global generator is what is tested
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        results.append(inject(kind, *numbered(60), 0.5, 7)[0])
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    np.testing.assert_array_equal(*results)


@every_kind
def test_labels_are_uniform_over_all_classes(kind):
    """Of 36,000 labels each class has 9,000 expected; 500 is six standard deviations."""
    labels = np.zeros(40_000, np.int64)
    images = np.zeros((40_000, 1, 1), np.uint8)
    if kind == "ood":
        strangers = np.ones((40_000, 1, 1), np.uint8)
        _, new, index = inject_ood(images, labels, 0.9, 0, N_CLASSES, strangers)
    else:
        _, new, index = inject_noise(images, labels, 0.9, 0, N_CLASSES)
    assert np.abs(np.bincount(new[index], minlength=N_CLASSES) - 9000).max() < 500


def test_label_image_and_place_come_from_streams_of_their_own():
    """Which foreign image it is says nothing about the label: correlation 0 within 5 errors."""
    labels, images = np.zeros(10_000, np.int64), np.zeros((10_000, 1, 1), np.uint8)
    strangers = (np.arange(10_000) % 250).astype(np.uint8)[:, None, None]
    new, given_labels, index = inject_ood(images, labels, 0.99, 0, N_CLASSES, strangers)
    table = np.corrcoef([new[index, 0, 0], given_labels[index], index])
    assert np.abs(table[np.triu_indices(3, 1)]).max() < 5 / np.sqrt(len(index))


@pytest.mark.parametrize("color", [False, True])
def test_noise_keeps_each_channels_mean_and_spread_and_no_structure(color):
    rng = np.random.default_rng(0)
    shape = (400, 16, 16, 3) if color else (400, 16, 16)
    images = rng.integers(0, 50, shape, np.uint8)
    images[:, 4:12, 4:12] += 150  # a bright square
    if color:
        images[..., 1] //= 2
    new, _, index = inject_noise(images, np.zeros(400, int), 0.5, 0, N_CLASSES)
    old, noise = (part.reshape(len(part), 256, -1) for part in (images, new[index]))
    np.testing.assert_allclose(noise.mean((0, 1)), old.mean((0, 1)), rtol=0.03)
    np.testing.assert_allclose(noise.std((0, 1)), old.std((0, 1)), rtol=0.03)
    assert set(np.unique(noise)) <= set(np.unique(old))
    assert noise.mean(0).std(0).max() < 10 < old.mean(0).std(0).min()  # every place is alike
    assert (noise[0] != noise[1]).any()


def test_foreign_images_are_brought_to_shape():
    images, labels = numbered(10, color=True)
    new, _, index = inject_ood(images, labels, 0.3, 0, N_CLASSES, foreign()[:, :4, :3])
    assert new.shape == (10, 5, 5, 3)
    assert (new[index] == new[index][:, :1, :1, :1]).all()


def test_too_few_foreign_images():
    with pytest.raises(
        BadInput, match=r"5 of 10 images are to be replaced .* there are 4 of these"
    ):
        inject_ood(*numbered(10), 0.5, 0, N_CLASSES, foreign(4))
    assert len(inject_ood(*numbered(10), 0.5, 0, N_CLASSES, foreign(5))[2]) == 5


@every_kind
@pytest.mark.parametrize("rate", [-0.1, 1, float("nan")])
def test_rate_outside_is_refused_by_every_kind(kind, rate):
    with pytest.raises(BadInput, match=f"noise rate is {rate}"):
        inject(kind, *numbered(10), rate, 0)


@every_kind
def test_other_labels_are_refused_by_every_kind(kind):
    images, _ = numbered(3)
    with pytest.raises(BadInput, match="run from 0 to 4"):
        inject(kind, images, np.array([0, 4, 1]), 0.5, 0)
