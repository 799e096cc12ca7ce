"""Attacks on made margins, for which the right answer is known.

A sample's margin is its own difficulty, noise of standard deviation 1 and, in the models that it is
a member of, a shift. With no shift there is nothing to find, and any AUC but one half is a leak.
"""

import numpy as np
import pandas as pd
from scipy.stats import norm

from bn_memorization import lira
from bn_memorization.masks import paired_masks
from bn_memorization.membership import ATTACKS, DECIDES, pair_aucs
from bn_memorization.stats import Gap, mean_interval

DIFFICULTY = 1.0  # standard deviation over samples


def margins(keep: np.ndarray, shift: float, seed: int | list[int]) -> np.ndarray:
    """Return made margins float64[M, N] for the masks `keep[M, N]`."""
    rng = np.random.default_rng(seed)
    difficulty = DIFFICULTY * rng.standard_normal(keep.shape[1])
    return difficulty + rng.standard_normal(keep.shape) + shift * keep


def expected(attack: str, shift: float) -> float:
    """Return the AUC of an attack that knows every sample's mean and sigma.

    For a shift d it is p = Phi(d / sqrt 2), the chance that one of two unit normals d apart exceeds
    the other. The density form goes by |z|, and |z_in| > |z_out| has the chance p^2 + (1 - p)^2.
    One threshold for all meets the spread of difficulty as noise.
    """
    if attack == "global threshold":
        return float(norm.cdf(shift / np.sqrt(2 * (1 + DIFFICULTY**2))))
    p = float(norm.cdf(shift / np.sqrt(2)))
    return p**2 + (1 - p) ** 2 if "density" in attack else p


def attacked(attack: str, n_models: int, n_samples: int, shift: float, seed: int) -> Gap:
    """Return the attack's mean AUC on made margins, with its interval over pairs of models."""
    keep = paired_masks(n_models, n_samples, seed)
    return mean_interval(pair_aucs(ATTACKS[attack](margins(keep, shift, seed), keep), keep))


def check(n_models: int, many: int, n_samples: int, shift: float, seed: int) -> pd.DataFrame:
    """Return every attack's AUC without a shift and with one, from `n_models` and from `many`.

    Columns: attack; null, a Gap; few and many, AUCs with the shift; expected.
    """
    return pd.DataFrame(
        {
            "attack": attack,
            "null": attacked(attack, n_models, n_samples, 0.0, seed),
            "few": attacked(attack, n_models, n_samples, shift, seed).estimate,
            "many": attacked(attack, many, n_samples, shift, seed).estimate,
            "expected": expected(attack, shift),
        }
        for attack in ATTACKS
    )


def expected_of_views(views: int, shift: float) -> float:
    """Return the AUC of an attack that knows all means, on views that know nothing of each other.

    Each view is worth a shift of its own: together they are one of `shift` times sqrt(views).
    """
    return expected(DECIDES, shift * float(np.sqrt(views)))


def views_attacked(
    views: int, n_models: int, n_samples: int, shift: float, seed: int
) -> dict[str, Gap]:
    """Return the deciding attack's mean AUC on made views, by how they are combined.

    Every view of a sample has a difficulty and noise of its own.
    """
    keep = paired_masks(n_models, n_samples, seed)
    phi = np.stack([margins(keep, shift, [seed, view]) for view in range(views)])
    scores = {
        "averaged": ATTACKS[DECIDES](phi.mean(axis=0), keep),
        "stacked": lira.stacked(ATTACKS[DECIDES], phi, keep),
    }
    return {way: mean_interval(pair_aucs(score, keep)) for way, score in scores.items()}
