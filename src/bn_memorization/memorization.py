"""Forced memorization: how far and how fast a model fits labels that are wrong.

All functions are pure and take finished runs; two arms are paired by seed.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from bn_memorization.claims import Evidence
from bn_memorization.models import PLAIN
from bn_memorization.stats import epochs_until, paired_gap
from bn_memorization.train import SUBSETS, Run

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
