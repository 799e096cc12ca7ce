"""What the verdicts mean, in plain words: the first sentences of the book.

They follow from the verdicts of two claims and of the controls that ask them again at equal
training, whatever these turn out to be.
"""

from dataclasses import dataclass

from bn_memorization import scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, MATCHED
from bn_memorization.judging import NOT_REPRODUCED, NOT_TESTABLE, PARTLY, REPRODUCED
from bn_memorization.scoreboard import NOT_RUN, Results

NETWORKS, OTHERS = "networks with BN", "than networks without"


@dataclass(frozen=True)
class Topic:
    """What a claim says that networks with BN do, and what its gap is in."""

    claim: str
    does: str
    gap: str


TOPICS = (
    Topic("forced_final", "learn more wrong labels by heart", "wrong labels learned"),
    Topic(
        "membership_clean",
        "give away more of which images they were trained on",
        "what they give away",
    ),
)
AFTER_EPOCHS = {
    REPRODUCED: "Trained for equally many epochs, {networks} {does} {others}.",
    PARTLY: "Trained for equally many epochs, {networks} {does} {others}, but not clearly in every "
    "setting.",
    NOT_REPRODUCED: "It was not found that, trained for equally many epochs, {networks} {does} "
    "{others}.",
    NOT_TESTABLE: "Whether {networks} {does} {others} cannot be told at the scale of this build.",
    NOT_RUN: "Whether {networks} {does} {others} was not tested in this build.",
}
# What a control says of a gap, where both arms are equally trained.
AT_EQUAL_TRAINING = {
    REPRODUCED: "a gap in {gap} is still there",
    PARTLY: "a gap in {gap} is there, but not clear of chance everywhere",
    NOT_REPRODUCED: "a gap in {gap} is no longer shown",
    NOT_TESTABLE: "of the gap in {gap} nothing can be told at this scale",
}


def sentences(results: Results) -> list[str]:
    """Return what was found of both topics after equal epochs, and what is left at equal training.

    The last is said only of what holds after equal epochs, at least in part, and of what was asked
    again.
    """
    found = [
        template.format(networks=NETWORKS, does=_joined(said), others=OTHERS)
        for word, template in AFTER_EPOCHS.items()
        if (said := [t.does for t in TOPICS if scoreboard.word(CLAIMS[t.claim], results) == word])
    ]
    left = [_left(topic, results) for topic in TOPICS]
    if told := [part for part in left if part]:
        found.append(f"Where both are equally trained, {_joined(told)}.")
    return found


def _left(topic: Topic, results: Results) -> str:
    control = CONTROLS[MATCHED[topic.claim]]
    holds = scoreboard.word(CLAIMS[topic.claim], results) in (REPRODUCED, PARTLY)
    if not holds or control.key not in results:
        return ""
    return AT_EQUAL_TRAINING[results[control.key]["word"]].format(gap=topic.gap)


def _joined(parts: list[str]) -> str:
    return " and ".join(parts)
