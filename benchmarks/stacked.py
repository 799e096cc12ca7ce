"""Many shadow models trained as one stack, against one after another: on a GPU, and on the CPU."""

import time
from collections.abc import Callable, Iterator

import torch

from benchmarks import measure
from bn_memorization import data, shadows, together, train
from bn_memorization.config import TrainConfig
from bn_memorization.shadows import ShadowConfig
from bn_memorization.stack_speed import NETWORKS, TARGET, TOLERANCE

NORMS = ("batch", "none", "group", "affine")
WAYS = ("a stack", "one after another")


def configs(networks: int, pool: int, epochs: int, norm: str = "batch") -> list[ShadowConfig]:
    """Return the shadow models that both ways train: LeNets on halves of one pool."""
    shared = {
        "dataset": "fashion_mnist", "source": "embedded", "pool_size": pool, "eval_size": 500,
        "arch": "lenet", "norm": norm, "corruption": "flip", "noise_rate": 0.05, "seed": 0,
        "epochs": epochs, "moments": 1, "batch_size": 64, "optimizer": "sgd", "lr": 0.02,
        "momentum": 0.9, "weight_decay": 0.0,
    }  # fmt: skip
    return [ShadowConfig(**shared, model=model) for model in range(networks)]


def compared(where: str, networks: int, pool: int, epochs: int, repeats: int) -> dict:
    """Return a line: both ways in turns after a warm-up, on the device `where`."""
    group, images = configs(networks, pool, epochs), data.load("fashion_mnist", "embedded")
    ways: dict[str, Callable[[], object]] = {
        WAYS[0]: lambda: together.train_all(
            group, lambda config: shadows.begin(config, images, device=where)
        ),
        WAYS[1]: lambda: [shadows.fit(config, images, device=where) for config in group],
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(repeats + 1):
        for way, work in ways.items():
            start = time.perf_counter()
            work()  # its results come back to the CPU, so the device is done when it returns
            if turn:
                seconds[way].append(time.perf_counter() - start)
    return measure.compared(
        f"{networks} LeNets as one stack", WAYS[1], *seconds.values(), target=TARGET,
        where=where, networks=networks,
    )  # fmt: skip


def difference(networks: int, pool: int, epochs: int) -> float:
    """Return the largest difference of a logit after a whole training, in both ways on the CPU.

    Relative to the largest of 1 and the logit. In float64: in float32 every step makes any rounding
    larger, that of another layout in memory as well.
    """
    images, where = data.load("fashion_mnist", "embedded"), torch.device("cpu")

    def begin(recipe: TrainConfig) -> train.Begun:
        sample = train.draw(recipe, images, where)
        model, x = train.new_model(recipe, images, where).double(), sample.x.double()
        return train.Begun(
            model, x, sample.y, recipe, lambda epoch: None, lambda: shadows.query(model, x)
        )

    worst = 0.0
    for norm in NORMS:
        recipes = [config.recipe for config in configs(networks, pool, epochs, norm)]
        for recipe, found in zip(recipes, together.train_all(recipes, begin), strict=True):
            alone = begin(recipe)
            train.optimize(alone.model, alone.x, alone.y, recipe, alone.look)
            worst = max(worst, measure.difference(found, alone.finish()))
    return worst


def run(
    networks: int = NETWORKS, pool: int = 1024, epochs: int = 2, repeats: int = measure.REPEATS
) -> Iterator[dict]:
    """Return the line of a GPU, or that there is none, and the line of the CPU."""
    if torch.cuda.is_available():
        yield compared("cuda", networks, pool, epochs, repeats)
    else:
        yield {"where": "cuda", "networks": networks}
    line = compared("cpu", networks, pool, epochs, repeats)
    # Nothing chooses it there, so that there is nothing to reach.
    line["times"] = line.pop("ratio")
    yield line | {
        "error": difference(min(networks, 4), min(pool, 512), epochs),
        "tolerance": TOLERANCE,
    }
