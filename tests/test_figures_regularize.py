import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bn_memorization import figures, figures_regularize
from bn_memorization.regularize import FORMS
from bn_memorization.tradeoff import NOTHING, RIVALS

WHERE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip"}
METHODS = {NOTHING: 1, "square": 2, "log": 3, **dict.fromkeys(RIVALS, 1)}


@pytest.fixture(autouse=True)
def _style(monkeypatch):
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []


def points(rates=(0.05,)):
    rows = []
    for rate in rates:
        for number, (method, settings) in enumerate(METHODS.items()):
            for setting in range(settings):
                corrupted, test = 0.9 - 0.1 * number - 0.02 * setting, 0.8 + 0.01 * number
                rows.append(
                    WHERE
                    | {"noise_rate": rate, "method": method, "setting": str(setting), "n": 3}
                    | {"corrupted": corrupted, "corrupted_low": corrupted - 0.05}
                    | {"corrupted_high": corrupted + 0.05, "test": test}
                    | {"test_low": test - 5, "test_high": test + 5}
                )
    return pd.DataFrame(rows)


def path(rates=(0.05,)):
    rows = [
        WHERE | {"noise_rate": rate, "epoch": epoch, "corrupted": 0.1 * epoch, "test": test}
        for rate in rates
        for epoch, test in enumerate((0.1, 0.86, 0.8), 1)
    ]
    return pd.DataFrame(rows)


def draw(profile="smoke", **some):
    return figures_regularize.tradeoff(points(**some), path(**some), profile)


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def test_the_same_picture_has_the_same_bytes_and_names_its_profile():
    assert svg(draw()) == svg(draw())
    assert "profile: paper" in [text.get_text() for text in draw("paper").texts]


def test_one_path_a_method_through_its_settings_in_order():
    (axis,) = draw().axes
    paths = {bars.get_label(): bars[0] for bars in axis.containers}
    assert list(paths) == list(METHODS)
    for number, (method, settings) in enumerate(METHODS.items()):
        wanted = [0.9 - 0.1 * number - 0.02 * setting for setting in range(settings)]
        assert list(paths[method].get_ydata()) == pytest.approx(wanted)
        assert list(paths[method].get_xdata()) == pytest.approx([0.8 + 0.01 * number] * settings)


def test_every_method_has_a_look_of_its_own():
    assert figures_regularize.LOOKS.keys() == {NOTHING, *FORMS, *RIVALS}
    assert len(set(figures_regularize.LOOKS.values())) == len(figures_regularize.LOOKS)


def test_no_bar_is_cut_by_the_axes_or_leaves_what_an_accuracy_can_be():
    (axis,) = draw().axes
    (low, high), drawn = axis.get_xlim(), []
    for bars in axis.collections:
        drawn += [point for path in bars.get_segments() for point in path]
    drawn = np.array(drawn)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert low < drawn[:, 0].min()
    assert high > drawn[:, 0].max()
    assert axis.get_ylim() == (-0.03, 1.03)


def test_the_way_of_the_epochs_is_there():
    (axis,) = draw().axes
    (way,) = [line for line in axis.lines if line.get_label() == "no remedy, epoch by epoch"]
    assert list(way.get_xdata()) == [0.1, 0.86, 0.8]
    assert list(way.get_ydata()) == pytest.approx([0.1, 0.2, 0.3])


def sides(rates=(0.05,)):
    held = points(rates)
    held[["corrupted", "corrupted_low", "corrupted_high"]] -= 0.2
    return figures_regularize.sides(points(rates), held, "smoke")


def test_free_and_held_markers_are_joined_setting_by_setting():
    (axis,) = sides().axes
    markers = {bars.get_label(): bars[0] for bars in axis.containers}
    assert list(markers) == [f"{m}, {side}" for side in ("free", "held") for m in METHODS]
    for method in METHODS:
        free, held = (markers[f"{method}, {side}"] for side in ("free", "held"))
        assert list(held.get_ydata()) == pytest.approx([y - 0.2 for y in free.get_ydata()])
        assert (free.get_markerfacecolor() == "white", held.get_markerfacecolor()) == (
            False,
            "white",
        )
    joins = [line for line in axis.lines if line.get_linestyle() == ":" and line.get_lw() == 1]
    assert len(joins) == sum(METHODS.values())
    for line in joins:
        first, second = line.get_ydata()
        assert first - second == pytest.approx(0.2)


def test_sides_in_a_panel_a_setting_with_the_same_bytes():
    assert len(sides(rates=(0.01, 0.05)).axes) == 2
    assert svg(sides()) == svg(sides())


def test_a_panel_a_setting():
    figure = draw(rates=(0.01, 0.05, 0.1))
    assert [axis.get_title() for axis in figure.axes] == [
        "MNIST, LeNet, 1\xa0% flipped (n = 3)",
        "MNIST, LeNet, 5\xa0% flipped (n = 3)",
        "MNIST, LeNet, 10\xa0% flipped (n = 3)",
    ]
