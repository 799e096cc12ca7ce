"""The likelihood-ratio membership attack on every model of a pool in turn.

`phi[M, N]` holds the margins of N samples in M models, `keep[M, N]` who was a member of which; rows
2k and 2k + 1 of `keep` are complementary. When a model is attacked, it and its complement leave the
shadow models, so that every sample has M/2 - 1 shadows that trained on it (IN) and as many that did
not (OUT). With both gone the counts say nothing about membership.

Every attack returns score[M, N], higher = member. `variance` names how the spread of a sample's
shadow margins is estimated, apart for IN and OUT, with n - 1 for n shadows:

- `pooled`: one sigma for all samples, from the residuals about each sample's own mean;
- `per_sample`: each sample's own sigma, for many shadow models.

There is no floor under a sigma and no sample is left out. All attacks raise ValueError for margins
that are not finite, masks that are not boolean or not in pairs, fewer than 6 models, an unknown
name, and a sigma of zero.

Where models are asked for several views of each image, `stacked` adds up what the views say.

Source: Carlini et al. 2022, Membership inference attacks from first principles.
"""

from collections.abc import Callable

import numpy as np

from bn_memorization.errors import check_choice

LEAST_MODELS = 6
VARIANCES = ("pooled", "per_sample")
FORMS = ("one_sided", "density")
Attack = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (phi[M, N], keep[M, N]) -> score[M, N]


def online(phi: np.ndarray, keep: np.ndarray, *, variance: str = "pooled") -> np.ndarray:
    """Return log N(phi; mu_in, sigma_in) - log N(phi; mu_out, sigma_out), [M, N]."""
    values = _checked(phi, keep, variance)
    inside, outside = _by_pair(values, keep)
    score = np.empty_like(values)
    for pair in range(len(inside)):
        own = values[2 * pair : 2 * pair + 2]
        member = _log_density(own, *_normal(inside, pair, variance, "IN"))
        stranger = _log_density(own, *_normal(outside, pair, variance, "OUT"))
        score[2 * pair : 2 * pair + 2] = member - stranger
    return score


def offline(
    phi: np.ndarray, keep: np.ndarray, *, variance: str = "pooled", form: str = "one_sided"
) -> np.ndarray:
    """Return how unlike a non-member each sample looks, from its OUT shadows alone, [M, N].

    `one_sided`: the z-value (phi - mu_out) / sigma_out. The paper's score is the probability
    Phi(z) of a smaller margin; z has the same order, and goes on where Phi rounds to 1.
    `density`: -log N(phi; mu_out, sigma_out), as in its authors' code: a margin that is too small
    counts as a sign of membership too.
    """
    check_choice("form of the offline attack", form, FORMS)
    values = _checked(phi, keep, variance)
    _, outside = _by_pair(values, keep)
    score = np.empty_like(values)
    for pair in range(len(outside)):
        own = values[2 * pair : 2 * pair + 2]
        mu, sigma = _normal(outside, pair, variance, "OUT")
        z = (own - mu) / sigma
        score[2 * pair : 2 * pair + 2] = z if form == "one_sided" else -_log_density(own, mu, sigma)
    return score


def global_threshold(phi: np.ndarray, keep: np.ndarray, *, variance: str = "pooled") -> np.ndarray:
    """Return the margins themselves: one threshold for all samples, and no shadow model is used.

    `variance` is checked like everywhere and has no part in it.
    """
    return _checked(phi, keep, variance)


def stacked(attack: Attack, phi: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return the attack's scores on V views of each image, the sum of those on each view, [M, N].

    `phi` is [V, M, N]. The margins of a sample under its views are taken as one normal vector with
    a diagonal covariance, so log densities add up, each view with means and sigmas of its own. The
    authors' code does the same, but for a factor 1 / V. One-sided z-values add up too, as in
    Stouffer's test. Views of one image are not independent, so a score is no calibrated
    likelihood ratio: its order counts. Raises ValueError for phi of another form.
    """
    if np.ndim(phi) != 3 or len(phi) == 0:
        raise ValueError(f"Need phi[V, M, N] with V at least 1, not {np.shape(phi)}.")
    return np.sum([attack(view, keep) for view in phi], axis=0)


def _checked(phi: np.ndarray, keep: np.ndarray, variance: str) -> np.ndarray:
    """Return phi as a new float64 array; raise ValueError for what no attack can use."""
    check_choice("variance mode", variance, VARIANCES)
    values = np.array(phi, np.float64)
    if values.ndim != 2 or values.shape != np.shape(keep) or values.shape[1] == 0:
        raise ValueError(f"Need phi[M, N] and keep[M, N], not {values.shape}, {np.shape(keep)}.")
    if len(values) < LEAST_MODELS or len(values) % 2:
        raise ValueError(
            f"{len(values)} models: the attack needs an even number, at least {LEAST_MODELS}, so "
            "that two shadows with and two without each sample are left."
        )
    if np.asarray(keep).dtype != bool:
        raise ValueError(f"keep must be boolean, not {np.asarray(keep).dtype}.")
    unpaired = np.flatnonzero((keep[::2] == keep[1::2]).any(axis=1))
    if unpaired.size:
        first = 2 * unpaired[0]
        raise ValueError(f"The masks of models {first} and {first + 1} are not complementary.")
    if not np.isfinite(values).all():
        model, sample = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"phi is not finite, first at model {model}, sample {sample}.")
    return values


def _by_pair(values: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair's margins of its members and of its non-members, both [M / 2, N].

    In a pair each sample is in one model and out of the other, so both arrays are full.
    """
    even, odd = values[::2], values[1::2]
    return np.where(keep[::2], even, odd), np.where(keep[::2], odd, even)


def _normal(
    margins: np.ndarray, attacked: int, variance: str, side: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean [N] and sigma ([N], or a scalar if pooled) over all pairs but the attacked one.

    The other pairs are summed anew for each attacked one, not by taking its part from a sum: where
    the attacked margin is far off, a difference of two large sums has no digits left.
    """
    shadows = np.delete(margins, attacked, axis=0)
    # From the first shadow on, so that equal margins leave exactly nothing and are noticed.
    offset = shadows - shadows[0]
    center = offset.mean(axis=0)
    squares = ((offset - center) ** 2).sum(axis=0) / (len(shadows) - 1)
    spread = np.sqrt(squares.mean() if variance == "pooled" else squares)
    if not np.all(spread > 0):
        sample = int(np.argmin(spread)) if np.ndim(spread) else 0
        raise ValueError(
            f"All {side} shadow margins of sample {sample} are equal when models {2 * attacked} "
            f"and {2 * attacked + 1} are attacked ({variance} variance): there is no spread to "
            "divide by."
        )
    return shadows[0] + center, spread


def _log_density(x: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return the log of the normal density, [2, N]."""
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
