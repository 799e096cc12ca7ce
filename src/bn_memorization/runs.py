"""Train what is missing, read what is there: from configs to runs through the store."""

import os
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass

import torch
from torch import nn

from bn_memorization import machine, planning, sample, store, together, train, training
from bn_memorization.audit_runs import AuditShadow
from bn_memorization.config import ModelConfig, TrainConfig
from bn_memorization.errors import BadInput, Failure
from bn_memorization.executors import WrongWorker, executor, make_deterministic
from bn_memorization.progress import Progress
from bn_memorization.run_kinds import (
    KINDS,
    Config,
    address,
    compute,
    compute_together,
    dataset,
)
from bn_memorization.shadows import Shadow
from bn_memorization.train import Run

EXECUTOR_VARIABLE = "BN_MEMORIZATION_EXECUTOR"
Made = tuple[store.Arrays, dict] | BaseException  # what a worker gives back of a run


@dataclass(frozen=True)
class Ended:
    """A run that is over: kept, after so many seconds in a worker, or failed with an error."""

    config: Config
    seconds: float = 0.0
    error: BaseException | None = None


def trained_model(config: TrainConfig) -> tuple[nn.Module, sample.Sample]:
    """Return the network that a config trains, in eval mode, and the sample it was trained on.

    For what a run's measurements cannot answer. A shorter config gives the same network after fewer
    epochs. The parameters and buffers are kept as a record of their own; without one, the network
    is trained here and now. From here on torch uses one thread, as in a worker. Raises Failure,
    naming the run, when its loss stops being finite.
    """
    make_deterministic()
    where = machine.device()
    drawn = sample.draw(config, dataset(config), torch.device(where))
    model = train.new_model(config, dataset(config), torch.device(where))
    arrays = run_one(ModelConfig(**asdict(config))).arrays
    model.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    return model.eval(), drawn


def run_one(config: Config) -> Run | Shadow | AuditShadow:
    """Return the run of one config, trained here and now unless its record exists."""
    details: dict = {}

    def arrays_alone() -> store.Arrays:
        arrays, facts = compute(config, dataset(config).sha256)
        details.update(facts)
        return arrays

    arrays, meta = store.get_or_compute(address(config), arrays_alone, lambda: details)
    return KINDS[type(config)].record(config, arrays, meta)


def check(configs: list[Config]) -> None:
    """Raise BadInput when a config does not fit its data set, or that cannot be read."""
    for config in configs:
        KINDS[type(config)].check_size(config, dataset(config))


def missing(configs: list[Config]) -> list[Config]:
    """Return the configs that have no record yet, each once, in order.

    Raises BadInput as `check` does.
    """
    check(configs)
    return [c for c in dict.fromkeys(configs) if not store.exists(address(c))]


def run_all(
    configs: list[Config], spec: str | None = None
) -> list[Run] | list[Shadow] | list[AuditShadow]:
    """Return the runs of all configs in order, training those without a record.

    Raises Failure, after the other models are done, naming the runs that failed, and as
    `train_missing` does.
    """
    todo = missing(configs)
    ended = list(train_missing(todo, len(configs), spec))
    failed = {run.config: run.error for run in ended if run.error}
    if failed:
        raise failure(failed, len(todo)) from next(iter(failed.values()))
    return [run_one(config) for config in configs]


def train_missing(todo: list[Config], of: int, spec: str | None = None) -> Iterator[Ended]:
    """Train the runs in `todo`, of `of` wanted in all, and yield each when it is kept or failed.

    `spec` names the executor (see `executors.executor`); without it the environment's, or local.
    Workers compute and this process writes, each run at once. Ctrl-C lets the runs at work finish
    and keeps them; then Failure is raised, and at once when a record cannot be written or a worker
    has other code.
    """
    machine.device()  # a wrong one is told before anything starts
    if not todo:
        return
    store.sweep()
    found: list[Config] = []  # kept by another process since
    with (
        executor(spec or os.environ.get(EXECUTOR_VARIABLE, "local")) as pool,
        Progress(of, len(todo), sum(map(planning.work, todo))) as progress,
        training.first_interrupt() as stop,
    ):

        def submit(group: list[Config]) -> Future:
            return pool.submit(*_call(group))

        try:
            for group, future in training.follow(pool, submit, _still_missing(todo, found), stop):
                for config, made in zip(group, _made(group, future), strict=True):
                    ended = _kept(config, made)
                    progress.note(planning.work(config), failed=ended.error is not None)
                    yield ended
        except KeyboardInterrupt:
            stop.set()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        for config in found:
            progress.note(planning.work(config))
            yield Ended(config)
    if stop.is_set() and (left := len(missing(todo))):
        raise Failure(
            f"Stopped with {left} models to train. Finished ones are kept: the same command "
            "goes on from there."
        )


def _still_missing(todo: list[Config], found: list[Config]) -> Iterator[list[Config]]:
    """Yield what is to be trained in one call: a run, or on CUDA many that are much alike."""
    stacks = together.groups(todo) if machine.device() == "cuda" else ([c] for c in todo)
    for group in stacks:
        there = [config for config in group if store.exists(address(config))]
        found.extend(there)
        if left := [config for config in group if config not in there]:
            yield left


def _call(group: list[Config]) -> tuple:
    sha256 = dataset(group[0]).sha256
    if len(group) == 1:
        return compute, group[0], sha256
    return compute_together, group, sha256


def _made(group: list[Config], future: Future) -> list[Made]:
    """Return what became of each run of a call."""
    if error := future.exception():
        return [error] * len(group)
    return [future.result()] if len(group) == 1 else future.result()


def _kept(config: Config, made: Made) -> Ended:
    try:
        if isinstance(made, BaseException):
            raise made
        arrays, details = made
        store.write(address(config), arrays, details)
    except (store.CannotWrite, WrongWorker):  # there is no use in going on
        raise
    except Exception as error:
        return Ended(config, error=error)
    return Ended(config, details["seconds"])


def failure(failed: Mapping[Config, BaseException], of: int) -> Failure:
    """Return what to tell of the runs that failed, of `of` that were trained."""
    config, error = next(iter(failed.items()))
    return Failure(
        f"{len(failed)} of {of} runs failed. The first, {config.describe()}: {_told(error)}"
    )


def _told(error: BaseException) -> str:
    if isinstance(error, BadInput | Failure):
        return str(error)
    # On the CPU torch says it in the words of a RuntimeError.
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error):
        return (
            f"out of memory ({str(error).partition(chr(10))[0]}). Fewer processes "
            "(EXECUTOR=local:1), a smaller batch_size or fewer images need less. Finished models "
            "are kept."
        )
    # Nobody foresaw it, so say where it happened.
    return "".join(traceback.format_exception(error)).rstrip()
