import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bn_memorization import embedded, paths, sources
from bn_memorization.catalog import DATASETS, Split, dataset, split_sums
from bn_memorization.errors import BadInput, Failure

NAMES = list(embedded.SIZES)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of data/embedded, for tests that damage it."""
    folder = tmp_path / "data" / "embedded"
    shutil.copytree(paths.embedded(), folder)
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    return folder


def random_set(name, n_train, n_test):
    info, rng = DATASETS[name], np.random.default_rng(0)
    splits = [
        Split(
            rng.integers(0, 256, (n, *info.image_shape), np.uint8),
            rng.permutation(n) % len(info.classes),
            np.arange(n),
        )
        for n in (n_train, n_test)
    ]
    return dataset(info, "made", *splits, tuple(split_sums(split) for split in splits))


@pytest.mark.parametrize("name", NAMES)
def test_sizes_shapes_and_balance(name):
    found = embedded.load(DATASETS[name])
    for split, size in zip((found.train, found.test), embedded.SIZES[name], strict=True):
        assert split.images.shape == (size, *DATASETS[name].image_shape)
        assert split.images.dtype == np.uint8
        assert split.images.flags.writeable
        assert split.labels.dtype == split.rows.dtype == np.int64
        assert set(np.bincount(split.labels)) == {size // 10}
        assert len(set(split.rows)) == size


@pytest.mark.parametrize("name", NAMES)
def test_first_images_are_balanced_for_any_number(name):
    labels = embedded.load(DATASETS[name]).train.labels
    counts = np.cumsum(labels[:, None] == np.arange(10), axis=0)
    assert (counts.max(axis=1) - counts.min(axis=1)).max() == 1


@pytest.mark.parametrize("name", NAMES)
def test_rows_lie_in_the_full_split(name):
    found, info = embedded.load(DATASETS[name]), DATASETS[name]
    for split, n in ((found.train, info.n_train), (found.test, info.n_test)):
        assert split.rows.min() >= 0
        assert split.rows.max() < n


def test_known_images_of_mnist():
    """MNIST's test split starts 7 2 1 0 4 1 4 9 5 9, so each of those rows must keep its label."""
    first_labels = {0: 7, 1: 2, 2: 1, 3: 0, 4: 4, 5: 1, 6: 4, 7: 9, 8: 5, 9: 9}
    test = embedded.load(DATASETS["mnist"]).test
    drawn = [i for i, row in enumerate(test.rows) if row in first_labels]
    assert drawn
    assert all(test.labels[i] == first_labels[test.rows[i]] for i in drawn)


def test_folder_is_small_and_has_nothing_else():
    files = {path.name: path.stat().st_size for path in paths.embedded().iterdir()}
    sheets = {f"{name}-{part}.png" for name in NAMES for part in ("train", "test")}
    assert set(files) == sheets | {"manifest.json", "LICENSES.md"}
    assert sum(files.values()) <= 16_000_000


def test_manifest_says_where_the_images_come_from():
    manifest = json.loads((paths.embedded() / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == embedded.SEED
    for name in NAMES:
        entry, info = manifest["datasets"][name], DATASETS[name]
        assert entry["source"] == info.provenance
        assert entry["license"] == info.license
        assert entry["full_sha256"] == info.sums


def test_set_without_subset_is_refused():
    with pytest.raises(BadInput, match=r"CIFAR-100 .*mnist, fashion_mnist, cifar10"):
        embedded.load(DATASETS["cifar100"])


def test_damaged_sheet_is_named_with_both_sums(copied):
    path = copied / "mnist-test.png"
    path.write_bytes(path.read_bytes()[:-1])
    entry = json.loads((copied / "manifest.json").read_text())["datasets"]["mnist"]
    expected = entry["splits"]["test"]["sha256"]
    with pytest.raises(BadInput, match=rf"mnist-test.png.*sha256 is \w{{64}}.*{expected}.*git"):
        embedded.load(DATASETS["mnist"])


@pytest.mark.parametrize("what", ["labels", "rows"])
def test_changed_label_or_row_is_found(what, copied):
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text())
    values = manifest["datasets"]["mnist"]["splits"]["train"][what]
    values[0], values[1] = values[1], values[0]
    path.write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match=rf"{what} of .*mnist-train.png.*sha256"):
        embedded.load(DATASETS["mnist"])


@pytest.mark.parametrize("file", ["mnist-train.png", "manifest.json"])
def test_missing_file_is_named(file, copied):
    (copied / file).unlink()
    with pytest.raises(BadInput, match=rf"{file} cannot be read"):
        embedded.load(DATASETS["mnist"])


def test_manifest_that_is_no_json_is_named(copied):
    (copied / "manifest.json").write_text("{")
    with pytest.raises(BadInput, match=r"manifest.json cannot be read"):
        embedded.load(DATASETS["mnist"])


@given(seed=st.integers(0, 2**32), classes=st.integers(1, 12), each=st.integers(1, 5))
def test_balanced_rows_hold_each_class_once_a_block(seed, classes, each):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(classes), rng.integers(each, 9, classes)))
    rows = embedded.balanced_rows(labels, each * classes, rng)
    assert len(set(rows)) == each * classes
    blocks = np.sort(labels[rows].reshape(each, classes), axis=1)
    assert (blocks == np.arange(classes)).all()


@pytest.mark.parametrize("count", [7, 12])
def test_counts_that_cannot_be_balanced_are_refused(count):
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    with pytest.raises(BadInput, match=rf"Cannot draw {count} .*multiple of 2, and at most 6"):
        embedded.balanced_rows(labels, count, np.random.default_rng(0))


def test_sheet_shows_images_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setitem(embedded.SIZES, "mnist", (100, 50))
    full = random_set("mnist", 150, 150)
    entry = embedded.build(full, tmp_path)["splits"]["train"]
    sheet = np.asarray(Image.open(tmp_path / "mnist-train.png"))
    assert sheet.shape == (2 * 28, 50 * 28)
    np.testing.assert_array_equal(sheet[:28, 28:56], full.train.images[entry["rows"][1]])
    np.testing.assert_array_equal(sheet[28:, :28], full.train.images[entry["rows"][50]])


def test_rebuilding_gives_what_load_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    sizes = dict.fromkeys(NAMES, (100, 50))
    monkeypatch.setattr(embedded, "SIZES", sizes)
    full = {name: random_set(name, 150, 100) for name in NAMES}
    monkeypatch.setattr(sources, "load_full", lambda info, fetchers: full[info.name])
    embedded.main()
    folder = paths.embedded()
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in NAMES:
        found = embedded.load(DATASETS[name])
        np.testing.assert_array_equal(found.train.images, full[name].train.images[found.train.rows])
        np.testing.assert_array_equal(found.test.labels, full[name].test.labels[found.test.rows])
    embedded.main()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_rebuilding_that_fails_leaves_the_old_files(copied, monkeypatch):
    def cannot(info, fetchers):
        raise Failure("no network")

    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    monkeypatch.setattr(sources, "load_full", cannot)
    with pytest.raises(Failure, match="no network"):
        embedded.main()
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before
