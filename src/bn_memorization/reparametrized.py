"""The penalty on gamma/sigma with the weights before BN held at their norms.

With |w| held, gamma/sigma and the invariant rho = gamma |w| / sigma differ by a constant of each
channel: then the penalty is one on rho, and cannot be met by letting these |w| grow, which would
also lower their effective learning rate. Gains and costs are those of `tradeoff`, each side against
its own runs without a penalty; so the gains of the two sides are not compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from bn_memorization import experiments, tradeoff
from bn_memorization import tradeoff_tables as tables
from bn_memorization.config import NO_PENALTY, SETTING, ModelConfig, TrainConfig
from bn_memorization.control_claims import told
from bn_memorization.invariant_tables import known
from bn_memorization.judging import Verdict
from bn_memorization.report import MINUS, NO_BREAK, between, cell, number, readable, setting, span
from bn_memorization.stats import paired_gap
from bn_memorization.train import Run
from bn_memorization.trained_invariant import quotient
from bn_memorization.trained_ratios import ratios

FREE, HELD = "free", "held"
NOTHING = "none"  # in the column of penalties


def plan(parameters: Mapping[str, object]) -> list[TrainConfig | ModelConfig]:
    """Return the chapter's runs: chapter 5's, and both sides of the penalty."""
    return [*experiments.ratios(parameters), *free(parameters), *held(parameters)]


def free(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the runs without a penalty and with each, of the settings in `penalty_only`.

    With equal values they are runs of chapter 6. A LeNet has the sizes `penalty_train_size` and
    `penalty_epochs`, and all else is as for the other runs.
    """
    own = {name: parameters[f"penalty_{name}"] for name in ("train_size", "epochs")}
    penalties = [{}, *experiments.penalties(parameters)]
    return experiments.changed({**parameters, **own}, penalties, only="penalty_only")


def held(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the runs of `free`, in order, with the weights before BN held at their norms."""
    return [replace(config, hold_weights=True) for config in free(parameters)]


def reached(runs: Iterable[Run]) -> pd.DataFrame:
    """Return where channels ended, a row a setting, side and penalty, averaged over seeds.

    Columns: setting, penalty, weights (FREE or HELD), medians over channels of gamma/sigma, of
    rho, of |w| over its start and of the effective learning rate, |w|^-2, over its start; and
    through |w|: how much of what the penalty changed in log gamma/sigma, in the mean over channels
    against the same side and seed without it, is minus the change of log |w|. That is a quotient of
    means over seeds; NaN without penalty, and where what it changed is not clear of zero. Raises
    ValueError where a penalized run has no twin without.
    """
    runs = list(runs)
    twins = {_twin(run.config): run for run in runs if run.config.penalty == NO_PENALTY}
    rows = []
    for run in runs:
        if _twin(run.config) not in twins:
            raise ValueError(f"{run.config.describe()} has no run without a penalty beside it.")
        rows.append(_end(run) | _fallen(run, twins[_twin(run.config)]))
    grouped = pd.DataFrame(rows).groupby(["setting", "penalty", "weights"], sort=False)
    through = [quotient(seeds["by size"], seeds.fell) for _, seeds in grouped]
    frame = grouped.mean().drop(columns=["by size", "fell"])
    return frame.assign(**{"through |w|": through}).reset_index()


def _twin(config: TrainConfig) -> TrainConfig:
    return replace(config, penalty=NO_PENALTY, penalty_weight=0.0, penalty_target=1.0)


def _end(run: Run) -> dict[str, object]:
    config = run.config
    ratio, size = ratios(run)[-1], run.arrays["weight_norm"].astype(float)
    own = np.isfinite(size[0])
    growth = size[-1, own] / size[0, own]
    method, strength = tradeoff.remedy(config, lr=config.lr, weight_decay=config.weight_decay)
    return {
        "setting": setting({name: getattr(config, name) for name in SETTING}),
        "penalty": _penalty(method, strength),
        "weights": HELD if config.hold_weights else FREE,
        "γ/σ": np.median(ratio[own]),
        "γ|w|/σ": np.median(ratio[own] * size[-1, own]),
        "|w|": np.median(growth),
        "effective rate": np.median(growth**-2),
    }


def _penalty(method: str, strength: str) -> str:
    return NOTHING if method == tradeoff.NOTHING else f"{method} {strength}"


def _fallen(run: Run, without: Run) -> dict[str, float]:
    """Return how far the penalty lowered log gamma/sigma, and how far by raising log |w|."""
    sizes = [one.arrays["weight_norm"][-1].astype(float) for one in (run, without)]
    own = np.isfinite(sizes[0])
    fell = np.log(ratios(without)[-1, own] / ratios(run)[-1, own]).mean()
    return {"fell": fell, "by size": np.log(sizes[0][own] / sizes[1][own]).mean()}


def table(verdicts: Sequence[Verdict], profile: str) -> Styler:
    """Return the evidence of several verdicts as one table for readers, a row a setting of each."""
    rows = [
        {
            "statement": verdict.claim.title,
            "setting": setting(item.where),
            "effect": number(item.estimate, verdict.claim.unit),
            f"interval ({item.interval})": between(item.low, item.high, verdict.claim.unit),
            "n": item.n,
            "profile": profile,
            "verdict": told(verdict.claim.key, word),
        }
        for verdict in verdicts
        for item, word in zip(verdict.evidence, verdict.words, strict=True)
    ]
    return readable(pd.DataFrame(rows))


def comparison(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the chosen rows of both sides as a table for readers, gains and costs in intervals."""
    return pd.concat(
        [tables.comparison(frame).assign(weights=side) for side, frame in rows.items()],
        ignore_index=True,
    )


def apart(outcomes: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return both sides under the same penalty, a row a setting and penalty, none among them.

    `outcomes` are the two sides' tables of `tradeoff.outcomes`. Columns: setting; penalty; the mean
    accuracies on corrupted samples FREE and HELD; gap, low, high: the first minus the second,
    paired by seed; the shares removed, free and held: gain over the same side's accuracy without a
    penalty, a quotient of means over seeds, NaN without penalty; and n.
    """
    key = [*SETTING, "method", "setting"]
    both = outcomes[FREE].merge(
        outcomes[HELD], on=[*key, "seed"], suffixes=(f" {FREE}", f" {HELD}"), validate="1:1"
    )
    return pd.DataFrame(
        [
            {"setting": setting(dict(zip(SETTING, values, strict=False)))}
            | {"penalty": _penalty(*values[-2:])}
            | _sides(seeds)
            for values, seeds in both.groupby(key, sort=False)
        ]
    )


def _sides(seeds: pd.DataFrame) -> dict[str, float]:
    corrupted = {side: seeds[f"corrupted {side}"] for side in (FREE, HELD)}
    gap = paired_gap(*corrupted.values())
    found = {side: values.mean() for side, values in corrupted.items()}
    found |= {"gap": gap.estimate, "low": gap.low, "high": gap.high}
    penalized = (seeds.method != tradeoff.NOTHING).all()
    for side in (FREE, HELD):
        gain = seeds[f"gain {side}"]
        share = quotient(gain, corrupted[side] + gain) if penalized else float("nan")
        found[f"removed, {side}"] = share
    return found | {"n": gap.n}


def split(gap: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `apart` as a table for readers; a share that is NaN stays blank."""
    shown = gap[["setting", "penalty"]].copy()
    for side in (FREE, HELD):
        shown[f"corrupted, {side}"] = [cell(side, value) for value in gap[side]]
    shown[f"{FREE}{NO_BREAK}{MINUS}{NO_BREAK}{HELD} (95 % t)"] = [
        f"{number(row.gap, 'accuracy')} ({between(row.low, row.high, 'accuracy')})"
        for row in gap.itertuples()
    ]
    for side in (FREE, HELD):
        shares = gap[f"removed, {side}"]
        shown[f"share removed, {side}"] = [_blank(share) for share in shares]
    return shown.assign(n=gap.n)


def _blank(share: float) -> str:
    return "" if np.isnan(share) else number(share, "share")


def answer(verdicts: Sequence[Verdict], gap: pd.DataFrame, ends: pd.DataFrame) -> str:
    """Return the answer of the second half in plain sentences.

    `verdicts` are on the gain and the cost with weights held, `gap` is that of `apart` and `ends`
    that of `reached`.
    """
    gain, cost = (span(verdict.evidence, "accuracy") for verdict in verdicts)
    words = [told(verdict.claim.key, verdict.word) for verdict in verdicts]
    penalized = gap.penalty != NOTHING
    without, same = (known(gap[rows].gap, "accuracy") for rows in (~penalized, penalized))
    removed = [known(gap[f"removed, {side}"], "share") for side in (FREE, HELD)]
    through = known(ends[ends.weights == FREE]["through |w|"], "share")
    return (
        f"With the weights before BN held at their norms, no penalty minus penalty is {gain} of "
        f"accuracy on corrupted samples (at least ten points: {words[0]}) and {cost} of test "
        f"accuracy (at most one point: {words[1]}). Accuracy on corrupted samples with weights "
        f"free minus held is {without} without a penalty and {same} under the same penalty, which "
        f"removes a share of {removed[0]} of it with weights free and {removed[1]} with weights "
        f"held. Growing weights make a share of {through} of what the penalties change in log γ/σ."
    )
