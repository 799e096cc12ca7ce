"""The first sentences follow from the verdicts, whatever these are."""

from itertools import product

import pytest
from test_scoreboard import found
from verdicts import NOT, PARTLY, REPRODUCED, UNTESTED, verdict

from bn_memorization import plain_answer
from bn_memorization.control_claims import MATCHED

FIT, LEAK = (topic.claim for topic in plain_answer.TOPICS)
LEARN, GIVE = "learn more wrong labels by heart", "give away more"
WORDS = {"yes": REPRODUCED, "partly": PARTLY, "no": NOT, "untested": UNTESTED}


def results(**evidence) -> dict:
    return {key: found(key, verdict(item)) for key, item in evidence.items()}


def test_what_holds_is_said_in_one_sentence_and_what_is_left_in_another():
    told = plain_answer.sentences(
        results(**{FIT: REPRODUCED, LEAK: REPRODUCED, MATCHED[FIT]: NOT, MATCHED[LEAK]: REPRODUCED})
    )
    assert told == [
        "Trained for equally many epochs, networks with BN learn more wrong labels by heart and "
        "give away more of which images they were trained on than networks without.",
        "Where both are equally trained, a gap in wrong labels learned is no longer shown and a "
        "gap in what they give away is still there.",
    ]


@pytest.mark.parametrize(
    ("item", "start", "end"),
    [
        (PARTLY, "Trained for equally many epochs, networks", "not clearly in every setting."),
        (NOT, "It was not found that", "than networks without."),
        (UNTESTED, "Whether networks with BN", "cannot be told at the scale of this build."),
    ],
)
def test_other_verdicts_have_sentences_of_their_own(item, start, end):
    told = plain_answer.sentences(results(**{FIT: item, LEAK: REPRODUCED}))
    (about,) = [sentence for sentence in told if LEARN in sentence]
    assert about.startswith(start)
    assert about.endswith(end)
    assert GIVE not in about
    assert any(GIVE in sentence for sentence in told)


def test_what_was_not_run_is_said_to_be_so():
    (told,) = plain_answer.sentences({})
    assert LEARN in told
    assert GIVE in told
    assert told.endswith("was not tested in this build.")


def test_of_a_gap_that_was_not_found_nothing_can_be_left():
    for item in (NOT, UNTESTED):
        told = plain_answer.sentences(results(**{FIT: item, MATCHED[FIT]: REPRODUCED}))
        assert "equally trained" not in " ".join(told)


def test_every_pair_of_verdicts_is_told_and_never_as_another():
    """No two outcomes read the same, and none reads as a finding that it is not."""
    texts = {}
    for after, left in product(WORDS, WORDS):
        made = results(**{FIT: WORDS[after], MATCHED[FIT]: WORDS[left]})
        texts[after, left] = " ".join(plain_answer.sentences(made))
        assert ("still there" in texts[after, left]) == (
            after in ("yes", "partly") and left == "yes"
        )
    for after in ("yes", "partly"):
        assert len({texts[after, left] for left in WORDS}) == len(WORDS)
    assert len({texts[after, "yes"] for after in WORDS}) == len(WORDS)
