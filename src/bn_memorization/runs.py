"""Train what is missing, read what is there: from configs to runs through the store."""

import os
import time
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from functools import cache

from tqdm import tqdm

from bn_memorization import data, machine, sample, store, train
from bn_memorization.config import TrainConfig
from bn_memorization.errors import Failure
from bn_memorization.executors import executor
from bn_memorization.train import Run

KIND = "train"
PROBES: tuple[train.Probe, ...] = ()
EXECUTOR_VARIABLE = "BN_MEMORIZATION_EXECUTOR"
ABANDONED_SECONDS = 3600  # no writer needs an hour between its first byte and its rename


@cache
def _dataset(name: str, source: str) -> data.Dataset:
    return data.load(name, source)


def address(config: TrainConfig) -> store.Address:
    """Return where the record of this config lies, given the data as they are."""
    sha256 = _dataset(config.dataset, config.source).sha256
    return store.Address(KIND, asdict(config), sha256, train.VERSION)


def run_one(config: TrainConfig, where: str) -> Run:
    """Return the run of one config, trained on the device `where` unless its record exists."""
    start = time.perf_counter()

    def compute() -> store.Arrays:
        dataset = _dataset(config.dataset, config.source)
        return train.fit(config, dataset, device=where, probes=PROBES).arrays

    def describe() -> dict:
        seconds = round(time.perf_counter() - start, 3)
        return {"seconds": seconds, **machine.describe(where)}

    arrays, meta = store.get_or_compute(address(config), compute, describe)
    return Run(config, arrays, meta)


def missing(configs: list[TrainConfig]) -> list[TrainConfig]:
    """Return the configs that have no record yet, each once, in order.

    Raises BadInput when a config does not fit its data set.
    """
    for config in configs:
        sample.check_size(config, _dataset(config.dataset, config.source))
    return [c for c in dict.fromkeys(configs) if not store.exists(address(c))]


def run_all(configs: list[TrainConfig], spec: str | None = None) -> list[Run]:
    """Return the runs of all configs in order, training those without a record.

    `spec` names the executor (see `executors.executor`); without it the environment's, or local.
    Each finished model is kept at once. Raises Failure, after the other models are done, naming
    the runs that failed.
    """
    where = machine.device()
    todo = missing(configs)
    if todo:
        store.sweep(time.time() - ABANDONED_SECONDS)
        _train(todo, spec or os.environ.get(EXECUTOR_VARIABLE, "local"), where, len(configs))
    return [run_one(config, where) for config in configs]


def _train(todo: list[TrainConfig], spec: str, where: str, total: int) -> None:
    failed: dict[TrainConfig, BaseException] = {}
    with (
        executor(spec) as pool,
        tqdm(total=total, initial=total - len(todo), unit="model", desc="training") as bar,
    ):
        try:
            futures = {pool.submit(run_one, config, where): config for config in todo}
            for future in as_completed(futures):
                if error := future.exception():
                    failed[futures[future]] = error
                bar.update()
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            left = len(missing(todo))
            raise Failure(
                f"Stopped with {left} models to train. Finished ones are kept: the same command "
                "goes on from there."
            ) from None
    if failed:
        raise _failure(failed, len(todo))


def _failure(failed: dict[TrainConfig, BaseException], of: int) -> Exception:
    config, error = next(iter(failed.items()))
    if isinstance(error, BrokenProcessPool):
        return Failure(
            "A training process was ended from outside (out of memory, or killed). Finished models "
            "are kept: the same command goes on from there; fewer processes (EXECUTOR=local:1) "
            "need less memory."
        )
    return Failure(f"{len(failed)} of {of} runs failed. The first, {config.describe()}: {error}")
