import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from bn_memorization import figures, figures_ratios
from bn_memorization.figures import INK, TREATED_COLOR

WHERE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip"}


@pytest.fixture(autouse=True)
def _style(monkeypatch):
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []


def channels(layer_sizes=(2, 5), rates=(0.01, 0.05)):
    rows = [
        WHERE | {"noise_rate": rate, "seed": 0, "layer": layer, "ratio": layer + 0.1 * channel}
        for rate in rates
        for layer, size in enumerate(layer_sizes, 1)
        for channel in range(size)
    ]
    return pd.DataFrame(rows)


def shares(seeds=3, epochs=4):
    rows = [
        WHERE
        | {"noise_rate": 0.05, "seed": seed, "epoch": epoch, "share": 0.1 * seed + 0.1 * epoch}
        for seed in range(seeds)
        for epoch in range(1, epochs + 1)
    ]
    return pd.DataFrame(rows)


def medians(layers=(1, 2, 5), networks=(("mnist", "lenet"), ("cifar10", "resnet8"))):
    rows = [
        {"dataset": dataset, "arch": arch, "quantity": quantity, "layer": layer, "epoch": epoch}
        | {"low": layer / 2, "median": layer * factor * (epoch + 1), "high": 20.0, "n": 3}
        for dataset, arch in networks
        for quantity, factor in (("ratio", 1), ("rho", 0.1))
        for layer in layers
        for epoch in range(4)
    ]
    return pd.DataFrame(rows)


DRAW = {
    "training": lambda profile="smoke": figures_ratios.through_training(medians(), profile),
    "layers": lambda profile="smoke": figures_ratios.ratios_by_layer(channels(), profile),
    "shares": lambda profile="smoke": figures_ratios.share_curves(shares(), 0.5, profile),
}
every_figure = pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@every_figure
def test_the_same_picture_has_the_same_bytes_and_names_its_profile(draw):
    assert svg(draw()) == svg(draw())
    assert "profile: standard" in [text.get_text() for text in draw("standard").texts]


def dots(axis):
    return [line for line in axis.lines if line.get_marker() == "."]


def test_every_channel_is_a_dot_near_its_layer():
    figure = DRAW["layers"]()
    assert [axis.get_title() for axis in figure.axes] == [
        "MNIST, LeNet\n1\xa0% flipped (n = 1)",
        "MNIST, LeNet\n5\xa0% flipped (n = 1)",
    ]
    first, second = dots(figure.axes[0])
    assert sorted(first.get_ydata()) == [1.0, 1.1]
    assert sorted(second.get_ydata()) == pytest.approx([2.0, 2.1, 2.2, 2.3, 2.4])
    for layer, line in ((1, first), (2, second)):
        assert (abs(line.get_xdata() - layer) <= figures_ratios.SPREAD + 1e-9).all()
        assert to_hex(line.get_color()).upper() == TREATED_COLOR
    assert len(set(second.get_xdata())) == 5


def test_bars_stand_at_the_medians_and_a_dashed_line_at_one():
    axis = DRAW["layers"]().axes[0]
    levels = [line for line in axis.lines if line.get_marker() != "."]
    found = [(line.get_ydata()[0], line.get_linestyle()) for line in levels]
    assert found == [(pytest.approx(1.05), "-"), (pytest.approx(2.2), "-"), (1, "--")]
    assert axis.get_yscale() == "log"


def test_a_wide_layer_is_thinned_out():
    wide = channels(layer_sizes=(5000,), rates=(0.05,))
    (axis,) = figures_ratios.ratios_by_layer(wide, "smoke").axes
    (line,) = dots(axis)
    assert figures_ratios.MOST_DOTS / 2 <= len(line.get_ydata()) <= figures_ratios.MOST_DOTS
    assert line.get_ydata().min() == 1.0
    assert line.get_ydata().max() > 490


def test_both_ratios_of_each_network_side_by_side():
    figure = DRAW["training"]()
    assert [axis.get_title() for axis in figure.axes] == [
        *["MNIST, LeNet (n = 3)"] * 2,
        *["CIFAR-10, ResNet-8 (n = 3)"] * 2,
    ]
    for place, axis in enumerate(figure.axes):
        lines = [line for line in axis.lines if line.get_linestyle() == "-"]
        for layer, line in zip((1, 2, 5), lines, strict=True):
            factor = layer * (0.1 if place % 2 else 1)
            np.testing.assert_allclose(line.get_ydata(), factor * np.arange(1, 5))
            assert list(line.get_xdata()) == [0, 1, 2, 3]
        assert len({to_hex(line.get_color()) for line in lines}) == 3
        dashed = [line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == "--"]
        assert dashed == ([] if place % 2 else [1])  # one means nothing for the invariant
        assert axis.get_yscale() == "log"


def test_share_curves_show_models_mean_and_threshold():
    (axis,) = DRAW["shares"]().axes
    thin = [line for line in axis.lines if line.get_linewidth() == 0.6]
    (mean,) = [line for line in axis.lines if line.get_linewidth() == 2]
    assert len(thin) == 3
    np.testing.assert_allclose(mean.get_ydata(), [0.2, 0.3, 0.4, 0.5])
    (threshold,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert threshold.get_ydata()[0] == 0.5
    assert to_hex(threshold.get_color()) == INK
    assert axis.get_ylim() == (-0.03, 1.03)
