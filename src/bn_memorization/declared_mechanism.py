"""Controls on the mechanism: moving statistics, gamma itself, gamma/sigma as dose and scale."""

from bn_memorization.judging import Claim, declare

_GROWTH = "04_margin_growth"
_FEEDBACK = "04b_gamma_feedback"
_DOSE = "07_dose_response"
_SCALE = "06b_reparametrization"

MECHANISM = declare(
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
        chapter=_SCALE,
    ),
    Claim(
        key="ratio_by_scale",
        number=5,
        title="gamma/sigma by the size of weights",
        statement="The size of weights makes less than half of the movement of gamma/sigma.",
        quantity="share of the movement (sizes of both parts summed over channels): the change of "
        "log |w| over training, whatever its sign, over the sum of it and that of "
        "log (gamma |w| / sigma); not the share of the net change",
        unit="share",
        direction="below",
        threshold=0.5,
        least_n=3,
        chapter=_SCALE,
    ),
    Claim(
        key="penalty_held",
        number=7,
        title="Penalty with weights held: memorization",
        statement="With the weights before BN held at their norms the penalty still lowers "
        "memorization markedly.",
        quantity="final accuracy on corrupted samples, no penalty minus penalty, both with the "
        "weights before BN held at their norms; setting chosen by the rule of claim 7 among those "
        "of this chapter, fewer than claim 7's and picked after its results were known",
        unit="accuracy",
        direction="above",
        threshold=0.1,
        least_n=3,
        chapter=_SCALE,
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
        chapter=_SCALE,
    ),
    Claim(
        key="dose_exponent",
        number=4,
        title="Dose of gamma/sigma: any response",
        statement="Setting gamma/sigma higher makes corrupted samples be fitted faster, at an "
        "equal effective learning rate of the weights before BN.",
        quantity="exponent kappa in speed ~ (gamma/sigma)^kappa, fitted in each seed over doses: "
        "speed is one over the epochs until a quarter of the corrupted samples is fitted, "
        "gamma/sigma the one achieved; all layers, weights held",
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
        statement="Membership inference is stronger at the highest dose of gamma/sigma than at the "
        "lowest.",
        quantity="AUC of LiRA (online, pooled variance), highest dose minus lowest, as they are "
        "set, all layers, weights held, after equal epochs",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=4,
        chapter=_DOSE,
    ),
)
