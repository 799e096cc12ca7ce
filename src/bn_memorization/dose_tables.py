"""Dose and response for readers: tables and sentences on exponents and their parts."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from bn_memorization import report
from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.dose import FITTED, FREE, HELD, RATE
from bn_memorization.dose_exponents import bounded, evidence, exponents, parts, stretches
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.stats import Gap, mean_interval

UNIT = "exponent"
SQUARE = 2.0
RESPONSES = {
    "corrupted": "speed, corrupted",
    "clean": "speed, clean",
    "pull_corrupted": "squared gradient norm, corrupted",
    "pull_clean": "squared gradient norm, clean",
}
# What a penalty on gamma/sigma may move, as exponents of gamma/sigma: gamma minus sigma is 1.
MOVED = {
    "gamma": "γ",
    "sigma": "σ",
    "weight": "norm of the weights before BN",
    "last_gamma": "γ of the last BN layer",
}
PARTS = {
    "free": "weights free",
    "rate": "learning rate: what the growth of the weights gives alone",
    "beyond_rate": "weights free, minus learning rate",
    "held": "γ/σ: weights held",
    "rest": "rest: free minus γ/σ minus learning rate",
}


def _cell(item: Evidence) -> dict[str, object]:
    shown = report.number(item.estimate, UNIT) if item.n else "not measured"
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
    """Return the exponents of speed and of squared gradient norm, all layers held and free."""
    rows = []
    for series, (response, name) in product((HELD, FREE), RESPONSES.items()):
        found = exponents(outcomes, response, series)
        rows += _rows(found, **{"γ/σ set in": series, "response": name})
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
    shown = {"corrupted": "speed, corrupted", "clean": "speed, clean", "next": "γ/σ of the next"}
    rows = []
    for (series, name), (response, what) in product(numbers.items(), shown.items()):
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


def met(outcomes: pd.DataFrame) -> str:
    """Return a sentence on how the dose was met with weights held: by gamma, or by sigma."""
    parts = {name: evidence(exponents(outcomes, name, HELD)) for name in ("gamma", "sigma")}
    gamma, sigma = (report.span(items, UNIT) for items in parts.values())
    return (
        f"With weights held the exponent of γ is {gamma} and that of σ {sigma}. What σ moves by "
        "there is not the length of the weights: it is their direction, and the scale of their "
        "input."
    )


def reading(outcomes: pd.DataFrame) -> str:
    """Return sentences on the parts of the exponent, and whether they add up."""
    sentences = []
    for cell, frame in parts(outcomes).groupby(list(SETTING), sort=False):
        gap = {column: mean_interval(frame[column]) for column in PARTS}
        where = report.setting(dict(zip(SETTING, cell, strict=True)))
        sentences.append(
            f"{where}: of an exponent of {_told(gap['free'])} with free weights, the learning rate "
            f"would give {_told(gap['rate'])} alone, and γ/σ gives {_told(gap['held'])} where "
            f"the weights are held. What is left of the first without the two is "
            f"{_told(gap['rest'])}: {_adds_up(gap['rest'])}"
        )
    return " ".join(sentences) or "No seed has all exponents that a split needs."


def _told(gap: Gap) -> str:
    interval = report.between(gap.low, gap.high, UNIT)
    return f"{report.number(gap.estimate, UNIT)} ({interval})"


def _adds_up(rest: Gap) -> str:
    if rest.low <= 0 <= rest.high:
        return "the interval holds zero, so these seeds do not show that the parts fail to add up."
    return "the interval leaves zero out, so the parts do not add up: the two doses differ in more."


def censoring(outcomes: pd.DataFrame) -> str:
    """Return sentences on runs without a speed, and the deciding exponent with bounds for them."""
    dosed = outcomes[outcomes.series != RATE]
    lost = {subset: int(dosed[subset].isna().sum()) for subset in FITTED}
    text = (
        f"Of {report.count(len(dosed), 'run')} with a dose, {lost['corrupted']} never fitted a "
        f"quarter of their corrupted samples and {lost['clean']} never nine tenths of their clean "
        "ones. They have no speed and are left out."
    )
    if not lost["corrupted"]:
        return text
    found = evidence(exponents(bounded(outcomes), "corrupted", HELD))
    return (
        f"{text} With the bound of one over the number of epochs in the place of each missing "
        f"speed, the exponent with weights held is {report.span(found, UNIT)}."
    )


def distance(verdict: Verdict) -> str:
    """Return a sentence on how far the exponent is from that of a square."""
    inside = sum(item.low <= SQUARE <= item.high for item in verdict.evidence)
    gaps = [item.estimate - SQUARE for item in verdict.evidence if item.n]
    if not gaps:
        return "No seed has an exponent here, so it is not compared with that of a square."
    return (
        f"The exponent minus that of a square is "
        f"{report.between(min(gaps), max(gaps), UNIT)}; the interval holds {SQUARE:g} in {inside} "
        f"of {report.count(len(verdict.evidence), 'setting')}."
    )


def answer(
    exponent: Verdict, square: Verdict, selects: Verdict, attacked: Verdict, outcomes: pd.DataFrame
) -> str:
    """Return the chapter's answer in plain sentences."""
    if not any(item.n for item in exponent.evidence):
        return "At this size no seed has an exponent, so no response to γ/σ was measured."
    split = parts(outcomes)
    rate = f"{np.nanmean(split.rate):+.2f}" if len(split) else "unknown"
    free = [item for item in evidence(exponents(outcomes, "corrupted", FREE)) if item.n]
    loose = report.span(free, UNIT) if free else "unknown"
    return (
        f"Where γ/σ of all layers is set and the effective learning rate is held, the speed at "
        f"which corrupted samples are fitted goes with γ/σ to the power of "
        f"{report.span(exponent.evidence, UNIT)} ({_word(exponent)}; steeper than proportional: "
        f"{_word(square)}). {distance(exponent)} That power minus the one for clean samples is "
        f"{report.span(selects.evidence, UNIT)} ({_word(selects)}). {met(outcomes)} Without "
        f"holding the weights "
        f"the power is {loose}, of which the change of the effective learning rate "
        f"would give {rate.replace('-', report.MINUS)} alone. The AUC of membership inference at "
        f"the highest dose minus that at the lowest is {report.span(attacked.evidence, 'AUC')} "
        f"({_word(attacked)})."
    )


def _word(verdict: Verdict) -> str:
    return told(verdict.claim.key, verdict.word)


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
