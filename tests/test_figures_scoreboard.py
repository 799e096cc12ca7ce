from matplotlib.colors import to_hex
from test_first_page import RESULTS

from bn_memorization import figures_scoreboard, first_page
from bn_memorization.figures import color


def test_both_gaps_of_a_setting_lie_at_their_values_hollow_and_filled():
    gaps = first_page.asked_again(RESULTS)
    (accuracy,) = figures_scoreboard.fixed_and_matched(gaps, "smoke").axes
    dots = {
        line.get_xdata()[0]: to_hex(line.get_markerfacecolor())
        for line in accuracy.lines
        if line.get_marker() == "o" and len(line.get_xdata())
    }
    assert dots == {50.0: "#ffffff", 5.0: color("batch").lower()}
    spans = [list(line.get_xdata()) for line in accuracy.lines if line.get_marker() == "None"]
    assert [40.0, 60.0] in spans
    assert [-10.0, 20.0] in spans
    assert "points of accuracy" in accuracy.get_xlabel()
    assert [text.get_text() for text in accuracy.texts] == [
        "Final accuracy on corrupted samples\nMNIST, LeNet, 5\xa0% flipped (n = 4)"
    ]


def test_a_unit_that_has_gaps_has_a_panel_and_no_other():
    gaps = first_page.asked_again(RESULTS)
    both = [*gaps, *(gap | {"unit": "AUC"} for gap in gaps * 2)]
    accuracy, auc = figures_scoreboard.fixed_and_matched(both, "smoke").axes
    assert (len(accuracy.texts), len(auc.texts)) == (1, 2)
    assert "points of AUC" in auc.get_xlabel()
    (empty,) = figures_scoreboard.fixed_and_matched([], "smoke").axes
    assert not empty.texts
