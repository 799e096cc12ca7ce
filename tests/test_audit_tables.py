import numpy as np
from made_audit import CONFIG, NO_RATIO, audited, images, saved

from bn_memorization import audit
from bn_memorization import audit_tables as tables
from bn_memorization.audit_sentences import NO_BN


def verdicts(made):
    return audit.verdicts(made, {"network": "net"})


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
    assert tables.ratios(audited(**NO_RATIO), None, [], "smoke").data == NO_BN


def test_numbers_of_the_attack():
    frame = tables.leakage(audited(), "smoke").data
    assert frame.value[0] == f"{audit.attack_aucs(audited()).mean():.3f}"
    assert frame.value[2] == f"{audit.attack_aucs_with_planted(audited()).mean():.3f}"
    assert frame.value[2] != frame.value[0]
    assert frame.value[3] == "not resolvable"  # 1 % of 40 others
    none = tables.leakage(audited(planted=np.zeros(80, bool)), "smoke").data
    assert not none["over shadow models"].str.contains("planted").any()


def test_verdicts_and_axes_go_together():
    found = verdicts(audited())
    assert len(tables.units(found)) == len(tables.verdicts(found, "smoke").data) == 2
    assert tables.verdicts(found[:1], "smoke").data.control.tolist() == [found[0].claim.title]
