"""Runs with and without a remedy, whose accuracies are given."""

import numpy as np
import planted

from bn_memorization import tradeoff
from bn_memorization.train import Run

GIVEN = {"lr": 0.05, "weight_decay": 0.0}
LOG = {"penalty": "log", "penalty_weight": 1.0, "penalty_target": 0.5}
HINGE = {"penalty": "hinge", "penalty_weight": 0.1, "penalty_target": 0.25}


def run(corrupted, test, **changes):
    """Return a run with these accuracies after the last epoch, or after each if lists are given."""
    curves = [np.atleast_1d(curve).astype(float) for curve in (corrupted, test)]
    columns = [np.concatenate([[0.1], curve]) for curve in (curves[0], curves[0], curves[1])]
    config = planted.config(epochs=len(curves[0]), **changes)
    return Run(config, {"accuracy": np.array(columns).T})


def table(*runs):
    return tradeoff.outcomes(runs, **GIVEN)


def grid(gains, costs):
    """Return outcomes of settings A, B, ... (rows) of the log form on seeds 0, 1, ... (columns)."""
    rows = [run(0.9, 0.9, seed=seed) for seed in range(len(gains[0]))]
    for number, (gain, cost) in enumerate(zip(gains, costs, strict=True)):
        change = LOG | {"penalty_target": float(number + 1)}
        for seed, (g, c) in enumerate(zip(gain, cost, strict=True)):
            rows.append(run(0.9 - g, 0.9 - c, seed=seed, **change))
    return table(*rows)
