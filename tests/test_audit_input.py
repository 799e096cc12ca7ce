import made_audit
import numpy as np
import pytest

from bn_memorization import audit_input, data
from bn_memorization.audit_input import load, scaled
from bn_memorization.errors import BadInput


@pytest.fixture(autouse=True)
def forget():
    audit_input.load.cache_clear()


def read(where, most=1000, size=0, seed=0, num_classes=0):
    return load(str(where), most=most, size=size, seed=seed, num_classes=num_classes)


def test_all_images_come_in_their_order(tmp_path):
    found = read(made_audit.npz(tmp_path / "a.npz"))
    made = made_audit.arrays()
    np.testing.assert_array_equal(found.pixels, made["x"])
    np.testing.assert_array_equal(found.labels, made["y"])
    assert (found.available, found.member) == (60, None)


def test_a_draw_keeps_image_label_name_and_mark_together(tmp_path):
    member = np.arange(80) % 3 == 0
    where = made_audit.npz(tmp_path / "a.npz", n=80, member=member)
    found, made = read(where, most=50), made_audit.arrays(80)
    rows = [int(name.removeprefix("row ")) for name in found.names]
    assert len(set(rows)) == 50
    assert found.available == 80
    np.testing.assert_array_equal(found.pixels, made["x"][rows])
    np.testing.assert_array_equal(found.labels, made["y"][rows])
    np.testing.assert_array_equal(found.member, member[rows])
    assert read(where, most=50, seed=1).names != found.names


def test_a_folder_and_an_npz_file_of_the_same_images_are_the_same(tmp_path):
    first = read(made_audit.npz(tmp_path / "a.npz"))
    second = read(made_audit.folder(tmp_path / "b"))
    order = [int(name.split("/")[1].removesuffix(".png")) for name in second.names]
    np.testing.assert_array_equal(second.pixels, first.pixels[order])
    np.testing.assert_array_equal(second.labels, first.labels[order])


def test_the_sum_changes_with_any_array(tmp_path):
    made, mark = made_audit.arrays(), np.arange(60) % 2 == 0
    other = made["x"].copy()
    other[0, 0, 0, 0] ^= 1
    flipped = made["y"].copy()
    flipped[:2] = flipped[1::-1] if flipped[0] != flipped[1] else (flipped[:2] + 1) % 3
    changes = [{}, {"x": other}, {"y": flipped}, {"member": mark}, {"member": ~mark}]
    sums = {
        read(made_audit.npz(tmp_path / f"{number}.npz", **change)).sha256
        for number, change in enumerate(changes)
    }
    assert len(sums) == 5
    assert read(made_audit.npz(tmp_path / "again.npz")).sha256 in sums


def test_images_of_the_repository():
    found = read("embedded:cifar10", most=60)
    whole = data.load("cifar10", "embedded")
    assert found.pixels.shape == (60, 32, 32, 3)
    assert found.classes == whole.classes
    assert found.available == len(whole.train)
    assert read("embedded:mnist", most=60, size=16).pixels.shape == (60, 16, 16, 3)
    with pytest.raises(BadInput, match=r"Unknown name behind embedded: 'minst'.*mnist"):
        read("embedded:minst")


def test_too_few_images_or_labels(tmp_path):
    with pytest.raises(BadInput, match=r"has 49 images\. At least 50 are needed"):
        read(made_audit.npz(tmp_path / "a.npz", n=49))
    one = np.zeros(60, np.int64)
    with pytest.raises(BadInput, match="all 60 images have one label"):
        read(made_audit.npz(tmp_path / "b.npz", y=one))


def test_classes_are_counted_or_given(tmp_path):
    where = made_audit.npz(tmp_path / "a.npz")
    assert len(read(where).classes) == 3
    assert len(read(where, num_classes=10).classes) == 10
    with pytest.raises(BadInput, match="num_classes=2, but a label is 2"):
        read(where, num_classes=2)
    far = made_audit.arrays()["y"] * 10**6
    with pytest.raises(BadInput, match=r"A label is 2000000: at most 10,000 classes"):
        read(made_audit.npz(tmp_path / "b.npz", y=far))


def test_a_gap_in_the_labels_is_a_class_without_images(tmp_path):
    y = made_audit.arrays()["y"] * 5
    assert len(read(made_audit.npz(tmp_path / "a.npz", y=y)).classes) == 11


@pytest.mark.parametrize("name", ["a.pkl", "a.pickle", "a.npy", "a.pt", "a"])
def test_files_of_other_kinds_are_refused_unread(tmp_path, name):
    trap = made_audit.Trap(tmp_path / "sprung")
    (tmp_path / name).write_bytes(made_audit.pickle.dumps(trap))
    with pytest.raises(BadInput, match=r"neither a folder nor an \.npz file.*pickles are never"):
        read(tmp_path / name)
    assert not trap.mark.exists()


def test_what_is_not_there():
    with pytest.raises(BadInput, match=r"images=no/such\.npz is not there\. Give a folder"):
        read("no/such.npz")


def test_a_relative_path_counts_from_the_repository(tmp_path, monkeypatch):
    made_audit.npz(tmp_path / "a.npz")
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    assert len(read("a.npz").labels) == 60


def test_images_that_do_not_differ(tmp_path):
    x = made_audit.arrays()["x"]
    x[..., 1] = 7
    with pytest.raises(BadInput, match="one value in a color channel"):
        read(made_audit.npz(tmp_path / "a.npz", x=x))


def test_more_than_fits_into_memory(tmp_path, monkeypatch):
    where = made_audit.npz(tmp_path / "a.npz")
    monkeypatch.setattr(audit_input, "MOST_BYTES", 2 * 60 * SIZE_OF_ONE - 1)
    with pytest.raises(BadInput, match="60 images of 8 x 8 pixels do not fit"):
        read(where)
    audit_input.load.cache_clear()
    monkeypatch.setattr(audit_input, "MOST_BYTES", 2 * 60 * SIZE_OF_ONE)
    assert len(read(where).labels) == 60


SIZE_OF_ONE = made_audit.SIZE**2 * 3


def test_scaling_by_hand():
    pixels = np.zeros((1, 1, 2, 3), np.uint8)
    pixels[0, 0, 1] = 255  # each channel holds 0 and 1: mean and standard deviation one half
    np.testing.assert_array_equal(scaled(pixels, "unit"), np.float32([[[[0, 1]]] * 3]))
    np.testing.assert_array_equal(scaled(pixels, "standard"), np.float32([[[[-1, 1]]] * 3]))
    found = scaled(pixels, "imagenet")[0, :, 0]
    np.testing.assert_allclose(found[0], [-0.485 / 0.229, 0.515 / 0.229], rtol=1e-6)
    np.testing.assert_allclose(found[2], [-0.406 / 0.225, 0.594 / 0.225], rtol=1e-6)
    with pytest.raises(BadInput, match=r"Unknown scaling 'unti'\. Did you mean 'unit'"):
        scaled(pixels, "unti")


def test_scaling_is_by_channel_and_over_all_images(tmp_path):
    found = scaled(read(made_audit.npz(tmp_path / "a.npz")).pixels, "standard")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(axis=(0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std(axis=(0, 2, 3)), 1, atol=1e-5)
