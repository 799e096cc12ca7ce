"""The runs of an audit: shadow models of a reader's own network, on halves of a reader's images."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import torch

from bn_memorization import audit_gradients, audit_input, audit_network, ratios, shadows, train
from bn_memorization.audit_input import Images
from bn_memorization.config import NO_PENALTY, OPTIMIZERS
from bn_memorization.corrupt import flip_labels
from bn_memorization.errors import BadInput, Failure, check_choice
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.masks import check_pairs, member_mask
from bn_memorization.signals import margin

# Raise when a change here, in audit_input, audit_network or audit_gradients alters what a run
# returns. What it takes from elsewhere is in train.VERSION and shadows.VERSION.
VERSION = 1

_SHARED = (
    *("images", "pool_size", "image_size", "num_classes", "scaling", "planted_rate", "seed"),
    *("epochs", "batch_size", "optimizer", "lr", "momentum", "weight_decay"),
)


@dataclass(frozen=True)
class AuditConfig:
    """All that decides one shadow model of an audit, beside the images and the machine.

    `factory` is the dotted name of what makes the network, `code_sha256` the sum of the file that
    it stands in, `versions` those of torch and torchvision. `planted_rate` of the labels are
    flipped on purpose. `seed` decides the images drawn, the flips and the masks; with the index
    `model`, the initial weights and the order of the batches. Raises BadInput for an unknown
    scaling or optimizer.
    """

    factory: str
    code_sha256: str
    versions: str
    model: int
    images: str
    pool_size: int
    image_size: int
    num_classes: int
    scaling: str
    planted_rate: float
    seed: int
    epochs: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float
    weight_decay: float

    def __post_init__(self):
        check_choice("scaling", self.scaling, audit_input.SCALINGS)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)

    @property
    def recipe(self) -> "Recipe":
        """The settings of the model's own training."""
        shared = ("epochs", "batch_size", "optimizer", "lr", "momentum", "weight_decay")
        own = int(np.random.default_rng([self.seed, 7, self.model]).integers(2**31))
        return Recipe(self.describe(), own, **{name: getattr(self, name) for name in shared})

    def describe(self) -> str:
        """Return one line that tells this run from its neighbors."""
        return f"shadow model {self.model} of {self.factory} on {self.images}"


@dataclass(frozen=True)
class Recipe:
    """What `train.optimize` reads of a config, for a network that is none of this book's."""

    name: str
    seed: int
    epochs: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float
    weight_decay: float
    penalty: str = NO_PENALTY
    hold_weights: bool = False

    def describe(self) -> str:
        """Return the name of the run."""
        return self.name


@dataclass(frozen=True)
class AuditShadow:
    """A shadow model's record, for the N images of the audit, after training.

    `arrays` holds `phi` float32[N] (margin for the label given, eval mode), `correct` bool[N],
    `norm` float32[N] (gradient norm, running mode), `fast` bool (whether all norms came from one
    pass), `member` and `planted` bool[N], `given_label` int64[N], and of all BN channels `gamma`,
    `sigma` and `bn_layer`, as in `ratios.channels`.
    """

    config: AuditConfig
    arrays: dict[str, np.ndarray]
    meta: dict = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Saved:
    """What a reader's own trained network says of N images with the reader's labels.

    `phi` float64[N]: margins; `norm` float64[N]: gradient norms, running mode; `ratio` float64[C]:
    |gamma|/sigma of its BN channels, in the order of `ratios.channels`.
    """

    phi: np.ndarray
    norm: np.ndarray
    ratio: np.ndarray


def configs(parameters: Mapping[str, object]) -> list[AuditConfig]:
    """Return the configs of all shadow models, and check all that the reader gave.

    Raises BadInput for a number of models that the attack cannot use, for planted labels beside a
    saved network, and as `audit_input.load`, `audit_network.check` and `audit_network.filled` do.
    """
    check_pairs(parameters["n_models"], least=LEAST_MODELS)
    if parameters["weights"] != audit_network.NO_WEIGHTS and parameters["planted_rate"]:
        raise BadInput(
            f"planted_rate={parameters['planted_rate']} beside weights={parameters['weights']}: a "
            "saved network was not trained on labels that are flipped now. Set planted_rate=0."
        )
    dotted = parameters["model"]
    own = {"factory": dotted, "code_sha256": audit_network.code_sha256(dotted)}
    own["versions"] = ", ".join(f"{name} {version(name)}" for name in ("torch", "torchvision"))
    shared = own | {name: parameters[name] for name in _SHARED}
    found = [AuditConfig(**shared, model=model) for model in range(parameters["n_models"])]
    given = images(found[0])
    check_size(found[0], given)
    if parameters["weights"] != audit_network.NO_WEIGHTS:
        audit_network.filled(dotted, len(given.classes), parameters["weights"])
    return found


def images(config: AuditConfig) -> Images:
    """Return the images of an audit. Raises BadInput as `audit_input.load` does."""
    return audit_input.load(
        config.images,
        most=config.pool_size,
        size=config.image_size,
        seed=config.seed,
        num_classes=config.num_classes,
    )


def check_size(config: AuditConfig, given: Images) -> None:
    """Raise BadInput unless the network takes the images, as `audit_network.check` does."""
    audit_network.check(config.factory, len(given.classes), *given.pixels.shape[1:3])


def given_labels(config: AuditConfig, given: Images) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels with the planted flips, int64[N], and which are planted, bool[N]."""
    planted = np.zeros(len(given.labels), bool)
    if not config.planted_rate:
        return given.labels, planted
    labels, index = flip_labels(given.labels, config.planted_rate, config.seed, len(given.classes))
    planted[index] = True
    return labels, planted


def fit(config: AuditConfig, given: Images, *, device: str = "cpu") -> AuditShadow:
    """Train one shadow model on its half of the images and measure it on all.

    Raises Failure, naming the run, when a logit or a gradient norm is not finite.
    """
    where, recipe = torch.device(device), config.recipe
    labels, planted = given_labels(config, given)
    member = member_mask(config.model, len(labels), config.seed)
    x = torch.from_numpy(audit_input.scaled(given.pixels, config.scaling)).to(where)
    y = torch.from_numpy(labels).to(where)
    model = audit_network.build(config.factory, len(given.classes), recipe.seed).to(where)
    inside = torch.from_numpy(np.flatnonzero(member)).to(where)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # of dropout, where the network has it
        train.optimize(model, x[inside], y[inside], recipe, lambda epoch: None)
    logits = shadows.query(model, x)
    train.check_finite([logits], config.epochs, recipe)
    norm, fast = audit_gradients.norms(model, x, y)
    _check_norms(norm, config)
    arrays = {
        "phi": margin(logits, labels).astype(np.float32),
        "correct": logits.argmax(1) == labels,
        "norm": norm.astype(np.float32),
        "fast": np.array(fast),
        "member": member,
        "planted": planted,
        "given_label": labels,
        **ratios.channels(model),
    }
    return AuditShadow(config, arrays)


def _check_norms(norm: np.ndarray, config: AuditConfig) -> None:
    if not (norm <= np.finfo(np.float32).max).all():  # a record holds float32
        raise Failure(
            f"Gradients of {config.describe()} are beyond all numbers in evaluation mode. Its "
            "running statistics have not settled: set more epochs, a larger batch_size or a lower "
            f"learning rate (lr={config.lr})."
        )


def saved(parameters: Mapping[str, object], given: Images) -> Saved | None:
    """Return what the reader's saved network says of the images, or None where none was given.

    Raises BadInput as `audit_network.filled` does.
    """
    if parameters["weights"] == audit_network.NO_WEIGHTS:
        return None
    model = audit_network.filled(parameters["model"], len(given.classes), parameters["weights"])
    x = torch.from_numpy(audit_input.scaled(given.pixels, parameters["scaling"]))
    y = torch.from_numpy(given.labels)
    logits = shadows.query(model, x)
    norm, _ = audit_gradients.norms(model, x, y)
    return Saved(margin(logits, given.labels), norm, ratios.gamma_sigma(model).ratio.to_numpy())
