"""The runs of dose and response: gamma/sigma set in all layers or in one, learning rates, attacks.

The log form of the penalty sets the dose: it pulls from above and from below.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from bn_memorization.config import TrainConfig
from bn_memorization.corrupt import FLIP
from bn_memorization.errors import BadInput
from bn_memorization.experiments import SHARED, SIZES
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.masks import check_pairs
from bn_memorization.shadows import ShadowConfig

FORM = "log"
LEAST_DOSES = 3  # for a slope that a bend would show in
OF_ATTACK = (*SHARED, "eval_size", "epochs", "batch_size", "pool_size", "moments", "seed")


def plan(parameters: Mapping[str, object]) -> list[TrainConfig | ShadowConfig]:
    """Return all runs of the chapter. Raises BadInput as `trained` and `attacked` do."""
    return [*trained(parameters), *attacked(parameters)]


def trained(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the runs of every series, setting and seed.

    All layers at every dose, with weights held and free; one layer at a time at the lowest and the
    highest dose, with weights held; and no penalty at every learning rate. Raises BadInput for
    fewer than three doses or two learning rates, or when `lr` is not among the latter.
    """
    doses, rates = sorted(parameters["dose"]), sorted(parameters["dose_lr"])
    _require_several("dose", doses, LEAST_DOSES)
    _require_several("dose_lr", rates, 2)
    if parameters["lr"] not in rates:
        raise BadInput(
            f"lr={parameters['lr']} is not among dose_lr={rates}: the run without a penalty at lr "
            "is what the doses are seen beside. Add it."
        )
    held = {"hold_weights": True}
    changes = [_at(dose, parameters) | held for dose in doses]
    changes += [_at(dose, parameters) for dose in doses]
    changes += [
        _at(dose, parameters) | held | {"penalty_layer": layer}
        for layer in sorted(parameters["dose_layer"])
        for dose in (doses[0], doses[-1])
    ]
    changes += [{"lr": rate} for rate in rates]
    return [replace(base, **change) for base, change in product(_bases(parameters), changes)]


def attacked(parameters: Mapping[str, object]) -> list[ShadowConfig]:
    """Return the shadow models of every setting and dose in `attack_dose`, weights held.

    Raises BadInput for fewer than two doses and for a number of models that the attack cannot use.
    """
    check_pairs(parameters["n_models"], least=LEAST_MODELS)
    doses = sorted(parameters["attack_dose"])
    _require_several("attack_dose", doses, 2)
    shared = {name: parameters[name] for name in OF_ATTACK}
    return [
        ShadowConfig(
            **where,
            **shared,
            **_at(dose, parameters),
            corruption=FLIP,
            norm="batch",
            hold_weights=True,
            model=model,
        )
        for where, dose, model in product(
            _settings(parameters), doses, range(parameters["n_models"])
        )
    ]


def _settings(parameters: Mapping[str, object]) -> list[dict[str, object]]:
    names = ("dataset", "arch", "noise_rate")
    grid = product(*(parameters[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in grid]


def _bases(parameters: Mapping[str, object]) -> list[TrainConfig]:
    shared = {name: parameters[name] for name in (*SHARED, *SIZES)}
    return [
        TrainConfig(**where, **shared, norm="batch", seed=seed)
        for where, seed in product(_settings(parameters), range(parameters["seeds"]))
    ]


def _at(dose: float, parameters: Mapping[str, object]) -> dict[str, object]:
    return {
        "penalty": FORM,
        "penalty_weight": parameters["dose_weight"],
        "penalty_target": dose,
    }


def _require_several(name: str, values: list[float], least: int) -> None:
    if len(values) < least:
        raise BadInput(f"{name}={values}: a slope needs at least {least} of them. Give more.")
