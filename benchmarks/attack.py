"""LiRA on every model of a pool, in all modes, against a loop over samples with scipy.stats."""

import functools

import numpy as np
from scipy.stats import norm

from benchmarks import measure
from bn_memorization import lira

MODELS, SAMPLES = 256, 50_000
LOOPED_MODELS, LOOPED_SAMPLES = 2, 400  # what the loop does; its time is scaled

ATTACKS = {
    "online, pooled": functools.partial(lira.online, variance="pooled"),
    "online, per sample": functools.partial(lira.online, variance="per_sample"),
    "offline, one-sided, per sample": functools.partial(lira.offline, variance="per_sample"),
    "offline, density, per sample": functools.partial(
        lira.offline, variance="per_sample", form="density"
    ),
}


def problem(models: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return margins phi[M, N] that members have higher, and masks in complementary pairs."""
    rng = np.random.default_rng(0)
    half = rng.random((models // 2, samples)) < 0.5
    keep = np.stack([half, ~half], axis=1).reshape(models, samples)
    phi = rng.normal(size=(models, samples))
    phi += keep  # in place: a sum would raise the memory that the attack's own is measured above
    return phi, keep


def looped(name: str, phi: np.ndarray, keep: np.ndarray, models: int, samples: int) -> np.ndarray:
    """Return score[models, samples] of the first ones, a sample at a time as published code does.

    A pooled sigma is of all samples that are looped over.
    """
    found = np.empty((models, samples))
    for attacked in range(models):
        others = np.arange(len(phi)) // 2 != attacked // 2
        shadows, member = phi[others, :samples], keep[others, :samples]
        pooled = [
            np.sqrt(np.mean([shadows[member[:, j] == s, j].var(ddof=1) for j in range(samples)]))
            for s in (True, False)
        ]
        for j in range(samples):
            inside, outside = (shadows[member[:, j] == side, j] for side in (True, False))
            s_in, s_out = inside.std(ddof=1), outside.std(ddof=1)
            if name == "online, pooled":
                s_in, s_out = pooled
            own = phi[attacked, j]
            stranger = norm.logpdf(own, outside.mean(), s_out)
            found[attacked, j] = {
                "offline, one-sided, per sample": (own - outside.mean()) / s_out,
                "offline, density, per sample": -stranger,
            }.get(name, norm.logpdf(own, inside.mean(), s_in) - stranger)
    return found


def prepare(name: str, models: int = MODELS, samples: int = SAMPLES):
    """Return the work whose peak memory is measured in a process of its own."""
    return functools.partial(ATTACKS[name], *problem(models, samples))


def run(
    models: int = MODELS, samples: int = SAMPLES, looped_samples: int = LOOPED_SAMPLES,
    repeats: int = measure.REPEATS,
):  # fmt: skip
    """Return a line for each mode."""
    phi, keep = problem(models, samples)
    few = phi[:, :looped_samples], keep[:, :looped_samples]
    done = LOOPED_MODELS * looped_samples
    lines = []
    for name, attack in ATTACKS.items():
        works = {
            "ours": functools.partial(attack, phi, keep),
            "loop": functools.partial(looped, name, *few, LOOPED_MODELS, looped_samples),
        }
        seconds = measure.side_by_side(works, repeats)
        wanted, got = works["loop"](), attack(*few)[:LOOPED_MODELS]  # a pool of the same samples
        lines.append(
            measure.compared(
                f"LiRA {name}, M = {models}, N = {samples:,}",
                "a loop over samples with scipy.stats.norm",
                seconds["ours"], seconds["loop"], scale=models * samples / done, target=50,
                error=measure.difference(got, wanted), tolerance=1e-9,
                limit="copy", of_limit=2 * phi.nbytes / min(seconds["ours"]) / measure.copy_rate(),
            )
        )  # fmt: skip
    grown = measure.peak_bytes("attack", "online, per sample")
    size = phi.nbytes + keep.nbytes
    lines.append(
        {
            "what": "LiRA online, per sample: the input's size over the growth of peak memory",
            "against": "the input",
            "bytes": grown, "other_bytes": size, "ratio": size / grown, "target": 1 / 3,
        }
    )  # fmt: skip
    return lines
