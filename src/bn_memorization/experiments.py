"""The runs each chapter needs, as a function of its parameters.

The chapter's runner trains them before the notebook opens, with a progress bar in the terminal;
the notebook asks for the same list and finds every record there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from itertools import product

from bn_memorization.config import SETTING, ModelConfig, TrainConfig
from bn_memorization.errors import BadInput
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.masks import check_pairs
from bn_memorization.membership import CLAIM_OF
from bn_memorization.models import PLAIN
from bn_memorization.regularize import UNTARGETED
from bn_memorization.shadows import ShadowConfig

SHARED = (
    "source",
    "optimizer",
    "lr",
    "momentum",
    "weight_decay",
)
SIZES = ("train_size", "eval_size", "epochs", "batch_size")
POOL_SIZES = ("pool_size", "eval_size", "epochs", "batch_size")
OF_SHADOWS = (*SHARED, "seed", "moments", *POOL_SIZES)


def pairs(settings: Iterable[tuple], parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return both arms of every setting and seed: `norm` and plain, side by side.

    A setting holds what `config.SETTING` names. Runs of an architecture other than LeNet take the
    sizes in `SIZES` from parameters of their own, `deep_train_size` and so on.
    """
    shared = {name: parameters[name] for name in SHARED}
    configs = []
    for setting, seed in product(settings, range(parameters["seeds"])):
        of_setting = _sized(setting, parameters, SIZES)
        configs += [
            TrainConfig(**of_setting, **shared, seed=seed, norm=norm)
            for norm in (parameters["norm"], PLAIN)
        ]
    return configs


def _sized(setting: tuple, parameters: Mapping[str, object], sizes: Iterable[str]) -> dict:
    named = dict(zip(SETTING, setting, strict=True))
    prefix = "" if named["arch"] == "lenet" else "deep_"
    return named | {name: parameters[prefix + name] for name in sizes}


def corruptions(parameters: Mapping[str, object], only: str = "only") -> list[TrainConfig]:
    """Return the pairs of all combinations that one of the patterns in parameter `only` allows.

    Raises BadInput when none of the combinations is allowed.
    """
    return pairs(_allowed(SETTING, parameters, only), parameters)


def _allowed(names: Iterable[str], parameters: Mapping[str, object], only: str) -> list[tuple]:
    found = [
        setting
        for setting in product(*(parameters[name] for name in names))
        if any(_allows(pattern, setting) for pattern in parameters[only])
    ]
    if not found:
        asked = ", ".join(f"{name}={parameters[name]}" for name in names)
        raise BadInput(
            f"No combination of {asked} is among {only}={parameters[only]}. Set {only}=*/*/*/* "
            "for all combinations, or name the ones to run."
        )
    return found


def _allows(pattern: str, setting: tuple) -> bool:
    *words, share = pattern.split("/")
    named = all(fnmatchcase(value, word) for value, word in zip(setting, words, strict=False))
    return named and (share == "*" or float(share) == setting[-1])


def membership(parameters: Mapping[str, object]) -> list[ShadowConfig]:
    """Return both arms of every shadow model: `norm` and plain, side by side.

    Of all combinations those that a pattern in `only` allows; sizes as in `pairs`. Raises BadInput
    for a number of models that the attack cannot use, when no share of outliers is one that a claim
    is about, or when no combination is allowed.
    """
    check_pairs(parameters["n_models"], least=LEAST_MODELS)
    rates = parameters["outlier_rate"]
    if not CLAIM_OF.keys() & set(rates):
        raise BadInput(
            f"outlier_rate={rates}: the claims are about {', '.join(f'{r:g}' for r in CLAIM_OF)}. "
            "Give at least one of these; others may stand beside it."
        )
    kinds = parameters["corruption"]
    names = ("dataset", "arch", "corruption", "outlier_rate")
    grid = [
        where
        for where in _allowed(names, parameters, "only")
        if where[-1] or where[-2] == kinds[0]  # without outliers all kinds are one
    ]
    shared = {name: parameters[name] for name in (*SHARED, "seed", "moments")}
    return [
        ShadowConfig(**_sized(where, parameters, POOL_SIZES), **shared, norm=norm, model=model)
        for where, model in product(grid, range(parameters["n_models"]))
        for norm in (parameters["norm"], PLAIN)
    ]


def influence(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return chapter 1's runs, and the network that both kinds of gradient are measured on."""
    configs = corruptions(parameters)
    return [*configs, midway(configs, parameters["norm"])]


def midway(configs: Iterable[TrainConfig], norm: str) -> ModelConfig:
    """Return a network after a third of training: the first with `norm` at the highest rate."""
    of_norm = [config for config in configs if config.norm == norm]
    highest = max(config.noise_rate for config in of_norm)
    config = next(config for config in of_norm if config.noise_rate == highest)
    return as_model(replace(config, epochs=max(1, config.epochs // 3)))


def as_model(config: TrainConfig) -> ModelConfig:
    """Return the config whose record is the network that `config` trains."""
    return ModelConfig(**asdict(config))


def with_bn(parameters: Mapping[str, object], only: str = "only") -> list[TrainConfig]:
    """Return the BN arms of chapter 1's runs: with the same parameters, the same records."""
    return [c for c in corruptions({**parameters, "norm": "batch"}, only) if c.norm != PLAIN]


def ratios(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the BN arms of chapter 1's runs, and the first network itself."""
    configs = with_bn(parameters)
    return [*configs, as_model(configs[0])]


def regularization(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return, for every setting and seed with BN, the run without a remedy and one for each."""
    return changed(parameters, remedies(parameters))


def changed(
    parameters: Mapping[str, object],
    changes: Iterable[Mapping[str, object]],
    only: str = "only",
) -> list[TrainConfig]:
    """Return the BN arm of every setting and seed with each of the changes, side by side.

    Settings and sizes are those of `corruptions`, and BadInput is raised as there.
    """
    bases = with_bn(parameters, only)
    return [replace(base, **change) for base, change in product(bases, list(changes))]


def remedies(parameters: Mapping[str, object]) -> list[dict[str, object]]:
    """Return what each remedy changes in a config, the first nothing, each once.

    The penalties first; then the rivals, other weight decays and learning rates. Raises BadInput
    for a rival that is what all runs have anyway.
    """
    for name in ("weight_decay", "lr"):
        if parameters[name] in parameters[f"rival_{name}"]:
            raise BadInput(
                f"rival_{name} holds {parameters[name]}, which is {name} itself: a rival must "
                "differ from what the runs without a remedy have."
            )
    decays = [{"weight_decay": value} for value in sorted(parameters["rival_weight_decay"])]
    rates = [{"lr": value} for value in sorted(parameters["rival_lr"], reverse=True)]
    return [{}, *penalties(parameters), *decays, *rates]


def penalties(parameters: Mapping[str, object]) -> list[dict[str, object]]:
    """Return what each penalty changes in a config, each once: every form, weight and target.

    From weak to strong. The square has no target.
    """
    forms, weights = parameters["penalty_form"], sorted(parameters["penalty_weight"])
    targets = sorted(parameters["penalty_target"], reverse=True)
    found = []
    for form, weight, target in product(forms, weights, targets):
        change = {"penalty": form, "penalty_weight": weight}
        found.append(change | ({} if form == UNTARGETED else {"penalty_target": target}))
    return [change for place, change in enumerate(found) if change not in found[:place]]
