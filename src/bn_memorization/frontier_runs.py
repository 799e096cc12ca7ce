"""The shadow models of chapter 9: every way to train on one pool, so that they can be compared."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import product

from bn_memorization.corrupt import FLIP
from bn_memorization.experiments import OF_SHADOWS, remedies
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.masks import check_pairs
from bn_memorization.models import PLAIN
from bn_memorization.private import PrivateConfig
from bn_memorization.shadows import ShadowConfig

NORMS = ("batch", PLAIN, "group", "layer")
PRIVATE_NORM = "group"


def plan(parameters: Mapping[str, object]) -> list[ShadowConfig]:
    """Return the shadow models of every setting, way by way.

    The ways are: the norms; BN with every penalty and weight decay that is asked for; DP-SGD on the
    network with PRIVATE_NORM at every epsilon. Those with BN and the plain ones are chapter 3's
    where the sizes agree. Raises BadInput for a number of models that the attack cannot use, as
    `experiments.remedies` does, and as `PrivateConfig` does.
    """
    check_pairs(parameters["n_models"], least=LEAST_MODELS)
    shared = {name: parameters[name] for name in OF_SHADOWS}
    changes = remedies({**parameters, "rival_lr": []})[1:]  # the first changes nothing
    ways = [{"norm": norm} for norm in NORMS] + [{"norm": "batch"} | change for change in changes]
    found = []
    grid = product(*(parameters[name] for name in ("dataset", "arch", "outlier_rate")))
    for dataset, arch, rate in grid:
        where = {"dataset": dataset, "arch": arch, "corruption": FLIP, "noise_rate": rate}
        bases = [
            ShadowConfig(**where, **shared, norm=PRIVATE_NORM, model=model)
            for model in range(parameters["n_models"])
        ]
        found += [replace(base, **way) for way, base in product(ways, bases)]
        found += [
            privately(base, epsilon, parameters)
            for epsilon, base in product(parameters["epsilon"], bases)
        ]
    return found


def privately(
    base: ShadowConfig, epsilon: float, parameters: Mapping[str, object]
) -> PrivateConfig:
    """Return the config that trains `base` within epsilon, with the settings made for that."""
    return PrivateConfig(
        **asdict(base)
        | {name: parameters[f"private_{name}"] for name in ("epochs", "batch_size", "lr")}
        | {"moments": 1}  # only the end is read: what is said to be spent is spent there
        | {"epsilon": epsilon, "delta": parameters["delta"], "clip": parameters["clip"]}
    )
