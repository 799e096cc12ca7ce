"""A reader's own images: read from a folder or an .npz file, and refused where that is not safe.

Nothing of a file is executed: arrays of objects, which are pickles, are refused by their header.
What would fill the memory is refused before it is unpacked.
"""

import math
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from PIL import Image, UnidentifiedImageError

from bn_memorization.errors import BadInput

ARRAYS = ("x", "y", "member")
MOST_BYTES = 2 * 2**30  # of one array, unpacked
MOST_FILES = 200_000  # of one folder of images
MOST_PIXELS = 4096 * 4096  # of one image file
EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
_LAYOUT = (
    "Needed are x uint8[N, H, W] or [N, H, W, C] with C = 1 or 3, and y integer[N]; "
    "member bool[N] may say which images were trained on."
)
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True, eq=False)
class Found:
    """Labeled images that can be read: `pixels(rows, size)` is uint8[n, H, W, 3] of some of them.

    With size 0 the images stay as they are, else they become size x size. `labels` is int64[N],
    `names` says each image's place, and `member` bool[N] who was trained on, where that is known.
    """

    labels: np.ndarray
    names: Sequence[str]
    classes: tuple[str, ...]
    member: np.ndarray | None
    pixels: Callable[[np.ndarray, int], np.ndarray]


def colored(images: np.ndarray, size: int) -> np.ndarray:
    """Return images uint8[N, H, W] or [N, H, W, C], C = 1 or 3, as [N, H', W', 3].

    Gray is repeated to three channels; size 0 keeps H and W, another makes both `size`.
    """
    if images.ndim == 3:
        images = images[..., None]
    images = np.repeat(images, 3, axis=3) if images.shape[3] == 1 else images
    if not size or images.shape[1:3] == (size, size):
        return np.ascontiguousarray(images)
    return np.stack([_resized(Image.fromarray(image), size) for image in images])


def _resized(image: Image.Image, size: int) -> np.ndarray:
    return np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))


def read_npz(path: Path) -> Found:
    """Return the images of an .npz file, which is read with allow_pickle=False.

    Raises BadInput for a file that is no such archive, arrays that lack, have another shape or
    type, hold objects, or come to more than MOST_BYTES.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            there = set(archive.namelist())
            shapes = {n: _header(archive, n) for n in ARRAYS if f"{n}.npy" in there}
        _check_shapes(path, shapes)
        with np.load(path, allow_pickle=False) as arrays:
            x, y, member = (arrays[n] if n in shapes else None for n in ARRAYS)
    except BadInput as error:
        raise BadInput(f"{path.name}: {error} {_LAYOUT}") from None
    except Exception as error:  # a damaged file can fail in any way
        raise BadInput(f"{path.name} cannot be read as an .npz file: {error}. {_LAYOUT}") from error
    labels = y.astype(np.int64)
    if labels.min() < 0:
        raise BadInput(f"{path.name}: y holds {labels.min()}; labels are counted from 0.")
    classes = tuple(f"class {label}" for label in range(min(labels.max() + 1, len(labels) + 1)))
    return Found(
        labels,
        tuple(f"row {row}" for row in range(len(labels))),
        classes,
        member,
        lambda rows, size: colored(x[rows], size),
    )


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of an array without unpacking it. Raises BadInput for a bad one."""
    size = archive.getinfo(f"{name}.npy").file_size
    with archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            raise BadInput(f"{name} is in version {version} of numpy's format.")
        shape, _, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise BadInput(f"{name} holds Python objects, that is a pickle, which is never loaded.")
    need = math.prod(shape) * dtype.itemsize
    if max(need, size) > MOST_BYTES:
        raise BadInput(
            f"{name} comes to {max(need, size):,} bytes unpacked; at most {MOST_BYTES:,} are read."
        )
    if need > size:
        raise BadInput(f"{name} is said to have shape {shape}, but holds only {size:,} bytes.")
    return shape, dtype


def _check_shapes(path: Path, found: dict[str, tuple]) -> None:
    for name in ("x", "y"):
        if name not in found:
            raise BadInput(f"there is no array {name}.")
    shape, kind = found["x"]
    if kind != np.uint8 or len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (1, 3)):
        raise BadInput(f"x is {kind}{list(shape)}.")
    if 0 in shape:
        raise BadInput(f"x is {kind}{list(shape)}: there is no image.")
    wanted = {"y": "iu", "member": "b"}
    for name, kinds in wanted.items():
        if name in found and (found[name][1].kind not in kinds or found[name][0] != shape[:1]):
            raise BadInput(f"{name} is {found[name][1]}{list(found[name][0])} for N = {shape[0]}.")


def read_folder(path: Path) -> Found:
    """Return the images of a folder with one folder a class, as torchvision's ImageFolder has it.

    Only names are read here, pixels when they are asked for. Raises BadInput for a folder without
    classes or images, or with more than MOST_FILES files.
    """
    classes = sorted(item.name for item in islice(path.iterdir(), MOST_FILES) if item.is_dir())
    files, labels = [], []
    for label, name in enumerate(classes):
        inside = sorted(islice((path / name).rglob("*"), MOST_FILES + 1))
        if len(files) + len(inside) > MOST_FILES:
            raise BadInput(
                f"{path.name} holds more than {MOST_FILES:,} files. Give a folder with a part of "
                "them: the attack needs hundreds of images, not all."
            )
        images = [file for file in inside if file.suffix.lower() in EXTENSIONS and file.is_file()]
        files += images
        labels += [label] * len(images)
    if not files:
        raise BadInput(
            f"{path.name} holds no images in class folders. Needed is one folder a class, with "
            f"files ending in {', '.join(EXTENSIONS)}."
        )
    return Found(
        np.array(labels, np.int64),
        tuple(file.relative_to(path).as_posix() for file in files),
        tuple(classes),
        None,
        lambda rows, size: _decoded([files[row] for row in rows], path, size),
    )


def _decoded(files: Sequence[Path], root: Path, size: int) -> np.ndarray:
    images = [_decode(file, root, size) for file in files]
    shapes = sorted({image.shape[:2] for image in images})
    if len(shapes) > 1:
        raise BadInput(
            f"The images of {root.name} differ in size: {shapes[0]} and {shapes[-1]} pixels, for "
            "example. Set image_size, and all are resized to it."
        )
    total = sum(image.size for image in images)
    if total > MOST_BYTES:
        raise BadInput(f"The images come to {total:,} bytes; set image_size or lower pool_size.")
    return np.stack(images)


def _decode(file: Path, root: Path, size: int) -> np.ndarray:
    name = file.relative_to(root).as_posix()
    try:
        with Image.open(file) as image:
            if math.prod(image.size) > MOST_PIXELS:
                raise BadInput(
                    f"{name} has {image.size[0]} x {image.size[1]} pixels; at most "
                    f"{MOST_PIXELS:,} are read."
                )
            rgb = image.convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadInput(
            f"{name} is not an image that can be read: {type(error).__name__}."
        ) from None
    return _resized(rgb, size) if size else np.asarray(rgb)
