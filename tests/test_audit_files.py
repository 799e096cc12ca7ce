import zipfile
from contextlib import suppress

import made_audit
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_audit import SIZE, Trap
from PIL import Image

from bn_memorization import audit_files
from bn_memorization.audit_files import colored, read_folder, read_npz
from bn_memorization.errors import BadInput

ALL = np.arange(60)


def test_gray_becomes_three_equal_channels():
    gray = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    for images in (gray, gray[..., None]):
        found = colored(images, 0)
        assert found.shape == (2, 3, 3, 3)
        for channel in range(3):
            np.testing.assert_array_equal(found[..., channel], gray)


def test_color_of_the_right_size_stays_as_it_is():
    images = made_audit.arrays(4)["x"]
    np.testing.assert_array_equal(colored(images, 0), images)
    np.testing.assert_array_equal(colored(images, SIZE), images)


def test_resizing_makes_squares_and_keeps_flat_images_flat():
    images = np.full((2, 4, 10, 3), 77, np.uint8)
    found = colored(images, 6)
    assert found.shape == (2, 6, 6, 3)
    assert (found == 77).all()


def test_an_npz_file_comes_as_it_was_written(tmp_path):
    made = made_audit.arrays(member=ALL % 2 == 0)
    found = read_npz(tmp_path / made_audit.npz(tmp_path / "a.npz", member=ALL % 2 == 0))
    np.testing.assert_array_equal(found.pixels(ALL[5:9], 0), made["x"][5:9])
    np.testing.assert_array_equal(found.labels, made["y"])
    np.testing.assert_array_equal(found.member, ALL % 2 == 0)
    assert found.names[7] == "row 7"
    assert found.classes == ("class 0", "class 1", "class 2")


def test_without_marks_nobody_is_a_member(tmp_path):
    made_audit.npz(tmp_path / "a.npz")
    assert read_npz(tmp_path / "a.npz").member is None


X, Y = made_audit.arrays()["x"], made_audit.arrays()["y"]
WRONG = [
    ({"x": X.astype(np.float32)}, r"x is float32\[60, 8, 8, 3\]"),
    ({"x": X.astype(np.int64)}, r"x is int64"),
    ({"x": X[:, :, :, :2]}, r"x is uint8\[60, 8, 8, 2\]"),
    ({"x": X[..., None]}, r"x is uint8\[60, 8, 8, 3, 1\]"),
    ({"x": X[0, 0]}, r"x is uint8\[8, 3\]"),
    ({"x": X[:0], "y": Y[:0]}, "there is no image"),
    ({"x": X[:, :0]}, "there is no image"),
    ({"y": Y[:-1]}, r"y is int64\[59\] for N = 60"),
    ({"y": Y[:, None]}, r"y is int64\[60, 1\]"),
    ({"y": Y.astype(float)}, "y is float64"),
    ({"y": Y.astype(str)}, "y is <U"),
    ({"y": Y - 1}, "y holds -1"),
    ({"member": Y}, "member is int64"),
    ({"member": (Y > 0)[:5]}, r"member is bool\[5\] for N = 60"),
]


@pytest.mark.parametrize(("changes", "told"), WRONG)
def test_wrong_arrays_are_refused_with_what_is_needed(tmp_path, changes, told):
    made_audit.npz(tmp_path / "a.npz", **changes)
    with pytest.raises(BadInput, match=rf"^a\.npz: .*{told}"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("absent", ["x", "y"])
def test_a_missing_array_is_named(tmp_path, absent):
    made = made_audit.arrays()
    del made[absent]
    np.savez(tmp_path / "a.npz", **made)
    with pytest.raises(BadInput, match=rf"there is no array {absent}\. Needed are x uint8"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["x", "y", "member"])
def test_a_pickle_in_an_array_is_refused_and_not_executed(tmp_path, name):
    trap = Trap(tmp_path / "sprung")
    assert made_audit.springs(trap)
    made_audit.npz(tmp_path / "a.npz", **{name: np.array([trap] * 60, object)})
    with pytest.raises(BadInput, match=rf"{name} holds Python objects, that is a pickle"):
        read_npz(tmp_path / "a.npz")
    assert not trap.mark.exists()


def test_arrays_that_nobody_asked_for_are_not_read(tmp_path):
    trap = Trap(tmp_path / "sprung")
    made_audit.npz(tmp_path / "a.npz", more=np.array([trap], object))
    assert len(read_npz(tmp_path / "a.npz").labels) == 60
    assert not trap.mark.exists()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_files, "MOST_BYTES", 100_000)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((200, 30, 30), np.uint8), y=np.arange(200))
    assert path.stat().st_size < 5_000  # small on disk, large in memory
    with pytest.raises(BadInput, match=r"x comes to 180,\d+ bytes unpacked; at most 100,000"):
        read_npz(path)


@pytest.mark.parametrize("shape", [(10**13, 8, 8), (10**6, 10**6, 10**6)])
def test_a_header_that_asks_for_all_memory_is_refused(tmp_path, shape):
    path = made_audit.forged(tmp_path / "a.npz", shape)
    with pytest.raises(BadInput, match="bytes unpacked; at most"):
        read_npz(tmp_path / path)


def test_a_header_that_says_more_than_there_is(tmp_path):
    made_audit.forged(tmp_path / "a.npz", (4, 100, 100), content=b"\0" * 10)
    with pytest.raises(BadInput, match=r"said to have shape \(4, 100, 100\), but holds only"):
        read_npz(tmp_path / "a.npz")


def test_files_that_are_no_archive_of_arrays(tmp_path):
    path = tmp_path / "a.npz"
    for content in (b"", b"no zip", made_audit.pickle.dumps({"x": 1})):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"a\.npz cannot be read as an \.npz file"):
            read_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"no array")
    with pytest.raises(BadInput, match=r"a\.npz cannot be read as an \.npz file"):
        read_npz(path)


@given(damage=st.data())
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_damage_is_refused_or_does_no_harm(tmp_path_factory, damage):
    path = tmp_path_factory.mktemp("damaged") / "a.npz"
    made = made_audit.arrays()
    np.savez(path, x=made["x"][:4], y=made["y"][:4])  # headers are most of it
    content = path.read_bytes()
    first = damage.draw(st.integers(0, len(content) - 1))
    new = damage.draw(st.binary(min_size=1, max_size=40))
    path.write_bytes(content[:first] + new + content[first + len(new) :])
    with suppress(BadInput):
        read_npz(path)


def test_a_damaged_archive_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    made_audit.npz(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 255
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"a\.npz cannot be read"):
        read_npz(path)


def test_a_folder_has_its_classes_in_order_and_its_names_relative(tmp_path):
    made_audit.folder(tmp_path / "a")
    (tmp_path / "a" / "kind 0" / "notes.txt").write_text("no image")
    found = read_folder(tmp_path / "a")
    made = made_audit.arrays()
    assert found.classes == ("kind 0", "kind 1", "kind 2")
    assert len(found.labels) == 60
    numbers = [int(name.split("/")[1].removesuffix(".png")) for name in found.names]
    np.testing.assert_array_equal(found.labels, made["y"][numbers])
    np.testing.assert_array_equal(found.pixels(ALL, 0), made["x"][numbers])
    assert found.pixels(ALL[:2], 5).shape == (2, 5, 5, 3)


def test_gray_and_transparent_files_become_three_channels(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("L", (8, 8), 9).save(tmp_path / "a" / "1.png")
    Image.new("RGBA", (8, 8), (1, 2, 3, 4)).save(tmp_path / "a" / "2.png")
    found = read_folder(tmp_path).pixels(np.arange(2), 0)
    assert (found[0] == 9).all()
    assert (found[1] == (1, 2, 3)).all()


def test_images_of_many_sizes_need_a_size(tmp_path):
    made_audit.folder(tmp_path)
    Image.new("RGB", (20, 10)).save(tmp_path / "kind 1" / "wide.png")
    found = read_folder(tmp_path)
    everyone = np.arange(61)
    with pytest.raises(BadInput, match=r"differ in size: \(8, 8\) and \(10, 20\).*image_size"):
        found.pixels(everyone, 0)
    assert found.pixels(everyone, 8).shape == (61, 8, 8, 3)


def test_a_file_that_is_no_image_is_named(tmp_path):
    made_audit.folder(tmp_path)
    (tmp_path / "kind 2" / "000.png").write_bytes(b"no image")
    found = read_folder(tmp_path)
    with pytest.raises(BadInput, match=r"^kind 2/000\.png is not an image"):
        found.pixels(np.flatnonzero(found.labels == 2), 0)


def test_a_huge_image_is_refused_by_its_head(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_files, "MOST_PIXELS", 63)
    made_audit.folder(tmp_path)
    with pytest.raises(BadInput, match="has 8 x 8 pixels; at most 63"):
        read_folder(tmp_path).pixels(ALL, 0)


def test_a_huge_folder_is_refused_while_it_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_files, "MOST_FILES", 30)
    made_audit.folder(tmp_path / "a")
    with pytest.raises(BadInput, match=r"^a holds more than 30 files"):
        read_folder(tmp_path / "a")


def test_a_folder_without_classes_or_images(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "loose.png")
    with pytest.raises(BadInput, match="holds no images in class folders"):
        read_folder(tmp_path)
    (tmp_path / "class").mkdir()
    with pytest.raises(BadInput, match="holds no images in class folders"):
        read_folder(tmp_path)
