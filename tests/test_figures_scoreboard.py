from matplotlib.colors import to_hex
from test_first_page import RESULTS

from bn_memorization import figures_scoreboard, first_page
from bn_memorization.figures import color


def test_both_gaps_of_a_setting_lie_at_their_values_hollow_and_filled():
    gaps = first_page.asked_again(RESULTS)
    accuracy, auc = figures_scoreboard.fixed_and_matched(gaps, "smoke").axes
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
    assert "n = 4" in accuracy.get_yticklabels()[0].get_text()
    assert not auc.get_yticklabels()
    assert auc.lines
