import hashlib
import os
import pickle
import shutil

import numpy as np
import pytest
import tiny_sets
from torchvision import datasets

from bn_memorization import local_files
from bn_memorization.errors import BadInput


def check_arrays(found, name):
    tiny = tiny_sets.arrays(name)
    for part in ("train", "test"):
        split = getattr(found, part)
        np.testing.assert_array_equal(split.images, tiny[f"{part}_images"])
        np.testing.assert_array_equal(split.labels, tiny[f"{part}_labels"])
        np.testing.assert_array_equal(split.rows, np.arange(len(split)))
        assert split.images.dtype == np.uint8
        assert split.labels.dtype == split.rows.dtype == np.int64
        assert split.images.flags.writeable


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_idx_files_are_read(name, tmp_path):
    tiny_sets.write_idx(name, tmp_path)
    check_arrays(local_files.read(tiny_sets.info(name), tmp_path, "local"), name)


def test_cifar10_npz_is_read(tmp_path):
    tiny_sets.write_npz(tmp_path)
    check_arrays(local_files.read(tiny_sets.info("cifar10"), tmp_path, "local"), "cifar10")


def test_cifar100_is_read_in_torchvisions_layout(tmp_path, monkeypatch):
    tiny_sets.write_cifar100(tmp_path, monkeypatch)
    check_arrays(local_files.read(tiny_sets.info("cifar100"), tmp_path, "local"), "cifar100")


def test_cifar_batch_with_another_md5_is_named_and_not_unpickled(tmp_path, monkeypatch):
    folder = tiny_sets.write_cifar100(tmp_path, monkeypatch)
    # Unpickled, these bytes would call this test's `fail`.
    (folder / "train").write_bytes(b"cpytest\nfail\n(Vunpickled\ntR.")
    with pytest.raises(BadInput, match=r"cifar-100-python/train.*md5 is \w{32}.*must be \w{32}"):
        local_files.read(tiny_sets.info("cifar100"), tmp_path, "local")


@pytest.mark.parametrize("missing", [*local_files.IDX_FILES.values()])
def test_incomplete_files_count_as_absent(missing, tmp_path):
    folder = tiny_sets.write_idx("mnist", tmp_path)
    (folder / missing).unlink()
    assert local_files.read(tiny_sets.info("mnist"), tmp_path, "local") is None


def test_empty_root_holds_nothing(tmp_path):
    for name in ("mnist", "fashion_mnist", "cifar10", "cifar100"):
        assert local_files.present(tiny_sets.info(name), tmp_path) == []


def test_changed_pixel_is_named_with_both_sums(tmp_path):
    folder = tiny_sets.write_idx("mnist", tmp_path)
    path = folder / "t10k-images-idx3-ubyte"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    info = tiny_sets.info("mnist")
    with pytest.raises(BadInput, match=r"test_images in .*sha256 is \w{64}") as caught:
        local_files.read(info, tmp_path, "local")
    assert info.sums["test_images"] in str(caught.value)
    assert "make data" in str(caught.value)


def test_data_of_another_set_is_refused(tmp_path):
    folder = tiny_sets.write_idx("mnist", tmp_path)
    shutil.copytree(folder, tmp_path / local_files.IDX_FOLDERS["fashion_mnist"])
    with pytest.raises(BadInput, match="sha256"):
        local_files.read(tiny_sets.info("fashion_mnist"), tmp_path, "local")


def test_npz_of_other_shape_is_refused(tmp_path):
    tiny = tiny_sets.arrays("cifar10")
    np.savez(tmp_path / local_files.NPZ, **{**tiny, "train_images": tiny["train_images"][1:]})
    with pytest.raises(BadInput, match=r"train_images .*\[19, 32, 32, 3\].*\[20, 32, 32, 3\]"):
        local_files.read(tiny_sets.info("cifar10"), tmp_path, "local")


def test_truncated_npz_is_refused(tmp_path):
    path = tiny_sets.write_npz(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(BadInput, match=r"cifar10.npz cannot be read"):
        local_files.read(tiny_sets.info("cifar10"), tmp_path, "local")


def test_pickled_npz_is_refused(tmp_path):
    pickled = np.array([{"an": "object"}], dtype=object)
    np.savez(tmp_path / local_files.NPZ, **{**tiny_sets.arrays("cifar10"), "train_images": pickled})
    with pytest.raises(BadInput, match="allow_pickle"):
        local_files.read(tiny_sets.info("cifar10"), tmp_path, "local")


GOOD = tiny_sets.idx_bytes(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


def test_idx_header_and_values(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(GOOD)
    found = local_files.read_idx(path, (2, 3, 4))
    assert found.shape == (2, 3, 4)
    assert found[1, 2, 3] == 23


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "starts with nothing"),
        (b"\x1f\x8b\x08\x00" + GOOD[4:], "starts with 1f8b0800, and must start with 00000803"),
        (b"\x00\x00\x08\x01" + GOOD[4:], "starts with 00000801"),
        (GOOD[:9], "ends inside its header, after 9 bytes"),
        (GOOD[:7] + b"\x03" + GOOD[8:], r"holds \[3, 3, 4\], and must hold \[2, 3, 4\]"),
        (GOOD[:-1], "has 39 bytes, and must have 40"),
        (GOOD + b"\x00", "has 41 bytes, and must have 40"),
    ],
)
def test_malformed_idx_is_refused(content, message, tmp_path):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        local_files.read_idx(path, (2, 3, 4))


class Trap:
    """Leaves a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("inside", [lambda trap: trap, lambda trap: {"data": [trap]}])
def test_code_in_a_batch_is_refused_though_its_md5_is_right(tmp_path, monkeypatch, inside):
    folder = tiny_sets.write_cifar100(tmp_path, monkeypatch)
    content = pickle.dumps(inside(Trap(tmp_path / "sprung")), protocol=2)
    (folder / "train").write_bytes(content)
    listed = [["train", hashlib.md5(content).hexdigest()]]
    monkeypatch.setattr(datasets.CIFAR100, "train_list", listed)
    with pytest.raises(BadInput, match=r"train cannot be read: it calls for (io|_io)\.open"):
        local_files.read(tiny_sets.info("cifar100"), tmp_path, "local")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "batch", [[], {}, {"data": 3, "labels": []}, {"data": np.zeros(7, "u1"), "labels": [0]}]
)
def test_other_batches_are_refused_though_their_md5_is_right(tmp_path, monkeypatch, batch):
    folder = tiny_sets.write_cifar100(tmp_path, monkeypatch)
    content = pickle.dumps(batch, protocol=2)
    (folder / "train").write_bytes(content)
    listed = [["train", hashlib.md5(content).hexdigest()]]
    monkeypatch.setattr(datasets.CIFAR100, "train_list", listed)
    with pytest.raises(BadInput, match="train cannot be read"):
        local_files.read(tiny_sets.info("cifar100"), tmp_path, "local")


def test_an_array_as_numpy_1_pickled_it_is_read(tmp_path, monkeypatch):
    """In 2009 it was numpy.core.multiarray that rebuilt an array."""
    folder = tiny_sets.write_cifar100(tmp_path, monkeypatch)
    before = local_files.read(tiny_sets.info("cifar100"), tmp_path, "local")
    batch = tiny_sets.arrays("cifar100")
    rows = batch["train_images"].transpose(0, 3, 1, 2).reshape(-1, 3072)
    made = {"data": rows, "fine_labels": batch["train_labels"].tolist()}
    content = pickle.dumps(made, protocol=2).replace(
        b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"
    )
    assert b"cnumpy.core.multiarray\n_reconstruct" in content
    (folder / "train").write_bytes(content)
    listed = [["train", hashlib.md5(content).hexdigest()]]
    monkeypatch.setattr(datasets.CIFAR100, "train_list", listed)
    after = local_files.read(tiny_sets.info("cifar100"), tmp_path, "local")
    assert after.sha256 == before.sha256


def test_a_bomb_of_arrays_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / local_files.NPZ
    np.savez_compressed(path, **tiny_sets.arrays("cifar10"), more=np.zeros(10**6))
    monkeypatch.setattr(local_files.np, "load", None)
    with pytest.raises(BadInput, match=r"cifar10.npz cannot be read: it comes to 8,\d{3},\d{3}"):
        local_files.read(tiny_sets.info("cifar10"), tmp_path, "local")


def test_a_file_larger_than_the_memory_is_refused_by_its_length(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(GOOD)
    os.truncate(path, 2**40)  # takes no room on the disk
    with pytest.raises(BadInput, match="has 1099511627776 bytes, and must have 40"):
        local_files.read_idx(path, (2, 3, 4))
