"""Memorization against test accuracy for readers: tables and sentences on remedies."""

from collections.abc import Mapping

import pandas as pd

from bn_memorization import report
from bn_memorization.config import SETTING
from bn_memorization.judging import Verdict
from bn_memorization.regularize import UNTARGETED
from bn_memorization.stats import mean_interval
from bn_memorization.tradeoff import PENALTY, STOPPING, further


def means(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a table for readers: a line a cell, method and setting, mean accuracies as text."""
    key = [*SETTING, "method", "setting"]
    frame = outcomes.groupby(key, sort=False)[["corrupted", "clean", "test"]].mean().reset_index()
    return pd.DataFrame(
        {
            "setting": [_where(row) for row in frame.to_dict("records")],
            "remedy": frame.method,
            "strength": frame.setting,
        }
        | {
            report.name(column): [report.cell(column, value) for value in frame[column]]
            for column in ("corrupted", "clean", "test")
        }
    )


def _where(row: Mapping[str, object]) -> str:
    return report.setting({name: row[name] for name in SETTING})


def comparison(rows: pd.DataFrame) -> pd.DataFrame:
    """Return chosen rows as a table for readers: a line a setting and remedy, with intervals."""
    lines = []
    for values, frame in rows.groupby([*SETTING, "remedy"], sort=False):
        where = dict(zip(SETTING, values, strict=False))
        strengths = frame.setting
        if values[-1] == PENALTY:
            strengths = frame.method + " " + strengths
        line = {"setting": report.setting(where), "remedy": values[-1]}
        line["strength, seed by seed"] = "; ".join(strengths)
        for column in ("gain", "cost"):
            gap = mean_interval(frame[column])
            reach = report.between(gap.low, gap.high, "accuracy")
            line[column] = f"{report.number(gap.estimate, 'accuracy')} ({reach})"
        lines.append(line | {"n": len(frame)})
    return pd.DataFrame(lines)


def beyond(rows: pd.DataFrame, early: pd.DataFrame) -> str:
    """Return a sentence on what `rows` gain over early stopping; `early` is from `stopped`."""
    parts = [
        f"{report.setting(item.where)}: {report.number(item.estimate, 'accuracy')} "
        f"({report.between(item.low, item.high, 'accuracy')}; n = {item.n})"
        for item in further(rows, early)
    ]
    return (
        f"Gain of {rows.remedy.iloc[0]} minus {early.remedy.iloc[0]}: {'; '.join(parts)}. "
        f"{_reached(early)}"
    )


def _reached(early: pd.DataFrame) -> str:
    return (
        f"Early stopping reached the penalized run's test accuracy on {int(early.reached.sum())} "
        f"of {report.count(len(early), 'seed')}."
    )


def at_edge(rows: pd.DataFrame, outcomes: pd.DataFrame) -> str:
    """Return a sentence on how many chosen penalties have an outermost weight or target."""
    tried = outcomes.groupby("method")[["weight", "target"]].agg(["min", "max"]).loc[rows.method]
    outermost = pd.DataFrame(
        {
            name: (rows[name].to_numpy()[:, None] == tried[name].to_numpy()).any(axis=1)
            for name in ("weight", "target")
        }
    )
    outermost.target &= (rows.method != UNTARGETED).to_numpy()
    return (
        f"Of {report.count(len(rows), 'choice')}, {int(outermost.any(axis=1).sum())} lie at the "
        f"edge of the grid: {int(outermost.weight.sum())} have the smallest or largest weight that "
        f"was tried, {int(outermost.target.sum())} the smallest or largest target. What lies "
        "beyond an edge was not tried."
    )


def answer(gain: Verdict, cost: Verdict, penalty: pd.DataFrame, rivals: pd.DataFrame) -> str:
    """Return the chapter's answer in plain sentences.

    `penalty` holds the chosen rows, `rivals` those of the other remedies with early stopping.
    """
    best = rivals.groupby("remedy", sort=False).gain.mean()
    others = ", ".join(f"{report.number(g, 'accuracy')} for {name}" for name, g in best.items())
    off, price = (report.span(verdict.evidence, "accuracy") for verdict in (gain, cost))
    early = rivals[rivals.remedy == STOPPING]
    more = further(penalty, early)
    low, high = min(item.low for item in more), max(item.high for item in more)
    clear = sum(item.low > 0 for item in more)
    return (
        f"With form, weight and target chosen on the other seeds, no penalty minus penalty is "
        f"{off} of accuracy on corrupted samples ({gain.word}) and {price} of test accuracy "
        f"({cost.word}). In the mean over settings and seeds, the first difference for other "
        f"remedies is: {others}. Penalty minus early stopping is {report.span(more, 'accuracy')}; "
        f"the 95 % t interval over seeds reaches from "
        f"{report.between(low, high, 'accuracy')} and lies above zero in {clear} of "
        f"{report.count(len(more), 'setting')}. {_reached(early)}"
    )
