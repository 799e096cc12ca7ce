"""Controls on membership inference: how it is done, what else changes it, and on whose model."""

from bn_memorization.judging import Claim, declare

_SENSITIVITY = "03b_sensitivity"
_TRADEOFFS = "09_tradeoffs"
_AUDIT = "10_audit"

ATTACK = declare(
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
        statement="Membership inference is stronger against BN with half of the models, the "
        "attacked pair included, too.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, with half of the models, "
        "the attacked pair included, but at least 6; a pair's AUC is its mean over several sets",
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
        statement="DP-SGD at the smallest epsilon leaves membership inference next to nothing.",
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
        number=0,
        title="Audit: planted wrong labels have large gradients",
        statement="In the audited kind of network, where not all labels are fitted, wrong labels "
        "planted among the members have larger gradients than the other members.",
        quantity="AUC of the gradient norm (running mode, end of training) of planted wrong labels "
        "among the members of a shadow model, minus one half",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_AUDIT,
    ),
    Claim(
        key="audit_attack",
        number=0,
        title="Audit: members are told from others",
        statement="Members of the audited kind of network are told from other images better than "
        "by guessing.",
        quantity="AUC of LiRA (online, pooled variance) on shadow models of the audited network, "
        "among images with the label that they came with, minus one half",
        unit="AUC",
        direction="above",
        threshold=0.0,
        least_n=6,
        chapter=_AUDIT,
    ),
)
