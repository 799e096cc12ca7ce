"""Which samples each model trains on: membership masks in complementary pairs.

In a pair every sample is a member of exactly one of the two models. When one of them is attacked
and both leave the shadow models, every sample has been in and out equally often. Were the
complement left among the shadows, the counts themselves would say who is a member.
"""

import numpy as np

from bn_memorization.errors import BadInput


def member_mask(model: int, n_samples: int, seed: int) -> np.ndarray:
    """Return bool[N]: which samples the model with index `model` trains on.

    Models 2k and 2k + 1 have complementary masks; the even one has floor(N / 2) members. A mask
    depends on its pair, N and the seed, so that more models keep the masks of fewer.
    Raises BadInput for a negative index or seed, or fewer than 2 samples.
    """
    if model < 0 or seed < 0:
        raise BadInput(f"model={model}, seed={seed}: both must be at least 0.")
    if n_samples < 2:
        raise BadInput(f"n_samples={n_samples}: a pair of masks needs at least 2 samples.")
    pair, odd = divmod(model, 2)
    # A stream of its own: the pool and its corruption are drawn from others.
    order = np.random.default_rng([seed, 4, pair]).permutation(n_samples)
    mask = np.zeros(n_samples, bool)
    mask[order[: n_samples // 2]] = True
    return ~mask if odd else mask


def paired_masks(n_models: int, n_samples: int, seed: int) -> np.ndarray:
    """Return bool[M, N]: row m is the mask of model m, rows 2k and 2k + 1 complement each other.

    Raises BadInput unless `n_models` is even and at least 2, and as `member_mask` does.
    """
    check_pairs(n_models)
    return np.stack([member_mask(model, n_samples, seed) for model in range(n_models)])


def check_pairs(n_models: int, least: int = 2) -> None:
    """Raise BadInput unless `n_models` is even and at least `least`."""
    if n_models % 2 or n_models < least:
        raise BadInput(
            f"n_models={n_models} is not allowed: models come in complementary pairs, so the "
            f"number must be even and at least {least}."
        )
