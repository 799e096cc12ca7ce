"""Our own controls: statements that decide how a claim of the paper is to be read.

They are declared like the paper's claims, before any run, and judged in the same way; `number` says
which claim of the paper a control bears on.
"""

from bn_memorization.judging import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    Claim,
    declare,
)

_GROWTH, _FEEDBACK = "04_margin_growth", "04b_gamma_feedback"
_DOSE = "07_dose_response"
_SENSITIVITY = "03b_sensitivity"
_TRADEOFFS = "09_tradeoffs"
_CONTROLS = "08_controls"

CONTROLS = declare(
    Claim(
        key="sensitivity_mode",
        number=3,
        title="Attack: mode of the query",
        statement="Membership inference is stronger against BN where its networks are queried in "
        "training mode, too.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, queried in training mode",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_SENSITIVITY,
    ),
    Claim(
        key="sensitivity_precision",
        number=3,
        title="Attack: precision of the margins",
        statement="Margins through float32 probabilities move the gap by less than 1 AUC point.",
        quantity="size of the change of a pair of models' gap in AUC, float32 probabilities "
        "against float64 logits, mean over pairs",
        unit="AUC",
        direction="below",
        threshold=0.01,
        least_n=6,
        chapter=_SENSITIVITY,
    ),
    Claim(
        key="sensitivity_models",
        number=3,
        title="Attack: number of shadow models",
        statement="Membership inference is stronger against BN with half as many shadow models, "
        "too.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, with half of the models "
        "but at least 6",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_SENSITIVITY,
    ),
    Claim(
        key="sensitivity_queries",
        number=3,
        title="Attack: views of each image",
        statement="Membership inference is stronger against BN with six views of each image, too.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, likelihood ratios of "
        "all six views stacked",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_SENSITIVITY,
    ),
    Claim(
        key="growth_exact",
        number=4,
        title="Margin growth, statistics that move",
        statement="With batch statistics that move with the weights, the growth has the further "
        "factor |c|^2 / |x|^2, c = x - mean(x) - z mean(z x).",
        quantity="relative error of the predicted margin growth, to first order in the learning "
        "rate, against autograd through the batch statistics",
        unit="relative error",
        direction="below",
        threshold=1e-10,
        least_n=100,
        chapter=_GROWTH,
    ),
    Claim(
        key="exact_convolution",
        number=4,
        title="Moving statistics in convolutions",
        statement="In convolutional layers the form with fixed statistics is nearly exact for "
        "corrupted samples.",
        # Nearly: within a tenth.
        quantity="own growth with moving over own growth with fixed statistics, median over "
        "corrupted samples and convolutional layers, after a third of training",
        unit="ratio",
        direction="above",
        threshold=0.9,
        least_n=3,
        chapter=_GROWTH,
    ),
    Claim(
        key="exact_outliers",
        number=4,
        title="Moving statistics: corrupted samples against clean ones",
        statement="In fully connected layers moving statistics take more of their own growth from "
        "corrupted samples than from clean ones.",
        quantity="own growth with moving over own growth with fixed statistics, mean over fully "
        "connected layers and samples, corrupted minus clean, after a third of training",
        unit="ratio",
        direction="below",
        threshold=0.0,
        least_n=3,
        chapter=_GROWTH,
    ),
    Claim(
        key="feedback_special",
        number=6,
        title="Feedback through gamma: is gamma special?",
        statement="Outliers take a larger share of the gradient of gamma than of that of the other "
        "weights.",
        quantity="corrupted samples' share of the sum of absolute gradients (running mode), over "
        "their share of the samples: of gamma minus of all parameters but gamma and beta, after a "
        "third and at the end of training",
        unit="ratio",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_FEEDBACK,
    ),
    Claim(
        key="dose_exponent",
        number=4,
        title="Dose of gamma/sigma: any response",
        statement="Setting gamma/sigma higher makes corrupted samples be fitted faster, at an "
        "equal effective learning rate.",
        quantity="exponent b in speed ~ (gamma/sigma)^b, fitted in each seed over doses: speed is "
        "one over the epochs until a quarter of the corrupted samples is fitted, gamma/sigma the "
        "one achieved; all layers, weights held",
        unit="exponent",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_DOSE,
    ),
    Claim(
        key="dose_square",
        number=4,
        title="Dose of gamma/sigma: toward a square",
        statement="The response is steeper than proportional, as a square would be.",
        quantity="the same exponent; a square has 2",
        unit="exponent",
        direction="above",
        threshold=1.0,
        least_n=3,
        chapter=_DOSE,
    ),
    Claim(
        key="dose_selective",
        number=4,
        title="Dose of gamma/sigma: corrupted samples above clean ones",
        statement="gamma/sigma speeds up corrupted samples more than clean ones.",
        quantity="the same exponent for corrupted samples minus that for clean ones (epochs until "
        "nine tenths of them are fitted), within each seed",
        unit="exponent",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_DOSE,
    ),
    Claim(
        key="dose_attack",
        number=3,
        title="Dose of gamma/sigma: membership inference",
        statement="Membership inference is stronger where gamma/sigma is set higher.",
        quantity="AUC of LiRA (online, pooled variance), highest dose minus lowest, all layers, "
        "weights held, after equal epochs",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=4,
        chapter=_DOSE,
    ),
    Claim(
        key="invariant_ratio_grows",
        number=5,
        title="The invariant ratio grows",
        statement="In training gamma |w| / sigma, which no rescaling of weights moves, grows.",
        quantity="share of BN channels whose gamma |w| / sigma is larger at the end of training "
        "(running sigma) than at the start (batch sigma)",
        unit="share",
        direction="above",
        threshold=0.5,
        least_n=3,
        chapter="06b_reparametrization",
    ),
    Claim(
        key="ratio_by_scale",
        number=5,
        title="gamma/sigma by the size of weights",
        statement="Less than half of the change of gamma/sigma is a change of the size of weights.",
        quantity="the change of log |w| over training, in size, summed over BN channels, over the "
        "sum of it and the change of log (gamma |w| / sigma)",
        unit="share",
        direction="below",
        threshold=0.5,
        least_n=3,
        chapter="06b_reparametrization",
    ),
    Claim(
        key="penalty_held",
        number=7,
        title="Penalty with weights held: memorization",
        statement="With the weights before BN held at their norms the penalty still lowers "
        "memorization markedly.",
        quantity="final accuracy on corrupted samples, no penalty minus penalty, both with the "
        "weights before BN held at their norms; setting chosen as for the penalty of claim 7",
        unit="accuracy",
        direction="above",
        threshold=0.1,
        least_n=3,
        chapter="06b_reparametrization",
    ),
    Claim(
        key="penalty_held_cost",
        number=7,
        title="Penalty with weights held: cost",
        statement="With the weights held the penalty costs at most 1 point of test accuracy.",
        quantity="final test accuracy, no penalty minus penalty, both with the weights before BN "
        "held at their norms, of the same choice of setting",
        unit="accuracy",
        direction="below",
        threshold=0.01,
        least_n=3,
        chapter="06b_reparametrization",
    ),
    Claim(
        key="penalty_by_scale",
        number=7,
        title="Penalty: gain with weights free over held",
        statement="The penalty gains more where the weights before BN may change their size.",
        quantity="gain in final accuracy on corrupted samples, no penalty minus penalty, with "
        "weights free minus with weights held",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter="06b_reparametrization",
    ),
    Claim(
        key="tradeoff_penalty",
        number=7,
        title="Penalty on gamma/sigma: membership inference",
        statement="The penalty on gamma/sigma takes at least 1 point of AUC from membership "
        "inference.",
        quantity="AUC of LiRA (online, pooled variance), BN minus BN with the penalty",
        unit="AUC",
        direction="above",
        threshold=0.01,
        least_n=4,
        chapter=_TRADEOFFS,
    ),
    Claim(
        key="tradeoff_penalty_cost",
        number=7,
        title="Penalty on gamma/sigma: cost beside membership inference",
        statement="That penalty costs at most 1 point of test accuracy.",
        quantity="test accuracy, BN minus BN with the penalty, of the same shadow models",
        unit="accuracy",
        direction="below",
        threshold=0.01,
        least_n=4,
        chapter=_TRADEOFFS,
    ),
    Claim(
        key="tradeoff_norms",
        number=3,
        title="BN against group norm: membership inference",
        statement="Membership inference is stronger against BN than against group norm.",
        quantity="AUC of LiRA (online, pooled variance), BN minus group norm, after equal epochs",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=4,
        chapter=_TRADEOFFS,
    ),
    Claim(
        key="tradeoff_private",
        number=3,
        title="Differential privacy: membership inference",
        statement="DP-SGD at the smaller epsilon leaves membership inference next to nothing.",
        # Next to nothing: less than 5 points above guessing.
        quantity="AUC of LiRA (online, pooled variance) minus that of guessing, group norm trained "
        "with DP-SGD",
        unit="AUC",
        direction="below",
        threshold=0.05,
        least_n=4,
        chapter=_TRADEOFFS,
    ),
    Claim(
        key="audit_planted",
        number=2,
        title="Audit: planted wrong labels have large gradients",
        statement="In the audited kind of network, wrong labels planted among the members have "
        "larger gradients than the other members.",
        quantity="AUC of the gradient norm (running mode, end of training) of planted wrong labels "
        "among the members of a shadow model, minus one half",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter="10_audit",
    ),
    Claim(
        key="audit_attack",
        number=3,
        title="Audit: members are found",
        statement="The audited kind of network gives away its members.",
        quantity="AUC of LiRA (online, pooled variance) on shadow models of the audited network, "
        "minus one half",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter="10_audit",
    ),
    Claim(
        key="matched_loss",
        number=1,
        title="Matched: clean loss",
        statement="Networks with BN have fitted more of the corrupted samples where both arms have "
        "the same clean training loss.",
        quantity="accuracy on corrupted samples, BN minus plain, at equal clean training loss",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_test",
        number=1,
        title="Matched: test accuracy",
        statement="Networks with BN have fitted more of the corrupted samples where both arms have "
        "the same test accuracy.",
        quantity="accuracy on corrupted samples, BN minus plain, at equal test accuracy",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_fitted",
        number=1,
        title="Matched: a long run",
        statement="Networks with BN end up fitting more of the corrupted samples even in a run so "
        "long that both arms fit the clean ones.",
        quantity="accuracy on corrupted samples, BN minus plain, after the last epoch of the long "
        "runs",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_tuned",
        number=1,
        title="Matched: learning rates tuned",
        statement="Networks with BN end up fitting more of the corrupted samples where each arm "
        "has a learning rate of its own.",
        quantity="accuracy on corrupted samples, BN minus plain, after equal epochs, each arm "
        "with the learning rate that has the highest test accuracy on the other seeds",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_corrupted_loss",
        number=1,
        title="Matched: loss on corrupted samples",
        statement="With BN the loss of the corrupted samples is lower where both arms have the "
        "same clean training loss.",
        quantity="loss of the corrupted samples, plain minus BN, at equal clean training loss",
        unit="nats",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_gradient",
        number=2,
        title="Matched: per-sample gradients",
        statement="Corrupted samples have larger per-sample gradients with BN on the way to the "
        "same clean training loss.",
        quantity="Cliff's delta within a pair of models: gradient norms of the corrupted samples "
        "(running mode), mean over training up to equal clean training loss, BN over plain",
        unit="Cliff's delta",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_attack_clean",
        number=3,
        title="Matched: membership inference, no outliers",
        statement="Membership inference is stronger against BN at equal training loss, with no "
        "outliers.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, no outliers, at equal "
        "training loss",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_attack_1",
        number=3,
        title="Matched: membership inference, 1 % outliers",
        statement="At equal training loss, with 1 % outliers, membership inference gains at least "
        "3 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 1 % outliers, at equal "
        "training loss",
        unit="AUC",
        direction="above",
        threshold=0.03,
        least_n=6,
        chapter=_CONTROLS,
    ),
    Claim(
        key="matched_attack_5",
        number=3,
        title="Matched: membership inference, 5 % outliers",
        statement="At equal training loss, with 5 % outliers, membership inference gains at least "
        "4 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 5 % outliers, at equal "
        "training loss",
        unit="AUC",
        direction="above",
        threshold=0.04,
        least_n=6,
        chapter=_CONTROLS,
    ),
    Claim(
        key="fitted_attack",
        number=3,
        title="Matched: membership inference, a long run",
        statement="Membership inference is stronger against BN after a run so long that both arms "
        "fit their members.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, after the last epoch of "
        "the long runs",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=4,
        chapter=_CONTROLS,
    ),
    Claim(
        key="norm_statistics",
        number=1,
        title="Part of BN: gradient through the statistics",
        statement="BN needs the gradient through its statistics to fit more corrupted samples.",
        quantity="final accuracy on corrupted samples, BN minus BN with the statistics as "
        "constants; no verdict where one of the two has not learned 90 % of the clean samples",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="norm_gamma",
        number=1,
        title="Part of BN: a learned gamma",
        statement="BN needs to learn gamma to fit more corrupted samples.",
        quantity="final accuracy on corrupted samples, BN minus BN with gamma fixed at 1; no "
        "verdict where one of the two has not learned 90 % of the clean samples",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="norm_other",
        number=1,
        title="Group norm in place of BN",
        statement="Group norm, too, makes a network fit more of the corrupted samples.",
        quantity="final accuracy on corrupted samples, group norm minus plain; no verdict where "
        "one of the two has not learned 90 % of the clean samples",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
    Claim(
        key="batch_sizes",
        number=1,
        title="Size of the batches",
        statement="Networks with BN end up fitting more of the corrupted samples at every batch "
        "size.",
        quantity="final accuracy on corrupted samples, BN minus plain, after equal epochs; no "
        "verdict where one of the two has not learned 90 % of the clean samples",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
)

# A claim's verdict word, as it is said of a control, which no paper made.
TOLD = {
    REPRODUCED: "holds",
    PARTLY: "holds in part",
    NOT_REPRODUCED: "does not hold",
    NOT_TESTABLE: NOT_TESTABLE,
}

# The control that says whether a claim of the paper is still true where it is not trivially so.
MATCHED = {
    "forced_final": "matched_loss",
    "forced_loss": "matched_corrupted_loss",
    "gradient_norm": "matched_gradient",
    "membership_clean": "matched_attack_clean",
    "membership_1": "matched_attack_1",
    "membership_5": "matched_attack_5",
    "growth_factor": "growth_exact",
    "ratio_above_one": "invariant_ratio_grows",
    "feedback": "feedback_special",
    "penalty": "penalty_held",
    "penalty_cost": "penalty_held_cost",
}


def told(key: str, word: str) -> str:
    """Return a verdict's word as readers see it: that of a control is its own."""
    return TOLD[word] if key in CONTROLS else word
