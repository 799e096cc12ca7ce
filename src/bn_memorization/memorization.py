"""Forced memorization: how far and how fast a model fits labels that are wrong.

All functions are pure and take finished runs; two arms are paired by seed.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from bn_memorization.claims import Evidence, Verdict
from bn_memorization.data import Dataset
from bn_memorization.models import PLAIN
from bn_memorization.report import count, span
from bn_memorization.sample import SUBSETS
from bn_memorization.stats import epochs_until, paired_gap
from bn_memorization.train import Run

HALF = 0.5
CELL = ("dataset", "arch", "noise_rate")


def curves(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the learning curves in long form, one row a run, epoch and subset.

    Columns: dataset, arch, noise_rate, norm, seed, epoch, subset, accuracy, loss.
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


def half_fitted(run: Run) -> float:
    """Return the epochs until half of the corrupted samples are fitted, at most the run's length.

    A run that never gets there counts as its number of epochs. That is the mean time restricted to
    the horizon: it has no infinite values, and it understates the gap to an arm that is slower.
    """
    epoch = epochs_until(run.curve("accuracy", "corrupted"), HALF)
    return float(run.config.epochs if epoch is None else epoch)


def never_half_fitted(run: Run) -> bool:
    """Say whether the run ended with fewer than half of its corrupted samples ever fitted."""
    return epochs_until(run.curve("accuracy", "corrupted"), HALF) is None


def compare(
    runs: Iterable[Run], norm: str, measure: Callable[[Run], float], sign: int = 1
) -> list[Evidence]:
    """Return, for each data set, architecture and noise rate, the paired gap of a measure.

    The gap is sign * (norm arm - plain arm), paired by seed. Raises ValueError when a seed lacks
    one of its two arms.
    """
    cells: dict[tuple, dict[str, dict[int, float]]] = {}
    for run in runs:
        cell = cells.setdefault(tuple(getattr(run.config, name) for name in CELL), {})
        cell.setdefault(run.config.norm, {})[run.config.seed] = measure(run)
    evidence = []
    for key, arms in cells.items():
        treated, plain = arms.get(norm, {}), arms.get(PLAIN, {})
        if treated.keys() != plain.keys():
            raise ValueError(f"{key}: seeds {sorted(treated)} of {norm}, {sorted(plain)} of plain.")
        first = [sign * treated[seed] for seed in sorted(treated)]
        second = [sign * plain[seed] for seed in sorted(plain)]
        where = dict(zip(CELL, key, strict=True))
        evidence.append(Evidence.from_gap(where, paired_gap(first, second)))
    return evidence


def final_accuracies(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the mean final accuracy over seeds, a row a setting and arm, a column a subset."""
    last = curves(runs)
    last = last[last.epoch == last.epoch.max()]
    means = last.pivot_table(
        index=[*CELL, "norm"], columns="subset", values="accuracy", sort=False, observed=True
    )
    return means[list(SUBSETS)].reset_index().rename_axis(columns=None)


def example(runs: Sequence[Run], norm: str) -> Run:
    """Return the first run with `norm` at the highest noise rate among the runs."""
    highest = max(run.config.noise_rate for run in runs)
    return next(r for r in runs if r.config.norm == norm and r.config.noise_rate == highest)


def flipped_samples(run: Run, data: Dataset, limit: int) -> dict[str, Sequence]:
    """Return the first flipped samples of a run, as `figures.contact_sheet` takes them.

    `images`, `titles` (given label, true label in brackets), and `marked`: whether the model
    predicts the given label after its last epoch.
    """
    record = run.arrays
    labels = zip(record["given_label"][:limit], record["true_label"][:limit], strict=True)
    return {
        "images": data.train.images[record["corrupted_row"][:limit]],
        "titles": [f"{data.classes[given]}\n({data.classes[true]})" for given, true in labels],
        "marked": record["fitted"][-1][:limit],
    }


def censoring(runs: Sequence[Run]) -> str:
    """Return a sentence on how many runs never fitted half of their corrupted samples."""
    slow = sum(never_half_fitted(run) for run in runs)
    plain = sum(never_half_fitted(run) for run in runs if run.config.norm == PLAIN)
    if not slow:
        return "Every model fitted half of its flipped samples at some epoch: no time is cut off."
    return (
        f"{slow} of {len(runs)} models, {plain} of them plain, never fitted half of their flipped "
        "samples. Each counts with its last epoch, which understates how slow it is."
    )


def answer(final: Verdict, speed: Verdict, arm: str) -> str:
    """Return the chapter's answer in two plain sentences, from its two verdicts."""
    ahead = sum(item.estimate > 0 for item in final.evidence)
    sooner = sum(item.estimate > 0 for item in speed.evidence)
    settings = count(len(final.evidence), "setting")
    return (
        f"After the last epoch the network with {arm} fits more flipped labels than the plain one "
        f"in {ahead} of {settings}: the gap is {span(final.evidence, 'accuracy')} "
        f"({final.word}). It fits half of them sooner in {sooner} of {len(speed.evidence)}, by "
        f"{span(speed.evidence, 'epochs')} ({speed.word})."
    )
