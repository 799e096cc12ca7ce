"""Exponents of the response to a dose: a slope of logs in each seed, an interval over seeds.

In each seed the log of the response is regressed on the log of the dose: the slope is the exponent
kappa in response ~ dose^kappa. Its interval is over seeds, as the unit is the trained model.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bn_memorization.config import SETTING
from bn_memorization.dose import FITTED, FREE, HELD, RATE, RUN
from bn_memorization.dose_runs import LEAST_DOSES
from bn_memorization.judging import Evidence
from bn_memorization.stats import Gap, mean_interval


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Return the least-squares slope of log y[n] on log x[n]: kappa of y ~ x^kappa.

    Raises ValueError for values that are not above 0, or x that do not differ.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if not ((x > 0).all() and (y > 0).all()) or np.ptp(x) == 0:
        raise ValueError(f"A slope of logs needs different x above 0 and y above 0: {x}, {y}.")
    x, y = np.log(x) - np.log(x).mean(), np.log(y)
    return float(x @ y / (x @ x))


def exponents(
    outcomes: pd.DataFrame, response: str, series: str, dose: str = "achieved"
) -> pd.DataFrame:
    """Return the exponent of each seed in the runs of one series, a row a setting and seed.

    Columns: SETTING, seed, exponent, runs and missing: how many runs there are, and how many have
    no response. They are left out; with fewer than three others (two where the series has two doses
    only) the seed has no exponent, NaN.
    """
    rows = []
    for key, frame in outcomes[outcomes.series == series].groupby(RUN, sort=False):
        known = frame[frame[response].notna()]
        enough = len(known) >= min(LEAST_DOSES, len(frame)) and len(known) > 1
        value = slope(known[dose], known[response]) if enough else float("nan")
        counts = {"runs": len(frame), "missing": len(frame) - len(known)}
        rows.append(dict(zip(RUN, key, strict=True)) | {"exponent": value} | counts)
    return pd.DataFrame(rows, columns=[*RUN, "exponent", "runs", "missing"])


def bounded(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes with the bound 1/epochs for each speed that a run does not have.

    The bound is above the speed, so it makes an exponent too small where low doses are slow.
    """
    bounds = {subset: outcomes[subset].fillna(1 / outcomes.epochs) for subset in FITTED}
    return outcomes.assign(**bounds)


def stretches(
    outcomes: pd.DataFrame, response: str, series: str
) -> dict[tuple[float, float], pd.DataFrame]:
    """Return `exponents` between each dose of a series and the next, by these two doses."""
    of_series = outcomes[outcomes.series == series]
    return {
        ends: exponents(of_series[of_series.dose.isin(ends)], response, series)
        for ends in pairwise(sorted(of_series.dose.unique()))
    }


def evidence(exponents: pd.DataFrame) -> list[Evidence]:
    """Return each setting's mean exponent over the seeds that have one, with its t interval.

    The interval's text counts runs without a response. A setting in which no seed has an exponent
    has n = 0 and no interval.
    """
    return [
        _mean(dict(zip(SETTING, cell, strict=True)), frame)
        for cell, frame in exponents.groupby(list(SETTING), sort=False)
    ]


def _mean(where: dict[str, object], frame: pd.DataFrame) -> Evidence:
    known = frame.exponent.dropna()
    if known.empty:
        nothing = Gap(0.0, float("nan"), float("nan"), 0)
        return replace(Evidence.from_gap(where, nothing), interval="no seed has an exponent")
    item = Evidence.from_gap(where, mean_interval(known))
    if not frame.missing.any():
        return item
    lost = f"{frame.missing.sum()} of {frame.runs.sum()} runs without a speed left out"
    return replace(item, interval=f"{item.interval}; {lost}")


def selective(outcomes: pd.DataFrame, series: str) -> list[Evidence]:
    """Return the exponent of corrupted samples minus that of clean ones, paired by run and seed.

    Both are fitted over the same doses: those at which both kinds have a speed.
    """
    # The slope of a log ratio is the difference of the slopes; a ratio to NaN is NaN.
    ratio = outcomes.corrupted / outcomes.clean
    return evidence(exponents(outcomes.assign(ratio=ratio), "ratio", series))


def equal_doses(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes, HELD and FREE as at the doses alone at which both have a speed.

    At the others of a seed neither the speed on corrupted samples nor the weight norm is known.
    """
    both = outcomes[outcomes.series.isin([HELD, FREE]) & outcomes.corrupted.notna()]
    series = both.groupby([*RUN, "dose"]).series.transform("nunique")
    equal = outcomes.index.isin(series.index[series == 2]) | ~outcomes.series.isin([HELD, FREE])
    kept = {name: outcomes[name].where(equal) for name in ("corrupted", "weight")}
    return outcomes.assign(**kept)


def parts(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the exponent of the free weights split, a row a setting and seed; NaN left out.

    Held and free are compared over `equal_doses`. Columns: SETTING, seed; free and held, the
    exponents of corrupted samples' speed; moved, that of the squared weight norm against
    gamma/sigma with free weights; by_rate, that of the speed against the learning rate, without a
    penalty; rate = -moved * by_rate, what the effective learning rate, which goes with one over the
    squared norm, would give alone; beyond_rate = free - rate; rest = free - held - rate, which is 0
    if the two parts add up.
    """
    equal = equal_doses(outcomes)
    columns = {
        "free": _by_seed(equal, "corrupted", FREE),
        "held": _by_seed(equal, "corrupted", HELD),
        "moved": 2 * _by_seed(equal, "weight", FREE),
        "by_rate": _by_seed(outcomes, "corrupted", RATE, dose="dose"),
    }
    frame = pd.DataFrame(columns).dropna().reset_index()
    frame["rate"] = -frame.moved * frame.by_rate
    frame["beyond_rate"] = frame.free - frame.rate
    frame["rest"] = frame.beyond_rate - frame.held
    return frame


def _by_seed(
    outcomes: pd.DataFrame, response: str, series: str, dose: str = "achieved"
) -> pd.Series:
    return exponents(outcomes, response, series, dose).set_index(RUN).exponent
