"""The likelihood-ratio attack on one sample at a time: what decides about a dozen images.

One pair of complementary networks is attacked, as in `lira.online` with pooled variance: the same
shadow models stand against the network that trained on the sample and against the one that did not.
Each image is seen as it is, in one view. All functions are pure.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import sympy as sp
from sympy.stats import Normal, density

from bn_memorization import lira, live
from bn_memorization.corrupt import NOISE, OOD
from bn_memorization.data import Dataset
from bn_memorization.membership import DECIDES, Pool
from bn_memorization.report import name, setting
from bn_memorization.sample import NO_LABEL, Corrupted
from bn_memorization.shadows import Shadow, ShadowConfig
from bn_memorization.stats import roc

ATTACKED = 0  # the pair of models that is attacked
EACH = 4  # images of each kind
GROUPS = ("outlier, given away most", "clean, in the middle", "given away least")
RATES = 40  # false-positive rates to choose from


def most_corrupted(pairs: Sequence[tuple[Pool, Pool]]) -> tuple[Pool, Pool]:
    """Return the two arms of the first data set's first network with most outliers."""
    first = pairs[0][0].where
    same = [
        pair
        for pair in pairs
        if all(pair[0].where[key] == first[key] for key in ("dataset", "arch", "corruption"))
    ]
    return max(same, key=lambda pair: pair[0].where["noise_rate"])


def config_of(pair: tuple[Pool, Pool], shadows: Iterable[Shadow]) -> ShadowConfig:
    """Return the config of a shadow model of the pair's first arm."""
    wanted = pair[0].where | {"norm": pair[0].norm}
    return next(
        shadow.config
        for shadow in shadows
        if all(getattr(shadow.config, key) == value for key, value in wanted.items())
    )


def scores(pool: Pool) -> np.ndarray:
    """Return the scores of the attacked pair of networks, [2, N], higher = member."""
    return pool.score(DECIDES, look=-1)[2 * ATTACKED : 2 * ATTACKED + 2]


def choose(pool: Pool) -> dict[int, str]:
    """Return {sample: group} of EACH samples of each of GROUPS, by their scores in one arm.

    A sample is ranked by its score in the network of the pair that trained on it: the highest
    outliers, the clean samples nearest to the clean median, and the lowest of all. No sample is
    taken twice, and there may be fewer.
    """
    ranked = _own(pool)
    clean = np.flatnonzero(~pool.outlier)
    middle = np.abs(ranked - np.median(ranked[clean]))
    orders = (
        [i for i in np.argsort(-ranked, kind="stable") if pool.outlier[i]],
        [i for i in np.argsort(middle, kind="stable") if not pool.outlier[i]],
        list(np.argsort(ranked, kind="stable")),
    )
    chosen: dict[int, str] = {}
    for group, order in zip(GROUPS, orders, strict=True):
        free = [int(i) for i in order if int(i) not in chosen]
        chosen |= dict.fromkeys(free[:EACH], group)
    return chosen


def _own(pool: Pool) -> np.ndarray:
    """Return each sample's score in the attacked network that trained on it, [N]."""
    return scores(pool)[_trained_on(pool), np.arange(pool.keep.shape[1])]


def _trained_on(pool: Pool) -> np.ndarray:
    """Return which network of the attacked pair trained on each sample, 0 or 1, [N]."""
    return np.where(pool.keep[2 * ATTACKED], 0, 1)


def titles(pool: Corrupted, chosen: Sequence[int], corruption: str, data: Dataset) -> list[str]:
    """Return what each sample is: its label, and what it shows where that is something else."""
    what = {OOD: data.foreign and name(data.foreign.name), NOISE: "noise"}.get(corruption)
    true = dict(zip(pool.index.tolist(), pool.true_label.tolist(), strict=True))
    found = []
    for sample in chosen:
        label = data.classes[pool.labels[sample]]
        shows = true.get(sample, pool.labels[sample])
        shown = what if shows == NO_LABEL else data.classes[shows]
        found.append(label if shown == label else f"{shown} labeled {label}")
    return found


def picture(pair: tuple[Pool, Pool], pool: Corrupted, data: Dataset) -> dict:
    """Return the data of the picture; `pool` holds the images, the arm with a norm comes first."""
    treated = pair[0]
    chosen = choose(treated)
    where = treated.where
    rates = _rates(treated)
    named = titles(pool, list(chosen), where["corruption"], data)
    return {
        "setting": setting(where),
        "density": live.script({"log": log_density()})["log"],
        "rates": rates.tolist(),
        "arms": [_arm(arm, rates) for arm in pair],
        "sprite": live.sprite(pool.images[list(chosen)]),
        "samples": [
            {
                "group": group,
                "title": title,
                "trained_on": int(_trained_on(treated)[sample]),
                "arms": [_sample(arm, sample) for arm in pair],
            }
            for (sample, group), title in zip(chosen.items(), named, strict=True)
        ],
    }


def log_density() -> sp.Expr:
    """Return the log of the normal density, of phi, mu and sigma."""
    phi, mu = sp.symbols("phi mu", real=True)
    sigma = sp.Symbol("sigma", positive=True)
    return sp.expand_log(sp.log(density(Normal("x", mu, sigma))(phi)))


def _rates(pool: Pool) -> np.ndarray:
    """Return false-positive rates evenly spaced on a log axis, from one non-member to all."""
    fewest = min((~keep).sum() for keep in pool.keep[2 * ATTACKED : 2 * ATTACKED + 2])
    return np.geomspace(1 / fewest, 1, RATES)


def _arm(pool: Pool, rates: np.ndarray) -> dict:
    """Return, for each attacked network, threshold, fpr and tpr at each rate allowed."""
    found = {"name": name(pool.norm), "threshold": [], "fpr": [], "tpr": []}
    for score, keep in zip(scores(pool), pool.keep[2 * ATTACKED :], strict=False):
        fpr, tpr = roc(score, keep)
        thresholds = [None, *np.unique(score)[::-1].tolist()]
        at = np.searchsorted(fpr, rates + 1e-12, side="right") - 1
        found["threshold"].append([thresholds[k] for k in at])
        found["fpr"].append(fpr[at].tolist())
        found["tpr"].append(tpr[at].tolist())
    return found


def _sample(pool: Pool, sample: int) -> dict:
    """Return one sample's shadow margins, normals, and margin, score and place in each network."""
    inside, outside = lira.shadow_normals(pool.phi[-1], pool.keep, ATTACKED)
    score = scores(pool)
    places = [
        [float((s[group] >= s[sample]).mean()) for group in (~keep, keep)]
        for s, keep in zip(score, pool.keep[2 * ATTACKED :], strict=False)
    ]
    return {
        "in": _side(inside, sample),
        "out": _side(outside, sample),
        "phi": pool.phi[-1, 2 * ATTACKED : 2 * ATTACKED + 2, sample].tolist(),
        "score": score[:, sample].tolist(),
        "place": places,  # fpr and tpr with this score as threshold
    }


def _side(normals: lira.Normals, sample: int) -> dict:
    return {
        "margins": normals.margins[:, sample].tolist(),
        "mu": float(normals.mu[sample]),
        "sigma": float(normals.sigma),
    }
