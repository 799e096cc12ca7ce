import re

import pytest
from made_shadows import both

from bn_memorization import calibration, sensitivity
from bn_memorization import membership as mia
from bn_memorization import sensitivity_tables as tables
from bn_memorization.control_claims import CONTROLS, told
from bn_memorization.judging import Evidence, judge
from bn_memorization.report import number


def shown(styler):
    """Return a table's rows as readers see them."""
    return styler.data.to_dict("records")


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


def pairs(**changes):
    return mia.paired(mia.pools(both(**changes)), "batch")


WAYS = {"one": sensitivity.as_declared, "other": sensitivity.in_training_mode}


def test_choices_have_both_arms_and_the_gap():
    found = pairs() + pairs(noise_rate=0.0)
    rows = shown(tables.choices(found, WAYS, "smoke"))
    assert [row["attack"] for row in rows] == ["one", "other"] * 2
    for row, (arms, way) in zip(
        rows, [(arms, way) for arms in found for way in WAYS.values()], strict=True
    ):
        (item,) = sensitivity.gaps([arms], way)
        treated, untreated = (way(pool).mean() for pool in arms)
        assert (row["AUC, BN"], row["AUC, plain"]) == (f"{treated:.3f}", f"{untreated:.3f}")
        assert row[f"gap ({mia.INTERVAL})"].startswith(number(item.estimate, "AUC"))
        assert row["n"] == 3
    assert rows[0] != rows[1]


def test_ceiling_has_a_row_an_arm():
    rows = [
        {plain(k): plain(v) for k, v in row.items()}
        for row in shown(tables.ceiling(pairs(shifts=(0.0, 0.0, 40.0)), "smoke"))
    ]
    assert [row["arm"] for row in rows] == ["BN", "plain"]
    ((treated, untreated),) = pairs(shifts=(0.0, 0.0, 40.0))
    for row, pool in zip(rows, (treated, untreated), strict=True):
        share = sensitivity.at_ceiling(pool)["members"]
        assert row["at the ceiling, members"] == f"{100 * share:.1f} %"
        assert row["largest margin, float64"] == f"{pool.phi[-1].max():.1f}"


def test_low_false_positive_rates_are_told_of_where_they_are_resolved(monkeypatch):
    for row in shown(tables.views(pairs(), "smoke")):  # twenty non-members a model
        assert set(list(row.values())[2:]) == {"not resolvable"}
    monkeypatch.setattr(tables, "RATE", 0.05)
    ((treated, _),) = pairs()
    row = shown(tables.views(pairs(), "smoke"))[0]
    wanted = mia.mean_tpr(sensitivity.in_views(treated, 6), 0.05)
    assert plain(row["six views, stacked"]) == f"{100 * wanted:.1f} %"
    wanted = mia.mean_tpr(sensitivity.in_mean_view(treated, 6), 0.05)
    assert plain(row["six views, averaged"]) == f"{100 * wanted:.1f} %"
    assert plain(row["one view"]) == f"{100 * mia.mean_tpr(treated, 0.05):.1f} %"


def test_made_views_stand_beside_what_is_right():
    rows = shown(tables.known(6, 16, 80, 0.6, 0, "smoke"))
    assert [row["views"] for row in rows] == ["averaged", "stacked"]
    few = calibration.views_attacked(6, 6, 80, 0.6, 0)["stacked"]
    many = calibration.views_attacked(6, 16, 80, 0.6, 0)["stacked"]
    assert rows[1]["shift, 6 models"] == f"{few.estimate:.3f}"
    assert rows[1]["shift, 16 models"] == f"{many.estimate:.3f}"
    assert rows[1]["right with a shift"] == f"{calibration.expected_of_views(6, 0.6):.3f}"
    assert re.fullmatch(r"0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)", rows[1]["no shift"])


def evidence(middle):
    return Evidence({"dataset": "mnist"}, middle, middle - 0.005, middle + 0.005, 6, mia.INTERVAL)


MIDDLES = {"mode": 0.02, "precision": 0.03, "models": -0.02, "queries": 0.002}


def controls():
    return [judge(CONTROLS[f"sensitivity_{k}"], [evidence(v)]) for k, v in MIDDLES.items()]


def test_the_answer_says_what_each_control_found():
    mode, precision, models, queries = (told(v.claim.key, v.word) for v in controls())
    assert len({mode, models, queries}) == 3
    text = plain(tables.answer([evidence(0.04)], [evidence(-0.03)], controls(), "batch"))
    assert "In 1 setting the AUC of the attack against BN" in text
    assert "is +4.0 points as chapter 3 attacks" in text
    assert f"+2.0 points ({mode}) with networks queried in training mode" in text
    assert f"-2.0 points ({models}) with half of the models, the attacked pair included" in text
    assert f"+0.2 points ({queries}) with six views" in text
    assert "move it by -3.0 points, and in a pair of models by a size of" in text
    assert f"by a size of 3.0 points ({precision})." in text


def test_where_bn_has_no_part_no_verdict_is_told():
    text = plain(tables.answer([evidence(0.04)], [evidence(-0.03)], controls(), "group"))
    assert "against group norm" in text
    assert "(" not in text
    mode, precision, *_ = controls()
    for norm, shown_ in (("batch", True), ("group", False)):
        for table in (
            tables.control(mode, "smoke", norm),
            tables.sizes(precision, [evidence(-0.03)], "smoke", norm),
        ):
            text = table.to_html()
            assert ("verdict" in text) == shown_
            assert any(told(v.claim.key, v.word) in text for v in (mode, precision)) == shown_


def test_a_size_has_no_sign_and_the_change_beside_it_has_one():
    _, precision, *_ = controls()
    (row,) = shown(tables.sizes(precision, [evidence(-0.03)], "smoke", "batch"))
    assert plain(row["size of the change"]) == "3.0 points"
    assert plain(row[f"interval ({mia.INTERVAL})"]) == "2.5 to 3.5 points"
    assert plain(row["change of the gap"]) == "-3.0 points (-3.5 to -2.5 points)"
    assert row["n"] == 6


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tables.choices(pairs(), WAYS, "quick"),
        lambda: tables.ceiling(pairs(), "quick"),
        lambda: tables.views(pairs(), "quick"),
        lambda: tables.sizes(controls()[1], [evidence(-0.03)], "quick", "batch"),
        lambda: tables.known(6, 8, 40, 0.6, 0, "quick"),
    ],
)
def test_every_table_names_its_profile(draw):
    assert "(quick)" in draw().to_html()
