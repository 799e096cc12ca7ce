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
import socket
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bn_memorization import paths
from bn_memorization.errors import Failure

ARRAYS, META = "arrays.npz", "meta.json"
RECORDS = "records"  # the folder of those that come with the code
WRITING = ".writing-"  # what a record's folder is called until it is whole
NOTES = "notes"  # the folder of what is no record
ABANDONED_SECONDS = 3600  # no writer needs an hour between its first byte and its rename
MOST_BYTES = 4 * 2**30  # of a record's arrays, unpacked


class DamagedRecord(Failure):
    """A record on disk is not what its folder says; it is never used."""


class CannotWrite(Failure):
    """There is no room for a record, or no right to write it: no later one can be kept either."""


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
    device, versions). Raises DamagedRecord if a record is there and fails its checks, and
    CannotWrite.
    """
    if not exists(address):
        arrays = compute()
        write(address, arrays, describe())
    return read(address)


def write(address: Address, arrays: Arrays, details: dict) -> None:
    """Write a record to a temporary folder beside its place and rename it there.

    If another process finished the same record meanwhile, that one stays. Raises CannotWrite.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    blob = buffer.getvalue()
    meta = address.identity | {"arrays_sha256": hashlib.sha256(blob).hexdigest()} | details
    text = json.dumps(meta, indent=1, sort_keys=True) + "\n"
    try:
        try:
            _put(address.folder, blob, text)
        except FileNotFoundError:  # whose clock is wrong took the folder for an abandoned one
            _put(address.folder, blob, text)
    except OSError as error:
        if not exists(address):
            raise CannotWrite(
                f"Cannot write the run record {address.folder}: {error.strerror}. Free some space "
                "or make the folder writable, or set BN_MEMORIZATION_RUNS to another; finished "
                "runs are kept."
            ) from error


def _put(final: Path, blob: bytes, meta: str) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=_mark(), dir=final.parent))
    try:
        temporary.chmod(0o755)  # a folder of records may be shared; mkdtemp makes a private one
        (temporary / ARRAYS).write_bytes(blob)
        (temporary / META).write_text(meta)
        os.rename(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read(address: Address) -> tuple[Arrays, dict]:
    """Return (arrays, meta) of a record after checking it against its address and its checksum.

    Raises DamagedRecord naming the field that differs and the folder to delete.
    """
    try:
        meta = json.loads((address.folder / META).read_text())
        blob = (address.folder / ARRAYS).read_bytes()
    except (OSError, ValueError, RecursionError) as error:
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
        return _unpacked(blob), meta
    except Exception as error:  # with a right checksum too, a file can be wrong in any way
        raise _damaged(address, f"{ARRAYS} cannot be decoded ({error})") from error


def _unpacked(blob: bytes) -> Arrays:
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        size = sum(item.file_size for item in archive.infolist())
    if size > MOST_BYTES:
        raise ValueError(f"it comes to {size:,} bytes unpacked; at most {MOST_BYTES:,} are read")
    with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def write_note(name: str, content: object) -> None:
    """Keep something small beside the records, as JSON, in the place of what it was before."""
    path = paths.runs() / NOTES / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", prefix=_mark(), dir=path.parent, delete=False) as file:
        json.dump(content, file, indent=1, sort_keys=True)
    os.replace(file.name, path)


def read_note(name: str) -> object:
    """Return what `write_note` kept, or None where there is nothing that can be read."""
    try:
        return json.loads((paths.runs() / NOTES / f"{name}.json").read_text())
    except (OSError, ValueError, RecursionError):
        return None


def sweep() -> None:
    """Remove what interrupted writers left.

    On this machine that is the temporary folder of every process that is gone. On others, whose
    processes cannot be asked for, it is what is older than any writer needs, or, since clocks are
    set back, as much younger than now.
    """
    for left in paths.runs().glob(f"*/{WRITING}*"):
        with contextlib.suppress(FileNotFoundError):  # its writer has just finished
            if _abandoned(left):
                shutil.rmtree(left, ignore_errors=True)


def _mark() -> str:
    return f"{WRITING}{socket.gethostname()}-{os.getpid()}-"


def _abandoned(left: Path) -> bool:
    host, _, process = left.name.removeprefix(WRITING).rpartition("-")[0].rpartition("-")
    if host == socket.gethostname() and process.isdecimal():
        return not _lives(int(process))
    return abs(time.time() - left.stat().st_mtime) > ABANDONED_SECONDS


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


def _damaged(address: Address, why: str) -> DamagedRecord:
    return DamagedRecord(
        f"The run record {address.folder} is damaged: {why}. Delete that folder to train the "
        "model again."
    )
