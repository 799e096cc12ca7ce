"""Tiny data sets in the files of a torchvision root, with the sums that belong to them."""

import hashlib
import json
import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from bn_memorization import local_files
from bn_memorization.catalog import ARRAYS, DATASETS, DatasetInfo, array_sha256

N_TRAIN, N_TEST = 20, 10


def arrays(name: str) -> dict[str, np.ndarray]:
    info, rng = DATASETS[name], np.random.default_rng(len(name))
    found = {}
    for part, n in (("train", N_TRAIN), ("test", N_TEST)):
        found[f"{part}_images"] = rng.integers(0, 256, (n, *info.image_shape), np.uint8)
        found[f"{part}_labels"] = (np.arange(n) % len(info.classes)).astype(np.uint8)
    return {key: found[key] for key in ARRAYS}


def info(name: str) -> DatasetInfo:
    """The catalog's entry, for the tiny arrays; CIFAR-100 has no sums there and none here."""
    sums = {key: array_sha256(array) for key, array in arrays(name).items()}
    known = DATASETS[name].sums
    return replace(DATASETS[name], n_train=N_TRAIN, n_test=N_TEST, sums=sums if known else {})


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def write_idx(name: str, root: Path) -> Path:
    folder = root / local_files.IDX_FOLDERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in arrays(name).items():
        (folder / local_files.IDX_FILES[key]).write_bytes(idx_bytes(array))
    return folder


def write_npz(root: Path) -> Path:
    np.savez(root / local_files.NPZ, **arrays("cifar10"))
    return root / local_files.NPZ


class _OldDtype:
    """Pickles as the dtype of the 2009 batches does, which numpy must read in silence."""

    def __reduce__(self):
        return np.dtype, ("u1", 0, 1)


class _OldArray:
    def __init__(self, array: np.ndarray):
        self.array = array

    def __reduce__(self):
        return np.ndarray, (self.array.shape, _OldDtype(), self.array.tobytes())


def write_cifar100(root: Path, monkeypatch) -> Path:
    """Write the three files that torchvision reads, and let its md5 list be theirs."""
    from torchvision.datasets import CIFAR100

    folder = root / CIFAR100.base_folder
    folder.mkdir(parents=True, exist_ok=True)
    tiny = arrays("cifar100")
    contents = {"meta": {"fine_label_names": list(DATASETS["cifar100"].classes)}}
    for part in ("train", "test"):
        rows = tiny[f"{part}_images"].transpose(0, 3, 1, 2).reshape(-1, 3072)
        labels = tiny[f"{part}_labels"].tolist()
        contents[part] = {"data": _OldArray(rows), "fine_labels": labels}
    md5 = {}
    for name, content in contents.items():
        content = pickle.dumps(content, protocol=2)
        (folder / name).write_bytes(content)
        md5[name] = hashlib.md5(content).hexdigest()
    monkeypatch.setattr(CIFAR100, "train_list", [["train", md5["train"]]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", md5["test"]]])
    monkeypatch.setattr(CIFAR100, "meta", {**CIFAR100.meta, "md5": md5["meta"]})
    return folder


def write_cifar10_package(folder: Path) -> None:
    """Write the PNG and JSON files of the package: five train sheets and one test sheet."""
    tiny = arrays("cifar10")
    sheets = [*np.split(tiny["train_images"], 5), tiny["test_images"]]
    names = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
    for name, images in zip(names, sheets, strict=True):
        Image.fromarray(images.reshape(len(images), 1024, 3)).save(folder / f"{name}.png")
    for part in ("train", "test"):
        labels = tiny[f"{part}_labels"].tolist()
        (folder / f"{part}_lables.json").write_text(json.dumps(labels))
