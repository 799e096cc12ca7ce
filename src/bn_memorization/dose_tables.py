"""Dose and response for readers: tables of exponents and their parts."""

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd

from bn_memorization import report
from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.dose import FREE, HELD
from bn_memorization.dose_exponents import evidence, exponents, parts, stretches
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.stats import mean_interval

UNIT = "exponent"
SQUARE = 2.0
RESPONSES = {
    "corrupted": "speed, corrupted",
    "clean": "speed, clean",
    "pull_corrupted": "squared gradient norm, corrupted",
    "pull_clean": "squared gradient norm, clean",
}
SET = "speed, corrupted, against the value set"
# What a penalty on gamma/sigma may move, as exponents of gamma/sigma: gamma minus sigma is 1.
MOVED = {
    "gamma": "γ",
    "sigma": "σ",
    "weight": "norm of the weights before BN",
    "last_gamma": "γ of the last BN layer",
}
OF_LAYER = {
    "corrupted": "speed, corrupted",
    "clean": "speed, clean",
    "gamma": "γ of the layer",
    "next": "γ/σ of the next",
}
PARTS = {
    "free": "weights free",
    "rate": "learning rate: what the change of the weights gives alone",
    "beyond_rate": "weights free, minus learning rate",
    "held": "γ/σ: weights held",
    "rest": "rest: free minus γ/σ minus learning rate",
}


def _cell(item: Evidence) -> dict[str, object]:
    shown = report.number(item.estimate, UNIT) if item.n else report.NOT_MEASURED
    return {
        "exponent": shown,
        "95 % t interval": report.between(item.low, item.high, UNIT),
        "n": item.n,
    }


def _row(item: Evidence, frame: pd.DataFrame, **first: str) -> dict[str, object]:
    """Return a line of a table; `frame` holds the exponents that the item is the mean of."""
    lost = int(frame.missing.sum())
    return (
        {"setting": report.setting(item.where)}
        | first
        | _cell(item)
        | {"runs without": f"{lost} of {int(frame.runs.sum())}"}
    )


def _rows(found: pd.DataFrame, **first: str) -> list[dict[str, object]]:
    frames = [frame for _, frame in found.groupby(list(SETTING), sort=False)]
    items = evidence(found)
    return [_row(item, frame, **first) for item, frame in zip(items, frames, strict=True)]


def responses(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents of speed and of squared gradient norm, all layers held and free.

    They are those of the achieved gamma/sigma; of the value set, that of corrupted samples' speed.
    """
    rows = []
    for series in (HELD, FREE):
        for response, name in RESPONSES.items():
            found = exponents(outcomes, response, series)
            rows += _rows(found, **{"γ/σ set in": series, "response": name})
        found = exponents(outcomes, "corrupted", series, dose="dose")
        rows += _rows(found, **{"γ/σ set in": series, "response": SET})
    return pd.DataFrame(rows)


def by_stretch(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents of corrupted samples' speed between each dose and the next."""
    rows = []
    for series in (HELD, FREE):
        for (low, high), found in stretches(outcomes, "corrupted", series).items():
            rows += _rows(found, **{"γ/σ set in": series, "doses": f"{low:g} to {high:g}"})
    return pd.DataFrame(rows)


def moves(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return what moved with gamma/sigma, as exponents, all layers held and free."""
    rows = []
    for series, (response, name) in product((HELD, FREE), MOVED.items()):
        found = exponents(outcomes, response, series)
        rows += _rows(found, **{"γ/σ set in": series, "what moved": name})
    return pd.DataFrame(rows).drop(columns="runs without")


def layers(outcomes: pd.DataFrame, numbers: Mapping[str, str]) -> pd.DataFrame:
    """Return the exponents with one layer set at a time; `numbers` is {series: how it is told}."""
    rows = []
    for (series, name), (response, what) in product(numbers.items(), OF_LAYER.items()):
        found = exponents(outcomes, response, series)
        lines = _rows(found, **{"layer set": name, "response": what})
        rows += [line for line in lines if response != "next" or line["n"]]
    return pd.DataFrame(rows)


def split(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the parts of the exponent with free weights, a line a setting and part."""
    rows = []
    for cell, frame in parts(outcomes).groupby(list(SETTING), sort=False):
        where = dict(zip(SETTING, cell, strict=True))
        for column, name in PARTS.items():
            item = Evidence.from_gap(where, mean_interval(frame[column]))
            rows.append({"setting": report.setting(where), "part": name} | _cell(item))
    return pd.DataFrame(rows, columns=["setting", "part", "exponent", "95 % t interval", "n"])


def controls(verdicts: Sequence[Verdict], profile: str) -> pd.DataFrame:
    """Return several controls in one table, a line a control and setting, with its threshold."""
    rows = []
    for verdict in verdicts:
        claim = verdict.claim
        for item, word in zip(verdict.evidence, verdict.words, strict=True):
            rows.append(
                {"control": claim.title, "setting": report.setting(item.where)}
                | _cell(item)
                | {
                    "interval is": item.interval,
                    "holds above": report.number(claim.threshold, UNIT),
                    "profile": profile,
                    "verdict": told(claim.key, word),
                }
            )
    return pd.DataFrame(rows)
