"""Memorization against test accuracy: what a penalty buys, and what simpler remedies buy.

A remedy changes how the network with BN is trained. Its gain is the accuracy on corrupted samples
that it takes away, its cost the test accuracy that it takes away; both are differences to the run
of the same seed without a remedy, after the last epoch. Which setting of a remedy is judged on a
seed is chosen on the other seeds, so that no run has a say in its own choice.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from bn_memorization.config import NO_PENALTY, SETTING, TrainConfig
from bn_memorization.judging import Evidence
from bn_memorization.regularize import UNTARGETED
from bn_memorization.stats import epochs_until, mean_interval, paired_gap
from bn_memorization.train import Run

NOTHING, DECAY, RATE = "no remedy", "weight decay", "lower learning rate"
STOPPING = "early stopping"
PENALTY = "penalty"  # of any form
RIVALS = (DECAY, RATE)
MOST_COST = 0.01  # of test accuracy, in choosing; the claim's point


def remedy(config: TrainConfig, *, lr: float, weight_decay: float) -> tuple[str, str]:
    """Return a run's remedy and its setting, given the `lr` and `weight_decay` without a remedy.

    The remedy is a form of the penalty, DECAY, RATE or NOTHING.
    """
    if config.penalty != NO_PENALTY:
        setting = f"weight {config.penalty_weight:g}"
        if config.penalty != UNTARGETED:
            setting += f", target {config.penalty_target:g}"
        return config.penalty, setting
    if config.weight_decay != weight_decay:
        return DECAY, f"{config.weight_decay:g}"
    if config.lr != lr:
        return RATE, f"{config.lr:g}"
    return NOTHING, ""


def outcomes(runs: Iterable[Run], *, lr: float, weight_decay: float) -> pd.DataFrame:
    """Return the end of each run, a row a run, with gain and cost against its seed's NOTHING.

    Columns: SETTING, seed, method, setting, weight, target (of a penalty), corrupted, clean, test
    (accuracies), gain, cost. Raises ValueError when a seed has no run without a remedy, or more
    than one.
    """
    rows = []
    for run in runs:
        method, setting = remedy(run.config, lr=lr, weight_decay=weight_decay)
        rows.append(
            {name: getattr(run.config, name) for name in (*SETTING, "seed")}
            | {"method": method, "setting": setting}
            | {"weight": run.config.penalty_weight, "target": run.config.penalty_target}
            | {name: run.curve("accuracy", name)[-1] for name in ("corrupted", "clean", "test")}
        )
    frame, key = pd.DataFrame(rows), [*SETTING, "seed"]
    without = frame[frame.method == NOTHING][[*key, "corrupted", "test"]]
    paired = frame.merge(without, on=key, how="left", suffixes=("", "_without"))
    if len(paired) != len(frame) or paired.corrupted_without.isna().any():
        raise ValueError("Each seed of each setting needs one run without a remedy.")
    frame["gain"] = paired.corrupted_without - paired.corrupted
    frame["cost"] = paired.test_without - paired.test
    return frame


def chosen(outcomes: pd.DataFrame, methods: Sequence[str], name: str) -> pd.DataFrame:
    """Return, for each cell and seed, the run of `methods` whose setting the other seeds choose.

    Among the settings that cost at most MOST_COST of test accuracy in the mean over the other
    seeds, the one with the largest mean gain there; if none costs so little, the cheapest one. The
    rows are those of `outcomes`, with `name` in the column `remedy`. Raises ValueError for a cell
    with a single seed, and for a setting that lacks a seed.
    """
    picked = []
    for cell, frame in outcomes[outcomes.method.isin(methods)].groupby(list(SETTING), sort=False):
        wide = frame.pivot(index=["method", "setting"], columns="seed", values=["gain", "cost"])
        if wide.isna().any(axis=None) or frame.seed.nunique() < 2:
            raise ValueError(f"{cell}: choosing needs every setting with the same 2 or more seeds.")
        for seed in sorted(frame.seed.unique()):
            others = wide.drop(columns=seed, level=1)
            gain, cost = (others[part].mean(axis=1) for part in ("gain", "cost"))
            cheap = cost <= MOST_COST
            method, setting = gain[cheap].idxmax() if cheap.any() else cost.idxmin()
            same = (frame.method == method) & (frame.setting == setting) & (frame.seed == seed)
            picked.append(frame[same].assign(remedy=name))
    return pd.concat(picked, ignore_index=True)


def stopped(runs: Iterable[Run], rows: pd.DataFrame) -> pd.DataFrame:
    """Return what stopping the run without a remedy early gives at equal test accuracy.

    For each row of `rows` (as `chosen` returns), the run of the same cell and seed among `runs`,
    all without a remedy, is stopped after the first epoch whose test accuracy is at least the
    row's; if none is, after the epoch with the highest. The choice looks at the test images, which
    favors it. The columns are those of `rows`, and `reached`: whether the accuracy was reached.
    """
    without = {_key(run.config): run for run in runs}
    found = []
    for row in rows.to_dict("records"):
        run = without[tuple(row[name] for name in (*SETTING, "seed"))]
        corrupted, clean, test = (
            run.curve("accuracy", name)[1:] for name in ("corrupted", "clean", "test")
        )
        reached = epochs_until(test, row["test"])
        at = int(np.argmax(test)) if reached is None else reached
        found.append(
            row
            | {"method": STOPPING, "remedy": STOPPING, "setting": f"epoch {at + 1}"}
            | {"corrupted": corrupted[at], "clean": clean[at], "test": test[at]}
            | {"gain": corrupted[-1] - corrupted[at], "cost": test[-1] - test[at]}
            | {"reached": reached is not None}
        )
    return pd.DataFrame(found)


def evidence(rows: pd.DataFrame, column: str) -> list[Evidence]:
    """Return the mean of `gain` or `cost` over the seeds of each cell, with its interval."""
    return [
        Evidence.from_gap(dict(zip(SETTING, cell, strict=True)), mean_interval(frame[column]))
        for cell, frame in rows.groupby(list(SETTING), sort=False)
    ]


def points(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return mean and interval over seeds, a row a cell, method and setting in the order of runs.

    Columns: SETTING, method, setting, n, and for corrupted and test: the name, `_low` and `_high`.
    """
    rows = []
    key = [*SETTING, "method", "setting"]
    for values, frame in outcomes.groupby(key, sort=False):
        row = dict(zip(key, values, strict=True)) | {"n": len(frame)}
        for name in ("corrupted", "test"):
            gap = mean_interval(frame[name])
            row |= {name: gap.estimate, f"{name}_low": gap.low, f"{name}_high": gap.high}
        rows.append(row)
    return pd.DataFrame(rows)


def path(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the mean accuracies after each epoch, from 1: SETTING, epoch, corrupted, test."""
    frames = [
        pd.DataFrame(
            {name: getattr(run.config, name) for name in SETTING}
            | {"epoch": np.arange(1, run.config.epochs + 1)}
            | {name: run.curve("accuracy", name)[1:] for name in ("corrupted", "test")}
        )
        for run in runs
    ]
    means = pd.concat(frames).groupby([*SETTING, "epoch"], sort=False)[["corrupted", "test"]].mean()
    return means.reset_index()


def without_remedy(runs: Iterable[Run], *, lr: float, weight_decay: float) -> list[Run]:
    """Return the runs without a remedy."""
    given = {"lr": lr, "weight_decay": weight_decay}
    return [run for run in runs if remedy(run.config, **given)[0] == NOTHING]


def further(rows: pd.DataFrame, rival: pd.DataFrame, column: str = "gain") -> list[Evidence]:
    """Return how much more `rows` have of a column than `rival` on the same seeds, in intervals."""
    both = rows.merge(rival, on=[*SETTING, "seed"], suffixes=("", "_rival"), validate="1:1")
    return [
        Evidence.from_gap(
            dict(zip(SETTING, cell, strict=True)),
            paired_gap(frame[column], frame[f"{column}_rival"]),
        )
        for cell, frame in both.groupby(list(SETTING), sort=False)
    ]


def _key(config: TrainConfig) -> tuple:
    return tuple(getattr(config, name) for name in (*SETTING, "seed"))
