"""Runs trained as one stack of networks: what a GPU does while one small network leaves it idle.

Which images, labels, weights and batches each run has, and all that is measured, are those of the
run by itself (`train.Begun`), so that records have one form. The gradient of a sum of M losses is
each network's own gradient, and every optimizer here works on each weight alone.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from bn_memorization.config import TrainConfig
from bn_memorization.shadows import ShadowConfig
from bn_memorization.stacked import side_by_side, spread
from bn_memorization.train import Begun, descend, shuffled

MOST = 32  # networks in a stack: an interruption loses what the stack has done
ARCHITECTURES = ("lenet", "resnet8", "resnet18")
OWN = {TrainConfig: ("seed",), ShadowConfig: ("seed", "model")}  # what runs of a stack differ in


def groups(configs: Iterable[Hashable], most: int = MOST) -> Iterator[list]:
    """Yield the configs in groups that can be trained as one, in the order of their first.

    Those of a group differ in nothing but the seed and the number of the model, and are at most
    `most`. What cannot be stacked comes alone.
    """
    alike: dict[Hashable, list] = {}
    for config in configs:
        alike.setdefault(_shared(config), []).append(config)
    for group in alike.values():
        for start in range(0, len(group), most):
            yield group[start : start + most]


def _shared(config: Hashable) -> Hashable:
    if type(config) not in OWN or config.arch not in ARCHITECTURES:
        return config
    return replace(config, **dict.fromkeys(OWN[type(config)], 0))


def train_all(configs: Sequence, begin: Callable[[object], Begun]) -> list[object]:
    """Train the runs of a group; return, in order, each one's record or the error that ended it.

    `begin` is `train.begin` or `shadows.begin` for one config. A run that fails ends no other.
    Where the device has too little memory for all at once, they are trained in halves.
    """
    try:
        return _at_once(configs, begin)
    except torch.OutOfMemoryError as error:
        if len(configs) == 1:
            return [error]
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(configs) // 2
    tqdm.write(f"Too little memory for {len(configs)} models at once: in halves.", file=sys.stderr)
    return [*train_all(configs[:half], begin), *train_all(configs[half:], begin)]


def _at_once(configs: Sequence, begin: Callable[[object], Begun]) -> list[object]:
    ended: dict[int, object] = {}
    begun: dict[int, Begun] = {}
    for place, config in enumerate(configs):
        with _noted(ended, place):
            begun[place] = begin(config)
    # Halves of a pool of odd size differ by an image, and so do their batches.
    for shape in {run.x.shape for run in begun.values()}:
        _descend({p: run for p, run in begun.items() if run.x.shape == shape}, ended)
    return [ended[place] for place in range(len(configs))]


@contextmanager
def _noted(ended: dict[int, object], place: int) -> Iterator[None]:
    """Keep the error that ends the block, but for one that concerns the whole stack."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        ended[place] = error


def _descend(runs: dict[int, Begun], ended: dict[int, object]) -> None:
    """Train runs with as many images each, and put their records or errors into `ended`."""
    begun, count = list(runs.values()), len(runs)
    models = [run.model for run in begun]
    stack, config = side_by_side(models), begun[0].config

    def look(epoch: int) -> None:
        spread(stack, models)
        for place, run in runs.items():
            if place not in ended:
                with _noted(ended, place):
                    run.look(epoch)

    # A penalty is a mean over channels: the stack's is the mean of its networks', and not the sum.
    summed = replace(config, penalty_weight=count * config.penalty_weight)
    descend(stack, summed, _epochs(begun), _sum_of_losses, look)
    for place, run in runs.items():
        if place not in ended:
            with _noted(ended, place):
                ended[place] = run.finish()


def _epochs(begun: Sequence[Begun]) -> Callable[[], Iterator[tuple[Tensor, Tensor]]]:
    """Return what yields the batches of all runs side by side: x[B, M * C, H, W], y[M, B]."""
    x, y = torch.cat([run.x for run in begun]), torch.cat([run.y for run in begun])
    orders = [torch.Generator().manual_seed(run.config.seed) for run in begun]
    n, size = len(begun[0].y), begun[0].config.batch_size
    first = n * torch.arange(len(begun))[:, None]  # the row of each run's first image

    def epoch() -> Iterator[tuple[Tensor, Tensor]]:
        for rows in zip(*(shuffled(order, n, size) for order in orders), strict=True):
            where = (torch.stack(rows) + first).to(y.device)
            yield x[where].transpose(0, 1).flatten(1, 2), y[where]

    return epoch


def _sum_of_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Return the sum of M runs' mean losses, from logits[B, M * K] and labels[M, B]."""
    by_run = logits.view(y.shape[1], len(y), -1).transpose(0, 1)
    return F.cross_entropy(by_run.flatten(0, 1), y.flatten(), reduction="sum") / y.shape[1]
