import io
import itertools
from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from verdicts import NOT, PARTLY, REPRODUCED, evidence, verdict

from bn_memorization import figures
from bn_memorization.figures import PLAIN_COLOR, TREATED_COLOR
from bn_memorization.stats import mean_interval

EPOCHS, SEEDS = 4, 3


@pytest.fixture(autouse=True)
def _style(monkeypatch) -> Iterator[None]:
    """Set the style as a chapter does, and put matplotlib back afterwards."""
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *args, **kwargs: None)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == []  # none waits to be shown a second time


def value_of(rate: float, norm: str, seed: int, epoch: int) -> float:
    return rate + 0.1 * epoch + 0.02 * seed**2 + (0.1 if norm == "batch" else 0.0)


def curves(datasets=("mnist", "fashion_mnist"), rates=(0.01, 0.05)) -> pd.DataFrame:
    rows = []
    for dataset, rate, norm, seed, epoch, subset in itertools.product(
        datasets, rates, ("batch", "none"), range(SEEDS), range(EPOCHS + 1), ("corrupted", "test")
    ):
        value = value_of(rate, norm, seed, epoch) if subset == "corrupted" else 0.5
        rows.append((dataset, "lenet", "flip", rate, norm, seed, epoch, subset, value, 2 * value))
    where = ["dataset", "arch", "corruption", "noise_rate", "norm", "seed", "epoch", "subset"]
    return pd.DataFrame(rows, columns=[*where, "accuracy", "loss"])


def growths() -> pd.DataFrame:
    return pd.DataFrame({"predicted": [0.01, 1.0, 50.0], "measured": [0.02, 1.0, 500.0]})


def learning(profile: str = "smoke", quantity: str = "accuracy", **some) -> Figure:
    return figures.learning_curves(curves(**some), "corrupted", quantity, profile)


def forest(profile: str = "smoke") -> Figure:
    both = [verdict(REPRODUCED, PARTLY, NOT, threshold=limit) for limit in (0.05, 0.03)]
    return figures.forest(both, [100, 1], ["points of accuracy", "epochs"], profile)


def sheet(profile: str = "smoke", n: int = 10) -> Figure:
    images = np.arange(n * 16, dtype=np.uint8).reshape(n, 4, 4)
    titles = [f"title {i}" for i in range(n)]
    return figures.contact_sheet(images, titles, [i % 3 == 0 for i in range(n)], profile, columns=4)


def scatter(profile: str = "smoke", log: bool = True) -> Figure:
    return figures.scatter_identity(
        growths(), "predicted", "measured", xlabel="predicted growth", ylabel="measured growth",
        profile=profile, log=log, note="n = 3",
    )  # fmt: skip


ALL = {"learning": learning, "forest": forest, "sheet": sheet, "scatter": scatter}
every_figure = pytest.mark.parametrize("draw", ALL.values(), ids=ALL)


def texts(figure: Figure) -> list[str]:
    return [found.get_text() for found in figure.findobj(Text) if found.get_text()]


def svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@every_figure
def test_the_same_picture_has_the_same_bytes(draw):
    first = svg(draw())
    assert first == svg(draw())
    assert b"<dc:date>" not in first
    assert first != svg(draw(profile="quick"))


@every_figure
def test_the_profile_is_signed(draw):
    for profile in ("smoke", "quick"):
        assert texts(draw(profile)).count(f"profile: {profile}") == 1


def axis_labels(figure: Figure) -> tuple[str, str]:
    """Return what stands below and beside: the figure's own label or that of its axes."""
    across = {axis.get_xlabel() for axis in figure.axes} | {figure.get_supxlabel()}
    up = {axis.get_ylabel() for axis in figure.axes} | {figure.get_supylabel()}
    return " ".join(sorted(across)).strip(), " ".join(sorted(up)).strip()


def test_axes_say_what_they_measure():
    assert axis_labels(learning()) == ("epoch", "accuracy on corrupted samples")
    assert axis_labels(learning(quantity="loss")) == ("epoch", "loss on corrupted samples (nats)")
    assert axis_labels(scatter()) == ("predicted growth", "measured growth")
    assert [axis.get_xlabel() for axis in forest().axes] == ["points of accuracy", "epochs"]


def test_legends_name_the_arms_with_n():
    for figure in (learning(), learning(datasets=("mnist",), rates=(0.05,))):
        assert f"BN (n = {SEEDS})" in texts(figure)
        assert f"plain (n = {SEEDS})" in texts(figure)


def test_learning_curves_have_a_panel_for_each_setting():
    assert [axis.get_title() for axis in learning().axes] == [
        "MNIST, LeNet\n1\xa0% flipped",
        "MNIST, LeNet\n5\xa0% flipped",
        "Fashion-MNIST, LeNet\n1\xa0% flipped",
        "Fashion-MNIST, LeNet\n5\xa0% flipped",
    ]
    assert len(learning(datasets=("mnist",), rates=(0.05,)).axes) == 1
    assert len(learning(rates=(0.01, 0.02, 0.05)).axes) == 6  # three columns, no place left over
    assert len(learning(datasets=("mnist",), rates=(0.01, 0.02, 0.05)).axes) == 3


def test_kinds_of_corruption_and_networks_have_panels_of_their_own():
    frame = curves(datasets=("mnist",), rates=(0.05,))
    parts = [frame, frame.assign(corruption="ood"), frame.assign(arch="resnet8")]
    figure = figures.learning_curves(pd.concat(parts), "corrupted", "accuracy", "smoke")
    assert [axis.get_title() for axis in figure.axes] == [
        "MNIST, LeNet\n5\xa0% flipped",
        "MNIST, LeNet\n5\xa0% foreign images",
        "MNIST, ResNet-8\n5\xa0% flipped",
    ]


def test_panels_of_different_length_keep_their_own_epochs():
    frame = curves(datasets=("mnist",), rates=(0.05,))
    longer = pd.concat([frame, frame.assign(epoch=frame.epoch + EPOCHS).query("epoch > @EPOCHS")])
    both = pd.concat([frame, longer.assign(arch="resnet8")])
    figure = figures.learning_curves(both, "corrupted", "accuracy", "smoke")
    ends = [max(line.get_xdata().max() for line in axis.lines) for axis in figure.axes]
    assert ends == [EPOCHS, 2 * EPOCHS]


@pytest.mark.parametrize(("quantity", "scale"), [("accuracy", 1), ("loss", 2)])
def test_thick_lines_are_means_and_thin_ones_models(quantity, scale):
    for axis, rate in zip(learning(quantity=quantity).axes, (0.01, 0.05, 0.01, 0.05), strict=True):
        for norm, hue in (("batch", TREATED_COLOR), ("none", PLAIN_COLOR)):
            lines = [line for line in axis.lines if line.get_color() == hue]
            widest = max(line.get_linewidth() for line in lines)
            thin = [line for line in lines if line.get_linewidth() < widest]
            (thick,) = [line for line in lines if line.get_linewidth() == widest]
            values = scale * np.array(
                [[value_of(rate, norm, s, e) for s in range(SEEDS)] for e in range(EPOCHS + 1)]
            )
            np.testing.assert_array_equal(thick.get_xdata(), np.arange(EPOCHS + 1))
            np.testing.assert_allclose(thick.get_ydata(), values.mean(1))
            np.testing.assert_allclose(np.transpose([line.get_ydata() for line in thin]), values)
            (band,) = [c for c in axis.collections if to_hex(c.get_facecolor()[0]) == hue.lower()]
            box = band.get_paths()[0].get_extents()
            assert box.y0 == pytest.approx(mean_interval(values[0]).low)
            assert box.y1 == pytest.approx(mean_interval(values[-1]).high)


def test_arms_differ_by_more_than_color():
    (axis,) = learning(datasets=("mnist",), rates=(0.05,)).axes
    styles = {(line.get_color(), line.get_linestyle()) for line in axis.lines
              if line.get_linewidth() > 1}  # fmt: skip
    assert len({style for _, style in styles}) == 2


def test_color_means_arm():
    assert figures.color("none") == PLAIN_COLOR
    assert {figures.color(norm) for norm in ("batch", "group", "layer", "affine")} == {
        TREATED_COLOR
    }


def test_accuracy_panels_share_the_whole_range():
    for axis in learning().axes:
        low, high = axis.get_ylim()
        assert low <= 0
        assert high >= 1
        assert axis.yaxis.get_major_formatter()(0.5) == "50%"


def marks(axis) -> tuple[list[tuple[float, float, float]], float]:
    """Return (low, estimate, high) from the top down, and the threshold, of a forest's panel."""
    dots = {line.get_ydata()[0]: line.get_xdata()[0] for line in axis.lines
            if line.get_marker() == "o"}  # fmt: skip
    bars, threshold = {}, None
    for line in axis.lines:
        x, y = line.get_xdata(), line.get_ydata()
        if line.get_linestyle() == "--":
            threshold = x[0]
        elif len(x) == 2:
            bars[y[0]] = x
    rows = [(bars[y][0], dots[y], bars[y][1]) for y in sorted(bars, reverse=True)]
    return rows, threshold


def test_forest_draws_every_interval_from_the_top_down():
    left, right = forest().axes
    rows, threshold = marks(left)
    np.testing.assert_allclose(rows, [(10, 20, 30), (-10, 10, 30), (-30, -20, -10)])
    assert threshold == 5
    rows, threshold = marks(right)
    np.testing.assert_allclose(rows, np.array([(10, 20, 30), (-10, 10, 30), (-30, -20, -10)]) / 100)
    assert threshold == 0.03


def test_forest_labels_stand_beside_their_intervals_with_n():
    left = forest().axes[0]
    labels = {tick.get_position()[1]: tick.get_text() for tick in left.get_yticklabels()}
    assert [labels[place] for place in sorted(labels, reverse=True)] == [
        "MNIST, LeNet, 5\xa0% flipped (n = 4)",
        "Fashion-MNIST, LeNet, 1\xa0% flipped (n = 4)",
        "CIFAR-10, LeNet, 5\xa0% flipped (n = 4)",
    ]


def test_forest_of_one_setting():
    figure = figures.forest([verdict(evidence(0.1, 0.2, 0.3, n=7))], [1], ["gap"], "smoke")
    assert "MNIST, LeNet, 5\xa0% flipped (n = 7)" in texts(figure)


def test_contact_sheet_shows_each_image_and_frames_the_marked():
    figure = sheet()
    assert len(figure.axes) == 10  # the places left over are empty
    for i, axis in enumerate(figure.axes):
        np.testing.assert_array_equal(
            axis.images[0].get_array(), np.arange(16 * i, 16 * (i + 1)).reshape(4, 4)
        )
        assert axis.get_title() == f"title {i}"
        assert len(axis.get_xticks()) == len(axis.get_yticks()) == 0
        for spine in axis.spines.values():
            assert spine.get_visible()
            assert (to_hex(spine.get_edgecolor()) == TREATED_COLOR.lower()) == (i % 3 == 0)
            assert (spine.get_linewidth() > 2) == (i % 3 == 0)


def test_contact_sheet_shows_gray_dark_on_white_and_color_as_it_is():
    assert sheet().axes[0].images[0].get_cmap().name == "gray_r"
    colored = np.zeros((2, 4, 4, 3), np.uint8)
    colored[..., 1] = 200
    figure = figures.contact_sheet(colored, ["a", "b"], [True, False], "smoke")
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), colored[1])


@pytest.mark.parametrize("log", [True, False])
def test_scatter_shows_all_points_and_the_diagonal(log):
    (axis,) = scatter(log=log).axes
    (points,) = axis.collections
    np.testing.assert_array_equal(points.get_offsets(), growths().to_numpy())
    (line,) = axis.lines
    np.testing.assert_array_equal(line.get_xdata(), line.get_ydata())
    assert axis.get_xlim() == axis.get_ylim() == tuple(line.get_xdata())
    assert axis.get_xscale() == axis.get_yscale() == ("log" if log else "linear")
    low, high = axis.get_xlim()
    assert low < 0.01
    assert high > 500
    assert "n = 3" in texts(scatter(log=log))


def test_style_asks_for_svg_without_a_date(monkeypatch):
    asked = []
    monkeypatch.setattr(
        figures,
        "set_matplotlib_formats",
        lambda *formats, **options: asked.append((formats, options)),
    )
    figures.use_style()
    assert asked == [(("svg",), {"metadata": {"Date": None}})]
    assert plt.rcParams["svg.hashsalt"]
