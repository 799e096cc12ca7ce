"""rho = |gamma| |w| / sigma through training: what of gamma/sigma is the size of the weights.

log(gamma/sigma) = log rho - log |w|, channel by channel, so that a change of the one falls into
changes of the two others. The unit is the trained model.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from torch import Tensor, nn

from bn_memorization.config import SETTING, TrainConfig
from bn_memorization.control_claims import told
from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.ratios import batch_sigma
from bn_memorization.report import MINUS, between, setting, span
from bn_memorization.stats import mean_interval
from bn_memorization.train import Run
from bn_memorization.trained_ratios import ONE, ratios

START_IMAGES = 256  # enough for sigma of a network that has learned nothing yet
QUANTITIES = ("ratio", "rho")
QUARTILES = ("low", "median", "high")


@dataclass(frozen=True)
class Path:
    """The BN channels of one run that are fed by weights of their own, through training.

    `layer[C]` from 1; `ratio[E + 1, C]` is |gamma|/sigma and `size[E + 1, C]` is |w|. Row 0 is the
    network before training, with batch sigma, later ones have the running one. `left_out` counts
    the channels without weights of their own.
    """

    config: TrainConfig
    layer: np.ndarray
    ratio: np.ndarray
    size: np.ndarray
    left_out: int

    @property
    def rho(self) -> np.ndarray:
        """Return |gamma| |w| / sigma, float64[E + 1, C]."""
        return self.ratio * self.size

    @property
    def where(self) -> dict[str, object]:
        """Return SETTING and seed."""
        return {name: getattr(self.config, name) for name in (*SETTING, "seed")}


def follow(run: Run, untrained: nn.Module, x: Tensor) -> Path:
    """Return a run's path; `untrained` is the network it started from, x its training images.

    Sigma before training is that of the first START_IMAGES of x[N, ...] as one batch. Raises
    BadInput, naming the run, when it has no BN or no channel has weights of its own.
    """
    ratio, size = ratios(run), run.arrays["weight_norm"].astype(float)
    ratio[0] = np.abs(run.arrays["gamma"][0]) / batch_sigma(untrained, x[:START_IMAGES])
    own = np.isfinite(size[0])
    if not own.any():
        raise BadInput(
            f"{run.config.describe()}: no BN channel is fed by one weighted layer alone, so that "
            "there is no |w|. Choose another architecture."
        )
    layer = run.arrays["bn_layer"][-1].astype(int)
    return Path(run.config, layer[own], ratio[:, own], size[:, own], int((~own).sum()))


def changes(paths: Iterable[Path]) -> pd.DataFrame:
    """Return the change of each channel's logs from start to end, a row a channel and run.

    Columns: SETTING, seed, layer, the natural logs ratio, rho and size, end minus start, of which
    ratio is rho minus size; and later, the log of rho at the end minus after the first epoch.
    """
    return pd.concat(
        [
            pd.DataFrame(
                {**path.where, "layer": path.layer}
                | {n: _change(getattr(path, n)) for n in (*QUANTITIES, "size")}
                | {"later": _change(path.rho[1:])}
            )
            for path in paths
        ],
        ignore_index=True,
    )


def _change(values: np.ndarray) -> np.ndarray:
    return np.log(values[-1] / values[0])


def grown(frame: pd.DataFrame) -> float:
    """Return the share of one model's channels whose rho grew, from its rows of `changes`."""
    return float((frame.rho > 0).mean())


def by_scale(frame: pd.DataFrame) -> float:
    """Return how much of one model's change is one of |w|, in [0, 1], from its `changes`.

    The sizes of the changes of log |w|, summed over channels, over those of log |w| and log rho.
    """
    size, rho = frame["size"].abs().sum(), frame.rho.abs().sum()
    return float(size / (size + rho))


def evidence(changed: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> list[Evidence]:
    """Return each setting's mean of a statistic of one model's `changes`, over trained models."""
    found = []
    for values, frame in changed.groupby(list(SETTING), sort=False):
        models = [statistic(model) for _, model in frame.groupby("seed")]
        where = dict(zip(SETTING, values, strict=True))
        found.append(Evidence.from_gap(where, mean_interval(models)))
    return found


def parts(changed: pd.DataFrame) -> pd.DataFrame:
    """Return the mean change of log gamma/sigma and its two parts, a row a setting.

    Columns: setting, the means over a model's channels and then over models of the changes of log
    gamma/sigma, of log rho and of minus log |w|, the last two of which add up to the first; of the
    shares of channels whose rho grew since the start and since the first epoch; and n.
    """
    key = [*SETTING, "seed"]
    signs = {"since start": changed.rho > 0, "since epoch 1": changed.later > 0}
    parts = [*QUANTITIES, "size", *signs]
    means = changed.assign(**signs).groupby(key, sort=False)[parts].mean()
    grouped = means.assign(size=-means["size"]).groupby(list(SETTING), sort=False)
    names = {"ratio": "log γ/σ", "rho": "log γ|w|/σ", "size": f"{MINUS}log |w|"}
    names |= {sign: f"grew {sign}" for sign in signs}
    frame = grouped.mean().rename(columns=names).assign(n=grouped.size()).reset_index()
    where = [setting(row) for row in frame[list(SETTING)].to_dict("records")]
    frame.insert(0, "setting", where)
    return frame.drop(columns=list(SETTING))


def through_training(paths: Iterable[Path]) -> pd.DataFrame:
    """Return medians by layer after each epoch, averaged in logs over the models of a network.

    Columns: dataset, arch, quantity (of QUANTITIES), layer, epoch (0 is before training), and low,
    median, high: the quartiles over a layer's channels.
    """
    rows = []
    for path in paths:
        for quantity in QUANTITIES:
            for layer in np.unique(path.layer):
                values = np.log(getattr(path, quantity)[:, path.layer == layer])
                quartiles = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
                where = {"dataset": path.config.dataset, "arch": path.config.arch}
                where |= {"quantity": quantity, "layer": layer, "epoch": np.arange(len(values))}
                rows.append(pd.DataFrame(where | dict(zip(QUARTILES, quartiles, strict=True))))
    key = ["dataset", "arch", "quantity", "layer", "epoch"]
    means = pd.concat(rows).groupby(key, sort=False)[list(QUARTILES)].mean()
    return np.exp(means).reset_index()


def by_layer(paths: Sequence[Path]) -> pd.DataFrame:
    """Return start and end, a row a data set, architecture and layer, and one for all layers.

    Columns: dataset, arch, layer ("all" in the last row of a network), medians of gamma/sigma and
    rho at both ends, the median of |w| at the end over the start, the shares of channels with
    gamma/sigma above 1 at both ends, and of those on the same side of 1 at both. Taken within a
    model, then averaged over the models.
    """
    rows = [row for path in paths for row in _ends(path)]
    key = ["dataset", "arch", "layer"]
    return pd.DataFrame(rows).groupby(key, sort=False).mean().reset_index()


def _ends(path: Path) -> list[dict]:
    rows = []
    for layer in [*np.unique(path.layer), "all"]:
        chosen = np.full(path.layer.shape, True) if layer == "all" else path.layer == layer
        ratio, rho, size = (part[:, chosen] for part in (path.ratio, path.rho, path.size))
        above = ratio > ONE
        rows.append(
            {"dataset": path.config.dataset, "arch": path.config.arch, "layer": str(layer)}
            | {"γ/σ, start": np.median(ratio[0]), "γ/σ, end": np.median(ratio[-1])}
            | {"γ|w|/σ, start": np.median(rho[0]), "γ|w|/σ, end": np.median(rho[-1])}
            | {"|w|, end/start": np.median(size[-1] / size[0])}
            | {"above 1, start": above[0].mean(), "above 1, end": above[-1].mean()}
            | {"same side": (above[0] == above[-1]).mean()}
        )
    return rows


def coverage(paths: Sequence[Path]) -> str:
    """Return a sentence on the channels that have no weights of their own, by architecture."""
    models = {path.config.arch: path for path in paths}.values()
    parts = [
        f"{path.left_out} of {path.left_out + len(path.layer)} in {path.config.arch}"
        for path in models
        if path.left_out
    ]
    if not parts:
        return "Every BN channel here is fed by one weighted layer alone, so none is left out."
    return f"Left out are channels not fed by one weighted layer alone: {', '.join(parts)}."


def answer(grows: Verdict, scale: Verdict, layers: pd.DataFrame) -> str:
    """Return the answer of the first half in plain sentences; `layers` is that of `by_layer`."""
    same = layers[layers.layer == "all"]["same side"]
    return (
        f"The invariant ratio γ|w|/σ grew over training in a share of "
        f"{span(grows.evidence, 'share')} of the channels (in most: {_told(grows)}). The size of "
        f"the weights makes {span(scale.evidence, 'share')} of the change of log γ/σ (less than "
        f"half: {_told(scale)}), and {between(same.min(), same.max(), 'share')} of the channels "
        "end on the side of γ/σ = 1 on which initialization put them."
    )


def _told(verdict: Verdict) -> str:
    return told(verdict.claim.key, verdict.word)
