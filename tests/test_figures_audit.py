import made_audit
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_audit import audited

from bn_memorization import audit, figures_audit
from bn_memorization.audit_input import Images

NO_RATIO = {"ratio": np.zeros((8, 0)), "bn_layer": np.zeros(0, int)}


@pytest.fixture(autouse=True)
def closed():
    yield
    assert not plt.get_fignums()


def drawn(figure):
    figure.canvas.draw()
    return figure


def lines(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def texts(figure):
    return [text.get_text() for text in figure.findobj(plt.Text)]


def test_ratios_show_all_channels_and_medians():
    made = audited()
    axis = drawn(figures_audit.ratios(made, None, "smoke")).axes[0]
    dots = [line.get_ydata() for line in axis.get_lines() if line.get_marker() == "."]
    assert [len(values) for values in dots] == [8 * 2, 8 * 4]
    np.testing.assert_allclose(dots[0], np.sort(made.ratio[:, :2].ravel()))
    crosses = figures_audit.ratios(made, np.full(6, 2.0), "smoke").axes[0].get_lines()
    assert sum(line.get_marker() == "x" for line in crosses) == 2


def test_a_layer_of_many_channels_is_thinned():
    ratio, layer = np.ones((8, 1000)), np.ones(1000, int)
    axis = figures_audit.ratios(audited(ratio=ratio, bn_layer=layer), None, "smoke").axes[0]
    dots = next(line for line in axis.get_lines() if line.get_marker() == ".")
    assert 0 < len(dots.get_ydata()) <= figures_audit.MOST_DOTS
    assert f"at most {figures_audit.MOST_DOTS} dots" in axis.get_xlabel()


def test_without_bn_the_picture_says_so():
    figure = drawn(figures_audit.ratios(audited(**NO_RATIO), None, "smoke"))
    assert figures_audit.NOTHING in texts(figure)


def test_norms_have_a_line_for_planted_labels_if_there_are_any():
    assert len(lines(drawn(figures_audit.norms(audited(), "smoke")))) == 3
    none = audited(planted=np.zeros(80, bool))
    found = lines(drawn(figures_audit.norms(none, "smoke")))
    assert list(found) == ["members (n = 320)", "not members (n = 320)"]
    assert found["members (n = 320)"].get_ydata()[-1] == 1


def test_norms_leave_out_planted_labels_that_were_no_members():
    made = audited()
    found = lines(drawn(figures_audit.norms(made, "smoke")))
    others = made.norm[~made.keep & ~made.planted]
    np.testing.assert_array_equal(
        found[f"not members (n = {others.size})"].get_xdata(), np.sort(others)
    )


def test_the_largest_are_drawn_in_order_and_planted_ones_framed():
    x = made_audit.arrays(80)["x"]
    classes = ("cost $5", "a_very^long name of $ome class", "c")
    given = Images(x, np.arange(80) % 3, ("",) * 80, classes, None, 80)
    rows, place = np.array([10, 4]), audit.prominence(audited())
    figure = drawn(figures_audit.largest(given, audited(), place, rows, "smoke"))
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), x[10])
    widths = [axis.spines["top"].get_linewidth() for axis in figure.axes]
    assert widths[0] > widths[1]
    assert figure.axes[0].get_title().splitlines()[0] == "a_very^long n…"


def test_the_attack_has_a_line_a_model_and_one_for_a_saved_network():
    made = audited()
    assert len(figures_audit.attack(made, None, "smoke").axes[0].get_lines()) == 8 + 2
    member = np.arange(80) < 40
    own = audit.of_saved(made, made.phi[0], member)
    figure = drawn(figures_audit.attack(made, own, "smoke"))
    assert "saved network" in lines(figure)
    others = (~made.keep & ~made.planted).sum(axis=1)  # planted labels have no part in it
    assert lines(figure)["guessing"].get_xdata()[0] == pytest.approx(1 / others.min())
    assert len(figure.axes[0].get_lines()) == 8 + 3
