"""Matched comparisons: what is left of a gap where both arms have trained equally far.

A moment of a run is a number of epochs, whole or not: what is read there lies on the line between
the two epochs around it. A matching says at which moment of each arm a pair of runs is read. All
functions are pure.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats as distributions

from bn_memorization.config import SETTING
from bn_memorization.judging import Evidence
from bn_memorization.matched import moment
from bn_memorization.membership import INTERVAL
from bn_memorization.memorization import paired
from bn_memorization.report import count
from bn_memorization.stats import LEVEL, Gap, cliffs_delta, mean_interval
from bn_memorization.train import Run

FIXED, TUNED, TUNED_LOSS = "equal epochs", "learning rates tuned", "tuned and equal clean loss"
LOSS, LOG, TEST = "equal clean loss", "equal clean loss (log lines)", "equal test accuracy"
LONG = "long run"
MATCHINGS = (FIXED, TUNED, TUNED_LOSS, LOSS, LOG, TEST, LONG)
# Of an attack that is made some epochs apart: what lies around the place that is read.
BEFORE, AFTER = "the look before equal clean loss", "the look after equal clean loss"
NEIGHBORS = (BEFORE, AFTER)

ACCURACY, CORRUPTED_LOSS = "accuracy on corrupted samples", "loss on corrupted samples"
GRADIENT, CLEAN_GRADIENT = "gradient norms", "gradient norms of clean samples"
AUC = "AUC"
UNITS = {
    ACCURACY: "accuracy",
    CORRUPTED_LOSS: "nats",
    GRADIENT: "Cliff's delta",
    CLEAN_GRADIENT: "Cliff's delta",
    AUC: "AUC",
}

Moments = tuple[float, float]  # of the arm with BN and of the plain one
COLUMNS = [*SETTING, "sizes", "matching", "quantity", "unit", "value"]


def until(run: Run, epochs: int) -> Run:
    """Return the run as it was after its first `epochs` epochs.

    Raises ValueError for a run that is shorter.
    """
    if epochs > run.config.epochs:
        raise ValueError(f"{run.config.describe()} has no {epochs} epochs.")
    cut = {
        name: value[: epochs + 1] if name in _OF_EPOCHS else value
        for name, value in run.arrays.items()
    }
    return Run(replace(run.config, epochs=epochs), cut, run.meta)


_OF_EPOCHS = (
    *("accuracy", "loss", "fitted", "norm_corrupted", "norm_clean", "gamma", "sigma"),
    "weight_norm",
)


def sizes(run: Run) -> str:
    """Return how many images a run had, and for how long."""
    return f"{run.config.train_size} images, {count(run.config.epochs, 'epoch')}"


def at_end(treated: Run, plain: Run) -> Moments:
    """Return the last moments of both runs."""
    return treated.config.epochs, plain.config.epochs


def at_clean_loss(treated: Run, plain: Run, scale: Callable[[float], float] = float) -> Moments:
    """Return the first moments at which both were down to the higher of their last clean losses."""
    paths = [run.curve("loss", "clean") for run in (treated, plain)]
    target = max(path[-1] for path in paths)
    return tuple(moment(path, target, scale) for path in paths)


def at_test_accuracy(treated: Run, plain: Run) -> Moments:
    """Return the first moments at which both were up to the lower of their best accuracies."""
    paths = [run.curve("accuracy", "test") for run in (treated, plain)]
    target = min(path.max() for path in paths)
    return tuple(moment(-path, -target) for path in paths)


def read(path: np.ndarray, at: float) -> float:
    """Return path[K] at a place between two entries, on the line between them."""
    return float(np.interp(at, np.arange(len(path)), path))


def mean_norms(run: Run, at: float, subset: str = "corrupted") -> np.ndarray:
    """Return each sample's gradient norm in a subset, mean over training up to a moment, [n].

    The mean, not the sum: an arm that takes longer to the same place has no more of it for that.
    """
    norms = run.arrays[f"norm_{subset}"].astype(np.float64)
    if at == 0:
        return norms[0]
    epochs = np.arange(len(norms))
    places = np.append(epochs[epochs < at], at)
    values = np.array([np.interp(places, epochs, sample) for sample in norms.T])
    return np.trapezoid(values, places, axis=1) / at


def run_values(treated: Run, plain: Run, moments: Moments) -> dict[str, float]:
    """Return the effect of each quantity in one pair of runs, each read at its moment."""
    both = list(zip((treated, plain), moments, strict=True))
    accuracy = [read(run.curve("accuracy", "corrupted"), at) for run, at in both]
    loss = [read(run.curve("loss", "corrupted"), at) for run, at in both]
    norms = {GRADIENT: "corrupted", CLEAN_GRADIENT: "clean"}
    return {
        ACCURACY: accuracy[0] - accuracy[1],
        CORRUPTED_LOSS: loss[1] - loss[0],
    } | {
        quantity: cliffs_delta(*(mean_norms(*one, subset) for one in both))
        for quantity, subset in norms.items()
    }


def of_runs(long: Iterable[Run], tuned: Iterable[Run], norm: str, epochs: int) -> pd.DataFrame:
    """Return the effects of all pairs of runs under every matching, a row each: see COLUMNS.

    `long` are both arms at the shared learning rate, matched within their first `epochs` epochs and
    read after their last; `tuned` are runs of `epochs` epochs, each at the rate of its own arm.
    """
    rows = []

    def add(runs: Iterable[Run], matchings: dict[str, Callable[[Run, Run], Moments]]) -> None:
        for where, first, second in paired(runs, norm):
            for pair in zip(first, second, strict=True):
                for matching, moments in matchings.items():
                    key = where | {"sizes": sizes(pair[0]), "matching": matching}
                    key["unit"] = pair[0].config.seed
                    values = run_values(*pair, moments(*pair))
                    rows.extend(key | {"quantity": q, "value": v} for q, v in values.items())

    long = list(long)
    log = {LOG: lambda *pair: at_clean_loss(*pair, scale=np.log)}
    within = {FIXED: at_end, LOSS: at_clean_loss, **log, TEST: at_test_accuracy}
    add([until(run, epochs) for run in long], within)
    add(tuned, {TUNED: at_end, TUNED_LOSS: at_clean_loss})
    add(long, {LONG: at_end})
    return pd.DataFrame(rows)[COLUMNS]


def evidence(values: pd.DataFrame, matching: str, quantity: str) -> list[Evidence]:
    """Return the evidence for a quantity under a matching, a setting each; none may be there.

    Where it was found tells the sizes too.
    """
    chosen = values[(values.matching == matching) & (values.quantity == quantity)]
    interval = INTERVAL if quantity == AUC else Evidence.__dataclass_fields__["interval"].default
    return [
        replace(Evidence.from_gap(_where(key, part), mean_interval(part.value)), interval=interval)
        for key, part in chosen.groupby(list(SETTING), sort=False)
    ]


def _where(key: tuple, part: pd.DataFrame) -> dict[str, object]:
    return dict(zip(SETTING, key, strict=True)) | {"sizes": part["sizes"].iloc[0]}


def shares_left(values: pd.DataFrame) -> pd.DataFrame:
    """Return every gap with its interval, and what share of the gap at equal epochs it is.

    Columns: those of SETTING, quantity, matching, gap, share: both `stats.Gap`; the share is None
    where the gap at equal epochs is not clear of zero.
    """
    rows = []
    for key, part in values.groupby([*SETTING, "quantity"], sort=False):
        wide = part.pivot(index="unit", columns="matching", values="value")
        for matching in (name for name in (*MATCHINGS, *NEIGHBORS) if name in wide):
            gap = mean_interval(wide[matching].to_numpy())
            share = share_left(wide[matching], wide[FIXED])
            where = dict(zip((*SETTING, "quantity"), key, strict=True))
            rows.append(where | {"matching": matching, "gap": gap, "share": share})
    return pd.DataFrame(rows)


def share_left(gap: np.ndarray, whole: np.ndarray, level: float = LEVEL) -> Gap | None:
    """Return mean(gap) / mean(whole) over paired units, each [n], with Fieller's interval.

    None where the t interval of `whole` is not clear of zero, or for a single unit: then the ratio
    has no finite interval. Source: Fieller (1954), Journal of the Royal Statistical Society B 16.
    """
    gap, whole = np.asarray(gap, float), np.asarray(whole, float)
    n = len(whole)
    if n < 2:
        return None
    quantile = distributions.t.ppf((1 + level) / 2, n - 1) ** 2
    covariance = quantile * np.cov(gap, whole) / n
    over, under = gap.mean(), whole.mean()
    square = under**2 - covariance[1, 1]
    if square <= 0:
        return None
    middle = over * under - covariance[0, 1]
    root = np.sqrt(max(middle**2 - square * (over**2 - covariance[0, 0]), 0.0))
    low, high = (middle - root) / square, (middle + root) / square
    return Gap(float(over / under), float(low), float(high), n)


def joined(*values: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of several frames of effects as one frame."""
    return pd.concat(values, ignore_index=True)
