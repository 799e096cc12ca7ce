"""Our own controls: statements that decide how a claim of the paper is to be read.

They are declared and judged like the paper's claims, and these modules read no result; pilot runs
had been seen when some were written. `number` says which claim of the paper a control bears on.
"""

from bn_memorization.declared_attack import ATTACK
from bn_memorization.declared_matching import MATCHING
from bn_memorization.declared_mechanism import MECHANISM
from bn_memorization.judging import NOT_REPRODUCED, NOT_TESTABLE, PARTLY, REPRODUCED

CONTROLS = MATCHING | ATTACK | MECHANISM

# A claim's verdict word, as it is said of a control, which no paper made.
TOLD = {
    REPRODUCED: "holds",
    PARTLY: "holds in part",
    NOT_REPRODUCED: "not shown",
    NOT_TESTABLE: NOT_TESTABLE,
}

# The control that says whether a claim of the paper is still true where both arms are equally far,
# or, for the penalty, where growing those weights cannot meet it.
MATCHED = {
    "forced_final": "matched_loss",
    "forced_loss": "matched_corrupted_loss",
    "gradient_norm": "matched_gradient",
    "membership_clean": "matched_attack_clean",
    "membership_1": "matched_attack_1",
    "membership_5": "matched_attack_5",
    "penalty": "penalty_held",
    "penalty_cost": "penalty_held_cost",
}

# Controls on a size, which has no sign to tell.
SIZES = {"sensitivity_precision"}


def told(key: str, word: str) -> str:
    """Return a verdict's word as readers see it: that of a control is its own."""
    return TOLD[word] if key in CONTROLS else word
