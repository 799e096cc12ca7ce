"""What the margin growth comes to: tables, sentences and evidence of chapter 4."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bn_memorization.judging import Evidence

TOLD_AS = {
    "exact_convolution": "That the fixed form is nearly exact in convolutions",
    "exact_outliers": "That corrupted samples lose more than clean ones in fully connected layers",
}
POWERS = (0.0, 1.0, 1.99, 2.0, 2.01)
AGREEMENT = ["rank correlation", "median measured / predicted", "5 % point", "95 % point"]


def agreement(by_layer: pd.DataFrame, by_sample: pd.DataFrame) -> pd.DataFrame:
    """Return how well predicted growth agrees with each measurement, a row each.

    Columns: measured, n, AGREEMENT (Spearman's correlation; quantiles of measured / predicted).
    """
    pairs = {
        f"own step, weights before BN layer {layer}": (part.predicted, part.measured)
        for layer, part in by_layer.groupby("layer")
    }
    pairs["own step, all parameters"] = (by_sample.predicted, by_sample.whole)
    for subset, part in by_sample.groupby("subset", sort=False):
        pairs[f"training step, {subset} samples"] = (part.predicted, part.changed)
    rows = []
    for measured, (first, second) in pairs.items():
        quantiles = np.quantile(second / first, [0.5, 0.05, 0.95])
        rows.append((measured, len(first), spearmanr(first, second)[0], *quantiles))
    return pd.DataFrame(rows, columns=["measured", "n", *AGREEMENT])


def factors(by_layer: pd.DataFrame) -> str:
    """Tell the predicted factor of each layer."""
    ranges = by_layer.groupby("layer").factor.agg(["min", "max"])
    parts = [f"{low:.2f} to {high:.2f} at layer {n}" for n, low, high in ranges.itertuples()]
    below = int((ranges["max"] < 1).sum())
    return (
        f"Over samples, the predicted factor is {'; '.join(parts)}. In {below} of {len(ranges)} "
        "layers it is below one for every sample: there BN slows the fitting by these weights down."
    )


def remark(by_layer: pd.DataFrame, by_sample: pd.DataFrame) -> str:
    """Return the end of a sentence on how far the formula carries in a trained network."""
    own = float((by_layer.measured / by_layer.predicted).median())
    corrupted = by_sample[by_sample.subset == "corrupted"]
    step = float((corrupted.changed / corrupted.predicted).median())
    return (
        f"a step on one sample and one layer gives {own:.2f} times the predicted growth, and a "
        f"training step on a batch moves the margins of corrupted samples by {step:.2f} times it "
        "(medians)."
    )


def wrong_powers(check: pd.DataFrame, powers: Sequence[float] = POWERS) -> pd.DataFrame:
    """Return the largest relative error with other powers of |gamma/sigma| in place of the square.

    `check` is that of `growth.check_against_autograd`: a power that is off must show.
    """
    ratio = check.gamma_over_sigma.abs()
    rows = []
    for power in powers:
        off = (check.measured - check.predicted * ratio ** (power - 2)).abs() / check.measured.abs()
        rows.append((f"{power:g}", float(off.max())))
    return pd.DataFrame(rows, columns=["power", "largest relative error"])


def whole_range(check: pd.DataFrame, where: Mapping[str, object]) -> list[Evidence]:
    """Return the largest relative error of a check, with the range over its cases."""
    error = check.relative_error
    ends = (float(error.max()), float(error.min()), float(error.max()))
    return [Evidence(where, *ends, len(error), "range over all cases")]


def exact_answer(check: pd.DataFrame, frame: pd.DataFrame, words: Mapping[str, str]) -> str:
    """Return what moving statistics change, in plain sentences.

    `words` maps the keys of the controls that were judged to their verdicts as readers see them;
    `check` and `frame` are those of `growth_exact.check_exact` and of `exact_trained.by_batches`.
    """
    text = (
        "With statistics that move with the batch, as in training, the factor is multiplied by "
        f"|x − mean(x) − z·mean(zx)|²/|x|² (derived, and on {len(check)} random batches equal to "
        f"autograd up to {check.relative_error.max():.1e}), which falls to zero where z² nears its "
        "bound m − 1. Corrupted samples of a trained network (medians): "
    )
    parts = [
        f"in {kind} layers |z| is {part.z.median():.1f} and its bound {bound:.1f} or more, own "
        f"terms leave {part.room.median():.2f} of the growth, and mean and variance together "
        f"{part.correction.median():.2f}"
        for kind, part in frame[frame.subset == "corrupted"].groupby("kind")
        for bound in [np.sqrt(part.m.min() - 1)]
    ]
    text += "; ".join(parts) + ". "
    for key, word in words.items():
        text += f"{TOLD_AS[key]}: {word}. "
    return text.rstrip()


def all_layers(frame: pd.DataFrame) -> str:
    """Tell the medians of `exact_trained.all_move` by layer."""
    medians = frame.groupby("layer")[["one", "all"]].median()
    parts = [f"{one:.2f} and {every:.2f} at layer {n}" for n, one, every in medians.itertuples()]
    return (
        f"By autograd, for {frame['sample'].nunique()} corrupted samples of the first network "
        "(medians), with one layer's statistics moving and with those of every layer: "
        f"{'; '.join(parts)}."
    )
