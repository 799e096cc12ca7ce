import numpy as np
import planted
import pytest
from PIL import Image

from bn_memorization import data
from bn_memorization.embedded import SIZES
from bn_memorization.foreign import FOREIGN, fit_to, with_foreign


def test_every_data_set_has_another_as_foreign_one():
    assert set(FOREIGN) == set(data.DATASETS)
    for name, other in FOREIGN.items():
        assert other in data.DATASETS
        assert other != name
        assert other in SIZES  # to be had without a download


def test_the_hash_is_over_both():
    own, one, other = (planted.planted_set(name) for name in ("planted", "one", "other"))
    other = data.Dataset(other.name, other.source, other.train, other.test, other.classes, "6" * 64)
    first, second = with_foreign(own, one), with_foreign(own, other)
    assert first.foreign is one
    assert own.foreign is None
    assert len({own.sha256, first.sha256, second.sha256}) == 3
    assert first.sha256 == with_foreign(own, one).sha256
    assert len(first.sha256) == 64
    assert first.train is own.train


def test_images_of_the_shape_asked_for_stay_as_they_are():
    rng = np.random.default_rng(0)
    for shape in ((28, 28), (32, 32, 3)):
        images = rng.integers(0, 256, (3, *shape), np.uint8)
        np.testing.assert_array_equal(fit_to(images, shape), images)


def test_gray_becomes_three_equal_channels():
    images = np.random.default_rng(0).integers(0, 256, (2, 4, 4), np.uint8)
    found = fit_to(images, (4, 4, 3))
    for channel in range(3):
        np.testing.assert_array_equal(found[..., channel], images)


@pytest.mark.parametrize(
    ("color", "luma"), [((255, 0, 0), 76), ((0, 255, 0), 150), ((0, 0, 255), 29), ((9, 9, 9), 9)]
)
def test_color_becomes_its_luma(color, luma):
    """By 0.299 R + 0.587 G + 0.114 B."""
    images = np.broadcast_to(np.array(color, np.uint8), (1, 2, 2, 3))
    assert (fit_to(images, (2, 2)) == luma).all()


@pytest.mark.parametrize(
    ("old", "new"), [((28, 28), (32, 32)), ((28, 28), (32, 32, 3)), ((32, 32, 3), (28, 28))]
)
def test_resizing_keeps_a_ramp_and_flat_images(old, new):
    ramp = np.linspace(0, 248, old[1]).astype(np.uint8)
    images = np.zeros((2, *old), np.uint8)
    images[0] = ramp[None, :, None] if len(old) == 3 else ramp[None, :]
    images[1] = 77
    found = fit_to(images, new)
    assert found.shape == (2, *new)
    wanted = np.linspace(0, 248, new[1])
    across = found[0].mean(0) if len(new) == 2 else found[0].mean((0, 2))
    assert np.abs(across - wanted).max() < 4
    assert (found[1] == 77).all()


def test_resizing_is_bilinear():
    images = np.random.default_rng(0).integers(0, 256, (1, 6, 6), np.uint8)
    wanted = Image.fromarray(images[0]).resize((4, 4), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(fit_to(images, (4, 4))[0], np.asarray(wanted))


def test_no_image_is_fine():
    assert fit_to(np.zeros((0, 5, 5), np.uint8), (3, 3, 3)).shape == (0, 3, 3, 3)
