"""What runs cost before they have been made: pure estimates from their configs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bn_memorization.audit_runs import AuditConfig
from bn_memorization.catalog import DATASETS
from bn_memorization.config import ModelConfig, TrainConfig
from bn_memorization.gradnorm import PROBED
from bn_memorization.private import PrivateConfig
from bn_memorization.queries import VIEWS
from bn_memorization.run_kinds import KINDS, Config
from bn_memorization.shadows import ShadowConfig

# An image's pass through each network, against LeNet's: from records of the quick profile.
PASS = {"lenet": 1, "resnet8": 13, "densenet22": 35, "resnet18": 60, "densenet40": 110}
PROBE_PASSES = 3  # forward passes that take as long as one sample's gradient norm
PRIVATE_STEPS = 2.5  # steps that take as long as one of DP-SGD: from records of the quick profile


@dataclass(frozen=True, order=True)
class Network:
    """A network on images of a size, as far as these decide how long a step takes."""

    arch: str
    norm: str
    image_size: int
    channels: int


@dataclass(frozen=True)
class Times:
    """Seconds: a step of training takes `step` and `image` for each image; a mere look, `look`."""

    step: float
    image: float
    look: float


@dataclass(frozen=True)
class Line:
    """A line of the plan: of a chapter's runs of one kind, how many are there and missing.

    `seconds` is what the missing ones would take on one worker.
    """

    chapter: str
    kind: str
    done: int
    missing: int
    seconds: float


def work(config: Config) -> float:
    """Return about how long a run takes, in passes of one image through LeNet."""
    if isinstance(config, AuditConfig):
        return config.epochs * config.pool_size
    return config.epochs * _trained_on(config) * PASS[config.arch]


def compared(wanted: Iterable[Config], own: Iterable[Config]) -> tuple[int, float]:
    """Return how many runs of `wanted` are not among `own`, and their work against all of `own`'s.

    Without any `own` there is nothing to compare with: NaN.
    """
    known = set(own)
    new = set(wanted) - known
    return len(new), sum(map(work, new)) / sum(map(work, known)) if known else math.nan


def longest_first(configs: Iterable[Config]) -> list[Config]:
    """Return the runs in the order that leaves the least to wait for at the end."""
    return sorted(configs, key=work, reverse=True)


def network_of(config: Config) -> Network:
    """Return the network that a run trains; an audit's counts as a LeNet."""
    if isinstance(config, AuditConfig):
        return Network("lenet", "batch", config.image_size or 28, 3)
    shape = DATASETS[config.dataset].image_shape
    return Network(config.arch, config.norm, shape[0], 1 if len(shape) == 2 else 3)


def seconds(config: Config, times: Times) -> float:
    """Return how long a run takes where its network takes `times`."""
    images = config.epochs * _trained_on(config)
    steps = config.epochs * math.ceil(_trained_on(config) / config.batch_size)
    training = steps * times.step + images * times.image
    if isinstance(config, PrivateConfig):
        training *= PRIVATE_STEPS
    return training + _passes(config) * times.look


def _trained_on(config: Config) -> int:
    return config.train_size if isinstance(config, TrainConfig) else config.pool_size // 2


def _passes(config: Config) -> float:
    """Return how many images a run measures its network on, a probe's counted as several."""
    if isinstance(config, AuditConfig):
        return config.pool_size * (1 + PROBE_PASSES)
    if isinstance(config, ShadowConfig):
        looks = config.moments + 1
        return config.pool_size * (looks + 1 + len(VIEWS)) + config.eval_size * looks
    corrupted = config.train_size * config.noise_rate
    measured = corrupted + min(config.eval_size, config.train_size - corrupted) + config.eval_size
    probed = 0 if isinstance(config, ModelConfig) else PROBE_PASSES * 2 * min(PROBED, corrupted)
    return (config.epochs + 1) * (measured + probed)


def lines(
    chapters: Mapping[str, Iterable[Config]],
    there: set[Config],
    times: Mapping[Network, Times],
) -> list[Line]:
    """Return the plan by chapter and kind of run; a run that chapters share is the first's.

    `there` holds the configs that have a record, `times` is of the networks of all others.
    """
    seen: set[Config] = set()
    found = []
    for chapter, configs in chapters.items():
        own = [c for c in dict.fromkeys(configs) if c not in seen]
        seen.update(own)
        for kind in dict.fromkeys(type(config) for config in own):
            of_kind = [c for c in own if type(c) is kind]
            missing = [c for c in of_kind if c not in there]
            cost = sum(seconds(c, times[network_of(c)]) for c in missing)
            done = len(of_kind) - len(missing)
            found.append(Line(chapter, KINDS[kind].folder, done, len(missing), cost))
    return found


def told(found: Iterable[Line], workers: int) -> list[str]:
    """Return the plan as lines of text, the last with the sum, in hours of one worker."""
    found = list(found)
    rows = [f"{'chapter':<26}{'kind':<9}{'there':>7}{'missing':>9}{'hours':>12}"]
    for line in found:
        rows.append(
            f"{line.chapter:<26}{line.kind:<9}{line.done:>7}{line.missing:>9}"
            f"{line.seconds / 3600:>12.2f}"
        )
    done, missing = sum(line.done for line in found), sum(line.missing for line in found)
    hours = sum(line.seconds for line in found) / 3600
    rows.append(f"{'in all':<35}{done:>7}{missing:>9}{hours:>12.2f}")
    rows.append(
        f"Hours are of one worker; {workers} at once would take about {hours / workers:.2f}."
    )
    return rows
