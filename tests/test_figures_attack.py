from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_shadows import both
from matplotlib.colors import to_hex
from verdicts import NOT, PARTLY, REPRODUCED, verdict

from bn_memorization import figures, figures_attack
from bn_memorization import membership as mia
from bn_memorization.figures import PLAIN_COLOR, TREATED_COLOR
from bn_memorization.stats import mean_interval


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


def lines(axis, color):
    return [line for line in axis.get_lines() if to_hex(line.get_color()) == color.lower()]


def test_roc_curves_are_those_of_the_pools():
    figure = figures_attack.roc_curves(pairs(0.0, 0.05), "smoke")
    assert len(figure.axes) == 2
    for axis, arms in zip(figure.axes, pairs(0.0, 0.05), strict=True):
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        assert axis.get_xlim() == pytest.approx((1 / 20, 1))  # one of twenty non-members
        for pool, color in zip(arms, (TREATED_COLOR, PLAIN_COLOR), strict=True):
            (line,) = lines(axis, color)
            grid = line.get_xdata()
            np.testing.assert_allclose(line.get_ydata(), mia.mean_roc(pool, grid))


def test_auc_against_loss_is_that_of_the_pools():
    figure = figures_attack.against_loss(pairs(0.05), "smoke")
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    assert low > high  # falls to the right
    for pool, color in zip(pairs(0.05)[0], (TREATED_COLOR, PLAIN_COLOR), strict=True):
        (line,) = (line for line in lines(axis, color) if line.get_marker() == "o")
        np.testing.assert_allclose(line.get_xdata(), pool.train_loss.mean(axis=1))
        middle = [mean_interval(pool.aucs(mia.DECIDES, look=k)).estimate for k in range(3)]
        np.testing.assert_allclose(line.get_ydata(orig=False), middle)


def test_gaps_stand_beside_the_threshold_of_their_claim():
    found = [verdict(REPRODUCED, threshold=0.04), verdict(PARTLY, NOT, threshold=0.0)]
    (axis,) = figures_attack.gaps(found, "smoke").axes
    assert len(axis.get_yticklabels()) == 3
    points = {m: [] for m in ("o", "|")}
    for line in axis.get_lines():
        if line.get_marker() in points:
            points[line.get_marker()].append((line.get_ydata()[0], line.get_xdata()[0]))
    middles = [item.estimate for v in found for item in v.evidence]
    assert [x for _, x in sorted(points["o"], reverse=True)] == pytest.approx(
        [100 * value for value in middles]
    )
    assert [x for _, x in sorted(points["|"], reverse=True)] == pytest.approx([4, 0, 0])


@pytest.mark.parametrize(
    "draw",
    [
        lambda profile: figures_attack.roc_curves(pairs(0.05), profile),
        lambda profile: figures_attack.against_loss(pairs(0.05), profile),
        lambda profile: figures_attack.gaps([verdict(REPRODUCED)], profile),
    ],
)
def test_every_picture_names_its_profile(draw):
    assert "profile: quick" in [text.get_text() for text in draw("quick").texts]


def test_an_arm_without_an_auc_above_zero_stays_on_the_log_axis():
    """A true-positive rate of zero is drawn below the axis, not dropped with a warning."""
    made = both(shifts=(0.0, -9.0), plain=(0.0, 0.0), moments=1)
    figure = figures_attack.roc_curves(mia.paired(mia.pools(made), "batch"), "smoke")
    for line in lines(figure.axes[0], TREATED_COLOR):
        assert (line.get_ydata() > 0).all()
