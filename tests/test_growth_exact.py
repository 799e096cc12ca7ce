import numpy as np
import pandas as pd
import pytest

from bn_memorization import growth_exact
from bn_memorization.errors import BadInput
from bn_memorization.growth_exact import BatchCase, check_exact, random_batches

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def check():
    return check_exact(100, 0)


def case(x, **changes):
    x = np.array(x, float)
    values = {"w": np.ones(x.shape[1]), "i": 0, "gamma": 2.0, "beta": 0.5, "a": -1.0, "b": 0.25}
    return BatchCase(x=x, **values | {"t": 1, "eta": 0.1, "eps": 1e-12} | changes)


def test_autograd_agrees_on_100_random_batches(check):
    assert len(check) == 100
    assert (check.dtypes[["predicted", "measured"]] == np.float64).all()
    assert (check.relative_error < 1e-10).all()
    assert (check.measured.abs() > 0).all()


def test_cases_reach_far_outliers_and_ordinary_samples(check):
    assert check.room.min() < 0.1
    assert check.room.max() > 0.9
    assert check.m.min() == 4
    assert check.m.max() > 50
    assert check.correction.min() < 0.01


def test_a_formula_that_keeps_the_statistics_would_be_noticed(check, monkeypatch):
    monkeypatch.setattr(BatchCase, "_left", lambda self: self.x[self.i])
    fixed = check_exact(100, 0)
    pd.testing.assert_series_equal(fixed.measured, check.measured)
    assert (fixed.relative_error > 1e-3).all()


def test_the_parts_by_hand():
    """Two dimensions, four samples: u = 3, 1, 1, -5, so that mean 0, variance 9, z_0 = 1."""
    one = case([[1, 2], [0, 1], [1, 0], [-2, -3]])
    np.testing.assert_allclose(one.z, [1, 1 / 3, 1 / 3, -5 / 3], rtol=1e-9)
    # mean(x) = 0; mean(z x) = (1 + 1/3 + 10/3, 2 + 1/3 + 5)/4 = (7/6, 11/6)
    wanted = (1 - 7 / 6) ** 2 + (2 - 11 / 6) ** 2
    assert one.correction == pytest.approx(wanted / 5, rel=1e-6)
    assert one.room == pytest.approx(1 - 2 / 4, rel=1e-9)
    assert growth_exact.measured_growth(one) == pytest.approx(one.predicted(), rel=1e-9)


def test_a_sample_alone_gains_nothing_from_its_own_step():
    """All others are equal, so the sample makes the statistics by itself: z^2 = m - 1."""
    alone = case([[9, 7], [1, 2], [1, 2], [1, 2], [1, 2]])
    assert alone.z[0] ** 2 == pytest.approx(4, rel=1e-9)
    assert alone.room == pytest.approx(0, abs=1e-9)
    assert alone.correction == pytest.approx(0, abs=1e-9)
    assert growth_exact.measured_growth(alone) == pytest.approx(0, abs=1e-9)
    others = case([[9, 7], [1, 2], [1, 2], [1, 2], [1, 2]], i=1)
    assert others.correction == pytest.approx(0, abs=1e-9)  # every u is one of two values


def test_the_further_out_the_less_is_left():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((16, 8))
    found = []
    for far in (1, 10, 100, 1000):
        x[0] = far * np.arange(1, 9)
        found.append(case(x, w=np.ones(8)).correction)
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-4


def test_centered_inputs_of_a_large_batch_keep_their_growth():
    """m alone: with many terms and no mean, next to nothing is left to correct but along w."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4000, 50))
    x -= x.mean(0)
    big = case(x, w=rng.standard_normal(50))
    assert big.correction == pytest.approx(1 - big.z[0] ** 2 / np.sum(x[0] ** 2), abs=0.02)
    assert big.correction > 0.9
    shifted = case(x + 3, w=big.w)
    assert shifted.correction < 0.3  # with a mean, m does not help


def test_room_is_the_mean_correction_of_random_inputs():
    """The inputs that w does not see are drawn anew, z stays: the mean over draws is the room."""
    rng = np.random.default_rng(3)
    u = rng.standard_normal(6)
    u[0] = 4
    ratios = []
    for _ in range(300):
        unseen = rng.standard_normal((6, 400))
        one = case(np.column_stack([u, unseen]), w=np.eye(401)[0])
        ratios.append(np.sum(one._left()[1:] ** 2) / 400)
    assert np.mean(ratios) == pytest.approx(one.room, abs=0.01)
    assert one.room < 0.3


def test_real_steps_near_the_first_order_in_proportion_to_the_rate():
    table = growth_exact.finite_steps(20, 0)
    rates, median = table["learning rate"].to_numpy(), table["median difference"].to_numpy()
    assert list(rates) == list(growth_exact.RATES)
    assert median[-1] < 1e-3
    assert median[-2] / median[-1] == pytest.approx(10, rel=0.1)


def test_same_seed_same_batches():
    first, second, other = (random_batches(3, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a.x, b.x) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0].w, other[0].w)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w": np.ones(3)}, r"shapes \(2, 2\) and \(3,\)"),
        ({"i": 2}, "i = 2 is no row"),
        ({"t": 0}, "t = 0 is not a label"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    with pytest.raises(BadInput, match=words):
        case([[1, 2], [3, 4]], **change)


def test_too_few_are_refused():
    with pytest.raises(BadInput, match="A batch of 1 has no variance"):
        case([[1, 2]])
    with pytest.raises(BadInput, match="cases = 0 is not allowed"):
        random_batches(0, 0)
