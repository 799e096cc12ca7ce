"""Forced memorization: how far and how fast a model fits samples that are corrupted.

All functions are pure and take finished runs; two arms are paired by seed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bn_memorization.config import SETTING
from bn_memorization.corrupt import NOISE, OOD
from bn_memorization.data import Dataset
from bn_memorization.judging import Evidence
from bn_memorization.models import PLAIN
from bn_memorization.report import count, name, setting
from bn_memorization.sample import SUBSETS, corrupt
from bn_memorization.stats import epochs_until, paired_gap
from bn_memorization.train import Run

HALF = 0.5
# Clean accuracy below which a network has learned too little to be compared. Chosen after a pilot,
# in which BN with its statistics as constants had not learned the clean samples.
LEARNED = 0.9
CELL = SETTING


def curves(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the learning curves in long form, one row a run, epoch and subset.

    Columns: dataset, arch, corruption, noise_rate, norm, seed, epoch, subset, accuracy, loss.
    """
    frames = []
    for run in runs:
        epochs = np.arange(run.config.epochs + 1)
        for subset in SUBSETS:
            frames.append(
                pd.DataFrame(
                    {
                        **{name: getattr(run.config, name) for name in CELL},
                        "norm": run.config.norm,
                        "seed": run.config.seed,
                        "epoch": epochs,
                        "subset": subset,
                        "accuracy": run.curve("accuracy", subset),
                        "loss": run.curve("loss", subset),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def final_accuracy(subset: str) -> Callable[[Run], float]:
    """Return the measure of a run: its accuracy on `subset` after the last epoch."""
    return lambda run: float(run.curve("accuracy", subset)[-1])


def has_learned(runs: Iterable[Run]) -> bool:
    """Say whether the mean accuracy of runs on clean samples at their end is at least LEARNED."""
    return bool(np.mean([final_accuracy("clean")(run) for run in runs]) >= LEARNED)


def unlearned(runs: Sequence[Run], norm: str) -> str:
    """Return a sentence on the settings in which an arm has not learned its clean samples."""
    cells = paired(runs, norm)
    short = {norm: [], PLAIN: []}
    for where, *arms in cells:
        for arm, of_arm in zip(short, arms, strict=True):
            if not has_learned(of_arm):
                short[arm].append(setting(where))
    if not any(short.values()):
        return (
            f"Both arms fit at least {100 * LEARNED:g} % of their clean samples in every setting."
        )
    told = "; ".join(f"{name(arm)}: {', '.join(found) or 'none'}" for arm, found in short.items())
    return (
        f"These arms end with fewer than {100 * LEARNED:g} % of their clean samples fitted, of "
        f"{count(len(cells), 'setting')}, {told}. With the settings that both arms share, such a "
        "network has not been trained to the end, and a gap to it says less about memorization."
    )


def half_fitted(run: Run) -> float:
    """Return the epochs until half of the corrupted samples are fitted, at most the run's length.

    A run that never gets there is censored: it counts as its number of epochs. That is the mean
    time restricted to the horizon: it has no infinite values, and it understates the gap to an arm
    that is slower.
    """
    epoch = epochs_until(run.curve("accuracy", "corrupted"), HALF)
    return float(run.config.epochs if epoch is None else epoch)


def never_half_fitted(run: Run) -> bool:
    """Say whether the run ended with fewer than half of its corrupted samples ever fitted."""
    return epochs_until(run.curve("accuracy", "corrupted"), HALF) is None


def loss_area(run: Run) -> float:
    """Return the area under the loss curve of the corrupted samples, over the number of epochs.

    By trapezoids, so in nats: the loss at which the samples stood on average while training went
    on. Smaller means that the loss fell sooner or deeper.
    """
    return float(np.trapezoid(run.curve("loss", "corrupted")) / run.config.epochs)


def paired(runs: Iterable[Run], norm: str) -> list[tuple[dict[str, object], list[Run], list[Run]]]:
    """Return (setting, runs with `norm`, plain runs) of each setting, both lists in order of seed.

    Raises ValueError when a seed lacks one of its two arms.
    """
    cells: dict[tuple, dict[str, dict[int, Run]]] = {}
    for run in runs:
        cell = cells.setdefault(tuple(getattr(run.config, name) for name in CELL), {})
        cell.setdefault(run.config.norm, {})[run.config.seed] = run
    found = []
    for key, arms in cells.items():
        first, second = arms.get(norm, {}), arms.get(PLAIN, {})
        if first.keys() != second.keys():
            raise ValueError(f"{key}: seeds {sorted(first)} of {norm}, {sorted(second)} of plain.")
        in_order = [[arm[seed] for seed in sorted(arm)] for arm in (first, second)]
        found.append((dict(zip(CELL, key, strict=True)), *in_order))
    return found


def compare(
    runs: Iterable[Run], norm: str, measure: Callable[[Run], float], sign: int = 1
) -> list[Evidence]:
    """Return, for each setting, the paired gap of a measure.

    The gap is sign * (norm arm - plain arm), paired by seed. Raises ValueError as `paired` does.
    """
    return [
        Evidence.from_gap(
            where,
            paired_gap([sign * measure(run) for run in first], [sign * measure(r) for r in second]),
        )
        for where, first, second in paired(runs, norm)
    ]


def compare_speed(runs: Iterable[Run], norm: str) -> list[Evidence]:
    """Return, for each setting, the paired gap of `half_fitted`, plain arm - norm arm.

    Where runs are censored the interval's text says how many, and which bound the gap then is.
    Where all runs of an arm are, the interval is NaN: their times have no spread to speak of.
    """
    runs = list(runs)
    gaps = compare(runs, norm, half_fitted, sign=-1)
    return [
        _bounded(gap, first, second)
        for gap, (_, first, second) in zip(gaps, paired(runs, norm), strict=True)
    ]


def _bounded(gap: Evidence, first: Sequence[Run], second: Sequence[Run]) -> Evidence:
    cut, plain_cut = (sum(map(never_half_fitted, arm)) for arm in (first, second))
    if not cut + plain_cut:
        return gap
    bound = "no bound" if cut and plain_cut else "upper bound" if cut else "lower bound"
    counts = [
        f"{k} of {len(arm)} {name(arm[0].config.norm)} runs"
        for k, arm in ((cut, first), (plain_cut, second))
        if k
    ]
    note = f"{bound}: {' and '.join(counts)} censored"
    if len(first) in (cut, plain_cut):
        return replace(gap, low=math.nan, high=math.nan, interval=f"t not meaningful; {note}")
    return replace(gap, interval=f"{gap.interval}; {note}")


def final_accuracies(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the mean final accuracy over seeds, a row a setting and arm, a column a subset."""
    last = curves(runs)
    last = last[last.epoch == last.groupby(list(CELL)).epoch.transform("max")]
    means = last.pivot_table(
        index=[*CELL, "norm"], columns="subset", values="accuracy", sort=False, observed=True
    )
    return means[list(SUBSETS)].reset_index().rename_axis(columns=None)


def examples(runs: Sequence[Run], norm: str) -> list[Run]:
    """Return, for each kind of corruption, the first run with `norm` at its highest noise rate."""
    chosen: dict[str, Run] = {}
    for run in runs:
        kind, rate = run.config.corruption, run.config.noise_rate
        if run.config.norm == norm and (
            kind not in chosen or rate > chosen[kind].config.noise_rate
        ):
            chosen[kind] = run
    return list(chosen.values())


def corrupted_samples(run: Run, data: Dataset, limit: int) -> pd.DataFrame:
    """Return the first corrupted samples of a run, a row each, for `figures.contact_sheet`.

    Columns: `images` uint8[H, W] or [H, W, 3]; `titles`, the given label and, in brackets, the true
    one or what the image is; `marked`, whether the model predicts the given label after its last
    epoch. `data` is what the run was trained on.
    """
    corrupted = corrupt(run.config, data)
    index = corrupted.index[:limit]
    what = {OOD: data.foreign and name(data.foreign.name), NOISE: "noise"}.get(
        run.config.corruption
    )
    titles = [
        f"{data.classes[given]}\n({what or data.classes[true]})"
        for given, true in zip(corrupted.labels[index], corrupted.true_label, strict=False)
    ]
    marked = run.arrays["fitted"][-1][:limit]
    return pd.DataFrame(
        {"images": list(corrupted.images[index]), "titles": titles, "marked": marked}
    )


def sheet(samples: Iterable[pd.DataFrame]) -> dict[str, list]:
    """Return the samples of several runs as the arguments of `figures.contact_sheet`."""
    return pd.concat(samples).to_dict("list")
