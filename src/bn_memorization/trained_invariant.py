"""rho = |gamma| |w| / sigma through training: what of gamma/sigma is the size of the weights.

log(gamma/sigma) = log rho - log |w|, channel by channel, so that a change of the one falls into
changes of the two others. A share of the movement sums the sizes of both over channels; a net share
is one of the mean change, where signs may cancel. The unit is the trained model.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from torch import Tensor, nn

from bn_memorization.config import SETTING, TrainConfig
from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence
from bn_memorization.ratios import batch_sigma
from bn_memorization.stats import mean_interval, share_interval
from bn_memorization.train import Run
from bn_memorization.trained_ratios import ratios

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
    """Return the share of one model's movement that is one of |w|, in [0, 1], from its `changes`.

    The sizes of the changes of log |w|, summed over channels, over those of log |w| and log rho.
    Signs have no part in it: where changes of log rho cancel between channels, the share of |w| in
    the net change may be far larger.
    """
    size, rho = frame["size"].abs().sum(), frame.rho.abs().sum()
    return float(size / (size + rho))


def evidence(changed: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> list[Evidence]:
    """Return each setting's mean of a statistic of one model's `changes`, over trained models.

    The statistic is a share: its t interval is cut at 0 and 1.
    """
    found = []
    for values, frame in changed.groupby(list(SETTING), sort=False):
        models = [statistic(model) for _, model in frame.groupby("seed")]
        where = dict(zip(SETTING, values, strict=True))
        found.append(Evidence.from_gap(where, share_interval(models)))
    return found


def quotient(above: ArrayLike, below: ArrayLike) -> float:
    """Return the mean of above[n] over the mean of below[n], each with one number a trained model.

    NaN where the 95 % t interval of below's mean is none or reaches zero: then any share could be.
    """
    gap = mean_interval(below)
    clear = gap.low > 0 or gap.high < 0
    return float(np.mean(above) / gap.estimate) if clear else float("nan")


def through_training(paths: Iterable[Path]) -> pd.DataFrame:
    """Return medians by layer after each epoch, averaged in logs over the models of a network.

    Columns: dataset, arch, quantity (of QUANTITIES), layer, epoch (0 is before training), and low,
    median, high: the quartiles over a layer's channels; n, the number of models.
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
    models = pd.concat(rows).groupby(key, sort=False)[list(QUARTILES)]
    return np.exp(models.mean()).assign(n=models.size()).reset_index()
