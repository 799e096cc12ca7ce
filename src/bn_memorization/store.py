"""Run records on disk: content-addressed, written whole or not at all, checked when read.

A record is a folder `<root>/<kind>/<key>/` with `arrays.npz` and `meta.json`. The key is the sha256
of everything that the result depends on, so a record is never out of date: another config, data set
or code version has another key. Arrays are never pickled. A record that comes with the code, in
`published/records`, is read where there is no own one.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bn_memorization import paths
from bn_memorization.errors import Failure

ARRAYS, META = "arrays.npz", "meta.json"
RECORDS = "records"  # the folder of those that come with the code


class DamagedRecord(Failure):
    """A record on disk is not what its folder says; it is never used."""


@dataclass(frozen=True)
class Address:
    """What a result depends on: the kind of run, its config, the data and the code's version."""

    kind: str
    config: dict
    data_sha256: str
    version: int

    @property
    def identity(self) -> dict:
        """Return the part of the meta file that must agree with the request."""
        return {
            "kind": self.kind,
            "config": self.config,
            "data_sha256": self.data_sha256,
            "version": self.version,
        }

    @property
    def key(self) -> str:
        """Return the sha256 of the canonical identity, as 64 hexadecimal digits."""
        text = json.dumps(self.identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def folder(self) -> Path:
        """Return where the record lies, or where it would be written."""
        shipped = paths.published() / RECORDS / self.kind / self.key
        own = paths.runs() / self.kind / self.key
        return shipped if shipped.is_dir() and not own.is_dir() else own


Arrays = dict[str, np.ndarray]


def exists(address: Address) -> bool:
    """Say whether a record lies at this address, whole or damaged, without reading it."""
    return address.folder.is_dir()


def get_or_compute(
    address: Address, compute: Callable[[], Arrays], describe: Callable[[], dict]
) -> tuple[Arrays, dict]:
    """Return (arrays, meta) of the record, computing and writing it if there is none.

    `describe()` is called after `compute()` and gives what else the meta file shall say (seconds,
    device, versions). Raises DamagedRecord if a record is there and fails its checks, and Failure
    if it cannot be written.
    """
    if not exists(address):
        arrays = compute()
        write(address, arrays, describe())
    return read(address)


def write(address: Address, arrays: Arrays, details: dict) -> None:
    """Write a record to a temporary folder beside its place and rename it there.

    If another process finished the same record meanwhile, that one stays.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    blob = buffer.getvalue()
    meta = address.identity | {"arrays_sha256": hashlib.sha256(blob).hexdigest()} | details
    final = address.folder
    temporary = None
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=final.parent))
        temporary.chmod(0o755)  # a folder of records may be shared; mkdtemp makes a private one
        (temporary / ARRAYS).write_bytes(blob)
        (temporary / META).write_text(json.dumps(meta, indent=1, sort_keys=True) + "\n")
        os.rename(temporary, final)
    except OSError as error:
        if not exists(address):
            raise Failure(
                f"Cannot write the run record {final}: {error.strerror}. Free some space or make "
                "the folder writable, or set BN_MEMORIZATION_RUNS to another; finished runs are "
                "kept."
            ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def read(address: Address) -> tuple[Arrays, dict]:
    """Return (arrays, meta) of a record after checking it against its address and its checksum.

    Raises DamagedRecord naming the field that differs and the folder to delete.
    """
    try:
        meta = json.loads((address.folder / META).read_text())
        blob = (address.folder / ARRAYS).read_bytes()
    except (OSError, ValueError) as error:
        raise _damaged(address, f"cannot be read ({error})") from error
    if not isinstance(meta, dict):
        raise _damaged(address, f"{META} holds no object")
    # As JSON gives it back: a tuple in a config comes as a list.
    for name, wanted in json.loads(json.dumps(address.identity)).items():
        if meta.get(name) != wanted:
            raise _damaged(address, f"{name} is {meta.get(name)!r}, not {wanted!r}")
    found = hashlib.sha256(blob).hexdigest()
    if meta.get("arrays_sha256") != found:
        raise _damaged(address, f"arrays_sha256 is {found}, not {meta.get('arrays_sha256')}")
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}, meta
    except (ValueError, zipfile.BadZipFile) as error:
        raise _damaged(address, f"{ARRAYS} cannot be decoded ({error})") from error


def sweep(older_than: float) -> None:
    """Remove what interrupted writers left: temporary folders last changed before `older_than`."""
    for left in paths.runs().glob("*/.writing-*"):
        with contextlib.suppress(FileNotFoundError):  # its writer has just finished
            if left.stat().st_mtime < older_than:
                shutil.rmtree(left, ignore_errors=True)


def _damaged(address: Address, why: str) -> DamagedRecord:
    return DamagedRecord(
        f"The run record {address.folder} is damaged: {why}. Delete that folder to train the "
        "model again."
    )
