"""Where the time of a training step of a LeNet goes."""

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from benchmarks import training
from bn_memorization import data, executors, train
from bn_memorization.config import TrainConfig

STEPS = 50  # profiled, after as many that are not
EVALUATED = 500  # images a subset, as in the quick book
# What torch calls its work, by part; the first part with a word in a name takes it.
PARTS = {
    "convolutions": ("conv",),
    "normalization": ("batch_norm",),
    "pooling": ("pool",),
    "linear layers": ("addmm", "aten::mm"),
    "activations": ("relu", "threshold", "clamp"),
    "loss": ("softmax", "nll_loss"),
    "optimizer": ("foreach", "optimizer"),
    "drawing a batch": ("index", "split"),
}
ELSE, CALLS = "other work of torch", "Python and calls of torch"
EVALUATION = "evaluation, a step's share of an epoch's"


def stepper(settings: TrainConfig, images: data.Dataset) -> Callable[[], None]:
    """Return what does one step of training, as `train.optimize` does it."""
    sample = train.draw(settings, images, torch.device("cpu"))
    model = train.new_model(settings, images, torch.device("cpu")).train()
    optimizer = train.make_optimizer(settings, model)
    rows = torch.arange(settings.batch_size)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(sample.x[rows]), sample.y[rows]).backward()
        optimizer.step()

    return step


def part_of(name: str) -> str:
    """Return the part of a step that an operation of torch belongs to."""
    found = (part for part, words in PARTS.items() if any(w in name.lower() for w in words))
    return next(found, ELSE)


def run(steps: int = STEPS) -> Iterator[dict]:
    """Return a line for each part: its seconds a step and its share of the step.

    Shares are those under the profiler, whose own cost is counted with Python's. Seconds are these
    shares of a step without it.
    """
    executors.make_deterministic()
    settings = replace(training.config("lenet", "mnist", 4096, 1), eval_size=EVALUATED)
    images = data.load(settings.dataset, "embedded")
    step = stepper(settings, images)
    whole = _seconds(step, steps)
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        slowed = time.perf_counter() - start
    parts = dict.fromkeys([*PARTS, ELSE], 0.0)
    for event in watched.key_averages():
        parts[part_of(event.key)] += whole * event.self_cpu_time_total / 1e6 / slowed
    parts[CALLS] = whole - sum(parts.values())
    parts[EVALUATION] = _evaluation(settings, images)
    for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        yield {"part": part, "seconds": seconds, "share": seconds / (whole + parts[EVALUATION])}


def _evaluation(settings: TrainConfig, images: data.Dataset) -> float:
    """Return the seconds of one evaluation, over the steps of an epoch."""
    sample = train.draw(settings, images, torch.device("cpu"))
    model = train.new_model(settings, images, torch.device("cpu"))
    taken = _seconds(functools.partial(train.measure, model, sample.subsets), 3)
    return taken / (settings.train_size / settings.batch_size)


def _seconds(work: Callable[[], object], times: int) -> float:
    """Return the mean seconds of a work that was done as often before."""
    for _ in range(times):
        work()
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times
