"""The trained networks themselves, with BN, at two moments: chapters 4 and 4b take them apart.

Settings, sizes and seeds are those of chapter 1, so that equal values mean the same networks.
"""

from collections.abc import Mapping
from dataclasses import replace

from bn_memorization.config import ModelConfig
from bn_memorization.experiments import as_model, with_bn
from bn_memorization.influence import third

EARLY, LATE = "a third of training", "end of training"


def early(parameters: Mapping[str, object]) -> list[ModelConfig]:
    """Return chapter 4's networks: of every setting and seed, after a third of training."""
    return [as_model(replace(c, epochs=third(c.epochs))) for c in with_bn(parameters)]


def named(parameters: Mapping[str, object]) -> list[tuple[str, ModelConfig]]:
    """Return (moment, network) of chapter 4b: chapter 4's and, each behind its own, the last ones.

    With a single epoch both moments are one.
    """
    late = [as_model(config) for config in with_bn(parameters)]
    pairs = zip(early(parameters), late, strict=True)
    return [pair for first, last in pairs for pair in ((EARLY, first), (LATE, last))]


def both(parameters: Mapping[str, object]) -> list[ModelConfig]:
    """Return the networks of `named`."""
    return [config for _, config in named(parameters)]
