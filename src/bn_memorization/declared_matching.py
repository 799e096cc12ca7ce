"""Controls on the arms: trained equally far, tuned alike, and which part of BN differs."""

from bn_memorization.judging import Claim, declare

_CONTROLS = "08_controls"

MATCHING = declare(
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
        "runs; no verdict where one arm has not learned 90 % of the clean samples, or both have "
        "fitted 95 % of the corrupted ones",
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
        statement="Membership inference is stronger against BN at equal loss on clean members, "
        "with no outliers.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, no outliers, at equal "
        "loss on clean members",
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
        statement="At equal loss on clean members, with 1 % outliers, membership inference gains "
        "at least 3 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 1 % outliers, at equal "
        "loss on clean members",
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
        statement="At equal loss on clean members, with 5 % outliers, membership inference gains "
        "at least 4 AUC points from BN.",
        quantity="AUC of LiRA (online, pooled variance), BN minus plain, 5 % outliers, at equal "
        "loss on clean members",
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
        "the long runs; no verdict where an arm has not fitted 90 % of its members",
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
        statement="BN fits more corrupted samples with the gradient through its statistics than "
        "without.",
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
        statement="BN fits more corrupted samples with a learned gamma than with gamma fixed at 1.",
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
        "size at which both arms learn the clean samples.",
        quantity="final accuracy on corrupted samples, BN minus plain, after equal epochs; no "
        "verdict where one of the two has not learned 90 % of the clean samples",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter=_CONTROLS,
    ),
)
