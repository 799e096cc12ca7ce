"""The runs of the controls: long ones, other learning rates, norms and batch sizes, small pools."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from bn_memorization.config import TrainConfig
from bn_memorization.corrupt import FLIP
from bn_memorization.errors import BadInput
from bn_memorization.experiments import SHARED, SIZES, membership
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.masks import check_pairs
from bn_memorization.models import PLAIN
from bn_memorization.shadows import ShadowConfig

TREATED = "batch"
ARMS = (TREATED, PLAIN)


def plan(parameters: Mapping[str, object]) -> list[TrainConfig | ShadowConfig]:
    """Return all runs of the chapter. Raises BadInput as the functions below do."""
    parts = (long_runs, rates, norms, batch_sizes, claim_pools, small_pools)
    return [config for part in parts for config in part(parameters)]


def _bases(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the short run with BN of every setting and seed."""
    shared = {name: parameters[name] for name in (*SHARED, *SIZES)}
    grid = product(*(parameters[name] for name in ("dataset", "arch", "noise_rate")))
    return [
        TrainConfig(dataset=d, arch=a, noise_rate=rate, norm=TREATED, seed=seed, **shared)
        for (d, a, rate), seed in product(grid, range(parameters["seeds"]))
    ]


def long_runs(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return both arms of every setting and seed, `longer` times as long as the others.

    Their first `epochs` epochs are those of the short run of the same setting.
    """
    epochs = parameters["epochs"] * parameters["longer"]
    return [replace(base, norm=norm, epochs=epochs) for base in _bases(parameters) for norm in ARMS]


def rates(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return both arms at every learning rate in `rival_lr`.

    Raises BadInput when the shared rate is among them.
    """
    if parameters["lr"] in parameters["rival_lr"]:
        raise BadInput(
            f"rival_lr holds {parameters['lr']}, which is lr itself: a rival must differ from it."
        )
    return [
        replace(base, norm=norm, lr=lr)
        for base, lr in product(_bases(parameters), sorted(parameters["rival_lr"]))
        for norm in ARMS
    ]


def norms(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return every setting and seed with each of the other `norms`.

    Raises BadInput when one of them is an arm that is there anyway.
    """
    if TREATED in parameters["norms"]:
        raise BadInput(f"norms holds {TREATED}, which is compared with all of them anyway.")
    return [
        replace(base, norm=norm) for base, norm in product(_bases(parameters), parameters["norms"])
    ]


def batch_sizes(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return both arms at every other size of batches, with as many epochs and the same rate.

    Raises BadInput when the shared size is among them.
    """
    if parameters["batch_size"] in parameters["batch_sizes"]:
        raise BadInput(
            f"batch_sizes holds {parameters['batch_size']}, which is batch_size itself: the others "
            "must differ from it."
        )
    return [
        replace(base, norm=norm, batch_size=size)
        for base, size in product(_bases(parameters), sorted(parameters["batch_sizes"]))
        for norm in ARMS
    ]


def claim_pools(parameters: Mapping[str, object]) -> list[ShadowConfig]:
    """Return the LeNets among chapter 3's shadow models: with the same parameters, its records."""
    pool = ("dataset", "epochs", "eval_size", "batch_size")
    own = {name: parameters[f"pool_{name}"] for name in pool}
    own |= {"arch": ["lenet"], "corruption": [FLIP], "only": ["*/*/*/*"]}
    return membership({**parameters, **own, "norm": TREATED})


def small_pools(parameters: Mapping[str, object]) -> list[ShadowConfig]:
    """Return shadow models with every norm on a small pool of every setting.

    All are attacked after every epoch. Those of the two arms are `longer` times as long as the
    others. Raises BadInput for a number of models that the attack cannot use.
    """
    check_pairs(parameters["small_models"], least=LEAST_MODELS)
    short = dict.fromkeys(("epochs", "moments"), parameters["epochs"])
    long = {name: value * parameters["longer"] for name, value in short.items()}
    shared = {name: parameters[name] for name in (*SHARED, "eval_size", "seed")}
    shared |= {"pool_size": parameters["small_pool_size"], "corruption": FLIP}
    shared |= {"batch_size": parameters["pool_batch_size"]}
    names = ("dataset", "arch", "noise_rate")
    return [
        ShadowConfig(
            **dict(zip(names, where, strict=True)),
            **shared,
            **(long if norm in ARMS else short),
            norm=norm,
            model=model,
        )
        for where in product(*(parameters[name] for name in names))
        for model, norm in product(range(parameters["small_models"]), (*ARMS, *parameters["norms"]))
    ]
