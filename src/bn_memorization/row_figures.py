"""Where a chapter shows what a row of the scoreboard says: a figure, or the section of a table."""

from bn_memorization.judging import Claim

FIGURE = "fig-"  # what the name of a figure starts with; other anchors are those of sections

ANCHORS = {
    **dict.fromkeys(("forced_final", "forced_speed", "forced_loss"), "fig-forced-gaps"),
    **dict.fromkeys(("gradient_norm", "gradient_norm_clean"), "fig-norm-gaps"),
    **dict.fromkeys(("membership_clean", "membership_1", "membership_5"), "fig-membership-gaps"),
    "sensitivity_mode": "fig-sensitivity-gaps",
    "sensitivity_precision": "in-which-precision-margins-are-computed",
    "sensitivity_models": "fig-sensitivity-gaps",
    "sensitivity_queries": "fig-sensitivity-gaps",
    "growth_factor": "fig-growth-ratio",
    "growth_exact": "when-the-statistics-move",
    **dict.fromkeys(
        ("exact_convolution", "exact_outliers"), "real-outliers-with-moving-statistics"
    ),
    **dict.fromkeys(("feedback", "feedback_special"), "fig-pull-shares"),
    "feedback_direction": "up-or-down",
    "ratio_above_one": "fig-share-above-one",
    **dict.fromkeys(("invariant_ratio_grows", "ratio_by_scale"), "fig-invariant-shares"),
    **dict.fromkeys(("penalty", "penalty_cost"), "fig-penalty-gaps"),
    **dict.fromkeys(("penalty_held", "penalty_held_cost"), "fig-penalty-held-gaps"),
    **dict.fromkeys(("dose_exponent", "dose_square"), "fig-dose-exponents"),
    "dose_selective": "the-exponent",
    "dose_attack": "fig-dose-attack",
    **dict.fromkeys(("matched_loss", "matched_test", "matched_fitted"), "fig-matched-gaps"),
    **dict.fromkeys(("matched_tuned", "matched_corrupted_loss"), "fig-matched-gaps"),
    **dict.fromkeys(("matched_gradient", "fitted_attack"), "fig-matched-gaps"),
    **dict.fromkeys(
        ("matched_attack_clean", "matched_attack_1", "matched_attack_5"),
        "membership-inference-in-chapter-3-s-own-setting",
    ),
    **dict.fromkeys(("norm_statistics", "norm_gamma", "norm_other"), "fig-norm-controls"),
    "batch_sizes": "fig-batch-sizes",
    **dict.fromkeys(
        ("tradeoff_penalty", "tradeoff_penalty_cost"), "what-the-penalty-takes-from-the-attack"
    ),
    "tradeoff_norms": "bn-against-group-norm",
    "tradeoff_private": "what-the-attack-is-left-with",
    **dict.fromkeys(("audit_planted", "audit_attack"), "fig-audit-verdicts"),
}


def shown(claim: Claim) -> tuple[str, str]:
    """Return the page and anchor that show a claim's evidence, and whether a figure or a table."""
    anchor = ANCHORS[claim.key]
    kind = "figure" if anchor.startswith(FIGURE) else "table"
    return f"{claim.chapter}.html#{anchor}", kind
