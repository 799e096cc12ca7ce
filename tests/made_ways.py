"""Ways to train with margins and test accuracies made up for the purpose."""

from dataclasses import asdict

import made_shadows
import numpy as np

from bn_memorization import frontier
from bn_memorization.private import PrivateConfig
from bn_memorization.shadows import Shadow

GIVEN = {"lr": 0.05, "weight_decay": 0.0}  # what made_shadows.config has
PENALTY = {"penalty": "log", "penalty_weight": 1.0, "penalty_target": 0.25}
LOOKS = 3


def shadows(shift: float, test: float, **changes) -> list[Shadow]:
    """Return one way's shadow models: members' margins are `shift` higher at the last look.

    Test accuracy at the last look is `test` plus a little that differs from model to model.
    """
    shifts = np.linspace(0.0, shift, LOOKS)
    found = made_shadows.shadows(shifts, **changes)
    for model, shadow in enumerate(found):
        shadow.arrays["test_accuracy"] = np.array([0.1, test - 0.1, test + 0.001 * model])
    return found


def private(shift: float, test: float, epsilon: float = 2.0, **changes) -> list[Shadow]:
    """Return the same for DP-SGD on group norm; the record says what was spent."""
    found = []
    for shadow in shadows(shift, test, norm="group", lr=0.5, **changes):
        bound = {"epsilon": epsilon, "delta": 1e-3, "clip": 1.0}
        privacy = {"epsilon": np.array(epsilon - 0.005), "noise_multiplier": np.array(1.5)}
        config = PrivateConfig(**asdict(shadow.config), **bound)
        found.append(Shadow(config, shadow.arrays | privacy, shadow.meta))
    return found


def every(**changes) -> list[Shadow]:
    """Return the shadow models of a whole chapter in one setting."""
    return [
        *shadows(3.0, 0.80, norm="batch", **changes),
        *shadows(2.0, 0.70, norm="none", **changes),
        *shadows(1.5, 0.75, norm="group", **changes),
        *shadows(1.5, 0.74, norm="layer", **changes),
        *shadows(1.0, 0.85, norm="batch", **PENALTY, **changes),
        *shadows(2.5, 0.78, norm="batch", weight_decay=0.01, **changes),
        *private(0.0, 0.40, 2.0, **changes),
        *private(2.0, 0.50, 8.0, **changes),
    ]


def ways(made: list[Shadow] | None = None) -> list[frontier.Way]:
    """Return the ways of these shadow models, of a whole chapter if there are none."""
    return frontier.ways(every() if made is None else made, **GIVEN)


def points(**changes):
    """Return the points of a whole chapter with early stopping."""
    found = ways(every(**changes))
    return frontier.points([*found, *frontier.stopped(found)])
