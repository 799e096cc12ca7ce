"""The runs each chapter needs, as a function of its parameters.

The chapter's runner trains them before the notebook opens, with a progress bar in the terminal;
the notebook asks for the same list and finds every record there.
"""

from collections.abc import Callable, Mapping
from itertools import product

from bn_memorization.config import TrainConfig
from bn_memorization.models import PLAIN

SHARED = (
    "source",
    "train_size",
    "eval_size",
    "arch",
    "epochs",
    "batch_size",
    "optimizer",
    "lr",
    "momentum",
    "weight_decay",
)


def forced_memorization(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return both arms of every data set, noise rate and seed: `norm` and plain, side by side."""
    shared = {name: parameters[name] for name in SHARED}
    grid = product(parameters["dataset"], parameters["noise_rate"], range(parameters["seeds"]))
    return [
        TrainConfig(dataset=dataset, noise_rate=rate, seed=seed, norm=norm, **shared)
        for dataset, rate, seed in grid
        for norm in (parameters["norm"], PLAIN)
    ]


def none(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return no run: the chapter trains nothing."""
    return []


CHAPTERS: dict[str, Callable[[Mapping], list[TrainConfig]]] = {
    "01_forced_memorization": forced_memorization,
    "04_margin_growth": none,
}
