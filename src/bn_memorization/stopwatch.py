"""How long this device takes for a step of training and for a look at an image: a measurement.

On random images and labels, since times do not depend on what is in them.
"""

import time
from collections.abc import Callable, Iterable
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization import models
from bn_memorization.executors import make_deterministic
from bn_memorization.planning import Network, Times

SECONDS = 60.0  # for all networks together; one slow step may take longer
REPEATS = 7
CLASSES = 10
# Two batch sizes that tell the time of a step from that of an image. A GPU needs larger ones, or it
# is not busy.
BATCHES = {"cpu": (8, 32), "cuda": (32, 256), "mps": (32, 256)}


def measure(
    networks: Iterable[Network], where: str, budget: float = SECONDS
) -> dict[Network, Times]:
    """Return the times of every network on the device `where`, with one thread, as in a worker.

    Medians of some repetitions, of fewer where `budget` seconds would not do.
    """
    make_deterministic()
    left, end = sorted(set(networks)), time.perf_counter() + budget
    found = {}
    while left:
        network = left.pop(0)
        share = max(0.0, end - time.perf_counter()) / (len(left) + 1)
        found[network] = _times(network, torch.device(where), share)
    return found


def _times(network: Network, where: torch.device, budget: float) -> Times:
    model = models.build(
        network.arch,
        network.norm,
        in_channels=network.channels,
        image_size=network.image_size,
        classes=CLASSES,
        seed=0,
    ).to(where, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, 0.9)
    few, many = BATCHES[where.type]
    x = _images(network, many, where)
    y = torch.arange(many, device=where) % CLASSES

    def train(count: int) -> Callable[[], None]:
        return lambda: _train(model, x[:count], y[:count], optimizer)

    short = _median(train(few), where, budget * 0.2)
    long = _median(train(many), where, budget * 0.6)
    look = _median(lambda: _look(model, x), where, budget * 0.2)
    image = max(0.0, (long - short) / (many - few))
    return Times(max(0.0, short - few * image), image, look / many)


def _images(network: Network, count: int, where: torch.device) -> Tensor:
    shape = (count, network.channels, network.image_size, network.image_size)
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    return drawn.to(where, memory_format=torch.channels_last)


def _train(model: nn.Module, x: Tensor, y: Tensor, optimizer: torch.optim.Optimizer) -> None:
    model.train()
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


@torch.inference_mode()
def _look(model: nn.Module, x: Tensor) -> None:
    model.eval()
    model(x)


def _median(call: Callable[[], None], where: torch.device, budget: float) -> float:
    """Return the median time of some calls; the first, which warms up, counts only alone."""
    times, start = [], time.perf_counter()
    while len(times) <= REPEATS and (not times or time.perf_counter() - start < budget):
        before = time.perf_counter()
        call()
        if where.type == "cuda":
            torch.cuda.synchronize(where)
        elif where.type == "mps":
            torch.mps.synchronize()
        times.append(time.perf_counter() - before)
    return median(times[1:] or times)
