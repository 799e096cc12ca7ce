import hashlib

import numpy as np
import pytest

from bn_memorization import catalog
from bn_memorization.catalog import ARRAYS, DATASETS, Split
from bn_memorization.errors import BadInput


def split(n=4, seed=0):
    images = np.random.default_rng(seed).integers(0, 256, (n, 2, 2), np.uint8)
    return Split(images, np.arange(n) % 2, np.arange(n))


def hash_of(train, test):
    sums = tuple(catalog.split_sums(part) for part in (train, test))
    return catalog.dataset(DATASETS["mnist"], "made", train, test, sums).sha256


@pytest.mark.parametrize("name", list(DATASETS))
def test_every_entry_is_complete(name):
    info = DATASETS[name]
    assert info.name == name
    assert len(set(info.classes)) == (100 if name == "cifar100" else 10)
    assert info.license
    assert info.provenance
    if name == "cifar100":
        assert info.sums == {}
    else:
        assert list(info.sums) == list(ARRAYS)
        assert {len(value) for value in info.sums.values()} == {64}


def test_class_names_are_torchvisions():
    from torchvision.datasets import FashionMNIST

    ours = [name.lower() for name in DATASETS["fashion_mnist"].classes]
    assert ours == [name.lower() for name in FashionMNIST.classes]


def test_sum_is_over_the_values_in_c_order():
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    expected = hashlib.sha256(bytes(range(6))).hexdigest()
    assert catalog.array_sha256(array) == expected
    assert catalog.array_sha256(np.asfortranarray(array)) == expected


def test_labels_are_summed_as_bytes():
    assert catalog.split_sums(split())["labels"] == hashlib.sha256(bytes([0, 1, 0, 1])).hexdigest()


def test_hash_depends_on_every_array():
    base = hash_of(split(), split(seed=1))
    changed = [hash_of(split(seed=1), split()), hash_of(split(seed=2), split(seed=1))]
    for what in ("images", "labels", "rows"):
        arrays = {**vars(split(seed=1))}
        arrays[what] = arrays[what][::-1]
        changed.append(hash_of(split(), Split(**arrays)))
    assert len({base, *changed}) == len(changed) + 1
    assert base == hash_of(split(), split(seed=1))


def test_different_sum_shows_both():
    catalog.check_sum("a file", "aa", "aa", "advice")
    with pytest.raises(BadInput, match=r"a file: .*md5 is aa, and must be bb. Do this\."):
        catalog.check_sum("a file", "aa", "bb", "Do this.", kind="md5")
