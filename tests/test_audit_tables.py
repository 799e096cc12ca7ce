from dataclasses import replace

import made_audit
import numpy as np
import pytest
from made_audit import audited

from bn_memorization import audit
from bn_memorization import audit_tables as tables
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, Saved

NO_RATIO = {"ratio": np.zeros((8, 0)), "bn_layer": np.zeros(0, int)}
CONFIG = AuditConfig(
    factory="package.module.make",
    code_sha256="0123456789abcdef",
    versions="",
    model=0,
    images="mine.npz",
    pool_size=80,
    image_size=0,
    num_classes=0,
    scaling="unit",
    planted_rate=0.1,
    seed=0,
    epochs=1,
    batch_size=2,
    optimizer="sgd",
    lr=0.1,
    momentum=0.0,
    weight_decay=0.0,
)


def images(member=None, names=None, classes=("a", "b", "c")):
    x = made_audit.arrays(80)["x"]
    names = names or tuple(f"row {row}" for row in range(80))
    return Images(x, np.arange(80) % 3, names, classes, member, 100)


def saved(shift=0.0, member=None):
    rng = np.random.default_rng(2)
    made = audited(shift=3.0)
    moved = 0 if member is None else shift * member
    phi = made.phi.mean(axis=0) - 1.5 + rng.normal(size=80) + moved
    return Saved(phi, rng.random(80), np.full(6, 2.0))


def verdicts(made):
    return audit.verdicts(made, tables.where(CONFIG))


@pytest.mark.parametrize(
    ("images", "shown"),
    [("mine.npz", "mine.npz"), ("/home/me/mine/", "mine"), ("/", "/"), ("embedded:mnist",) * 2],
)
def test_of_a_path_the_last_part_is_shown(images, shown):
    found = tables.where(replace(CONFIG, images=images))
    assert found == {"network": "module.make", "images": shown}


def test_no_interval_of_a_share_goes_beyond_all():
    made = audited(ratio=np.repeat([[2.0] * 6, [0.5] + [2.0] * 5], [6, 2], axis=0))
    (line, *_) = tables.page(made, images(), None, verdicts(made)).splitlines()
    assert "to 100\N{NO-BREAK SPACE}%" in line


def test_what_was_given():
    text = tables.given(CONFIG, images(), None, "smoke").to_html()
    for told in ("package.module.make", "0123456789ab<", "80 of 100, 8 x 8 pixels", "smoke"):
        assert told in text
    marked = tables.given(CONFIG, images(np.arange(80) < 30), saved(), "smoke").to_html()
    assert "30 images marked" in marked
    assert "given, and they fit" in marked


def test_names_from_a_readers_disk_are_shown_and_not_executed():
    evil = "<script>alert(1)</script>"
    made = images(names=(evil,) * 80, classes=(evil, "b", "c"))
    place, rows = audit.prominence(audited()), np.arange(4)
    text = tables.largest(made, audited(), place, rows, "smoke").to_html()
    assert evil not in text
    assert "&lt;script&gt;" in text


def test_the_largest_say_label_place_and_plant():
    made = audited()
    place = audit.prominence(made)
    frame = tables.largest(images(), made, place, np.array([10, 11]), "smoke").data
    assert frame.image.tolist() == ["row 10", "row 11"]
    assert frame["label in training"].tolist() == ["b", "c"]
    assert frame.planted.tolist() == ["yes", ""]


def test_ratios_of_a_saved_network_stand_beside_those_of_the_shadows():
    alone = tables.ratios(audited(), None, ["a", "b"], "smoke").data
    assert list(alone.columns)[2:4] == [
        "median γ/σ, shadow models",
        "above 1, shadow models",
    ]
    both = tables.ratios(audited(), saved(), ["a", "b"], "smoke").data
    assert both["median γ/σ, saved network"].tolist() == ["2.00", "2.00"]
    assert both.shape == (2, 7)
    assert tables.ratios(audited(**NO_RATIO), None, [], "smoke").data == tables.NO_BN


def test_how_the_norms_were_measured_is_said():
    assert "one pass for many" in tables.how_measured(audited())
    assert "pass of its own" in tables.how_measured(audited(fast=False))


def test_planted_labels_are_counted_and_judged():
    made = audited(pull=4.0)
    told = tables.planted(made, verdicts(made))
    mean = audit.planted_aucs(made).mean()
    assert told.startswith("8 labels of 80 were flipped on purpose.")
    assert f"with a chance of {mean:.2f} (" in told
    none = audited(planted=np.zeros(80, bool))
    assert "No label was flipped" in tables.planted(none, verdicts(none))
    assert "Too few" in tables.planted(made, [])


def test_the_sentence_on_leaks_follows_the_verdict():
    made = audited()
    (attack, _) = verdicts(made)
    for word, told in (
        ("reproduced", "gives its members away"),
        ("partly", "may give"),
        ("not reproduced", "No leak was found"),
        ("not testable at this scale", "Too few shadow models"),
    ):
        found = [type(attack)(attack.claim, word, attack.evidence, (word,))]
        assert told in tables.leaks(found)


def test_a_saved_network_that_cannot_be_scored_says_why():
    assert "No saved network" in tables.saved_attack(audited(), images(), None)
    assert "array named member" in tables.saved_attack(audited(), images(), saved())
    alike = images(np.ones(80, bool))
    assert "cannot be scored" in tables.saved_attack(audited(), alike, saved())


@pytest.mark.parametrize(("shift", "word"), [(4.0, "outside"), (0.0, "inside")])
def test_the_attack_on_a_saved_network_is_set_against_chance(shift, word):
    member = np.random.default_rng(1).permutation(80) < 40
    made = audited(shift=3.0)
    told = tables.saved_attack(made, images(member), saved(shift, member))
    assert told.endswith(f"this one is {word}.")


def test_the_page_answers_four_questions():
    made = audited()
    lines = tables.page(made, images(), None, verdicts(made)).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("- **") and "?** " in line for line in lines)
    assert "no γ/σ to report" in tables.page(audited(**NO_RATIO), images(), None, verdicts(made))
    assert "100\N{NO-BREAK SPACE}% in the saved network" in tables.page(
        made, images(), saved(), verdicts(made)
    )


def test_numbers_of_the_attack():
    frame = tables.leakage(audited(), "smoke").data
    assert frame.value[0] == f"{audit.attack_aucs(audited()).mean():.3f}"
    assert frame.value[2] == "not resolvable"  # 1 % of 40 others


def test_the_answer_is_plain_text():
    told = tables.answer(CONFIG, audited(), verdicts(audited()))
    assert told.startswith("Audited: module.make, 8 shadow models on halves of 80 images.")
    assert told.endswith(".")
    assert not set("*`$") & set(told)


def test_verdicts_and_axes_go_together():
    found = verdicts(audited())
    assert len(tables.units(found)) == len(tables.verdicts(found, "smoke").data) == 2
    assert tables.verdicts(found[:1], "smoke").data.control.tolist() == [found[0].claim.title]
