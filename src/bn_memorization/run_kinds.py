"""What a config comes to: where its record lies, on which data it trains, how it is computed."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version

import torch

from bn_memorization import (
    __version__,
    audit_runs,
    data,
    gradnorm,
    machine,
    private,
    ratios,
    sample,
    shadows,
    store,
    together,
    train,
)
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, AuditShadow
from bn_memorization.config import ModelConfig, TrainConfig
from bn_memorization.corrupt import OOD
from bn_memorization.errors import BadInput, Failure
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


@cache
def _is_here(name: str) -> bool:
    try:
        _dataset(name, "local")
    except (BadInput, Failure):  # not there, or not as it should be
        return False
    return True


def absent_data(config: Config) -> set[str]:
    """Return the data sets that a config's run needs and that would have to be fetched first."""
    if isinstance(config, AuditConfig) or config.source == "embedded":
        return set()
    names = {config.dataset} | ({FOREIGN[config.dataset]} if config.corruption == OOD else set())
    return {name for name in names if not _is_here(name)}


def _named_data(config: TrainConfig | ShadowConfig) -> data.Dataset:
    found = _dataset(config.dataset, config.source)
    if config.corruption == OOD:
        return with_foreign(found, _dataset(FOREIGN[config.dataset], config.source))
    return found


def _begin_train(config: TrainConfig, dataset: data.Dataset, where: str) -> train.Begun:
    return train.begin(config, dataset, device=where, probes=PROBES)


def _begin_shadow(config: ShadowConfig, dataset: data.Dataset, where: str) -> train.Begun:
    return shadows.begin(config, dataset, device=where)


BEGIN = {TrainConfig: _begin_train, ShadowConfig: _begin_shadow}  # what can be trained together


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


def code() -> dict[str, str]:
    """Return what must be the same in two processes for the same runs to come of them."""
    modules = {"train": train, "shadows": shadows, "private": private, "audit_runs": audit_runs}
    return {
        "bn_memorization": __version__,
        **{name: version(name) for name in ("torch", "numpy", "opacus")},
        **{f"{name}.VERSION": str(module.VERSION) for name, module in modules.items()},
    }


def compute(config: Config, data_sha256: str) -> tuple[store.Arrays, dict]:
    """Train the run of a config on this machine's device; return its arrays, and how it was made.

    Nothing is written, so that a worker needs no disk that others see. Raises Failure when the data
    here are not those of who asks, and as the run does.
    """
    found, where, start = _same_data(config, data_sha256), machine.device(), time.perf_counter()
    arrays = KINDS[type(config)].compute(config, found, where)
    seconds = round(time.perf_counter() - start, 3)
    return arrays, {"seconds": seconds, **machine.describe(where)}


def compute_together(
    configs: Sequence[Config], data_sha256: str
) -> list[tuple[store.Arrays, dict] | BaseException]:
    """Train runs that are a group of `together.groups` as one stack of networks.

    Returns for each config what `compute` does, or the error that ended its run; `seconds` is its
    share, and `stacked` how many were trained as one. Raises Failure as `compute` does.
    """
    first, where = configs[0], machine.device()
    found, start = _same_data(first, data_sha256), time.perf_counter()
    begin = BEGIN[type(first)]
    ended = together.train_all(configs, lambda config: begin(config, found, where))
    seconds = round((time.perf_counter() - start) / len(configs), 3)
    details = {"seconds": seconds, "stacked": len(configs), **machine.describe(where)}
    return [e if isinstance(e, BaseException) else (e.arrays, details) for e in ended]


def _same_data(config: Config, sha256: str) -> Data:
    found = dataset(config)
    if found.sha256 != sha256:
        raise Failure(
            f"{platform.node()} has other data for {config.describe()}: their sha256 is "
            f"{found.sha256}, not {sha256}. Give all workers the same data "
            "(BN_MEMORIZATION_DATA), or set source=embedded."
        )
    return found
