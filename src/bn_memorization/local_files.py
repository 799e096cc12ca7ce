"""Reading a full data set from the files of a torchvision root, each file and array checked.

MNIST and Fashion-MNIST lie there as raw idx files, CIFAR as torchvision's own batches. CIFAR-10 may
also lie there as cifar10.npz, which holds the decoded arrays and no pickle. The batches are
pickles: they are read, once their md5 has matched, by a reader that makes arrays and nothing else.
"""

import codecs
import hashlib
import pickle
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from bn_memorization.catalog import ARRAYS, Dataset, DatasetInfo, Split, check_sum, split_sums
from bn_memorization.catalog import dataset as put_together
from bn_memorization.errors import BadInput

IDX_FOLDERS = {"mnist": "MNIST/raw", "fashion_mnist": "FashionMNIST/raw"}
IDX_FILES = dict(
    zip(
        ARRAYS,
        (
            "train-images-idx3-ubyte",
            "train-labels-idx1-ubyte",
            "t10k-images-idx3-ubyte",
            "t10k-labels-idx1-ubyte",
        ),
        strict=True,
    )
)
NPZ = "cifar10.npz"
_CIFAR_CLASSES = {"cifar10": "CIFAR10", "cifar100": "CIFAR100"}
_ADVICE = "Delete it, then run `make data` to fetch it again."


def torchvision_class(info: DatasetInfo) -> type:
    """Return torchvision's class for a data set.

    The import stays in here: it takes seconds, and most reads do not need it.
    """
    from torchvision import datasets

    names = {"mnist": "MNIST", "fashion_mnist": "FashionMNIST", **_CIFAR_CLASSES}
    return getattr(datasets, names[info.name])


def layouts(info: DatasetInfo) -> Iterator[list[str]]:
    """Yield each set of files, relative to the root, that holds the whole data set."""
    if info.name in IDX_FOLDERS:
        yield [f"{IDX_FOLDERS[info.name]}/{file}" for file in IDX_FILES.values()]
        return
    if info.name == "cifar10":
        yield [NPZ]
    cifar = torchvision_class(info)
    names = [name for name, _ in cifar.train_list + cifar.test_list] + [cifar.meta["filename"]]
    yield [f"{cifar.base_folder}/{name}" for name in names]


def present(info: DatasetInfo, root: Path) -> list[str]:
    """Return the files of the first layout that is complete under `root`; empty if none is."""
    for files in layouts(info):
        if all((root / file).is_file() for file in files):
            return files
    return []


def read(info: DatasetInfo, root: Path, source: str) -> Dataset | None:
    """Return the data set that lies under `root`, or None if it is not there or not complete.

    Raises BadInput, naming the file, if a file is malformed or a checksum differs.
    """
    files = present(info, root)
    if not files:
        return None
    if info.name in IDX_FOLDERS:
        arrays, where = _read_idx_files(info, root), root / IDX_FOLDERS[info.name]
    elif files == [NPZ]:
        arrays, where = _read_npz(root / NPZ, _expected_shapes(info)), root / NPZ
    else:
        arrays, where = _read_batches(info, root), root / torchvision_class(info).base_folder
    return _checked(info, arrays, where, source)


def _checked(info: DatasetInfo, arrays: dict[str, np.ndarray], where: Path, source: str) -> Dataset:
    """Check shapes and sums of the decoded arrays, and make the data set of them."""
    shapes = _expected_shapes(info)
    splits, sums = [], []
    for part in ("train", "test"):
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        split = Split(images, labels.astype(np.int64), np.arange(len(labels)))
        sums.append(split_sums(split))
        for what, array in (("images", images), ("labels", labels)):
            name = f"{part}_{what}"
            if array.shape != shapes[name] or array.dtype != np.uint8:
                raise BadInput(
                    f"{name} in {where} are {array.dtype}{list(array.shape)}, and must be "
                    f"uint8{list(shapes[name])}. {_ADVICE}"
                )
            if info.sums:
                check_sum(f"{name} in {where}", sums[-1][what], info.sums[name], _ADVICE)
        splits.append(split)
    return put_together(info, source, *splits, tuple(sums))


def _expected_shapes(info: DatasetInfo) -> dict[str, tuple[int, ...]]:
    return {
        "train_images": (info.n_train, *info.image_shape),
        "train_labels": (info.n_train,),
        "test_images": (info.n_test, *info.image_shape),
        "test_labels": (info.n_test,),
    }


def _read_idx_files(info: DatasetInfo, root: Path) -> dict[str, np.ndarray]:
    shapes = _expected_shapes(info)
    folder = root / IDX_FOLDERS[info.name]
    return {name: read_idx(folder / file, shapes[name]) for name, file in IDX_FILES.items()}


def read_idx(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return the uint8 array of an idx file, whose header must announce `shape`.

    The header is two zero bytes, the element type (8: unsigned byte), the number of dimensions and
    each dimension as a big-endian uint32 (LeCun, Cortes and Burges, 1998). Raises BadInput if the
    magic number, a dimension or the length of the file is another.
    """
    length = 4 + 4 * len(shape)
    with path.open("rb") as file:
        header = file.read(length)
    if header[:4] != bytes((0, 0, 8, len(shape))):
        raise BadInput(
            f"{path} is no idx file of bytes in {len(shape)} dimensions: it starts with "
            f"{header[:4].hex() or 'nothing'}, and must start with 000008{len(shape):02x}. "
            f"{_ADVICE}"
        )
    if len(header) < length:
        raise BadInput(f"{path} ends inside its header, after {len(header)} bytes. {_ADVICE}")
    found = struct.unpack(f">{len(shape)}I", header[4:])
    if found != shape:
        raise BadInput(f"{path} holds {list(found)}, and must hold {list(shape)}. {_ADVICE}")
    expected = length + int(np.prod(shape))
    found = path.stat().st_size
    if found != expected:  # seen before it is read: it may be larger than the memory
        raise BadInput(f"{path} has {found} bytes, and must have {expected}. {_ADVICE}")
    return np.fromfile(path, np.uint8, offset=length).reshape(shape)


def _read_npz(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    most = 2 * sum(int(np.prod(shape)) for shape in shapes.values())
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
        if size > most:
            raise ValueError(f"it comes to {size:,} bytes unpacked; at most {most:,} are read")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in ARRAYS}
    except Exception as error:  # a damaged file can fail in any way
        raise BadInput(f"{path} cannot be read: {error}. {_ADVICE}") from error


class _ArraysOnly(pickle.Unpickler):
    """Reads plain values and numpy arrays; whatever else a pickle calls for is refused."""

    names: ClassVar = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy.core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,
        ("_codecs", "encode"): codecs.encode,
    }

    def find_class(self, module: str, name: str) -> object:
        """Return one of `names`. Raises UnpicklingError for another."""
        if (module, name) not in self.names:
            raise pickle.UnpicklingError(f"it calls for {module}.{name}")
        return self.names[module, name]


def _read_batches(info: DatasetInfo, root: Path) -> dict[str, np.ndarray]:
    """Read CIFAR's batches: rows of 3072 bytes, color by color, and lists of labels."""
    cifar = torchvision_class(info)
    folder = root / cifar.base_folder
    _check_file(folder / cifar.meta["filename"], cifar.meta["md5"])
    arrays = {}
    for part, listed in (("train", cifar.train_list), ("test", cifar.test_list)):
        batches = [_read_batch(folder / name, md5) for name, md5 in listed]
        rows = np.concatenate([images for images, _ in batches])
        colors_last = rows.reshape(-1, 3, *info.image_shape[:2]).transpose(0, 2, 3, 1)
        arrays[f"{part}_images"] = np.ascontiguousarray(colors_last)
        arrays[f"{part}_labels"] = np.concatenate([labels for _, labels in batches])
    return arrays


def _read_batch(path: Path, md5: str) -> tuple[np.ndarray, np.ndarray]:
    _check_file(path, md5)
    try:
        with path.open("rb") as file:
            batch = _ArraysOnly(file, encoding="latin1").load()
        labels = batch["labels"] if "labels" in batch else batch["fine_labels"]
        return batch["data"].reshape(-1, 3072), np.array(labels, np.uint8)
    except Exception as error:  # no list of md5 sums says what a file with the right one holds
        raise BadInput(f"{path} cannot be read: {error}. {_ADVICE}") from error


def _check_file(path: Path, md5: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    check_sum(str(path), found, md5, _ADVICE, kind="md5")
