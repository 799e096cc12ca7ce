"""Every folder the project reads or writes; no other module knows one.

All are functions, so that the environment variables count at the moment of the call.
"""

import os
from pathlib import Path

from bn_memorization.errors import Failure

_MARKS = ("_config.yml", "pyproject.toml")


def root() -> Path:
    """Return the repository: `BN_MEMORIZATION_ROOT` if set, else the folder above this package.

    Raises Failure when the package lies outside a checkout and the variable is not set.
    """
    if given := os.environ.get("BN_MEMORIZATION_ROOT"):
        return Path(given).resolve()
    for folder in Path(__file__).resolve().parents:
        if any((folder / mark).is_file() for mark in _MARKS):
            return folder
    raise Failure(
        f"No folder above {Path(__file__).resolve().parent} holds {' or '.join(_MARKS)}. "
        "Set BN_MEMORIZATION_ROOT to the folder of the repository."
    )


def embedded() -> Path:
    """Return the folder of the small real subset that is part of the repository."""
    return root() / "data" / "embedded"


def full_data() -> Path:
    """Return the torchvision root of the full data sets: `BN_MEMORIZATION_DATA` or data/full."""
    return _from_environment("BN_MEMORIZATION_DATA") or root() / "data" / "full"


def runs() -> Path:
    """Return the folder of the run records: `BN_MEMORIZATION_RUNS` or runs."""
    return _from_environment("BN_MEMORIZATION_RUNS") or root() / "runs"


def published() -> Path:
    """Return the folder of the run records and verdicts that are part of the repository."""
    return root() / "published"


def notebooks() -> Path:
    """Return the folder of the chapters' sources."""
    return root() / "notebooks"


def profiles() -> Path:
    """Return the folder of the parameter files, one a profile."""
    return notebooks() / "profiles"


def presets() -> Path:
    """Return the file of the reruns that each chapter suggests."""
    return notebooks() / "presets.yml"


def book() -> Path:
    """Return the folder of the prose pages."""
    return root() / "book"


def chapters() -> Path:
    """Return the folder that receives the executed chapters."""
    return book() / "chapters"


def build() -> Path:
    """Return the folder that receives the built book."""
    return root() / "_build"


def site() -> Path:
    """Return the folder of the book's pages."""
    return build() / "html"


def pdf() -> Path:
    """Return the file that receives the whole book as a PDF."""
    return build() / "bn_memorization.pdf"


def hosted() -> Path:
    """Return the folder of the book's pages as a static host takes them."""
    return build() / "site"


def reruns() -> Path:
    """Return the folder of reruns, one folder each."""
    return build() / "reruns"


def failed() -> Path:
    """Return the folder of chapters that failed, as far as they came."""
    return build() / "failed"


def _from_environment(variable: str) -> Path | None:
    given = os.environ.get(variable)
    return Path(given).resolve() if given else None
