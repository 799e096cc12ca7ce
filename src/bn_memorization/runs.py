"""Train what is missing, read what is there: from configs to runs through the store."""

import os
import time
import traceback
from collections.abc import Callable
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cache

import torch
from torch import nn
from tqdm import tqdm

from bn_memorization import (
    audit_runs,
    data,
    gradnorm,
    machine,
    private,
    ratios,
    sample,
    shadows,
    store,
    train,
)
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, AuditShadow
from bn_memorization.config import ModelConfig, TrainConfig
from bn_memorization.corrupt import OOD
from bn_memorization.errors import BadInput, Failure
from bn_memorization.executors import executor, make_deterministic
from bn_memorization.foreign import FOREIGN, with_foreign
from bn_memorization.private import PrivateConfig
from bn_memorization.shadows import Shadow, ShadowConfig
from bn_memorization.train import Run

KIND = "train"
SHADOW_KIND = "shadow"
MODEL_KIND = "model"  # a trained network itself, its state dict as plain arrays
PRIVATE_KIND = "private"
AUDIT_KIND = "audit"
PROBES: tuple[train.Probe, ...] = (gradnorm.probe, ratios.probe)
EXECUTOR_VARIABLE = "BN_MEMORIZATION_EXECUTOR"
ABANDONED_SECONDS = 3600  # no writer needs an hour between its first byte and its rename

Config = TrainConfig | ShadowConfig | AuditConfig
Data = data.Dataset | Images


@dataclass(frozen=True)
class Kind:
    """What the configs of one type come to: the folder of their records, and how they are made."""

    folder: str
    version: Callable[[], int]
    data: Callable[[Config], Data]
    check_size: Callable[[Config, Data], None]
    compute: Callable[[Config, Data, str], store.Arrays]
    record: type


@cache
def _dataset(name: str, source: str) -> data.Dataset:
    return data.load(name, source)


def _named_data(config: TrainConfig | ShadowConfig) -> data.Dataset:
    found = _dataset(config.dataset, config.source)
    if config.corruption == OOD:
        return with_foreign(found, _dataset(FOREIGN[config.dataset], config.source))
    return found


def _train_arrays(config: TrainConfig, dataset: data.Dataset, where: str) -> store.Arrays:
    return train.fit(config, dataset, device=where, probes=PROBES).arrays


def _shadow_arrays(config: ShadowConfig, dataset: data.Dataset, where: str) -> store.Arrays:
    return shadows.fit(config, dataset, device=where).arrays


def _private_arrays(config: PrivateConfig, dataset: data.Dataset, where: str) -> store.Arrays:
    return private.fit(config, dataset, device=where).arrays


def _model_arrays(config: ModelConfig, dataset: data.Dataset, where: str) -> store.Arrays:
    drawn = sample.draw(config, dataset, torch.device(where))
    model = train.new_model(config, dataset, torch.device(where))

    def look(epoch: int) -> None:
        losses = [loss for loss, _ in train.measure(model, drawn.subsets).values()]
        train.check_finite(losses, epoch, config)

    train.optimize(model, drawn.x, drawn.y, config, look)
    return {name: value.cpu().numpy() for name, value in model.state_dict().items()}


def _audit_arrays(config: AuditConfig, images: Images, where: str) -> store.Arrays:
    return audit_runs.fit(config, images, device=where).arrays


_TRAINED = (lambda: train.VERSION, _named_data, sample.check_size)
KINDS: dict[type, Kind] = {
    TrainConfig: Kind(KIND, *_TRAINED, _train_arrays, Run),
    ModelConfig: Kind(MODEL_KIND, *_TRAINED, _model_arrays, Run),
    ShadowConfig: Kind(
        SHADOW_KIND,
        # All versions only ever grow, so their sum names one set of them.
        lambda: train.VERSION + shadows.VERSION,
        _named_data,
        shadows.check_size,
        _shadow_arrays,
        Shadow,
    ),
    PrivateConfig: Kind(
        PRIVATE_KIND,
        lambda: train.VERSION + shadows.VERSION + private.VERSION,
        _named_data,
        shadows.check_size,
        _private_arrays,
        Shadow,
    ),
    AuditConfig: Kind(
        AUDIT_KIND,
        lambda: train.VERSION + shadows.VERSION + audit_runs.VERSION,
        audit_runs.images,
        audit_runs.check_size,
        _audit_arrays,
        AuditShadow,
    ),
}


def dataset(config: Config) -> Data:
    """Return the data that a config trains on, with their foreign data set where it needs one."""
    return KINDS[type(config)].data(config)


def address(config: Config) -> store.Address:
    """Return where the record of this config lies, given the data as they are."""
    kind = KINDS[type(config)]
    sha256 = dataset(config).sha256
    return store.Address(kind.folder, asdict(config), sha256, kind.version())


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
    arrays = run_one(ModelConfig(**asdict(config)), where).arrays
    model.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    return model.eval(), drawn


def run_one(config: Config, where: str) -> Run | Shadow | AuditShadow:
    """Return the run of one config, trained on the device `where` unless its record exists."""
    start = time.perf_counter()
    kind = KINDS[type(config)]

    def compute() -> store.Arrays:
        return kind.compute(config, dataset(config), where)

    def describe() -> dict:
        return _facts(where, start)

    arrays, meta = store.get_or_compute(address(config), compute, describe)
    return kind.record(config, arrays, meta)


def _facts(where: str, start: float) -> dict:
    seconds = round(time.perf_counter() - start, 3)
    return {"seconds": seconds, **machine.describe(where)}


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


def _train(todo: list[Config], spec: str, where: str, total: int) -> None:
    with (
        executor(spec) as pool,
        tqdm(total=total, initial=total - len(todo), unit="model", desc="training") as bar,
    ):
        try:
            futures = {pool.submit(run_one, config, where): config for config in todo}
            for _ in as_completed(futures):
                bar.update()
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            left = len(missing(todo))
            raise Failure(
                f"Stopped with {left} models to train. Finished ones are kept: the same command "
                "goes on from there."
            ) from None
    failed = {config: error for f, config in futures.items() if (error := f.exception())}
    if failed:
        raise _failure(failed, len(todo)) from next(iter(failed.values()))


def _failure(failed: dict[Config, BaseException], of: int) -> Exception:
    if any(isinstance(error, BrokenProcessPool) for error in failed.values()):
        return Failure(
            "A training process was ended from outside (out of memory, or killed). Finished models "
            "are kept: the same command goes on from there; fewer processes (EXECUTOR=local:1) "
            "need less memory."
        )
    config, error = next(iter(failed.items()))
    told = str(error)
    if not isinstance(error, BadInput | Failure):  # nobody foresaw it, so say where it happened
        told = "".join(traceback.format_exception(error)).rstrip()
    return Failure(f"{len(failed)} of {of} runs failed. The first, {config.describe()}: {told}")
