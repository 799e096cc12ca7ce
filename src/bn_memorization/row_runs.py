"""The runs that a row of the scoreboard was computed from, out of those that its chapter trains.

A chapter may train more than one of its claims needs: a search, other norms, another pool.
"""

from collections.abc import Callable, Mapping

from bn_memorization import (
    audit_runs,
    control_runs,
    dose_runs,
    experiments,
    frontier_runs,
    reparametrized,
    stages,
)
from bn_memorization.config import NO_PENALTY, SETTING
from bn_memorization.norm_controls import COMPARED
from bn_memorization.plans import Plan
from bn_memorization.private import PrivateConfig
from bn_memorization.run_kinds import Config

Parameters = Mapping[str, object]
Where = Mapping[str, object]
Runs = Callable[[Parameters, Where], list[Config]]

GROUP = "group"


def behind(claim: str, where: Where, parameters: Parameters) -> list[Config]:
    """Return the configs of the runs behind the row of a claim's key in the setting `where`.

    `parameters` are those of the chapter that judges the claim. None for what is checked on random
    networks that the page itself draws. Raises KeyError for a claim that has no entry here.
    """
    found = dict.fromkeys(RUNS[claim](parameters, where))
    return [config for config in found if _fits(config, where)]


def _fits(config: Config, where: Where) -> bool:
    return all(getattr(config, key, where[key]) == where[key] for key in SETTING if key in where)


def _all(*plans: Plan) -> Runs:
    return lambda parameters, where: [c for plan in plans for c in plan(parameters)]


def _of_norms(*norms: str) -> Runs:
    every = _all(control_runs.long_runs, control_runs.norms)
    return lambda parameters, where: [c for c in every(parameters, where) if c.norm in norms]


def _of_size(parameters: Parameters, where: Where) -> list[Config]:
    every = _all(control_runs.long_runs, control_runs.batch_sizes)(parameters, where)
    return [c for c in every if f"batches of {c.batch_size}" == where["batch_size"]]


def _small_arms(parameters: Parameters, where: Where) -> list[Config]:
    return [c for c in control_runs.small_pools(parameters) if c.norm in control_runs.ARMS]


def _at_moment(parameters: Parameters, where: Where) -> list[Config]:
    return [config for moment, config in stages.named(parameters) if moment == where["moment"]]


def _penalized(parameters: Parameters, where: Where) -> list[Config]:
    """Return the runs without a penalty and with each: what the choice is made among."""
    return experiments.changed(parameters, [{}, *experiments.penalties(parameters)])


def _doses(parameters: Parameters, where: Where) -> list[Config]:
    """Return the runs that the exponent is fitted to: all layers at every dose, weights held."""
    every = dose_runs.trained(parameters)
    return [c for c in every if c.hold_weights and c.penalty_layer is None]


def _ends_of_dose(parameters: Parameters, where: Where) -> list[Config]:
    ends = min(parameters["attack_dose"]), max(parameters["attack_dose"])
    return [c for c in dose_runs.attacked(parameters) if c.penalty_target in ends]


def _not_private(parameters: Parameters, where: Where) -> list[Config]:
    """Return chapter 9's models but those with DP-SGD or a rival weight decay."""
    every, decay = frontier_runs.plan(parameters), parameters["weight_decay"]
    return [c for c in every if not isinstance(c, PrivateConfig) and c.weight_decay == decay]


def _ways_with_bn(parameters: Parameters, where: Where) -> list[Config]:
    return [c for c in _not_private(parameters, where) if c.norm == "batch"]


def _bn_and_group(parameters: Parameters, where: Where) -> list[Config]:
    every = [c for c in _not_private(parameters, where) if c.penalty == NO_PENALTY]
    return [c for c in every if c.norm in ("batch", GROUP)]


def _most_private(parameters: Parameters, where: Where) -> list[Config]:
    every = [c for c in frontier_runs.plan(parameters) if isinstance(c, PrivateConfig)]
    return [c for c in every if c.epsilon == min(parameters["epsilon"])]


def _each(runs: Runs, *claims: str) -> dict[str, Runs]:
    return dict.fromkeys(claims, runs)


RUNS: dict[str, Runs] = {
    **_each(_all(experiments.corruptions), "forced_final", "forced_speed", "forced_loss"),
    **_each(_all(experiments.corruptions), "gradient_norm"),
    **_each(_all(experiments.with_bn), "gradient_norm_clean", "ratio_above_one"),
    **_each(_all(experiments.with_bn), "invariant_ratio_grows", "ratio_by_scale"),
    **_each(_all(experiments.membership), "membership_clean", "membership_1", "membership_5"),
    **_each(_all(experiments.membership), "sensitivity_mode", "sensitivity_precision"),
    **_each(_all(experiments.membership), "sensitivity_models", "sensitivity_queries"),
    **_each(_all(), "growth_factor", "growth_exact"),
    **_each(_all(stages.early), "exact_convolution", "exact_outliers"),
    **_each(_at_moment, "feedback", "feedback_direction", "feedback_special"),
    **_each(_penalized, "penalty", "penalty_cost"),
    **_each(_all(reparametrized.held), "penalty_held", "penalty_held_cost"),
    **_each(_doses, "dose_exponent", "dose_square", "dose_selective"),
    **_each(_ends_of_dose, "dose_attack"),
    **_each(_all(control_runs.long_runs), "matched_loss", "matched_test", "matched_fitted"),
    **_each(_all(control_runs.long_runs), "matched_corrupted_loss", "matched_gradient"),
    **_each(_all(control_runs.long_runs, control_runs.rates), "matched_tuned"),
    **_each(_all(control_runs.claim_pools), "matched_attack_clean"),
    **_each(_all(control_runs.claim_pools), "matched_attack_1", "matched_attack_5"),
    **_each(_small_arms, "fitted_attack"),
    **{key: _of_norms(*norms) for key, norms in COMPARED.items()},
    **_each(_of_size, "batch_sizes"),
    **_each(_ways_with_bn, "tradeoff_penalty", "tradeoff_penalty_cost"),
    **_each(_bn_and_group, "tradeoff_norms"),
    **_each(_most_private, "tradeoff_private"),
    **_each(_all(audit_runs.configs), "audit_planted", "audit_attack"),
}
