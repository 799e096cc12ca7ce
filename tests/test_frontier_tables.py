import made_ways
import numpy as np
import pytest

from bn_memorization import frontier
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
    assert set(frame["on the front"]) == {"yes", "no"}
    assert frame["clearly beaten by"][0] >= 1
    assert "n = 3 pairs" in shown.caption
    assert shown.caption.endswith("(smoke).")


def test_settings_are_told_where_there_are_several():
    made = [*made_ways.every(), *made_ways.every(noise_rate=0.1)]
    points = frontier.points(made_ways.ways(made))
    assert tables.ways(points, "smoke").data["setting"].nunique() == 2
    assert tables.on_front(points).count("Of 8 ways") == 2
    assert "10 % flipped" in tables.on_front(points)


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
    assert text.startswith("Of 9 ways to train, early stopping included, ")
    assert "BN, log penalty" in text
    assert text.index("BN, log penalty") < text.index("DP-SGD at ε = 2")


def test_the_answer_is_plain_and_says_the_verdicts():
    found = made_ways.ways()
    stops = frontier.beside_stopping(found)
    text = tables.answer(frontier.verdicts(found, 2.0), made_ways.points(), stops, 2.0)
    assert tables.beyond_stopping(stops) in text
    assert text.endswith(".")
    assert not set(text) & set("*$`")
    assert "at ε = 2" in text
    assert "40.2" in text  # DP-SGD's test accuracy
    assert "not testable at this scale" in text  # three pairs


def test_penalties_beside_early_stopping_are_told_with_intervals():
    text = tables.beyond_stopping(frontier.beside_stopping(made_ways.ways()))
    assert "BN, log penalty (weight 1, target 0.25) minus BN, stopped after epoch 2 is" in text
    assert "n = 3 pairs" in text
    assert tables.beyond_stopping([]).startswith("BN was attacked only at the end")


def test_a_sentence_counts_models_and_kinds():
    text = tables.trained(made_ways.every(), "smoke").data
    assert text.startswith("Profile smoke: 48 models, 6 of each kind")
