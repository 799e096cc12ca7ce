import io

import made_ways
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from bn_memorization import figures, figures_frontier, frontier
from bn_memorization.frontier_runs import NORMS


@pytest.fixture(autouse=True)
def _style(monkeypatch):
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []


@pytest.fixture
def resolved(monkeypatch):
    """Let 20 non-members resolve the low false-positive rate."""
    monkeypatch.setattr(frontier, "FPR", 0.05)


def draw(profile="smoke", **some):
    return figures_frontier.frontier(made_ways.points(**some), profile)


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def test_the_same_picture_has_the_same_bytes_and_names_its_profile():
    assert svg(draw()) == svg(draw())
    assert "profile: paper" in [text.get_text() for text in draw("paper").texts]


def test_a_panel_a_quantity_that_is_resolved(resolved):
    assert len(draw().axes) == 2


def test_the_second_panel_is_left_out_where_it_has_nothing():
    (axis,) = draw().axes
    assert axis.get_ylabel() == figures_frontier.AXES["auc"]


def test_every_way_has_a_marker_where_it_belongs():
    points = made_ways.points()
    (axis,) = draw().axes
    shown = [tuple(xy) for marks in axis.collections for xy in marks.get_offsets().tolist()]
    wanted = list(zip(points["test"], points["auc"], strict=True))
    for x, y in wanted:
        assert any(abs(x - a) < 1e-9 and abs(y - b) < 1e-9 for a, b in shown)


def test_points_on_the_front_are_filled_and_the_others_hollow():
    points = made_ways.points()
    (axis,) = draw().axes
    filled = hollow = 0
    for marks in axis.collections:
        if len(marks.get_facecolors()) and len(marks.get_offsets()) == len(marks.get_facecolors()):
            for face in marks.get_facecolors():
                white = tuple(face) == (1.0, 1.0, 1.0, 1.0)
                filled, hollow = filled + (not white), hollow + white
    assert (filled, hollow) == (points.front_auc.sum(), (~points.front_auc).sum())


def test_steps_join_the_front_from_the_least_accurate_on():
    points = made_ways.points()
    (axis,) = draw().axes
    (steps,) = [line for line in axis.lines if line.get_drawstyle() == "steps-pre"]
    front = points[points.front_auc].sort_values("test")
    assert list(steps.get_xdata()) == front["test"].tolist()
    assert list(steps.get_ydata()) == front["auc"].tolist()


def test_strengths_that_share_a_marker_are_told():
    (axis,) = draw().axes
    assert {text.get_text() for text in axis.texts} == {"epoch 2", "ε = 2", "ε = 8"}


def test_each_kind_of_way_has_one_entry_and_every_norm_a_color():
    figure = draw()
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels)) == 8
    assert {"BN", "plain", "BN, log penalty", "group norm, DP-SGD"} <= set(labels)
    assert figures_frontier.COLORS.keys() == set(NORMS)
    assert len(set(figures_frontier.COLORS.values())) == len(NORMS)


def test_a_row_a_setting():
    made = [*made_ways.every(), *made_ways.every(noise_rate=0.1)]
    points = frontier.points(made_ways.ways(made))
    titles = [axis.get_title() for axis in figures_frontier.frontier(points, "smoke").axes]
    assert len(titles) == 2
    assert "10\xa0% flipped" in titles[1]
