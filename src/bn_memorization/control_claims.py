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

CONTROLS = declare(
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
        title="Penalty: the part that needs the size of weights",
        statement="Part of the penalty's gain needs the weights before BN to change their size.",
        quantity="gain in final accuracy on corrupted samples, no penalty minus penalty, with "
        "weights free minus with weights held",
        unit="accuracy",
        direction="above",
        threshold=0.0,
        least_n=3,
        chapter="06b_reparametrization",
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
MATCHED: dict[str, str] = {}


def told(key: str, word: str) -> str:
    """Return a verdict's word as readers see it: that of a control is its own."""
    return TOLD[word] if key in CONTROLS else word
