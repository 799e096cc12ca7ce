import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from test_norm_controls import three

from bn_memorization import controls, figures, figures_controls
from bn_memorization.norm_controls import ITSELF, UNLEARNED
from bn_memorization.stats import Gap

WHERE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}
GAP = Gap(0.2, 0.1, 0.3, 3)
LATER = Gap(-0.1, -0.2, 0.0, 3)


@pytest.fixture(autouse=True)
def _style(monkeypatch):
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []


def shares(rates=(0.05,)):
    matchings = {controls.FIXED: GAP, controls.LOSS: LATER}
    return pd.DataFrame(
        WHERE | {"noise_rate": rate, "quantity": q, "matching": m, "gap": gap, "share": None}
        for rate in rates
        for q in controls.UNITS
        for m, gap in matchings.items()
    )


def standings():
    own = {"to_plain": GAP, "to_plain_equal": LATER, "bn_minus": GAP, "bn_minus_equal": LATER}
    none = dict.fromkeys(own, ITSELF)
    return pd.DataFrame(
        [
            WHERE | own | {"norm": "batch", "bn_minus": ITSELF, "bn_minus_equal": ITSELF},
            WHERE | none | {"norm": "none", "bn_minus": GAP, "bn_minus_equal": LATER},
            WHERE | own | {"norm": "group"},
            WHERE | dict.fromkeys(own, UNLEARNED) | {"norm": "batch_cut"},
        ]
    )


def runs():
    return [
        one
        for size, ends in ((256, (0.2, 0.0)), (16, (0.8, 0.4)))
        for norm, end in zip(("batch", "none"), ends, strict=True)
        for one in three(norm, end, batch_size=size)
    ]


def pictures(profile="smoke"):
    return [
        figures_controls.matchings(shares(), profile),
        figures_controls.norm_gaps(standings(), profile),
        figures_controls.batch_sizes(runs(), profile),
    ]


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def dots(axis, marker="o"):
    """Return {row label: value} of an interval plot's markers of a kind."""
    labels = [text.get_text() for text in axis.figure.axes[0].get_yticklabels()]
    found = [line for line in axis.lines if line.get_marker() == marker]
    return {labels[round(d.get_ydata()[0])]: float(d.get_xdata()[0]) for d in found}


def test_the_same_picture_has_the_same_bytes_and_names_its_profile():
    for first, again in zip(pictures(), pictures(), strict=True):
        assert svg(first) == svg(again)
    for figure in pictures("paper"):
        assert "profile: paper" in [text.get_text() for text in figure.texts]


def test_every_quantity_has_a_panel_and_every_matching_a_row():
    figure = figures_controls.matchings(shares(), "smoke")
    assert len(figure.axes) == len(figures_controls.PANELS)
    assert {*figures_controls.PANELS, *figures_controls.BESIDE.values()} == set(controls.UNITS)
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert rows[::-1] == list(controls.MATCHINGS)
    for axis, (what, (scale, _)) in zip(figure.axes, figures_controls.PANELS.items(), strict=True):
        wanted = {controls.FIXED: 0.2 * scale, controls.LOSS: -0.1 * scale}
        assert dots(axis) == pytest.approx(wanted)
        assert dots(axis, "s") == (pytest.approx(wanted) if what == controls.GRADIENT else {})


def test_looks_around_a_place_are_told_in_the_table_alone():
    found = shares()
    found = pd.concat([found, found.tail(1).assign(matching=controls.BEFORE)], ignore_index=True)
    assert svg(figures_controls.matchings(found, "smoke")) == svg(
        figures_controls.matchings(shares(), "smoke")
    )


def test_a_row_of_panels_a_setting():
    figure = figures_controls.matchings(shares(rates=(0.01, 0.05)), "smoke")
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert [title for title in titles if title] == [
        *(
            "MNIST, LeNet, 1\xa0% flipped",
            "MNIST, LeNet, 5\xa0% flipped",
        )
    ]


def test_norms_have_two_gaps_and_none_to_themselves():
    plain, own = figures_controls.norm_gaps(standings(), "smoke").axes
    assert dots(plain) == pytest.approx({"BN": 20, "group norm": 20})
    assert dots(plain, "s") == pytest.approx({"BN": -10, "group norm": -10})
    assert dots(own) == pytest.approx({"plain": 20, "group norm": 20})
    assert [text.get_text() for text in plain.texts] == [ITSELF, UNLEARNED]


def test_batch_sizes_are_points_of_two_arms():
    corrupted, clean = figures_controls.batch_sizes(runs(), "smoke").axes
    lines = {bars.get_label(): bars[0] for bars in corrupted.containers}
    assert list(lines) == ["BN (n = 3)", "plain (n = 3)"]
    assert list(lines["BN (n = 3)"].get_xdata()) == [16, 256]
    assert list(lines["BN (n = 3)"].get_ydata()) == pytest.approx([0.81, 0.21])
    assert list(lines["plain (n = 3)"].get_ydata()) == pytest.approx([0.41, 0.01])
    assert clean.get_title(loc="right") == "clean samples"
