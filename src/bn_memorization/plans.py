"""Which runs each chapter asks for: its runner trains them before the notebook opens."""

from collections.abc import Callable, Mapping

from bn_memorization import (
    audit_runs,
    control_runs,
    dose_runs,
    experiments,
    frontier_runs,
    plain_settings,
    reparametrized,
    stages,
)
from bn_memorization.audit_runs import AuditConfig
from bn_memorization.config import TrainConfig
from bn_memorization.shadows import ShadowConfig

Plan = Callable[[Mapping[str, object]], list[TrainConfig] | list[ShadowConfig] | list[AuditConfig]]


def none(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return no run: the chapter trains nothing."""
    return []


CHAPTERS: dict[str, Plan] = {
    "01_forced_memorization": plain_settings.plan,
    "02_gradient_norms": experiments.influence,
    "03_membership_inference": experiments.membership,
    "03b_sensitivity": experiments.membership,
    "04_margin_growth": stages.early,
    "04b_gamma_feedback": stages.both,
    "05_gamma_sigma": experiments.ratios,
    "06_regularization": experiments.regularization,
    "07_dose_response": dose_runs.plan,
    "09_tradeoffs": frontier_runs.plan,
    "10_audit": audit_runs.configs,
    "06b_reparametrization": reparametrized.plan,
    "08_controls": control_runs.plan,
}
