import made_ways
import numpy as np
import pandas as pd
import pytest

from bn_memorization import frontier, frontier_verdicts
from bn_memorization import frontier_tables as tables
from bn_memorization.tradeoff import DECAY, NOTHING, STOPPING


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (("batch", NOTHING, ""), "BN"),
        (("layer", NOTHING, ""), "layer norm"),
        (("batch", "hinge", "weight 1, target 0.5"), "BN, hinge penalty (weight 1, target 0.5)"),
        (("batch", DECAY, "0.01"), "BN, weight decay 0.01"),
        (("batch", STOPPING, "5"), "BN, stopped after epoch 5"),
        (("group", frontier.PRIVATE, "2"), "group norm, DP-SGD at ε = 2"),
    ],
)
def test_ways_have_names(key, words):
    assert tables.label(*key) == words


def test_a_row_a_way_with_its_intervals():
    shown = tables.ways(made_ways.points(), "smoke")
    frame = shown.data
    assert len(frame) == 9
    assert "setting" not in frame  # said once, in the caption
    assert frame["test accuracy"][0] == "80.2\N{NO-BREAK SPACE}% (79.8 to 80.7)"
    assert set(frame.iloc[:, 3]) == {tables.UNRESOLVED}
    assert set(frame["on the front of AUC"]) == {"yes", "no"}
    assert frame["clearly beaten by"][0] >= 1
    assert "n = 3 pairs" in shown.caption
    assert shown.caption.endswith("(smoke).")


def test_settings_are_told_where_there_are_several():
    made = [*made_ways.every(), *made_ways.every(noise_rate=0.1)]
    points = frontier.points(made_ways.ways(made))
    assert tables.ways(points, "smoke").data["setting"].nunique() == 2
    assert tables.on_front(points).count("Of 8 ways") == 2
    assert "10\xa0% flipped" in tables.on_front(points)


def test_what_was_promised_is_a_row_an_epsilon():
    frame = tables.promised(made_ways.every(), "smoke").data
    assert frame["ε asked for"].tolist() == ["2", "8"]
    assert frame["ε spent"].tolist() == ["1.995", "7.995"]
    assert frame["images"].tolist() == [20, 20]


def test_movements_are_told_by_norm():
    frame = tables.moved({"batch": np.array([1.0, 3.0, 2.0]), "none": np.ones(3)}, "smoke").data
    assert frame["network"].tolist() == ["BN", "plain"]
    assert frame["largest"].tolist() == ["3.00", "1.00"]
    assert frame["median over samples"].tolist() == ["2.00", "1.00"]


def test_the_front_is_named_from_the_most_accurate_on():
    text = tables.on_front(made_ways.points())
    assert text.startswith("Of 9 ways to train, with the early stops of one network counted once, ")
    assert "BN, log penalty" in text
    assert text.index("BN, log penalty") < text.index("DP-SGD at ε = 2")


def test_the_answer_is_plain_and_says_the_verdicts():
    found = made_ways.ways()
    stops = frontier_verdicts.beside_stopping(found)
    barely = frontier_verdicts.beside_private(found, 2.0)
    verdicts = frontier_verdicts.verdicts(found, 2.0)
    text = tables.answer(verdicts, made_ways.points(), stops, barely, 2.0)
    assert tables.beyond_stopping(stops) in text
    assert tables.barely_trained(barely) in text
    assert text.endswith(".")
    assert not set(text) & set("*$`")
    assert "at ε = 2" in text
    assert "40.2" in text  # DP-SGD's test accuracy
    assert "not testable at this scale" in text  # three pairs


def test_penalties_beside_early_stopping_are_told_with_intervals():
    ((way, stop),) = frontier_verdicts.beside_stopping(made_ways.ways())
    text = tables.beyond_stopping([(way, stop)])
    assert "BN, log penalty (weight 1, target 0.25) minus BN is" in text  # BN is never as accurate
    assert f"losses of {way.train_loss.mean():.3f} and {stop.train_loss.mean():.3f} nats" in text
    assert "BN being there at its best and not as accurate" in text
    assert "n = 3 pairs" in text
    assert "BN being there at least as accurate" in tables.beyond_stopping([(stop, way)])
    assert tables.beyond_stopping([]).startswith("BN was attacked only at the end")


def test_dp_sgd_beside_little_training_is_told():
    text = tables.barely_trained(frontier_verdicts.beside_private(made_ways.ways(), 2.0))
    assert "group norm, stopped after epoch 2, has an AUC of 0." in text
    assert "at a test accuracy of 65.0\N{NO-BREAK SPACE}%" in text
    assert "group norm, DP-SGD at ε = 2 minus group norm, stopped after epoch 2 is" in text
    assert "no early stop to compare" in tables.barely_trained([])


def test_the_stops_of_one_network_are_one_way():
    points = made_ways.points()
    points["front_auc"] = False
    points.loc[points.remedy.isin([STOPPING, DECAY]), "front_auc"] = True
    (row,) = points[points.remedy == STOPPING].to_dict("records")
    later = pd.DataFrame([row | {"strength": "3", "test": row["test"] - 0.01}])
    text = tables.on_front(pd.concat([points, later]))
    assert text.startswith("Of 9 ways")
    assert "2 lie on" in text
    assert "BN, stopped after epoch 2, 3" in text


def test_accuracies_are_ranked_as_numbers():
    points = pd.DataFrame({"remedy": NOTHING, "strength": "", "norm": "batch", "test": [0.1, 0.09]})
    shown = tables._accuracies(points, NOTHING, "", "batch").replace("\N{NO-BREAK SPACE}", " ")
    assert shown == "9.0 % to 10.0 %"


def test_a_sentence_counts_models_and_kinds():
    text = tables.trained(made_ways.every(), "smoke").data
    assert text.startswith("Profile smoke: 48 models, 6 of each kind")
