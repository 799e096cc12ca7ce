from dataclasses import replace

import numpy as np
import pytest
from made_audit import CONFIG, NO_RATIO, audited, images, saved

from bn_memorization import audit
from bn_memorization import audit_sentences as sentences
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import Evidence, Verdict, judge


def verdicts(made):
    return audit.verdicts(made, sentences.where(CONFIG))


@pytest.mark.parametrize(
    ("images", "shown"),
    [("mine.npz", "mine.npz"), ("/home/me/mine/", "mine"), ("/", "/"), ("embedded:mnist",) * 2],
)
def test_of_a_path_the_last_part_is_shown(images, shown):
    found = sentences.where(replace(CONFIG, images=images))
    assert found == {"network": "module.make", "images": shown}


def test_no_interval_of_a_share_goes_beyond_all():
    made = audited(ratio=np.repeat([[2.0] * 6, [0.5] + [2.0] * 5], [6, 2], axis=0))
    (line, *_) = sentences.page(made, images(), None, verdicts(made)).splitlines()
    assert "to 100\N{NO-BREAK SPACE}%" in line


def test_how_the_norms_were_measured_is_said():
    assert "one pass for many" in sentences.how_measured(audited())
    assert "pass of its own" in sentences.how_measured(audited(fast=False))


def test_planted_labels_are_counted_and_judged():
    made = audited(pull=4.0)
    told = sentences.planted(made, verdicts(made))
    mean = audit.planted_aucs(made).mean()
    assert told.startswith("8 labels of 80 were flipped on purpose.")
    assert f"with a chance of {mean:.2f} (" in told
    none = audited(planted=np.zeros(80, bool))
    assert "No label was flipped" in sentences.planted(none, verdicts(none))
    few = audited(planted=np.arange(80) == 0)  # in one model of a pair it is no member
    assert "Too few" in sentences.planted(few, verdicts(few))


def test_of_planted_labels_where_all_are_fitted_the_number_is_told_and_no_verdict():
    made = audited(pull=4.0)
    fitted = audited(pull=4.0, correct=made.keep)
    text = sentences.planted(fitted, verdicts(fitted))
    assert f"with a chance of {audit.planted_aucs(made).mean():.2f} (" in text
    assert "of that the control says nothing" in text
    assert "of that the control" not in sentences.planted(made, verdicts(made))


def test_the_sentence_on_leaks_follows_the_verdict():
    made = audited()
    (attack, _) = verdicts(made)
    for word, told in (
        ("partly", "may say more"),
        ("not reproduced", "No leak was found"),
        ("not testable at this scale", "Too few shadow models"),
    ):
        found = [Verdict(attack.claim, word, attack.evidence, (word,))]
        assert told in sentences.leaks(made, found)


@pytest.mark.parametrize(
    ("low", "much"), [(0.01, False), (0.099, False), (0.101, True), (0.3, True)]
)
def test_strong_words_want_the_whole_interval_beyond_a_declared_auc(low, much):
    item = Evidence({"network": "net"}, low + 0.05, low, low + 0.1, 6)
    text = sentences.leaks(audited(), [judge(CONTROLS["audit_attack"], [item])])
    assert ("gives its members away" in text) == much
    assert ("more about who is a member than guessing" in text) != much
    assert sentences.STRONG == 0.6


def test_the_attack_is_told_without_planted_labels_and_with_them():
    made = audited()
    own, everyone = audit.attack_aucs(made).mean(), audit.attack_aucs_with_planted(made).mean()
    text = sentences.leaks(made, verdicts(made))
    assert f"AUC of LiRA {own:.2f} (" in text
    assert text.endswith(f"and {everyone:.2f} with planted labels.")
    none = audited(planted=np.zeros(80, bool))
    assert "planted" not in sentences.leaks(none, verdicts(none))


def test_a_saved_network_that_cannot_be_scored_says_why():
    assert "No saved network" in sentences.saved_attack(audited(), images(), None)
    assert "array named member" in sentences.saved_attack(audited(), images(), saved())
    alike = images(np.ones(80, bool))
    assert "cannot be scored" in sentences.saved_attack(audited(), alike, saved())


@pytest.mark.parametrize(("shift", "word"), [(4.0, "outside"), (0.0, "inside")])
def test_the_attack_on_a_saved_network_is_set_against_chance(shift, word):
    member = np.random.default_rng(1).permutation(80) < 40
    made = audited(shift=3.0)
    told = sentences.saved_attack(made, images(member), saved(shift, member))
    assert told.endswith(f"this one is {word}.")


def test_the_page_answers_four_questions():
    made = audited()
    lines = sentences.page(made, images(), None, verdicts(made)).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("- **") and "?** " in line for line in lines)
    assert "no γ/σ to report" in sentences.page(audited(**NO_RATIO), images(), None, verdicts(made))
    assert "100\N{NO-BREAK SPACE}% in the saved network" in sentences.page(
        made, images(), saved(), verdicts(made)
    )


def test_the_answer_is_plain_text():
    told = sentences.answer(CONFIG, audited(), verdicts(audited()))
    assert told.startswith("Audited: module.make, 8 shadow models on halves of 80 images.")
    assert told.endswith(".")
    assert not set("*`$") & set(told)
