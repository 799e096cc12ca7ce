"""The paper's claims, in our words: what is measured, and what decides.

A claim names its quantity, the threshold that the quantity must pass and the least number of
trained models.
"""

from bn_memorization.judging import Claim, declare

_FORCED, _GROWTH = "01_forced_memorization", "04_margin_growth"
_FEEDBACK = "04b_gamma_feedback"
_MEMBERSHIP = "03_membership_inference"
_INFLUENCE = "02_gradient_norms"
_RATIOS, _PENALTY = "05_gamma_sigma", "06_regularization"

CLAIMS = declare(
    Claim(
        key="forced_final",
        number=1,
        title="Final accuracy on corrupted samples",
        statement="Networks with BN end up fitting more of the corrupted samples.",
        quantity="final accuracy on corrupted samples, BN minus plain",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_FORCED,
    ),
    Claim(
        key="forced_speed",
        number=1,
        title="Speed of fitting them",
        statement="Networks with BN fit the corrupted samples sooner.",
        quantity="epochs until half of the corrupted samples are fitted, plain minus BN",
        unit="epochs",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_FORCED,
    ),
    Claim(
        key="forced_loss",
        number=1,
        title="Loss on corrupted samples",
        statement="With BN the loss of the corrupted samples falls faster.",
        quantity="area under the loss curve of the corrupted samples, as mean loss over training, "
        "plain minus BN",
        unit="nats",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_FORCED,
    ),
    Claim(
        key="gradient_norm",
        number=2,
        title="Per-sample gradients, BN over plain",
        statement="Corrupted samples have larger per-sample gradients with BN than without.",
        # Summed, because the norm of a sample falls again once it is fitted.
        quantity="Cliff's delta within a pair of models: gradient norms of the corrupted samples "
        "(running mode) summed over training, BN over plain",
        unit="Cliff's delta",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_INFLUENCE,
    ),
    Claim(
        key="gradient_norm_clean",
        number=2,
        title="Per-sample gradients, corrupted over clean",
        statement="With BN, corrupted samples have larger per-sample gradients than clean ones.",
        quantity="Cliff's delta within a model with BN: gradient norms (running mode) summed over "
        "training, corrupted over clean samples",
        unit="Cliff's delta",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_INFLUENCE,
    ),
    Claim(
        key="membership_clean",
        number=3,
        title="Membership inference, no outliers",
        statement="Membership inference is stronger against BN even with no outliers.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, no outliers",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_MEMBERSHIP,
    ),
    Claim(
        key="membership_1",
        number=3,
        title="Membership inference, 1 % outliers",
        statement="With 1 % outliers membership inference gains at least 3 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 1 % outliers",
        unit="AUC",
        direction="above",
        threshold=0.03,
        least_n=6,
        chapter=_MEMBERSHIP,
    ),
    Claim(
        key="membership_5",
        number=3,
        title="Membership inference, 5 % outliers",
        statement="With 5 % outliers membership inference gains at least 4 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 5 % outliers",
        unit="AUC",
        direction="above",
        threshold=0.04,
        least_n=6,
        chapter=_MEMBERSHIP,
    ),
    Claim(
        key="growth_factor",
        number=4,
        title="Margin growth of a step",
        statement="BN multiplies the margin growth of a step by (gamma/sigma)^2.",
        quantity="relative error of the predicted margin growth against autograd",
        unit="relative error",
        direction="below",
        threshold=1e-10,
        least_n=100,
        chapter=_GROWTH,
    ),
    Claim(
        key="ratio_above_one",
        number=5,
        title="gamma/sigma above 1",
        statement="In trained networks gamma/sigma is above 1 in most channels.",
        quantity="share of BN channels with gamma/sigma above 1",
        unit="share",
        direction="above",
        threshold=0.5,
        least_n=3,
        chapter=_RATIOS,
    ),
    Claim(
        key="feedback",
        number=6,
        title="Feedback through gamma: share",
        statement="Outliers take more than their share of the gradient of gamma.",
        quantity="corrupted samples' share of the sum of absolute gradients of gamma (running "
        "mode), over their share of the samples, after a third and at the end of training",
        unit="ratio",
        direction="above",
        threshold=1.0,
        least_n=3,
        chapter=_FEEDBACK,
    ),
    Claim(
        key="feedback_direction",
        number=6,
        title="Feedback through gamma: direction",
        statement="Outliers drive gamma up, which speeds their own margin growth.",
        quantity="corrupted samples' net pull toward larger |gamma| (running mode), over the "
        "strength of their pull, after a third and at the end of training",
        unit="share",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_FEEDBACK,
    ),
    Claim(
        key="penalty",
        number=7,
        title="Penalty on gamma/sigma: memorization",
        statement="Penalizing gamma/sigma lowers memorization markedly.",
        # Markedly: the paper's word, read here as 10 points.
        quantity="final accuracy on corrupted samples, no penalty minus penalty; for each seed, "
        "form, weight and target are the ones that, on the other seeds, fit the fewest corrupted "
        "samples at a mean cost of at most 1 point of test accuracy",
        unit="accuracy",
        direction="above",
        threshold=0.1,
        least_n=3,
        chapter=_PENALTY,
    ),
    Claim(
        key="penalty_cost",
        number=7,
        title="Penalty on gamma/sigma: cost",
        statement="The penalty costs at most 1 point of test accuracy.",
        quantity="final test accuracy, no penalty minus penalty, of the same choice of form, "
        "weight and target",
        unit="accuracy",
        direction="below",
        threshold=0.01,
        least_n=3,
        chapter=_PENALTY,
    ),
)
