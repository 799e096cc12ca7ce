"""Dose and response: the gamma/sigma that a run was set to and achieved, and how fast it fitted.

All functions are pure and take finished runs. What is done with dose and response stands in
`dose_exponents`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bn_memorization.config import NO_PENALTY, SETTING, TrainConfig
from bn_memorization.train import Run

HELD, FREE = "all layers, weights held", "all layers, weights free"
RATE = "learning rate, no penalty"
# A sample is early fitted at a share that chance does not reach; most clean ones are soon.
FITTED = {"corrupted": 0.25, "clean": 0.9}
EARLY = 4  # gradients are averaged over the first 1/EARLY of the epochs
RUN = [*SETTING, "seed"]


def series_of(config: TrainConfig) -> str:
    """Return the series of runs that a config belongs to: HELD, FREE, RATE or one layer's."""
    if config.penalty == NO_PENALTY:
        return RATE
    if config.penalty_layer is not None:
        return layer_series(config.penalty_layer)
    return HELD if config.hold_weights else FREE


def layer_series(layer: int) -> str:
    """Return the name of the series in which one layer's gamma/sigma is set, counted from 1."""
    return f"layer {layer} alone, weights held"


def speed(curve: ArrayLike, level: float) -> float:
    """Return one over the epochs until the share `curve[E + 1]` is at least `level`, or NaN.

    The time lies on the line between the epoch that got there and the one before; index 0 is before
    training and does not count as getting there. NaN is a run that never did: it has no speed, only
    a bound of 1/E on it.
    """
    curve = np.asarray(curve, float)
    reached = np.flatnonzero(curve[1:] >= level)
    return _speed_at(curve, level, reached[0] + 1) if reached.size else float("nan")


def lasting_speed(curve: ArrayLike, level: float) -> float:
    """Return one over the epochs until the share `curve[E + 1]` stays at `level` or above, or NaN.

    That is the last time at which it gets there, read as in `speed`; NaN is a run that ends below.
    """
    curve = np.asarray(curve, float)
    below = np.flatnonzero(curve[1:] < level)
    epoch = below[-1] + 2 if below.size else 1
    return _speed_at(curve, level, epoch) if epoch < len(curve) else float("nan")


def _speed_at(curve: np.ndarray, level: float, epoch: int) -> float:
    before, after = curve[epoch - 1], curve[epoch]
    share = (level - before) / (after - before) if before < level else 1.0
    return float(1 / (epoch - 1 + share))


def outcomes(runs: Iterable[Run]) -> pd.DataFrame:
    """Return what each run came to, a row a run.

    Columns: SETTING, series, seed, epochs, lr; dose, the target that was set (RATE: the learning
    rate); the geometric means over channels, then layers, then the epochs from 1 on, of
    gamma/sigma (achieved), gamma, sigma and the norm of the weights before BN (weight); last_gamma,
    that of the last layer alone; next, gamma/sigma of the layer after the one that was set;
    corrupted and clean, the speeds of fitting; and pull_corrupted and pull_clean, the mean squared
    per-sample gradient norm (running mode) over the first quarter of the epochs.
    """
    return pd.DataFrame([_outcome(run) for run in runs])


def _outcome(run: Run) -> dict[str, object]:
    config, layers = run.config, _layers(run)
    chosen = config.penalty_layer
    own = layers if chosen is None else layers[chosen - 1 : chosen]
    after = layers[chosen : chosen + 1] if chosen is not None else []
    found = {name: getattr(config, name) for name in SETTING}
    found |= {"series": series_of(config), "seed": config.seed, "epochs": config.epochs}
    found["lr"] = config.lr
    found["dose"] = config.lr if config.penalty == NO_PENALTY else config.penalty_target
    found["achieved"] = _mean([layer["gamma"] - layer["sigma"] for layer in own])
    found |= {name: _mean([layer[name] for layer in own]) for name in ("gamma", "sigma", "weight")}
    found["last_gamma"] = _mean([layers[-1]["gamma"]])
    found["next"] = _mean([layer["gamma"] - layer["sigma"] for layer in after])
    early = slice(1, 1 + max(1, config.epochs // EARLY))
    for subset, level in FITTED.items():
        found[subset] = speed(run.curve("accuracy", subset), level)
        norms = np.asarray(run.arrays[f"norm_{subset}"][early], float)
        found[f"pull_{subset}"] = float(np.mean(norms**2)) if norms.size else float("nan")
    return found


def _layers(run: Run) -> list[dict[str, float]]:
    """Return the mean logs of gamma, sigma and weight norm of each BN layer, epochs 1 on."""
    of = run.arrays["bn_layer"][-1]
    logs = {
        "gamma": np.log(np.abs(run.arrays["gamma"][1:].astype(float))),
        "sigma": np.log(run.arrays["sigma"][1:].astype(float)),
        "weight": np.log(run.arrays["weight_norm"][1:].astype(float)),
    }
    return [
        {name: float(log[:, of == layer].mean()) for name, log in logs.items()}
        for layer in np.unique(of)
    ]


def _mean(logs: Sequence[float]) -> float:
    """Return the exponential of the mean, without the layers whose log is NaN."""
    known = [log for log in logs if not np.isnan(log)]
    return float(np.exp(np.mean(known))) if known else float("nan")


def paths(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the share of corrupted samples fitted in the runs of HELD, in long form.

    Columns: SETTING, dose, seed, epoch, share.
    """
    frames = [
        pd.DataFrame(
            {name: getattr(run.config, name) for name in (*SETTING, "seed")}
            | {"dose": run.config.penalty_target, "epoch": np.arange(run.config.epochs + 1)}
            | {"share": run.curve("accuracy", "corrupted")}
        )
        for run in runs
        if series_of(run.config) == HELD
    ]
    return pd.concat(frames, ignore_index=True)
