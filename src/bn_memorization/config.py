"""What decides a run: every setting of a training, checked when it is made."""

import math
from dataclasses import dataclass

from bn_memorization import models
from bn_memorization.corrupt import CORRUPTIONS, FLIP, NOISE, OOD
from bn_memorization.errors import BadInput, check_choice
from bn_memorization.regularize import FORMS

OPTIMIZERS = ("sgd", "adam")
NO_PENALTY = "none"
PENALTIES = (NO_PENALTY, *FORMS)
# What tells one setting of an experiment from another, in the order in which it is written.
SETTING = ("dataset", "arch", "corruption", "noise_rate")
WORDS = {FLIP: "flipped", OOD: "foreign images", NOISE: "noise images"}


@dataclass(frozen=True)
class TrainConfig:
    """All that decides a run's result, beside the data and the machine.

    `train_size` images are drawn; a share of `noise_rate` is corrupted: it gets a wrong label
    (flip), or gives way to images of another data set (ood) or of noise with random labels. Clean
    and test curves are measured on at most `eval_size` images each, corrupted ones on all.
    `penalty_layer` counts BN layers from 1 and keeps the penalty to that one; None is all of them.
    With `hold_weights` the weights before BN keep the norms that they start with. Raises BadInput
    for a value out of range.
    """

    dataset: str
    source: str
    train_size: int
    eval_size: int
    arch: str
    norm: str
    noise_rate: float
    seed: int
    epochs: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    corruption: str = FLIP
    penalty: str = NO_PENALTY
    penalty_weight: float = 0.0
    penalty_target: float = 1.0
    penalty_layer: int | None = None
    hold_weights: bool = False

    def __post_init__(self):
        check_choice("corruption", self.corruption, CORRUPTIONS)
        check_choice("penalty", self.penalty, PENALTIES)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("architecture", self.arch, models.ARCHITECTURES)
        check_choice("norm", self.norm, models.NORMS)
        # One image has no batch variance, so there is no run on one.
        least = {"train_size": 2, "batch_size": 2, "eval_size": 1, "epochs": 1, "seed": 0}
        for name, value in least.items():
            _require(name, getattr(self, name), getattr(self, name) >= value, f"at least {value}")
        if self.penalty_layer is not None:
            _require("penalty_layer", self.penalty_layer, self.penalty_layer >= 1, "at least 1")
        for name in ("noise_rate", "momentum"):
            _require(name, getattr(self, name), 0 <= getattr(self, name) < 1, "in [0, 1)")
        for name in ("lr", "penalty_target"):
            value = getattr(self, name)
            _require(name, value, 0 < value < math.inf, "above 0 and finite")
        for name in ("weight_decay", "penalty_weight"):
            value = getattr(self, name)
            _require(name, value, 0 <= value < math.inf, "at least 0 and finite")

    def describe(self) -> str:
        """Return one line that tells this run from its neighbors."""
        share = f"{100 * self.noise_rate:g} % {WORDS[self.corruption]}"
        line = f"{self.arch}/{self.norm} on {self.dataset}, {share}"
        if self.penalty != NO_PENALTY:
            line += f", penalty {self.penalty} {self.penalty_weight:g} at {self.penalty_target:g}"
        if self.penalty_layer is not None:
            line += f" on layer {self.penalty_layer}"
        if self.hold_weights:
            line += ", weights held"
        return f"{line}, seed {self.seed}"


@dataclass(frozen=True)
class ModelConfig(TrainConfig):
    """The config of a training whose record is the trained network itself, not its curves."""


def _require(name: str, value: object, holds: bool, allowed: str) -> None:
    if not holds:
        raise BadInput(f"{name}={value} is out of range: it must be {allowed}.")
