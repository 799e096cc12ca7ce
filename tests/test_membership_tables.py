import re

import numpy as np
import pytest
from made_shadows import KEEP, N, both, shadows

from bn_memorization import calibration
from bn_memorization import membership as mia
from bn_memorization import membership_tables as tables
from bn_memorization.errors import BadInput
from bn_memorization.judging import NOT_REPRODUCED, REPRODUCED, Evidence
from bn_memorization.matched_attack import EqualLoss, at_equal_loss


def shown(styler):
    """Return a table's rows as readers see them."""
    return styler.data.to_dict("records")


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


def evidence(rate, low, middle, high, **where):
    place = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": rate}
    return Evidence(place | where, middle, low, high, 6, mia.INTERVAL)


def test_attacks_are_rows_and_arms_at_a_share_columns():
    pools = mia.pools(both(noise_rate=0.0) + both())
    rows = shown(tables.attacks(pools, "smoke"))
    assert [row["attack"] for row in rows] == list(mia.ATTACKS)
    for row in rows:
        for pool, column in zip(
            pools, ("BN, 0 %", "plain, 0 %", "BN, 5 %", "plain, 5 %"), strict=True
        ):
            wanted = f"{pool.aucs(row['attack']).mean():.3f}"
            assert {plain(k): v for k, v in row.items()}[column] == wanted


def test_attacks_on_two_data_sets_have_rows_of_their_own():
    rows = shown(tables.attacks(mia.pools(both() + both(dataset="mnist")), "smoke"))
    assert [row["setting"] for row in rows] == [
        *["planted, LeNet, flipped labels"] * 7,
        *["MNIST, LeNet, flipped labels"] * 7,
    ]


def test_groups():
    (pool, _) = mia.pools(both())
    row = {plain(k): v for k, v in shown(tables.groups([pool], "smoke"))[0].items()}
    assert row["AUC, all"] == f"{pool.aucs(mia.DECIDES).mean():.3f}"
    assert row["AUC, outliers"] == f"{pool.aucs(mia.DECIDES, pool.outlier).mean():.3f}"
    assert row["AUC, clean"] == f"{pool.aucs(mia.DECIDES, ~pool.outlier).mean():.3f}"
    assert row["arm"] == "BN"
    # Twenty non-members a model.
    assert row["TPR at 1 % FPR"] == row["TPR at 0.1 % FPR"] == "not resolvable"


def test_low_false_positive_rates_are_shown_where_they_are_resolved(monkeypatch):
    monkeypatch.setattr(tables, "RATES", (0.05, 0.01))
    pools = mia.pools(both())
    row = {plain(k): v for k, v in shown(tables.groups(pools, "smoke"))[0].items()}
    assert plain(row["TPR at 5 % FPR"]) == f"{100 * mia.mean_tpr(pools[0], 0.05):.1f} %"
    assert row["TPR at 1 % FPR"] == "not resolvable"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_outliers_are_told_of(count):
    outlier = np.arange(N) < count
    row = shown(tables.groups(mia.pools(shadows(outlier=outlier)), "smoke"))[0]
    defined = sum(KEEP[m, 0] != KEEP[m, 1] for m in (0, 2, 4))
    assert 0 < defined < 3
    wanted = {
        0: r"no outliers",
        1: r"not resolvable \(0 of 3 pairs\)",
        2: rf"\d\.\d{{3}} \({defined} of 3 pairs\)",
    }
    assert re.fullmatch(wanted[count], row["AUC, outliers"])


def test_training_by_hand():
    pools = mia.pools(shadows())
    (pool,) = pools
    row = shown(tables.training(pools, "smoke"))[0]
    right, of = pool.correct[-1], {True: pool.keep & pool.outlier, False: ~pool.keep & pool.outlier}
    assert plain(row["accuracy on members"]) == f"{100 * right[pool.keep].mean():.1f} %"
    assert plain(row["outliers fitted, members"]) == f"{100 * right[of[True]].mean():.1f} %"
    assert plain(row["outliers fitted, non-members"]) == f"{100 * right[of[False]].mean():.1f} %"
    assert plain(row["on test"]) == "50.0 %"
    assert row["training loss"] == f"{pool.train_loss[-1].mean():.3f}"


def test_training_without_outliers():
    row = shown(tables.training(mia.pools(shadows(outlier=np.zeros(N, bool))), "smoke"))[0]
    assert row["outliers fitted, members"] == row["outliers fitted, non-members"] == "no outliers"


def test_gaps_at_equal_loss():
    equal = EqualLoss(EVEN, evidence(0.05, -0.01, 0.01, 0.03), -0.04, 0.05, 0.25)
    straight, log = shown(tables.at_equal_loss([equal], "smoke"))
    assert {k: plain(str(v)) for k, v in straight.items()} == {
        "setting": "MNIST, LeNet, 5 % flipped",
        "lines": "straight",
        "effect": "+2.0 points",
        f"interval ({mia.INTERVAL})": "+1.0 to +3.0 points",
        "n": "6",
        "look before": "-4.0 points",
        "look after": "+5.0 points",
        "loss on clean members": "0.250",
    }
    assert (log["lines"], plain(log["effect"])) == ("log", "+1.0 points")


EVEN = evidence(0.05, 0.01, 0.02, 0.03)
VERDICTS = mia.verdicts(
    [
        evidence(0.05, 0.05, 0.06, 0.07),
        evidence(0.05, 0.07, 0.08, 0.09, dataset="fashion_mnist"),
        evidence(0.0, -0.03, -0.02, -0.01),
    ]
)


def test_verdicts_stand_beside_their_thresholds():
    rows = shown(tables.verdicts(VERDICTS, "smoke"))
    found = [(plain(r["effect"]), plain(r["holds above"]), r["verdict"]) for r in rows]
    assert found == [
        ("-2.0 points", "+0.0 points", NOT_REPRODUCED),
        ("+6.0 points", "+4.0 points", REPRODUCED),
        ("+8.0 points", "+4.0 points", REPRODUCED),
    ]


def test_made_margins_beside_what_is_right():
    frame = calibration.check(6, 8, 60, 1.0, seed=0)
    rows = shown(tables.known(frame, 6, 8, 1.0, "smoke"))
    assert [row["attack"] for row in rows] == list(mia.ATTACKS)
    assert rows[0]["right with a shift"] == f"{frame['expected'][0]:.3f}"
    assert rows[0]["shift, 6 models"] == f"{frame['few'][0]:.3f}"
    assert rows[0]["shift, 8 models"] == f"{frame['many'][0]:.3f}"
    assert rows[0]["no shift"].startswith(f"{frame['null'][0].estimate:.3f} (")


@pytest.mark.parametrize("many", [8, 6])
def test_many_models_must_be_more(many):
    frame = calibration.check(8, many, 40, 1.0, seed=0)
    with pytest.raises(BadInput, match=f"many={many} models must be more than n_models=8"):
        tables.known(frame, 8, many, 1.0, "smoke")


def test_what_was_trained():
    text = tables.trained(both(), "smoke").data
    assert "Profile smoke: 12 models, each on half of a pool of 40 images for 4 epochs" in text
    assert "12 s" in text


def test_the_answer_says_what_the_evidence_says():
    back, zero = evidence(0.0, -0.01, 0.01, 0.03), evidence(0.0, -0.01, 0.0, 0.01)
    equal = [EqualLoss(EVEN, back, 0.0, 0.0, 0.2), EqualLoss(back, zero, 0.0, 0.0, 0.2)]
    text = plain(tables.answer(VERDICTS, equal, "BN"))
    assert "-2.0 points with 0 % outliers (not reproduced)" in text
    assert "+6.0 to +8.0 points with 5 % outliers (reproduced)" in text
    assert "the gap is +1.0 to +2.0 points on straight lines between two looks" in text
    assert "+0.0 to +1.0 points on lines against the log of the loss" in text
    assert "its interval lies above zero in 1 and 0 of 2 settings" in text
    assert "against BN" in text


@pytest.mark.parametrize(
    "draw",
    [
        lambda pools: tables.attacks(pools, "quick"),
        lambda pools: tables.groups(pools, "quick"),
        lambda pools: tables.training(pools, "quick"),
        lambda pools: tables.at_equal_loss(at_equal_loss(pools, "batch"), "quick"),
        lambda pools: tables.verdicts(mia.verdicts(mia.compare(pools, "batch")), "quick"),
        lambda pools: tables.known(calibration.check(6, 8, 40, 1.0, 0), 6, 8, 1.0, "quick"),
    ],
)
def test_every_table_names_its_profile(draw):
    assert "(quick)" in draw(mia.pools(both())).to_html()
