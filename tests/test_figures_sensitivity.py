from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_shadows import KEEP, both
from matplotlib.colors import to_hex

from bn_memorization import figures, figures_sensitivity, sensitivity
from bn_memorization import membership as mia
from bn_memorization.figures import PLAIN_COLOR, TREATED_COLOR
from bn_memorization.stats import Gap


@pytest.fixture(autouse=True)
def _style(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []  # none waits to be shown a second time


def pairs(*rates):
    made = [shadow for rate in rates for shadow in both(noise_rate=rate)]
    return mia.paired(mia.pools(made), "batch")


def curves(axis, color, marker):
    lines = (line for line in axis.get_lines() if to_hex(line.get_color()) == color.lower())
    return [line for line in lines if line.get_marker() == marker]


def test_auc_against_models_is_that_of_the_pools():
    arms = pairs(0.0, 0.05)
    figure = figures_sensitivity.against_models(arms, "smoke")
    assert len(figure.axes) == 2
    for axis, pair in zip(figure.axes, arms, strict=True):
        for pool, color in zip(pair, (TREATED_COLOR, PLAIN_COLOR), strict=True):
            (line,) = curves(axis, color, "o")
            found = sensitivity.against_models(pool)
            assert list(line.get_xdata(orig=False)) == list(found) == [len(KEEP)]
            np.testing.assert_allclose(
                line.get_ydata(orig=False), [gap.estimate for gap in found.values()]
            )


def test_auc_against_views_is_that_of_the_pools_either_way():
    (pair,) = pairs(0.05)
    (axis,) = figures_sensitivity.against_views([pair], "smoke").axes
    for pool, color in zip(pair, (TREATED_COLOR, PLAIN_COLOR), strict=True):
        for way, marker in ((sensitivity.stacked, "o"), (sensitivity.averaged, "s")):
            (line,) = curves(axis, color, marker)
            found = sensitivity.against_views(pool, way)
            assert list(line.get_xdata(orig=False)) == list(range(1, 7))
            np.testing.assert_allclose(
                line.get_ydata(orig=False), [gap.estimate for gap in found.values()]
            )


def test_no_bar_leaves_what_an_auc_can_be(monkeypatch):
    wide = {6: Gap(0.9, 0.6, 1.2, 3), 8: Gap(0.1, -0.2, 0.4, 3)}
    monkeypatch.setattr(sensitivity, "against_models", lambda pool: wide)
    (axis,) = figures_sensitivity.against_models(pairs(0.05), "smoke").axes
    for bars in axis.containers:
        (segments,) = bars.lines[2]
        ends = [tuple(segment[:, 1]) for segment in segments.get_segments()]
        np.testing.assert_allclose(ends, [(0.6, 1.0), (0.0, 0.4)])


def test_gaps_have_a_row_a_choice_in_their_order():
    arms = pairs(0.0, 0.05)
    figure = figures_sensitivity.gaps(arms, sensitivity.CHOICES, "smoke")
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == list(sensitivity.CHOICES)[::-1]
    for panel, axis in enumerate(figure.axes):
        points = [line for line in axis.get_lines() if line.get_marker() == "o"]
        found = [line.get_xdata()[0] for line in sorted(points, key=lambda p: -p.get_ydata()[0])]
        wanted = [
            100 * sensitivity.gaps(arms, way)[panel].estimate
            for way in sensitivity.CHOICES.values()
        ]
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    "draw",
    [
        figures_sensitivity.against_models,
        figures_sensitivity.against_views,
        lambda arms, profile: figures_sensitivity.gaps(arms, sensitivity.CHOICES, profile),
    ],
)
def test_every_picture_names_its_profile(draw):
    assert "profile: quick" in [text.get_text() for text in draw(pairs(0.05), "quick").texts]
