"""Which runs each chapter asks for: its runner trains them before the notebook opens."""

from collections.abc import Callable, Mapping

from bn_memorization import experiments
from bn_memorization.config import TrainConfig
from bn_memorization.shadows import ShadowConfig

Plan = Callable[[Mapping[str, object]], list[TrainConfig] | list[ShadowConfig]]


def none(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return no run: the chapter trains nothing."""
    return []


CHAPTERS: dict[str, Plan] = {
    "01_forced_memorization": experiments.corruptions,
    "02_gradient_norms": experiments.influence,
    "03_membership_inference": experiments.membership,
    "04_margin_growth": experiments.margin_growth,
    "05_gamma_sigma": experiments.ratios,
    "06_regularization": experiments.regularization,
}
