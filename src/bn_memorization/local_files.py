"""Reading a full data set from the files of a torchvision root, each file and array checked.

MNIST and Fashion-MNIST lie there as raw idx files, CIFAR as torchvision's own batches. CIFAR-10 may
also lie there as cifar10.npz, which holds the decoded arrays and no pickle.
"""

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

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
        arrays, where = _read_npz(root / NPZ), root / NPZ
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
    content = np.fromfile(path, np.uint8)
    length = 4 + 4 * len(shape)
    header = content[:length].tobytes()
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
    if len(content) != expected:
        raise BadInput(f"{path} has {len(content)} bytes, and must have {expected}. {_ADVICE}")
    return content[length:].reshape(shape)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read: {error}. {_ADVICE}") from error


def _read_batches(info: DatasetInfo, root: Path) -> dict[str, np.ndarray]:
    """Read CIFAR through torchvision, which unpickles a batch only after its md5 has matched.

    The md5 is compared here first, to name the file that differs and both sums.
    """
    from torchvision.datasets.utils import calculate_md5

    cifar = torchvision_class(info)
    listed = [*cifar.train_list, *cifar.test_list, (cifar.meta["filename"], cifar.meta["md5"])]
    for name, md5 in listed:
        path = root / cifar.base_folder / name
        check_sum(str(path), calculate_md5(path), md5, _ADVICE, kind="md5")
    arrays = {}
    for part in ("train", "test"):
        loaded = cifar(root, train=part == "train")
        arrays[f"{part}_images"] = np.ascontiguousarray(loaded.data)
        arrays[f"{part}_labels"] = np.array(loaded.targets, np.uint8)
    return arrays
