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
from dataclasses import dataclass

import numpy as np

from bn_memorization.errors import check_choice

LEAST_MODELS = 6
VARIANCES = ("pooled", "per_sample")
FORMS = ("one_sided", "density")
SIDES = ("IN", "OUT")
SAMPLES = 256  # at a time: their margins in all models fit into a cache
Attack = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (phi[M, N], keep[M, N]) -> score[M, N]


@dataclass(frozen=True, eq=False)
class Normals:
    """One side's shadow margins[S, N] with the mean[N] and the pooled sigma fitted to them."""

    margins: np.ndarray
    mu: np.ndarray
    sigma: float


def shadow_normals(phi: np.ndarray, keep: np.ndarray, pair: int) -> tuple[Normals, Normals]:
    """Return what `online` with pooled variance knows of each sample when `pair` is attacked.

    First the S = M/2 - 1 shadows that trained on it, then those that did not. Raises ValueError for
    a pair that is not there.
    """
    _check(phi, keep, "pooled")
    if not 0 <= pair < len(phi) // 2:
        raise ValueError(f"Pair {pair} is not among the {len(phi) // 2} pairs of models.")
    margins = _by_side(phi, keep)
    mu, squares = _left_out(margins)
    spread = np.sqrt(squares[pair].mean(axis=1))
    _check_spread(spread[None, :, None], "pooled", SIDES)
    inside, outside = (
        Normals(np.delete(margins[:, side], pair, axis=0), mu[pair, side], float(spread[side]))
        for side in (0, 1)
    )
    return inside, outside


def online(phi: np.ndarray, keep: np.ndarray, *, variance: str = "pooled") -> np.ndarray:
    """Return log N(phi; mu_in, sigma_in) - log N(phi; mu_out, sigma_out), [M, N]."""

    def score(own: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        member, stranger = (_log_density(own, mu[:, :, side], sigma[:, :, side]) for side in (0, 1))
        return member - stranger

    return _scored(score, phi, keep, variance, SIDES)


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

    def score(own: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        mu, sigma = mu[:, :, 0], sigma[:, :, 0]
        return (own - mu) / sigma if form == "one_sided" else -_log_density(own, mu, sigma)

    return _scored(score, phi, keep, variance, SIDES[1:])


def global_threshold(phi: np.ndarray, keep: np.ndarray, *, variance: str = "pooled") -> np.ndarray:
    """Return the margins themselves: one threshold for all samples, and no shadow model is used.

    `variance` is checked like everywhere and has no part in it.
    """
    _check(phi, keep, variance)
    return np.array(phi, np.float64)


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


def _check(phi: np.ndarray, keep: np.ndarray, variance: str) -> None:
    """Raise ValueError for what no attack can use."""
    check_choice("variance mode", variance, VARIANCES)
    if np.ndim(phi) != 2 or np.shape(phi) != np.shape(keep) or np.shape(phi)[1] == 0:
        raise ValueError(f"Need phi[M, N] and keep[M, N], not {np.shape(phi)}, {np.shape(keep)}.")
    if len(phi) < LEAST_MODELS or len(phi) % 2:
        raise ValueError(
            f"{len(phi)} models: the attack needs an even number, at least {LEAST_MODELS}, so "
            "that two shadows with and two without each sample are left."
        )
    if np.asarray(keep).dtype != bool:
        raise ValueError(f"keep must be boolean, not {np.asarray(keep).dtype}.")
    unpaired = np.flatnonzero((keep[::2] == keep[1::2]).any(axis=1))
    if unpaired.size:
        first = 2 * unpaired[0]
        raise ValueError(f"The masks of models {first} and {first + 1} are not complementary.")
    for model, margins in enumerate(phi):  # a row at a time, so that no mask of all is made
        if not (finite := np.isfinite(margins)).all():
            sample = np.argmin(finite)
            raise ValueError(f"phi is not finite, first at model {model}, sample {sample}.")


Score = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _scored(
    score: Score, phi: np.ndarray, keep: np.ndarray, variance: str, sides: tuple[str, ...]
) -> np.ndarray:
    """Return the score of every model and sample, [M, N].

    `score` takes a few samples at a time: the margins own[P, 2, n] of the P pairs of models, and
    mu and sigma, [P, 1, len(sides), n], of the shadows that attack each pair. sigma's n is 1 if it
    is pooled. So beside phi and the scores there is never more than a few samples' worth.
    """
    _check(phi, keep, variance)
    found = np.empty(phi.shape)
    parts = [slice(start, start + SAMPLES) for start in range(0, phi.shape[1], SAMPLES)]
    pooled = _pooled(phi, keep, parts, sides) if variance == "pooled" else None
    for part in parts:
        mu, squares = _left_out(_by_side(phi[:, part], keep[:, part], sides))
        sigma = np.sqrt(squares) if pooled is None else pooled
        _check_spread(sigma, variance, sides, part.start)
        own = phi[:, part].astype(np.float64).reshape(len(mu), 2, -1)
        found[:, part] = score(own, mu[:, None], sigma[:, None]).reshape(len(phi), -1)
    return found


def _pooled(
    phi: np.ndarray, keep: np.ndarray, parts: list[slice], sides: tuple[str, ...]
) -> np.ndarray:
    """Return one sigma for all samples, [P, len(sides), 1], for each attacked pair."""
    total = 0.0
    for part in parts:
        _, squares = _left_out(_by_side(phi[:, part], keep[:, part], sides))
        total = total + squares.sum(axis=2, keepdims=True)
    return np.sqrt(total / phi.shape[1])


def _by_side(phi: np.ndarray, keep: np.ndarray, sides: tuple[str, ...] = SIDES) -> np.ndarray:
    """Return each pair's margins of its members and of its non-members, float64[P, len(sides), N].

    In a pair each sample is in one model and out of the other, so the array is full.
    """
    even, odd, inside = phi[::2], phi[1::2], keep[::2]
    both = {"IN": (even, odd), "OUT": (odd, even)}
    return np.stack([np.where(inside, *both[side]) for side in sides], 1).astype(np.float64)


def _left_out(margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of margins[P, ...] over all pairs but each one, both [P, ...].

    The pairs before and those behind the one that is left out are each summed up once, and the two
    parts joined (Chan, Golub and LeVeque 1983). Everything is added and nothing taken away: where
    the left-out margin is far off, a difference of two large sums has no digits left. And equal
    margins leave exactly nothing and are noticed.
    """
    before, behind = _running(margins), tuple(part[::-1] for part in _running(margins[::-1]))
    count = np.arange(len(margins)).reshape(-1, *[1] * (margins.ndim - 1))
    others = len(margins) - 1
    apart = behind[0] - before[0]
    share = (others - count) / others  # of those behind among all others
    squares = before[1] + behind[1] + apart**2 * (count * share)
    return before[0] + apart * share, squares / (others - 1)


def _running(margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and summed squares about it of the pairs before each one, both [P, ...].

    Welford's updates. Before the first pair there is none; its mean stands in for that of none.
    """
    mean, squares = np.empty_like(margins), np.zeros_like(margins)
    mean[:2] = margins[0]
    for k in range(2, len(margins)):
        step = margins[k - 1] - mean[k - 1]
        mean[k] = mean[k - 1] + step / k
        squares[k] = squares[k - 1] + step * (margins[k - 1] - mean[k])
    return mean, squares


def _check_spread(
    spread: np.ndarray, variance: str, sides: tuple[str, ...], first: int = 0
) -> None:
    """Raise ValueError unless every sigma[P, len(sides), n] is above 0; sample 0 is `first`."""
    if (spread > 0).all():
        return
    pair, side, sample = np.argwhere(~(spread > 0))[0]
    raise ValueError(
        f"All {sides[side]} shadow margins of sample {first + sample} are equal when models "
        f"{2 * pair} and {2 * pair + 1} are attacked ({variance} variance): there is no spread to "
        "divide by."
    )


def _log_density(x: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return the log of the normal density."""
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
