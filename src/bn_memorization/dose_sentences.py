"""Dose and response for readers: what the chapter says of its exponents, in computed sentences."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bn_memorization import dose_attack, report
from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.dose import FITTED, FREE, HELD, RATE, RUN
from bn_memorization.dose_exponents import bounded, equal_doses, evidence, exponents, parts
from bn_memorization.dose_tables import PARTS, SQUARE, UNIT
from bn_memorization.judging import Verdict
from bn_memorization.membership import Pool
from bn_memorization.stats import Gap, mean_interval


def met(outcomes: pd.DataFrame) -> str:
    """Return a sentence on how the dose was met with weights held: by gamma, or by sigma."""
    parts = {name: evidence(exponents(outcomes, name, HELD)) for name in ("gamma", "sigma")}
    gamma, sigma = (report.span(items, UNIT) for items in parts.values())
    return (
        f"With weights held the exponent of γ is {gamma} and that of σ {sigma}. What σ moves by "
        "there is not the length of the weights: it is their direction, and the scale of their "
        "input."
    )


def met_in_layers(outcomes: pd.DataFrame, numbers: Mapping[str, str]) -> str:
    """Return a sentence on how single layers met their dose; `numbers` is {series: name}."""
    found = {name: evidence(exponents(outcomes, "gamma", key)) for key, name in numbers.items()}
    gammas = [f"{report.span(items, UNIT)} ({name})" for name, items in found.items()]
    return (
        f"The exponent of γ where one layer is set is {', '.join(gammas)}; what is left to one is "
        "that of one over σ."
    )


def reading(outcomes: pd.DataFrame) -> str:
    """Return sentences on the parts of the exponent, and whether they add up."""
    sentences = []
    for cell, frame in parts(outcomes).groupby(list(SETTING), sort=False):
        gap = {column: mean_interval(frame[column]) for column in PARTS}
        where = report.setting(dict(zip(SETTING, cell, strict=True)))
        free, rate, held, rest = (_told(gap[name]) for name in ("free", "rate", "held", "rest"))
        sentences.append(
            f"{where}, at doses of {_shared(outcomes, frame)}, at which a seed's runs have a speed "
            f"with weights held and free: of an exponent of {free} with free weights, the learning "
            f"rate would give {rate} alone, and γ/σ gives {held} where the weights are held. What "
            f"is left of the first without the two is {rest}: {_adds_up(gap['rest'])}"
        )
    return " ".join(sentences) or "No seed has all exponents that a split needs."


def _shared(outcomes: pd.DataFrame, seeds: pd.DataFrame) -> str:
    """Return the doses over which the parts of these seeds are compared."""
    equal = equal_doses(outcomes)
    own = equal[(equal.series == HELD) & equal.corrupted.notna()].merge(seeds[RUN], on=RUN)
    return ", ".join(f"{dose:g}" for dose in sorted(own.dose.unique()))


def _told(gap: Gap) -> str:
    interval = report.between(gap.low, gap.high, UNIT)
    return f"{report.number(gap.estimate, UNIT)} ({interval})"


def _adds_up(rest: Gap) -> str:
    if np.isnan(rest.low) or np.isnan(rest.high):
        return "there is no interval, so whether the parts add up is not known."
    if rest.low <= 0 <= rest.high:
        return "the interval holds zero, so these seeds do not show that the parts fail to add up."
    return "the interval leaves zero out, so the parts do not add up: the two doses differ in more."


def censoring(outcomes: pd.DataFrame) -> str:
    """Return sentences on runs without a speed, and on doses at which no run has one."""
    dosed = outcomes[outcomes.series != RATE]
    lost = {subset: int(dosed[subset].isna().sum()) for subset in FITTED}
    return (
        f"Of {report.count(len(dosed), 'run')} with a dose, {lost['corrupted']} never fitted a "
        f"quarter of their corrupted samples and {lost['clean']} never nine tenths of their clean "
        f"ones. They have no speed and are left out.{silent(outcomes)}"
    )


def silent(outcomes: pd.DataFrame) -> str:
    """Return sentences on doses at which no run with weights held has a speed, or nothing."""
    found = []
    for cell, frame in outcomes[outcomes.series == HELD].groupby(list(SETTING), sort=False):
        known = frame.groupby("dose").corrupted.count()
        if missing := [f"{dose:g}" for dose in known.index[known == 0]]:
            where = report.setting(dict(zip(SETTING, cell, strict=True)))
            found.append(
                f" {where}: with weights held no run at a dose of {', '.join(missing)} fitted a "
                "quarter of its corrupted samples, so κ is over the other doses."
            )
    return "".join(found)


def distance(verdict: Verdict, outcomes: pd.DataFrame) -> str:
    """Return sentences on how far the exponent is from that of a square, and what it leaves out."""
    gaps = [item.estimate - SQUARE for item in verdict.evidence if item.n]
    inside = sum(item.low <= SQUARE <= item.high for item in verdict.evidence)
    known = sum(not np.isnan(item.low) for item in verdict.evidence)
    if not gaps:
        return "No seed has an exponent here, so it is not compared with that of a square."
    return (
        f"The exponent minus that of a square is {report.between(min(gaps), max(gaps), UNIT)}; the "
        f"interval holds {SQUARE:g} in {inside} of {report.count(known, 'setting')} with an "
        f"interval.{_left_out(verdict, outcomes)}"
    )


def _left_out(verdict: Verdict, outcomes: pd.DataFrame) -> str:
    held = outcomes[outcomes.series == HELD]
    lost = held.corrupted.isna()
    if not lost.any():
        return ""
    # A bound is above the speed. It makes a slope too small where all bounds are left of the mean.
    logs = np.log(held.achieved)
    middle = logs.groupby([held[name] for name in RUN]).transform("mean")
    least = (logs < middle)[lost].all()
    items = evidence(exponents(bounded(held), "corrupted", HELD))
    pairs = [both for both in zip(items, verdict.evidence, strict=True) if both[1].n]
    small = least and all(bound.estimate > own.estimate for bound, own in pairs)
    ends = [[item.low, item.high] for item in items if not np.isnan(item.low)]
    low, high = (np.min(ends), np.max(ends)) if ends else (np.nan, np.nan)
    return (
        f" The exponent is {'too small' if small else 'not over all doses'}, as {lost.sum()} of "
        f"{report.count(len(held), 'run')} with weights held are left out: with the bound of one "
        f"over the number of epochs in the place of each missing speed it is "
        f"{'at least ' if least else ''}{report.span(items, UNIT)} "
        f"({report.between(low, high, UNIT)})"
        + (", which rules no larger exponent out." if least else ".")
    )


def natural(outcomes: pd.DataFrame, lr: float) -> str:
    """Return sentences on runs without a penalty at `lr` beside those of the dose nearest to them.

    Speeds are compared as ratios within each seed: their geometric mean with its t interval.
    """
    sentences = []
    for cell, frame in outcomes.groupby(list(SETTING), sort=False):
        free = frame[(frame.series == RATE) & (frame.lr == lr)].set_index("seed")
        ratio = float(np.exp(np.log(free.achieved).mean()))
        doses = frame[frame.series == HELD].dose.unique()
        nearest = min(doses, key=lambda dose: abs(np.log(dose / ratio)))
        beside = [
            f"for {subset} samples, {_times(frame, free, nearest, HELD, subset)} with weights held "
            f"and {_times(frame, free, nearest, FREE, subset)} with weights free"
            for subset in FITTED
        ]
        where = report.setting(dict(zip(SETTING, cell, strict=True)))
        sentences.append(
            f"{where}: without a penalty γ/σ is {ratio:.2f} at the same learning rate. At the "
            f"nearest dose, {nearest:g}, the speed over that without a penalty is, "
            f"{'; '.join(beside)}."
        )
    return " ".join(sentences)


def _times(frame: pd.DataFrame, free: pd.DataFrame, dose: float, series: str, subset: str) -> str:
    of_dose = frame[(frame.series == series) & (frame.dose == dose)].set_index("seed")
    logs = np.log(of_dose[subset] / free[subset]).dropna()
    if logs.empty:
        return report.NOT_MEASURED
    gap = mean_interval(logs)
    estimate, low, high = (float(np.exp(value)) for value in (gap.estimate, gap.low, gap.high))
    return f"{report.number(estimate, 'ratio')} ({report.between(low, high, 'ratio')})"


def answer(
    verdicts: Sequence[Verdict],
    by_level: str,
    outcomes: pd.DataFrame,
    by_dose: Mapping[float, Sequence[Pool]],
) -> str:
    """Return the chapter's answer in plain sentences.

    `verdicts` are those on dose_exponent, dose_square, dose_selective and dose_attack; `by_level`
    is `dose_levels.sentence`.
    """
    exponent, square, selects, attacked = verdicts
    rates = ", ".join(f"{rate:g}" for rate in outcomes[outcomes.series == HELD].lr.unique())
    scope = (
        "After a pilot at a higher learning rate in which the response turned round, the default "
        f"rate was lowered; the verdicts hold for the rate here ({rates}) only."
    )
    attack = (
        f"The AUC of membership inference at the highest dose minus that at the lowest is "
        f"{report.span(attacked.evidence, 'AUC')} ({_word(attacked)}). {dose_attack.path(by_dose)}"
    )
    if not any(item.n for item in exponent.evidence):
        nothing = "At this size no seed has an exponent, so no response to γ/σ was measured."
        return f"{nothing} {attack} {scope}"
    return (
        f"Where γ/σ of all layers is set and the weights before BN are held at their norms (the "
        f"last layer, γ and β are not), the speed at which corrupted samples are fitted goes with "
        f"γ/σ to the power κ = {report.span(exponent.evidence, UNIT)} ({_word(exponent)}; steeper "
        f"than proportional: {_word(square)}).{silent(outcomes)} {distance(exponent, outcomes)} κ "
        f"minus that of clean samples is {report.span(selects.evidence, UNIT)} "
        f"({_word(selects)}). {by_level} {met(outcomes)} {_loose(outcomes)} {attack} {scope}"
    )


def _loose(outcomes: pd.DataFrame) -> str:
    found = parts(outcomes)
    if found.empty:
        return "No seed has the exponents that a comparison with free weights needs."
    cells = [frame for _, frame in found.groupby(list(SETTING), sort=False)]
    spans = {
        name: report.between(min(means), max(means), UNIT)
        for name in ("free", "held", "rate")
        for means in [[frame[name].mean() for frame in cells]]
    }
    return (
        f"Over the doses at which both have a speed, κ is {spans['free']} with free weights and "
        f"{spans['held']} with held ones; the change of the effective learning rate would give "
        f"{spans['rate']} alone."
    )


def _word(verdict: Verdict) -> str:
    return told(verdict.claim.key, verdict.word)
