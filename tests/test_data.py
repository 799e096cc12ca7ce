import subprocess
import sys

import numpy as np
import pytest
import tiny_sets

from bn_memorization import data, sources
from bn_memorization.catalog import Dataset, Split
from bn_memorization.errors import BadInput


def made(train, test):
    """A data set of these images and of no labels that matter."""
    splits = [
        Split(np.array(part, np.uint8), np.zeros(len(part), np.int64), np.arange(len(part)))
        for part in (train, test)
    ]
    return Dataset("made", "made", *splits, ("a",), "")


def normalized(dataset):
    """Both splits, by the numbers of the train split."""
    return [data.normalize(part.images, dataset) for part in (dataset.train, dataset.test)]


@pytest.fixture
def tiny_mnist(tmp_path, monkeypatch):
    """An empty local root, and a catalog whose MNIST is tiny."""
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(tmp_path / "full"))
    monkeypatch.setitem(data.DATASETS, "mnist", tiny_sets.info("mnist"))
    return tmp_path / "full"


def test_embedded_data_needs_no_network(monkeypatch):
    monkeypatch.setattr(sources, "FETCHERS", {})
    found = data.load("mnist", source="embedded")
    assert (found.name, found.source) == ("mnist", "embedded")
    assert (found.channels, found.image_size) == (1, 28)
    assert data.load("cifar10", source="embedded").channels == 3


def test_same_arrays_have_the_same_hash():
    first, second = (data.load("mnist", source="embedded").sha256 for _ in range(2))
    assert first == second
    assert first != data.load("fashion_mnist", source="embedded").sha256


def test_unknown_name_gives_the_nearest():
    with pytest.raises(BadInput, match=r"data set 'fashionmnist'.*'fashion_mnist'.*cifar100"):
        data.load("fashionmnist")


def test_unknown_source_gives_the_choices():
    with pytest.raises(BadInput, match=r"source .*'mirror'.*auto, embedded, local, registry"):
        data.load("mnist", source="mirror")


def test_cifar100_has_no_embedded_subset():
    with pytest.raises(BadInput, match="Embedded are: mnist, fashion_mnist, cifar10"):
        data.load("cifar100", source="embedded")


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("auto", ["torchvision", "registry"]),
        ("torchvision", ["torchvision"]),
        ("registry", ["registry"]),
        ("local", []),
    ],
)
def test_source_says_what_is_asked_and_in_which_order(source, asked, tiny_mnist, monkeypatch):
    calls = []

    def fail_as(name):
        def fail(info, folder):
            calls.append(name)
            raise OSError(f"{name} is out of reach")

        return fail

    for name in ("torchvision", "registry"):
        monkeypatch.setitem(sources.FETCHERS, name, fail_as(name))
    with pytest.raises(BadInput) as caught:
        data.load("mnist", source=source)
    assert calls == asked
    assert all(f"{name} is out of reach" in str(caught.value) for name in asked)


def test_full_set_is_fetched_once(tiny_mnist, monkeypatch):
    monkeypatch.setitem(
        sources.FETCHERS, "torchvision", lambda info, folder: tiny_sets.write_idx("mnist", folder)
    )
    lines = []
    data.fetch(["mnist"], say=lines.append)
    data.fetch(["mnist"], say=lines.append)
    assert lines == [
        "MNIST: 30 images, checked, from torchvision",
        "MNIST: 30 images, checked, from local",
    ]


def test_nothing_is_fetched_if_a_name_is_unknown(tiny_mnist):
    with pytest.raises(BadInput, match="'mnits'"):
        data.fetch(["mnist", "mnits"], say=print)
    assert not tiny_mnist.exists()


def test_normalization_by_hand():
    """Bytes 10 and 30 in equal numbers: mean 20, std 10. The test split uses the same two."""
    train = [[[10, 30], [30, 10]], [[10, 10], [30, 30]]]
    test = [[[20, 40], [0, 25]]]
    x_train, x_test = normalized(made(train, test))
    assert x_train.shape == (2, 1, 2, 2)
    assert x_train.dtype == x_test.dtype == np.float32
    np.testing.assert_array_equal(x_train[0, 0], [[-1, 1], [1, -1]])
    np.testing.assert_array_equal(x_test[0, 0], [[0, 2], [-2, 0.5]])


def test_normalization_is_per_channel_and_channels_come_first():
    rng = np.random.default_rng(0)
    train = rng.integers(0, [40, 90, 256], (6, 5, 5, 3))
    x_train, x_test = normalized(made(train, train[:2]))
    assert x_train.shape == (6, 3, 5, 5)
    assert x_train.flags.c_contiguous
    np.testing.assert_allclose(x_train.mean((0, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(x_train.std((0, 2, 3)), 1, rtol=1e-6)
    by_channel = (train - train.mean((0, 1, 2))) / train.std((0, 1, 2))
    np.testing.assert_allclose(x_train, by_channel.transpose(0, 3, 1, 2), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(x_test, x_train[:2])


def test_brightness_and_contrast_do_not_matter():
    train = np.random.default_rng(1).integers(0, 100, (4, 3, 3))
    plain, _ = normalized(made(train, train))
    changed, _ = normalized(made(2 * train + 5, train))
    np.testing.assert_allclose(changed, plain, rtol=1e-5, atol=1e-6)


def test_import_is_cheap():
    code = "import sys, bn_memorization.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_normalize_takes_any_images_by_the_numbers_of_the_train_split():
    loaded = data.load("cifar10", "embedded")
    train, test = normalized(loaded)
    np.testing.assert_array_equal(data.normalize(loaded.train.images[5:9], loaded), train[5:9])
    np.testing.assert_array_equal(data.normalize(loaded.test.images[:2], loaded), test[:2])
    assert data.normalize(loaded.train.images[:0], loaded).shape == (0, 3, 32, 32)
