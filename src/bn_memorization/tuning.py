"""A learning rate for each arm, chosen by a rule that looks at no corrupted sample."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from bn_memorization.config import SETTING
from bn_memorization.train import Run

TEST, CLEAN = "highest test accuracy", "lowest clean loss"
# After the last epoch; the larger, the better.
RULES: dict[str, Callable[[Run], float]] = {
    TEST: lambda run: float(run.curve("accuracy", "test")[-1]),
    CLEAN: lambda run: -float(run.curve("loss", "clean")[-1]),
}


def tuned(runs: Iterable[Run], rule: str = TEST) -> list[Run]:
    """Return, for each setting, arm and seed, the run at the rate that the other seeds choose.

    They choose the rate that is best by the rule (RULES) in the mean over them; the lower of two
    equal ones. So every arm gets a rate of its own from the same number of runs, and no seed has a
    part in the choice that is judged on it. Raises ValueError for an arm with a single seed, and
    for a rate that lacks a seed.
    """
    picked = []
    for key, arm in _arms(runs).items():
        score = pd.DataFrame(
            {lr: {seed: RULES[rule](run) for seed, run in of.items()} for lr, of in arm.items()}
        )
        if len(score) < 2 or score.isna().any(axis=None):
            raise ValueError(f"{key}: choosing needs every rate with the same 2 or more seeds.")
        for seed in score.index:
            best = score.drop(index=seed).mean()[sorted(arm)].idxmax()
            picked.append(arm[best][seed])
    return picked


def _arms(runs: Iterable[Run]) -> dict[tuple, dict[float, dict[int, Run]]]:
    """Return {setting and norm: {rate: {seed: run}}}."""
    found: dict[tuple, dict[float, dict[int, Run]]] = {}
    for run in runs:
        key = tuple(getattr(run.config, name) for name in (*SETTING, "norm"))
        found.setdefault(key, {}).setdefault(run.config.lr, {})[run.config.seed] = run
    return found


def rates(runs: Iterable[Run]) -> pd.DataFrame:
    """Return what each rate gives after the last epoch, mean over seeds, and who chooses it.

    A row a setting, arm and rate. Columns: those of SETTING, norm, lr, corrupted, clean, test,
    clean_loss, spread (standard deviation over seeds of the accuracy on test, which the first
    rule goes by; NaN for one seed), and for each rule the number of seeds whose run is the one at
    this rate.
    """
    runs = list(runs)
    chosen = {rule: tuned(runs, rule) for rule in RULES}
    rows = []
    for key, arm in _arms(runs).items():
        for lr in sorted(arm):
            of = list(arm[lr].values())
            row = dict(zip((*SETTING, "norm"), key, strict=True)) | {"lr": lr}
            for subset in ("corrupted", "clean", "test"):
                row[subset] = float(np.mean([run.curve("accuracy", subset)[-1] for run in of]))
            row["clean_loss"] = float(np.mean([run.curve("loss", "clean")[-1] for run in of]))
            row["spread"] = float(pd.Series([RULES[TEST](run) for run in of]).std())
            configs = {run.config for run in of}
            row |= {rule: sum(r.config in configs for r in best) for rule, best in chosen.items()}
            rows.append(row)
    return pd.DataFrame(rows)
