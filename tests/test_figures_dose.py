import io

import made_shadows
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from dosed import DOSES, LR, pools, series

from bn_memorization import dose, figures, figures_dose


@pytest.fixture(autouse=True)
def _style(monkeypatch):
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


NAMES = {dose.HELD: "all, held", dose.FREE: "all, free", dose.layer_series(1): "layer 1"}
DRAWN = {
    "curves": lambda: figures_dose.curves(dose.paths(series()), "smoke"),
    "response": lambda: figures_dose.response(dose.outcomes(series()), LR, "smoke"),
    "exponents": lambda: figures_dose.exponent_rows(dose.outcomes(series()), NAMES, "smoke"),
    "attack": lambda: figures_dose.attack(pools(), "smoke"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_picture_has_the_same_bytes_and_names_its_profile(name):
    first = DRAWN[name]()
    assert svg(first) == svg(DRAWN[name]())
    assert "profile: smoke" in [text.get_text() for text in first.texts]


def test_a_line_a_dose_and_the_level():
    (axis,) = DRAWN["curves"]().axes
    *lines, level = axis.lines
    assert [line.get_label() for line in lines] == ["0.5", "1", "2"]
    assert list(level.get_ydata()) == [0.25, 0.25]
    assert len({tuple(line.get_color()) for line in lines}) == 3


def test_every_run_has_its_marker_and_one_without_a_speed_another():
    outcomes = dose.outcomes(series(doses=(0.25, *DOSES)))
    left, right = figures_dose.response(outcomes, LR, "smoke").axes
    for axis, subset in ((left, "corrupted"), (right, "clean")):
        known = [line for line in axis.lines if line.get_label() in (dose.HELD, dose.FREE)]
        lost = [line for line in axis.lines if line.get_marker() == "v"]
        dosed = outcomes[outcomes.series.isin([dose.HELD, dose.FREE])]
        assert sum(len(line.get_xdata()) for line in known) == dosed[subset].notna().sum()
        assert sum(len(line.get_xdata()) for line in lost) == dosed[subset].isna().sum()
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    stars = [line for line in left.lines if line.get_marker() == "*"]
    # Those at lr alone, all with a speed.
    assert sorted(len(line.get_xdata()) for line in stars) == [0, 3]


def test_a_natural_run_without_a_speed_is_drawn_as_a_bound():
    outcomes = dose.outcomes(series())
    natural = outcomes.index[(outcomes.series == dose.RATE) & (outcomes.lr == LR)]
    outcomes.loc[natural[0], "corrupted"] = np.nan
    figure = figures_dose.response(outcomes, LR, "smoke")
    stars = [line for line in figure.axes[0].lines if line.get_marker() == "*"]
    full, hollow = sorted(stars, key=lambda line: line.get_markerfacecolor() == "none")
    assert (len(full.get_xdata()), len(hollow.get_xdata())) == (2, 1)
    assert hollow.get_ydata()[0] == pytest.approx(1 / outcomes.epochs[0])
    assert full.get_markerfacecolor() != "none"
    (legend,) = figure.legends
    assert figures_dose.BOUND in [text.get_text() for text in legend.get_texts()]


def test_fewer_than_three_seeds_have_an_open_marker_and_no_interval():
    (axis,) = figures_dose.exponent_rows(dose.outcomes(series(seeds=2)), NAMES, "smoke").axes
    dots = [line for line in axis.lines if line.get_marker() in ("o", "D")]
    assert len(dots) == 2 * len(NAMES)
    assert {line.get_markerfacecolor() for line in dots} == {"none"}
    assert len(axis.lines) == len(dots) + 2  # the two dashed ones
    (axis,) = DRAWN["exponents"]().axes
    assert "none" not in {
        line.get_markerfacecolor() for line in axis.lines if len(line.get_xdata()) == 1
    }


def test_both_kinds_stand_in_the_legend_where_the_last_row_is_empty():
    outcomes = dose.outcomes(series())
    figure = figures_dose.exponent_rows(outcomes, NAMES | {"no such": "layer 9"}, "smoke")
    assert len(figure.legends[0].get_texts()) == 2


def test_a_guide_of_slope_two_is_one():
    left, _ = DRAWN["response"]().axes
    (guide,) = [line for line in left.lines if line.get_label() == "slope 2"]
    x, y = guide.get_data()
    assert y[1] / y[0] == pytest.approx((x[1] / x[0]) ** 2)


def test_intervals_stand_in_the_order_of_the_names():
    (axis,) = DRAWN["exponents"]().axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "layer 1",
        "all, free",
        "all, held",
    ]
    dots = [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axis.lines
        if line.get_marker() == "o"
    ]
    assert [round(x, 2) for x, _ in sorted(dots, key=lambda dot: dot[1])] == [0.0, 2.0, 2.0]


def test_the_attack_joins_pairs_over_doses():
    (axis,) = DRAWN["attack"]().axes
    pairs = [line for line in axis.lines if line.get_marker() == "."]
    assert len(pairs) == len(made_shadows.KEEP) // 2
    assert list(pairs[0].get_xdata()) == [0.7, 2.0]


def test_a_row_a_setting():
    both = dose.outcomes([*series(), *series(noise_rate=0.5)])
    assert len(figures_dose.response(both, LR, "smoke").axes) == 4
    assert len(figures_dose.exponent_rows(both, NAMES, "smoke").axes) == 2
