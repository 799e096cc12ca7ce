import made_shadows
import matplotlib.pyplot as plt
import numpy as np
import planted
import pytest
from matplotlib.colors import to_hex

from bn_memorization import explorer, figures_live, live, one_sample
from bn_memorization import membership as mia
from bn_memorization.figures import PLAIN_COLOR, TREATED_COLOR
from bn_memorization.sample import corrupt


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    assert not plt.get_fignums()


def test_growths_fall_to_zero_at_the_bound_and_start_below_the_fixed_one():
    (axis,) = figures_live.growths(explorer.picture([]), "smoke").axes
    lines = {line.get_label(): line for line in axis.get_lines()}
    fixed = explorer.functions()["fixed"](*explorer.START.values())
    assert lines["plain"].get_ydata() == [1, 1]
    assert lines["BN, fixed statistics"].get_ydata() == [fixed, fixed]
    for m in figures_live.TERMS:
        y = lines[f"BN, moving, m = {m}"].get_ydata()
        assert y[0] == pytest.approx(fixed * (1 - 1 / m))
    assert lines["BN, moving, m = 16"].get_ydata()[-1] == pytest.approx(0)
    assert lines["BN, moving, m = 16"].get_xdata()[-1] == pytest.approx(np.sqrt(15))


def test_the_attack_on_the_first_image():
    (pair,) = mia.paired(mia.pools(made_shadows.both()), "batch")
    data = planted.planted_set()
    pool = corrupt(made_shadows.config(pool_size=made_shadows.N).pool, data)
    picture = one_sample.picture(pair, pool, data)
    figure = figures_live.attack_on_first(picture, "smoke")
    image, batch, plain, roc = figure.axes
    first = next(iter(one_sample.choose(pair[0])))
    shown = image.get_images()[0].get_array()
    np.testing.assert_array_equal(shown[..., 0], 255 - pool.images[first])
    sample = picture["samples"][0]
    for axis, arm, ink in zip(
        (batch, plain), sample["arms"], (TREATED_COLOR, PLAIN_COLOR), strict=True
    ):
        lines = axis.get_lines()
        assert {line.get_color() for line in lines[:4:2]} == {ink}
        dots = [line.get_xdata() for line in lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots, [arm["in"]["margins"], arm["out"]["margins"]])
        assert arm["phi"][sample["trained_on"]] in [line.get_xdata()[0] for line in lines]
    assert batch.get_xlim() == plain.get_xlim()
    rings = [line for line in roc.get_lines() if line.get_markerfacecolor() == "none"]
    assert len(rings) == 2


def tones(*values):
    return [np.full((2, 2), value, np.uint8) for value in values]


def test_tiles_are_the_images_of_the_sprite():
    found = figures_live.tiles(live.sprite(tones(0, 100, 255)), 3)
    assert [image[0, 0].tolist() for image in found] == [[255] * 3, [155] * 3, [0] * 3]
    assert {image.shape for image in found} == {(2, 2, 3)}


def test_a_mosaic_fades_what_is_not_fitted():
    images = [np.full((2, 2, 3), value, np.uint8) for value in (0, 100, 200)]
    found = figures_live.mosaic(images, "101", columns=2)
    assert found.shape == (4, 4, 3)
    corners = found[::2, ::2, 0]
    np.testing.assert_array_equal(corners, [[0, 255 - 155 // figures_live.FADED], [200, 255]])


def test_moments_of_training_in_both_arms():
    images = tones(0, 50)
    data = {
        "epochs": 2,
        "samples": 9,
        "titles": ["a (b)", "c (d)"],
        "sprite": live.sprite(images),
        "arms": [
            {"name": "BN", "count": [0, 4, 8], "fitted": ["00", "01", "11"]},
            {"name": "plain", "count": [0, 1, 2], "fitted": ["00", "00", "01"]},
        ],
    }
    axes = figures_live.moments(data, "smoke").axes
    assert [axis.get_title() for axis in axes] == [
        f"{arm}, epoch {epoch}: {count} of 9"
        for arm, epoch, count in (("BN", 1, 4), ("BN", 2, 8), ("plain", 1, 1), ("plain", 2, 2))
    ]
    frames = [to_hex(axis.spines["left"].get_edgecolor()).upper() for axis in axes]
    assert frames == [TREATED_COLOR, TREATED_COLOR, PLAIN_COLOR, PLAIN_COLOR]
    shown = axes[0].get_images()[0].get_array()
    np.testing.assert_array_equal(shown[0, [0, 2], 0], [255, 205])
