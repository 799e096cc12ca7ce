import numpy as np
import pandas as pd
from test_figures_controls import WHERE, shares, standings
from test_norm_controls import run
from test_report import cells, spaced

from bn_memorization import control_tables, controls, tuning
from bn_memorization.control_claims import CONTROLS
from bn_memorization.control_gates import without
from bn_memorization.judging import Evidence, judge
from bn_memorization.report import NO_INTERVAL
from bn_memorization.stats import Gap

TOLD = ("ACCURACY", "LOSS", "GRADIENT", "ATTACK")
PLACE = "MNIST, LeNet, 5 % flipped"


def test_left_tells_gap_and_share():
    found = shares()
    share = [Gap(1.0, 1.0, 1.0, 3), Gap(0.25, -0.5, 0.75, 3)]
    found["share"] = share * len(controls.UNITS)
    head, *rows = cells(control_tables.left(found, "smoke"))
    assert head[1:3] == ["gap in", "matching"]
    assert rows[0] == [
        *(PLACE, controls.ACCURACY, controls.FIXED, "+20.0 points (+10.0 to +30.0 points)"),
        *("all", "3", "smoke"),
    ]
    assert rows[1][4].replace("−", "-") == "25.0 % (-50.0 % to 75.0 %)"
    assert len(rows) == 2 * len(controls.UNITS)


def test_no_share_of_a_gap_that_is_not_clear():
    rows = cells(control_tables.left(shares(), "smoke"))[1:]
    assert rows[1][4] == control_tables.NOT_CLEAR


def test_clear_names_the_matchings_whose_intervals_lie_above_zero():
    text = control_tables.clear(shares(rates=(0.01, 0.05)))
    assert "Accuracy on corrupted samples: equal epochs;" in text
    found = shares(rates=(0.01, 0.05))
    low = found.noise_rate == 0.01
    found.loc[low, "gap"] = [Gap(0.1, 0.0, 0.2, 3)] * low.sum()
    assert "AUC: none." in control_tables.clear(found)


def verdict(key, *ends):
    """Return the verdict of a control from (low, estimate, high) of each setting."""
    evidence = [Evidence(WHERE, estimate, low, high, 12) for low, estimate, high in ends]
    return judge(CONTROLS[key], evidence)


def test_verdicts_are_told_as_those_of_controls():
    nan = float("nan")
    found = [
        verdict("matched_loss", (0.1, 0.2, 0.3)),
        verdict("matched_attack_5", (-0.1, 0.05, 0.2), (-0.1, 0.01, 0.2)),
        verdict("norm_statistics", (nan, 0.5, nan)),
    ]
    head, *rows = cells(control_tables.verdicts(found, "smoke"))
    assert [row[-1] for row in rows] == [
        *("holds", "holds in part", "not shown", "not testable at this scale")
    ]
    at = head.index("holds above")
    assert [row[at] for row in rows] == ["+0.0 points", *["+4.0 points"] * 2, "+0.0 points"]
    assert rows[-1][head.index("interval")] == NO_INTERVAL


def rates():
    rows = [
        WHERE
        | {"norm": norm, "lr": lr, "corrupted": 0.5, "clean": 0.9, "test": 0.8, "clean_loss": 0.25}
        | {"spread": 0.025, tuning.TEST: chosen, tuning.CLEAN: 3 - chosen}
        for norm in ("batch", "none")
        for lr, chosen in ((0.01, 1), (0.02, 2), (0.05, 0))
    ]
    return pd.DataFrame(rows)


def test_rates_and_edges():
    head, first, *_ = cells(control_tables.rates(rates(), "smoke"))
    assert first[:3] == [PLACE, "BN", "0.01"]
    assert first[head.index("clean loss")] == "0.250"
    assert spaced(first[head.index("spread on test")]) == "2.5 %"
    assert first[head.index(f"seeds for {tuning.TEST}")] == "1"
    text = control_tables.at_edge(rates())
    assert f"2 of 6 by {tuning.TEST}" in text
    assert f"10 of 12 by {tuning.CLEAN}" in text


def test_standings_and_gaps():
    found = standings()
    for column in ("corrupted", "clean", "test", "clean_loss", "auc"):
        found[column] = 0.5
    found["ratio"] = [2.0, np.nan, np.nan, 2.0]
    found["n"] = 3
    head, *rows = cells(control_tables.standings(found, "smoke"))
    at = head.index("γ/σ")
    assert [(row[1], row[at]) for row in rows] == [
        *(("BN", "2.00"), ("plain", "none"), ("group norm", "none")),
        ("BN, statistics as constants", "2.00"),
    ]
    head, *rows = cells(control_tables.norm_gaps(found, "smoke"))
    assert rows[0][2] == "+20.0 points (+10.0 to +30.0 points)"
    assert rows[0][4] == rows[1][2] == "itself"
    assert rows[3][2:6] == ["not learned"] * 4
    assert {row[head.index("n")] for row in rows} == {"3"}


def test_how_far_gives_ranges_over_runs():
    runs = [run("batch", (0.0, end), clean=(0.1, 1.0), seed=s) for s, end in enumerate((0.5, 0.75))]
    runs.append(run("none", (0.0, 0.25), clean=(0.1, 0.5)))
    assert spaced(control_tables.how_far(runs)) == (
        "After 1 epoch, BN has fitted 100.0 % of the clean samples and 50.0 % to 75.0 % of the "
        "corrupted samples; plain has fitted 50.0 % of the clean samples and 25.0 % of the "
        "corrupted samples."
    )


def test_the_answer_says_each_gap_with_its_word():
    fixed = [Evidence(WHERE, 0.5, 0.4, 0.6, 3)]
    found = [
        verdict("matched_tuned", (0.1, 0.2, 0.3)),
        verdict("matched_loss", (-0.1, 0.1, 0.3)),
        verdict("matched_test", (-0.2, -0.1, 0.3)),
        verdict("matched_fitted", (0.0, 0.0, 0.0)),
        verdict("norm_other", (0.1, 0.25, 0.3)),
        verdict("norm_gamma", (-0.3, -0.2, 0.1)),
    ]
    text = spaced(control_tables.answer(fixed, found)).replace("−", "-")
    assert "is +50.0 points. It is +20.0 points with a learning rate tuned" in text
    assert "tuned for each arm (holds), +10.0 points at equal clean training loss (holds in" in text
    assert "-10.0 points at equal test accuracy (not shown) and +0.0 points after" in text
    assert "fit more of the corrupted samples: holds (+25.0 points)." in text
    assert "a learned gamma than with gamma fixed at 1: not shown (-20.0 points)." in text
    assert "AUC" not in text
    assert "Cliff" not in text
    more = [
        verdict("matched_attack_5", (0.01, 0.05, 0.1)),
        verdict("matched_gradient", (0, 1, 1)),
        verdict("matched_corrupted_loss", (0.1, 0.2, 0.3)),
        verdict("fitted_attack", (0.1, 0.2, 0.3)),
        verdict("batch_sizes", (0.1, 0.2, 0.3), (float("nan"), 0.9, float("nan"))),
    ]
    text = spaced(control_tables.answer(fixed, [*found, *more]))
    assert "Cliff's delta of their gradient norms is 1.00 on the way to equal" in text
    assert "The attack's gap in AUC is +5.0 points with 5 % outliers" in text
    assert "+20.0 points on the small pools after the long runs (holds)." in text
    assert "The gap in their loss is +0.20 nats at equal clean training loss (holds)." in text
    assert "at which both arms learn the clean samples: holds (+20.0 points)." in text


def test_the_answer_says_why_a_gate_left_no_verdict():
    gated = [without(Evidence(WHERE, 0.0, -0.1, 0.1, 3), "both fit all")]
    found = [judge(CONTROLS["matched_fitted"], gated), judge(CONTROLS["norm_gamma"], gated)]
    text = spaced(control_tables.answer([Evidence(WHERE, 0.5, 0.4, 0.6, 3)], found))
    assert "It is not told after the long runs (both fit all)." in text
    assert "with gamma fixed at 1: no verdict (both fit all)." in text


def test_every_control_of_the_chapter_is_told():
    told = [getattr(control_tables, f"{part}_TOLD") for part in TOLD]
    keys = [key for part in (*told, control_tables.STATED) for key in part]
    assert sorted(keys) == sorted(k for k, c in CONTROLS.items() if c.chapter == "08_controls")
