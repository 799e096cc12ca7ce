"""How the exponent depends on the share at which the time is taken. It decides nothing."""

from collections.abc import Iterable, Mapping
from itertools import product

import pandas as pd

from bn_memorization import report
from bn_memorization.config import SETTING
from bn_memorization.dose import FITTED, HELD, lasting_speed, outcomes, series_of, speed
from bn_memorization.dose_exponents import evidence, exponents, selective
from bn_memorization.judging import Evidence
from bn_memorization.train import Run

UNIT = "exponent"
CORRUPTED, CLEAN = (0.25, 0.4, 0.5), (0.7, 0.9)
# Curves rise and fall where steps are long: a share is reached for the first time, or for good.
CROSSINGS = {"first": speed, "last": lasting_speed}

Reading = tuple[float, str]  # share of corrupted samples, one of CROSSINGS
Readings = Mapping[Reading, pd.DataFrame]


def readings(runs: Iterable[Run]) -> dict[Reading, pd.DataFrame]:
    """Return `dose.outcomes` of the runs of HELD, by how the speed on corrupted samples is read.

    `corrupted` is read so; clean_0.7 and clean_0.9 are the speeds to these shares of clean samples,
    at the first crossing.
    """
    held = [run for run in runs if series_of(run.config) == HELD]
    curves = {
        subset: [run.curve("accuracy", subset) for run in held] for subset in ("corrupted", "clean")
    }
    clean = {f"clean_{level}": [speed(c, level) for c in curves["clean"]] for level in CLEAN}
    base = outcomes(held).assign(**clean)
    return {
        (level, crossing): base.assign(corrupted=[find(c, level) for c in curves["corrupted"]])
        for level, (crossing, find) in product(CORRUPTED, CROSSINGS.items())
    }


def response(frame: pd.DataFrame) -> list[Evidence]:
    """Return kappa of corrupted samples in each setting of a reading."""
    return evidence(exponents(frame, "corrupted", HELD))


def minus_clean(frame: pd.DataFrame, level: float) -> list[Evidence]:
    """Return kappa of corrupted samples minus that of clean ones, timed at `level`."""
    return selective(frame.assign(clean=frame[f"clean_{level}"]), HELD)


def table(found: Readings) -> pd.DataFrame:
    """Return kappa by reading, alone and minus that of clean samples, a line a setting."""
    rows = []
    for (level, crossing), frame in found.items():
        columns = {"κ": response(frame)}
        for share in CLEAN:
            columns[f"κ minus that of clean samples at {100 * share:g} %"] = minus_clean(
                frame, share
            )
        frames = [part for _, part in frame.groupby(list(SETTING), sort=False)]
        for place, part in enumerate(frames):
            items = {name: of_settings[place] for name, of_settings in columns.items()}
            rows.append(
                {"setting": report.setting(items["κ"].where), "fitted": f"{100 * level:g} %"}
                | {"crossing": crossing}
                | {name: told(item) for name, item in items.items()}
                | {"runs without": f"{part.corrupted.isna().sum()} of {len(part)}"}
            )
    return pd.DataFrame(rows)


def told(item: Evidence) -> str:
    """Return an exponent with its interval and the number of seeds that it is over."""
    if not item.n:
        return report.NOT_MEASURED
    ends = report.between(item.low, item.high, UNIT)
    return f"{report.number(item.estimate, UNIT)} ({ends}; n = {item.n})"


def sentence(found: Readings) -> str:
    """Return how far kappa depends on the reading, and how often its interval is above 0 and 1."""
    levels = [f"{100 * level:g}" for level in CORRUPTED]
    power = [item for frame in found.values() for item in response(frame)]
    both = product(found.values(), CLEAN)
    gap = [item for frame, level in both for item in minus_clean(frame, level)]
    return (
        f"The verdicts take the first crossing of {100 * FITTED['corrupted']:g} % of the corrupted "
        f"and of {100 * FITTED['clean']:g} % of the clean samples. Read at "
        f"{', '.join(levels[:-1])} or {levels[-1]} % of the corrupted ones, at the first crossing "
        f"or the last, κ is {report.span(power, UNIT)}; its interval is above 0 in "
        f"{_above(power, 0)} readings and above 1 in {_above(power, 1)}. κ minus that of clean "
        f"samples, with these at {' or '.join(f'{100 * level:g}' for level in CLEAN)} %, is "
        f"{report.span(gap, UNIT)}; its interval is above 0 in {_above(gap, 0)}."
    )


def _above(items: list[Evidence], threshold: float) -> str:
    return f"{sum(item.low > threshold for item in items)} of {len(items)}"
