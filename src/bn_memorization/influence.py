"""Influence of a sample: its gradient norm through training, and against which others it is large.

All functions but `both_modes` are pure and take finished runs. The effect is Cliff's delta between
the samples of one pair of models of the same seed; the mean and the interval are over pairs.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput, check_choice
from bn_memorization.gradnorm import MODES, per_sample_norms
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.memorization import paired
from bn_memorization.report import between, count, span
from bn_memorization.sample import Sample
from bn_memorization.stats import cliffs_delta, mean_interval, paired_gap
from bn_memorization.train import Run

# Corrupted samples with BN, over: (arm, subset) of the same seed.
OVER_PLAIN, OVER_CLEAN = "over plain", "over clean"
COMPARISONS = (OVER_PLAIN, OVER_CLEAN)
SUBSETS = ("corrupted", "clean")
DELTA = "Cliff's delta"
MODE_NUMBERS = ["median, corrupted", "median, clean", DELTA]

# What becomes of the norms of all moments, [E + 1, n], to give one number a sample, [n].
Reduce = Callable[[np.ndarray], np.ndarray]


def summed(norms: np.ndarray) -> np.ndarray:
    """Return each sample's norm summed over all moments: before training and after each epoch."""
    return norms.sum(axis=0, dtype=np.float64)


def at(epoch: int) -> Reduce:
    """Return the reduction to the norms after one epoch; 0 is before training."""
    return lambda norms: norms[epoch]


def moments(epochs: int) -> dict[str, int]:
    """Return {name: epoch} of the moments that pictures show."""
    return {
        "before training": 0,
        "first epoch": 1,
        "a third": third(epochs),
        "end of training": epochs,
    }


def third(epochs: int) -> int:
    """Return the epoch after a third of training, at least 1."""
    return max(1, epochs // 3)


def delta(treated: Run, plain: Run, comparison: str, reduce: Reduce) -> float:
    """Return Cliff's delta of the corrupted samples with BN over those of the comparison.

    Raises ValueError for a run without corrupted or clean samples, naming it.
    """
    other = {
        OVER_PLAIN: (plain, "norm_corrupted"),
        OVER_CLEAN: (treated, "norm_clean"),
    }[check_choice("comparison", comparison, COMPARISONS)]
    first, second = treated.arrays["norm_corrupted"], other[0].arrays[other[1]]
    try:
        return cliffs_delta(reduce(first), reduce(second))
    except ValueError as error:
        raise ValueError(f"{treated.config.describe()}, {comparison}: {error}") from None


def compare(
    runs: Iterable[Run], norm: str, comparison: str, reduce: Reduce = summed
) -> list[Evidence]:
    """Return, for each setting (config.SETTING), the mean delta over pairs of models.

    Raises ValueError when a seed lacks one of its two arms.
    """
    found = []
    for where, *arms in paired(runs, norm):
        deltas = [delta(*pair, comparison, reduce) for pair in zip(*arms, strict=True)]
        found.append(Evidence.from_gap(where, mean_interval(deltas)))
    return found


def compare_plain(runs: Iterable[Run], norm: str) -> pd.DataFrame:
    """Return the summed norms of corrupted over clean samples in both arms, a row a pair.

    Columns: those of config.SETTING, seed, treated, plain: Cliff's deltas. Raises as `compare`.
    """
    rows = []
    for where, *arms in paired(runs, norm):
        for treated, plain in zip(*arms, strict=True):
            deltas = (delta(arm, plain, OVER_CLEAN, summed) for arm in (treated, plain))
            key = where | {"seed": treated.config.seed}
            rows.append(key | dict(zip(("treated", "plain"), deltas, strict=True)))
    return pd.DataFrame(rows)


def control(compared: pd.DataFrame, arm: str) -> str:
    """Return a sentence on corrupted over clean in the plain arm, from `compare_plain`."""
    cells = [frame for _, frame in compared.groupby(list(SETTING), sort=False)]
    plain = [frame.plain.mean() for frame in cells]
    gaps = [paired_gap(frame.treated, frame.plain) for frame in cells]
    larger = sum(gap.estimate > 0 for gap in gaps)
    clear = sum(gap.low > 0 for gap in gaps)
    return (
        f"In the plain network the same delta is {between(min(plain), max(plain), DELTA)}. It is "
        f"larger with {arm} in {larger} of {count(len(cells), 'setting')}, and in {clear} the "
        "paired difference has a 95 % t interval over seeds that lies above zero. Only what "
        f"{arm} adds to the plain network's delta can be put down to it."
    )


def measured(runs: Iterable[Run]) -> str:
    """Return how many samples of each subset a run was measured on, as text."""
    parts = []
    for subset in SUBSETS:
        sizes = [run.arrays[f"norm_{subset}"].shape[1] for run in runs]
        low, high = min(sizes), max(sizes)
        parts.append(f"{low if low == high else f'{low} to {high}'} {subset}")
    return f"Measured in each run: {' and '.join(parts)} samples."


def by_epoch(runs: Sequence[Run], norm: str) -> pd.DataFrame:
    """Return the deltas of every epoch in long form, one row a pair, comparison and epoch.

    Columns: those of config.SETTING, comparison, seed, epoch, delta.
    """
    rows = []
    for where, *arms in paired(runs, norm):
        for treated, plain in zip(*arms, strict=True):
            for comparison in COMPARISONS:
                key = where | {"comparison": comparison, "seed": treated.config.seed}
                for epoch in range(treated.config.epochs + 1):
                    value = delta(treated, plain, comparison, at(epoch))
                    rows.append(key | {"epoch": epoch, "delta": value})
    return pd.DataFrame(rows)


def distributions(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the norms at some moments in long form, one row a sample, run and moment.

    Only runs at the highest noise rate. Columns: those of config.SETTING, norm, subset, seed,
    moment, value.
    """
    highest = max(run.config.noise_rate for run in runs)
    frames = []
    for run in (run for run in runs if run.config.noise_rate == highest):
        for subset in SUBSETS:
            for moment, epoch in moments(run.config.epochs).items():
                key = {name: getattr(run.config, name) for name in (*SETTING, "norm", "seed")}
                key |= {"subset": subset, "moment": moment}
                frames.append(pd.DataFrame({"value": run.arrays[f"norm_{subset}"][epoch], **key}))
    return pd.concat(frames, ignore_index=True)


def mixture(
    sample: Sample, noise_rate: float, most: int, seed: int = 0
) -> tuple[Tensor, Tensor, np.ndarray]:
    """Return x[N, ...], y[N] and is_corrupted[N]: training samples mixed about as in training.

    The first corrupted samples, `most` at most, and as many clean ones as make their share about
    `noise_rate`, in an order drawn by `seed`. With fewer clean ones in the sample's subset the
    share is higher; `most_at_rate` says up to which `most` it is not. Raises BadInput if there is
    no corrupted sample.
    """
    n = min(most, len(sample.subsets["corrupted"][0]))
    if not n:
        raise BadInput(f"noise_rate={noise_rate} corrupts no sample of this model. Raise it.")
    counts = {"corrupted": n, "clean": round(n * (1 - noise_rate) / noise_rate)}
    x, y = (torch.cat([sample.subsets[s][i][:k] for s, k in counts.items()]) for i in (0, 1))
    order = np.random.default_rng(seed).permutation(len(y))
    rows = torch.from_numpy(order).to(x.device)
    return x[rows], y[rows], order < n


def most_at_rate(sample: Sample, noise_rate: float, most: int) -> int:
    """Return how many corrupted samples, from 1 to `most`, the clean ones suffice for at a share.

    A `mixture` of so many holds a share of about `noise_rate`.
    """
    clean = len(sample.subsets["clean"][0])
    return max(1, min(most, round(clean * noise_rate / (1 - noise_rate))))


def both_modes(
    model: nn.Module, x: Tensor, y: Tensor, is_corrupted: np.ndarray, batch_size: int
) -> pd.DataFrame:
    """Measure samples in running and in batch mode, one row a sample.

    The samples are those of `mixture`; in batch mode they are split into batches in their order,
    and a last batch of one joins the one before. Columns: subset, running, batch.
    """
    frame = pd.DataFrame({"subset": np.where(is_corrupted, *SUBSETS)})
    cuts = np.arange(0, len(y), batch_size)[1:]
    cuts = cuts[cuts < len(y) - 1].tolist()
    batches = list(zip(x.tensor_split(cuts), y.tensor_split(cuts), strict=True))
    for mode in MODES:
        norms = [per_sample_norms(model, *batch, bn_mode=mode) for batch in batches]
        frame[mode] = np.concatenate(norms)
    return frame


def modes_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return for each mode the median norms and Cliff's delta of corrupted over clean samples.

    `frame` is that of `both_modes`. Columns: mode and MODE_NUMBERS.
    """
    corrupted, clean = (frame[frame.subset == name] for name in SUBSETS)
    rows = []
    for mode in MODES:
        medians = (corrupted[mode].median(), clean[mode].median())
        rows.append((mode, *medians, cliffs_delta(corrupted[mode], clean[mode])))
    return pd.DataFrame(rows, columns=["mode", *MODE_NUMBERS])


def answer(over_plain: Verdict, over_clean: Verdict, arm: str) -> str:
    """Return the chapter's answer in two plain sentences, from its two verdicts."""
    ahead = [sum(item.estimate > 0 for item in v.evidence) for v in (over_plain, over_clean)]
    settings = count(len(over_plain.evidence), "setting")
    unit = over_plain.claim.unit
    return (
        f"Summed over training, the gradient norms of corrupted samples are larger with {arm} than "
        f"in the plain network in {ahead[0]} of {settings}: Cliff's delta is "
        f"{span(over_plain.evidence, unit)} ({over_plain.word}). With {arm} they are larger than "
        f"those of clean samples in {ahead[1]} of {len(over_clean.evidence)}: "
        f"{span(over_clean.evidence, unit)} ({over_clean.word})."
    )
