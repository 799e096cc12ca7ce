"""The small real subset in data/embedded: reading it, and building it again from the full sets.

Each split is one lossless PNG, a sheet of images; manifest.json holds the labels, each image's row
in the original full split, and the sha256 of every file and decoded array. In every split each
block of ten images holds each class once, in random order, so that the first n images are balanced
to within one image a class, for any n.

`python -m bn_memorization.embedded` draws the subset again from the full sets.
"""

import hashlib
import io
import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from bn_memorization import paths, sources
from bn_memorization.catalog import (
    DATASETS,
    Dataset,
    DatasetInfo,
    Split,
    check_sum,
    dataset,
    split_sums,
)
from bn_memorization.errors import BadInput

SEED = 2605
SIZES = {"mnist": (8000, 2000), "fashion_mnist": (8000, 2000), "cifar10": (3000, 1000)}
_COLUMNS = 50  # images side by side in a sheet; divides every size above
_ADVICE = (
    "Restore it with `git checkout -- data/embedded`, or rebuild it from the full sets with "
    "`python -m bn_memorization.embedded`."
)


def load(info: DatasetInfo) -> Dataset:
    """Return the embedded subset of a data set.

    Raises BadInput if there is none or a file fails its checksum or cannot be read.
    """
    if info.name not in SIZES:
        raise BadInput(
            f"{info.title} has no embedded subset. Embedded are: {', '.join(SIZES)}. "
            "Use source='auto' for the full set."
        )
    try:
        entries = _manifest()["datasets"][info.name]["splits"]
        train, train_sums = _read_split(entries["train"])
        test, test_sums = _read_split(entries["test"])
        return dataset(info, "embedded", train, test, (train_sums, test_sums))
    except BadInput:
        raise
    except Exception as error:  # an edited manifest can be wrong in any way
        raise BadInput(
            f"{paths.embedded()}: the manifest does not fit the files ({type(error).__name__}: "
            f"{error}). {_ADVICE}"
        ) from error


def _manifest() -> dict:
    path = paths.embedded() / "manifest.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read: {error}. {_ADVICE}") from error


def _read_split(entry: dict) -> tuple[Split, dict[str, str]]:
    path = paths.embedded() / entry["file"]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error}. {_ADVICE}") from error
    check_sum(str(path), hashlib.sha256(content).hexdigest(), entry["sha256"], _ADVICE)
    with Image.open(io.BytesIO(content)) as sheet:
        images = _from_sheet(np.asarray(sheet), tuple(entry["shape"]))
    split = Split(images, np.array(entry["labels"], np.int64), np.array(entry["rows"], np.int64))
    sums = split_sums(split)
    for what, found in sums.items():
        check_sum(f"{what} of {path}", found, entry[f"{what}_sha256"], _ADVICE)
    return split, sums


def _to_sheet(images: np.ndarray) -> np.ndarray:
    n, height, width = images.shape[:3]
    tiles = images.reshape(n // _COLUMNS, _COLUMNS, height, width, -1)
    sheet = tiles.swapaxes(1, 2).reshape(n // _COLUMNS * height, _COLUMNS * width, -1)
    return sheet[..., 0] if images.ndim == 3 else sheet


def _from_sheet(sheet: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    n, height, width = shape[:3]
    tiles = sheet.reshape(n // _COLUMNS, height, _COLUMNS, width, -1)
    return np.ascontiguousarray(tiles.swapaxes(1, 2)).reshape(shape)


def balanced_rows(labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return int64[count] distinct rows of `labels`, in blocks that hold each class once.

    Raises BadInput if `count` is no multiple of the number of classes or a class has too few rows.
    """
    classes, available = np.unique(labels, return_counts=True)
    each, rest = divmod(count, len(classes))
    if rest or each > available.min():
        raise BadInput(
            f"Cannot draw {count} balanced rows: it must be a multiple of {len(classes)}, and at "
            f"most {available.min() * len(classes)}."
        )
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:each] for c in classes]
    return rng.permuted(np.stack(drawn, axis=1), axis=1).ravel()


def build(full: Dataset, folder: Path) -> dict:
    """Write the sheets of one full data set into `folder` and return its entry of the manifest."""
    info, index = DATASETS[full.name], list(SIZES).index(full.name)
    parts = {"train": full.train, "test": full.test}
    splits = {}
    for number, ((part, split), count) in enumerate(
        zip(parts.items(), SIZES[full.name], strict=True)
    ):
        rng = np.random.default_rng([SEED, index, number])
        rows = balanced_rows(split.labels, count, rng)
        subset = Split(split.images[rows], split.labels[rows], split.rows[rows])
        splits[part] = _write_split(subset, folder / f"{full.name}-{part}.png")
    return {
        "title": info.title,
        "source": info.provenance,
        "license": info.license,
        "full_sha256": info.sums,
        "splits": splits,
    }


def _write_split(split: Split, path: Path) -> dict:
    Image.fromarray(_to_sheet(split.images)).save(path, optimize=True)
    sums = {f"{what}_sha256": found for what, found in split_sums(split).items()}
    return {
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "shape": list(split.images.shape),
        **sums,
        "labels": split.labels.tolist(),
        "rows": split.rows.tolist(),
    }


def write_manifest(entries: dict[str, dict], folder: Path) -> None:
    """Write manifest.json for the `build` entries of the data sets, each list on one line."""
    manifest = {
        "about": "A class-balanced real subset, drawn with the seed. Images are unchanged; a sheet "
        f"holds {_COLUMNS} of them in a line. rows are the rows in the original full split.",
        "seed": SEED,
        "datasets": entries,
    }
    text = json.dumps(manifest, indent=1)
    text = re.sub(r"\[[\d,\s]+\]", lambda found: re.sub(r"\s+", "", found[0]), text)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Draw the subset again, from the full sets wherever `sources` finds them.

    The arrays come out the same; the bytes of a PNG can differ with another version of zlib. Old
    files are replaced only once all new ones are made.
    """
    target = paths.embedded()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        folder = Path(temporary)
        entries = {}
        for name in SIZES:
            full = sources.load_full(DATASETS[name], tuple(sources.FETCHERS))
            entries[name] = build(full, folder)
        write_manifest(entries, folder)
        for path in folder.iterdir():
            os.replace(path, target / path.name)


if __name__ == "__main__":
    main()
