import io

import made_shadows
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from dosed import DOSES, LR, series

from bn_memorization import dose, dose_attack, figures, figures_dose


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


def pools():
    held = {"penalty": "log", "penalty_weight": 1.0, "hold_weights": True}
    return dose_attack.pools_by_dose(
        shadow
        for shift, target in ((0.5, 0.7), (3.0, 2.0))
        for shadow in made_shadows.shadows((0.0, shift), moments=1, penalty_target=target, **held)
    )


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
    assert [len(line.get_xdata()) for line in stars] == [3]  # those at lr alone


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
