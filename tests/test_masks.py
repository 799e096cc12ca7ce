import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization.errors import BadInput
from bn_memorization.masks import check_pairs, member_mask, paired_masks

SIZES = {"n_samples": st.integers(2, 60), "seed": st.integers(0, 1000)}


@settings(deadline=None)
@given(pairs=st.integers(1, 6), **SIZES)
def test_pairs_complement_each_other_and_halve_the_samples(pairs, n_samples, seed):
    masks = paired_masks(2 * pairs, n_samples, seed)
    assert masks.shape == (2 * pairs, n_samples)
    assert masks.dtype == bool
    assert (masks[::2] != masks[1::2]).all()
    assert (masks[::2].sum(axis=1) == n_samples // 2).all()


@settings(deadline=None)
@given(pairs=st.integers(3, 6), attacked=st.integers(0, 5), **SIZES)
def test_without_one_pair_every_sample_is_in_and_out_equally_often(
    pairs, attacked, n_samples, seed
):
    masks = paired_masks(2 * pairs, n_samples, seed)
    shadows = np.delete(masks, [2 * (attacked % pairs), 2 * (attacked % pairs) + 1], axis=0)
    assert (shadows.sum(axis=0) == pairs - 1).all()
    assert ((~shadows).sum(axis=0) == pairs - 1).all()


def test_more_models_keep_the_masks_of_fewer():
    np.testing.assert_array_equal(paired_masks(6, 40, 3), paired_masks(12, 40, 3)[:6])


def test_rows_are_the_masks_of_their_models():
    masks = paired_masks(8, 30, 5)
    for model in range(8):
        np.testing.assert_array_equal(masks[model], member_mask(model, 30, 5))


def test_pairs_and_seeds_have_masks_of_their_own():
    drawn = [paired_masks(8, 50, seed)[::2] for seed in (0, 1, 2)]
    assert len({row.tobytes() for masks in drawn for row in masks}) == 12
    np.testing.assert_array_equal(drawn[0], paired_masks(8, 50, 0)[::2])


def test_every_sample_is_as_likely_a_member_as_not():
    """1,000 pairs: each share is .5 within 4.5 standard errors, sqrt(.25 / 1000)."""
    share = paired_masks(2000, 20, 0)[::2].mean(axis=0)
    assert np.abs(share - 0.5).max() < 4.5 * np.sqrt(0.25 / 1000)


@pytest.mark.parametrize("n_models", [-2, 0, 1, 3, 7])
def test_models_that_are_no_pairs_are_refused(n_models):
    with pytest.raises(BadInput, match=f"n_models={n_models} .*even and at least 2"):
        paired_masks(n_models, 10, 0)


def test_the_least_number_is_checked():
    check_pairs(6, least=6)
    with pytest.raises(BadInput, match="at least 6"):
        check_pairs(4, least=6)


@pytest.mark.parametrize(
    ("model", "n_samples", "seed", "named"),
    [(-1, 10, 0, "model=-1"), (0, 10, -1, "seed=-1"), (0, 1, 0, "n_samples=1")],
)
def test_bad_values_are_named(model, n_samples, seed, named):
    with pytest.raises(BadInput, match=named):
        member_mask(model, n_samples, seed)
