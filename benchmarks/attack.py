"""LiRA on every model of a pool, in all modes that score, against a loop with scipy.stats."""

import functools
from collections.abc import Iterator

import numpy as np
from scipy.stats import norm

from benchmarks import measure
from bn_memorization import lira

MODELS, SAMPLES = 256, 50_000
LOOPED_MODELS, LOOPED_SAMPLES = 2, 400  # what the loop does; its time is scaled

ATTACKS = {
    "online, pooled": functools.partial(lira.online, variance="pooled"),
    "online, per sample": functools.partial(lira.online, variance="per_sample"),
    **{
        f"offline, {form.replace('_', '-')}, {variance.replace('_', ' ')}": functools.partial(
            lira.offline, variance=variance, form=form
        )
        for form in lira.FORMS
        for variance in lira.VARIANCES
    },
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
            if name.endswith("pooled"):
                s_in, s_out = pooled
            own = phi[attacked, j]
            stranger = norm.logpdf(own, outside.mean(), s_out)
            if name.startswith("online"):
                found[attacked, j] = norm.logpdf(own, inside.mean(), s_in) - stranger
            elif "one-sided" in name:
                found[attacked, j] = (own - outside.mean()) / s_out
            else:
                found[attacked, j] = -stranger
    return found


def prepare(name: str, models: int = MODELS, samples: int = SAMPLES):
    """Return the work whose peak memory is measured in a process of its own."""
    return functools.partial(ATTACKS[name], *problem(models, samples))


def run(
    models: int = MODELS, samples: int = SAMPLES, looped_samples: int = LOOPED_SAMPLES,
    repeats: int = measure.REPEATS,
) -> Iterator[dict]:  # fmt: skip
    """Return a line for each mode, and one of memory."""
    phi, keep = problem(models, samples)
    few = phi[:, :looped_samples], keep[:, :looped_samples]
    done = LOOPED_MODELS * looped_samples
    for name, attack in ATTACKS.items():
        works = {
            "ours": functools.partial(attack, phi, keep),
            "loop": functools.partial(looped, name, *few, LOOPED_MODELS, looped_samples),
        }
        seconds, found = measure.side_by_side(works, repeats)
        got = attack(*few)[:LOOPED_MODELS]  # a pool of the same samples as the loop's
        yield measure.compared(
            f"LiRA {name}, M = {models}, N = {samples:,}",
            "a loop over samples with scipy.stats.norm",
            seconds["ours"], seconds["loop"], scale=models * samples / done, target=50,
            error=measure.difference(got, found["loop"]), tolerance=1e-9,
            limit="copy", of_limit=2 * phi.nbytes / min(seconds["ours"]) / measure.copy_rate(),
        )  # fmt: skip
    (grown,) = measure.peak_bytes("attack", ("online, per sample", models, samples))
    yield measure.sizes(
        "LiRA online, per sample: growth of peak memory", "the input",
        grown, phi.nbytes + keep.nbytes, target=1 / 3,
        limit="result", of_limit=grown / phi.nbytes,
    )  # fmt: skip
