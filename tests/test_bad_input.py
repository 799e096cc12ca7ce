"""Hundreds of malformed inputs of every kind: a clear refusal each time, and nothing changed.

What comes from a reader is refused by the command line with status 2 and one message; a record that
is not what it should be is refused by the store.
"""

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from pathlib import Path

import made_audit
import numpy as np
import pytest
import tiny_sets
from checkouts import REPOSITORY, check_out
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bn_memorization import (
    audit_input,
    chapter,
    cli,
    data,
    fingerprint,
    local_files,
    run_kinds,
    runs,
    store,
)
from bn_memorization.parameters import VOCABULARY
from bn_memorization.store import Address, DamagedRecord

FIRST = "01_forced_memorization"
TRIED = {
    "parameters": 120,
    "profile files": 60,
    "data files": 60,
    "embedded data": 30,
    "audited images": 40,
    "state dicts": 40,
    "records": 60,
}
assert sum(TRIED.values()) >= 300


def tried(what: str):
    """Let hypothesis make so many inputs, the same each time: a test fails for who changed code."""
    return settings(
        max_examples=TRIED[what],
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A checkout in which nothing may run."""
    root = tmp_path_factory.mktemp("checkout")
    patch = pytest.MonkeyPatch()
    for name, value in check_out(root).items():
        patch.setenv(name, value)
    patch.setenv("BN_MEMORIZATION_DATA", str(root / "full"))
    (root / "data" / "embedded").unlink()
    (root / "data" / "embedded").mkdir()
    for path in (REPOSITORY / "data" / "embedded").iterdir():
        (root / "data" / "embedded" / path.name).write_bytes(path.read_bytes())

    def never(*arguments):
        raise Accepted

    patch.setattr(runs, "train_missing", never)
    patch.setattr(chapter, "execute", never)
    # The process keeps the data that it has read, whatever lies there by now.
    patch.setattr(run_kinds, "_dataset", data.load)
    patch.setattr(audit_input, "load", audit_input.load.__wrapped__)
    yield root
    patch.undo()


class Accepted(Exception):
    """An input was not malformed after all."""


def stamps(root: Path) -> dict[str, tuple]:
    """Return when each file was last changed, and its size; what a build's lock leaves aside."""
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def refused(root: Path, *arguments: str) -> str:
    """Ask for what is malformed; return the one message, status 2 given and no file changed."""
    before = stamps(root)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.main(list(arguments))
        except Accepted:
            assume(False)
        except SystemExit as stop:
            status = stop.code
    said = err.getvalue()
    assert status == 2, said
    assert said.count("bn-memorization: ") == 1
    assert "Traceback" not in said
    assert len(said) < 5000
    assert stamps(root) == before
    return said


TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
ODD = st.sampled_from(
    [
        *("", " ", "-1", "0", "1e999", "nan", "-inf", "1_0", "0x10", "٣", "1e-400", "9" * 5000),
        *("None", "True", "[]", "{}", "()", "[1", "mnist,,mnist", ",", "*/*", "*/*/*/*/*"),
        *("a" * 400, "\x00", "\n", "${HOME}", "~", "%s%n", "-", "--help", "../..", "/dev/zero"),
        *("embedded:", "embedded:../mnist"),
    ]
)  # fmt: skip
VALUES = ODD | TEXTS | st.integers().map(str) | st.floats().map(str)
NAMES = st.sampled_from(sorted(VOCABULARY)) | TEXTS


@tried("parameters")
@given(
    st.sampled_from([*fingerprint.chapters(), "scoreboard"]) | TEXTS,
    st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=3),
)
def test_parameters(root, name, pairs):
    refused(root, "chapter", "--profile", "smoke", "--", name, *("=".join(p) for p in pairs))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.dates()
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8
)
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
PROFILES = st.one_of(
    TEXTS,
    st.binary(max_size=40),
    NESTED.filter(lambda value: value != {}).map(lambda value: json.dumps(value, default=str)),
    st.dictionaries(
        st.just(FIRST) | TEXTS, st.dictionaries(NAMES, NESTED, min_size=1), min_size=1
    ).map(lambda value: json.dumps(value, default=str)),
    st.sampled_from(
        [
            f"{FIRST}: {{epochs: {'9' * 5000}}}",
            f"{FIRST}: {{epochs: 2001-99-99}}",
            f"{FIRST}: {{epochs: !!python/object/apply:os.getcwd []}}",
            f"{FIRST}: {{1: 2, a: 3}}",
            f"{FIRST}: {{? [1] : 2}}",
            f"{FIRST}: &a {{epochs: *a}}",
            f"{FIRST}: {'[' * 5000}",
            f"{LAUGHS}{FIRST}: {{epochs: *i}}",
            f"{FIRST}: {{<<: 3}}",
            f"{FIRST}: 3",
            f"{FIRST}: {{epochs: *none}}",
            "\t",
        ]
    ),
)


@tried("profile files")
@given(PROFILES)
def test_profile_files(root, content):
    path = root / "notebooks" / "profiles" / "smoke.yml"
    whole = path.read_bytes()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        refused(root, "chapter", FIRST, "--profile", "smoke")
    finally:
        path.write_bytes(whole)


def damaged(whole: bytes) -> st.SearchStrategy[bytes]:
    """Return what a file may become: cut, longer, flipped bits, other bytes, packed."""
    place = st.integers(0, len(whole) - 1)

    def flip(at: int, bit: int) -> bytes:
        return whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]

    return st.one_of(
        place.map(lambda end: whole[:end]),
        st.binary(min_size=1, max_size=20).map(lambda more: whole + more),
        st.builds(flip, place, st.integers(0, 7)),
        st.binary(max_size=60),
        st.just(gzip.compress(whole)),
        st.just(gzip.compress(bytes(10**7))),  # a bomb where a file of bytes should be
        st.just(zipped({"x.npy": bytes(10**7)})),
    )


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


IDX = tiny_sets.idx_bytes(tiny_sets.arrays("mnist")["test_images"])
HEADERS = st.builds(
    lambda magic, sizes: magic + struct.pack(f">{len(sizes)}i", *sizes) + IDX[16:],
    st.sampled_from([b"\0\0\x08\3", b"\0\0\x08\1", b"\0\0\x0d\3", b"\x1f\x8b\x08\0"]),
    st.lists(st.sampled_from([-1, -(2**31), 0, 1, 10, 28, 2**31 - 1]), max_size=4),
).filter(lambda content: content != IDX)


@tried("data files")
@given(damaged(IDX) | HEADERS)
def test_data_files(root, content):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(data.DATASETS, "mnist", tiny_sets.info("mnist"))
        path = tiny_sets.write_idx("mnist", root / "full") / local_files.IDX_FILES["test_images"]
        path.write_bytes(content)
        said = refused(root, "data", "mnist")
        assert path.name in said or "test_images in" in said


MANIFEST = (REPOSITORY / "data" / "embedded" / "manifest.json").read_bytes()
SHORT = json.loads(MANIFEST)
ENTRY = SHORT["datasets"]["mnist"]["splits"]["test"]
MANIFESTS = st.one_of(
    st.integers(0, len(MANIFEST) - 3).map(lambda end: MANIFEST[:end]),
    st.binary(max_size=40),
    st.just(b"[" * 10**5),
    st.tuples(st.sampled_from(sorted(ENTRY)), NESTED).map(
        lambda change: manifest(ENTRY | dict([change]))
    ),
)


def manifest(entry: dict) -> bytes:
    splits = dict.fromkeys(("train", "test"), entry)
    return json.dumps({"datasets": {"mnist": {"splits": splits}}}, default=str).encode()


@tried("embedded data")
@given(MANIFESTS)
def test_embedded_data(root, content):
    path = root / "data" / "embedded" / "manifest.json"
    path.write_bytes(content)
    try:
        said = refused(root, "chapter", FIRST, "--profile", "smoke", "dataset=mnist")
        assert "git checkout -- data/embedded" in said
    finally:
        path.write_bytes(MANIFEST)


def audit(root: Path, **given: object) -> str:
    words = {"model": made_audit.NET, "image_size": 8, "num_classes": 3, "n_models": 6} | given
    return refused(
        root, "chapter", "10_audit", "--profile", "smoke", *(f"{k}={v}" for k, v in words.items())
    )


def written(write, *arguments) -> bytes:
    buffer = io.BytesIO()
    write(buffer, *arguments)
    return buffer.getvalue()


NPZ = written(lambda file: np.savez_compressed(file, **made_audit.arrays()))
KINDS = st.sampled_from(["u1", "i4", "f8", "?", "U3", "c8", "M8[s]", "S5"])
SHAPES = st.lists(st.sampled_from([0, 1, 3, 8]), max_size=5)


def arrays(wrong: list) -> bytes:
    made = {name: np.zeros(shape, kind) for name, kind, shape in wrong}
    return written(lambda file: np.savez_compressed(file, **made))


@tried("audited images")
@given(
    damaged(NPZ)
    | st.lists(st.tuples(st.sampled_from(["x", "y", "member", "z"]), KINDS, SHAPES)).map(arrays)
)
def test_audited_images(root, content):
    path = root / "mine.npz"
    path.write_bytes(content)
    said = audit(root, images=path)
    assert "mine.npz" in said or "images" in said


STATE = made_audit.net(made_audit.CLASSES).state_dict()
WEIGHTS = written(lambda file: made_audit.torch.save(STATE, file))
STATES = st.dictionaries(st.sampled_from([*STATE, "more", ""]), SCALARS | st.lists(st.integers()))


@tried("state dicts")
@given(
    damaged(WEIGHTS).filter(lambda content: not content.startswith(WEIGHTS))
    | STATES.map(lambda state: written(lambda file: made_audit.torch.save(state, file)))
)
def test_state_dicts(root, content):
    path = root / "mine.pt"
    path.write_bytes(content)
    images = made_audit.npz(root / "good.npz")
    try:
        same = made_audit.torch.load(io.BytesIO(content), weights_only=True)
        assume(not harmless(same))
    except Exception:
        pass
    assert "weights" in audit(root, weights=path, images=images)


def harmless(state: object) -> bool:
    """Say whether a damaged file still holds finite tensors of the right shapes."""
    return (
        isinstance(state, dict)
        and state.keys() == STATE.keys()
        and all(isinstance(v, made_audit.torch.Tensor) for v in state.values())
        and all(v.shape == STATE[k].shape for k, v in state.items())
        and all(v.isfinite().all() for v in state.values())
    )


ADDRESS = Address("train", {"lr": 0.1, "names": ["a", "b"]}, "d" * 64, 1)
CONTENT = {"loss": np.arange(50.0), "fitted": np.ones((3, 4), bool)}


@pytest.fixture(scope="module")
def record(root):
    store.write(ADDRESS, CONTENT, {"seconds": 1.0})
    return ADDRESS.folder


@tried("records")
@given(st.data())
def test_records(record, drawn):
    name = drawn.draw(st.sampled_from([store.ARRAYS, store.META]))
    whole = (record / name).read_bytes()
    content = drawn.draw(damaged(whole) | NESTED.map(lambda v: json.dumps(v, default=str).encode()))
    (record / name).write_bytes(content)
    before = stamps(record)
    try:
        said = read_or_refused()
    finally:
        assert stamps(record) == before
        (record / name).write_bytes(whole)
    if said is None:  # blanks behind JSON, or what the meta file says beside the identity
        assert name == store.META
    else:
        assert f"{record} is damaged" in said
        assert "Delete that folder" in said


def read_or_refused() -> str | None:
    """Return how the record is refused, or None where it is read as it was written."""
    try:
        found, meta = store.read(ADDRESS)
    except DamagedRecord as error:
        return str(error)
    assert {k: meta[k] for k in asdict(ADDRESS)} == asdict(ADDRESS)
    assert all((found[key] == CONTENT[key]).all() for key in CONTENT)
    return None


@pytest.mark.parametrize(
    "arguments",
    [
        ["chapter", FIRST, "epochs=0"],
        ["chapter", "10_audit", "images=/dev/null"],
        ["book", "--profile", "laughs"],
    ],
    ids=" ".join,
)
def test_the_program_itself(root, arguments):
    (root / "notebooks" / "profiles" / "laughs.yml").write_text(f"{LAUGHS}{FIRST}: {{epochs: *i}}")
    command = [Path(sys.executable).with_name("bn-memorization"), *arguments]
    before = stamps(root)
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("bn-memorization: ")
    assert "Traceback" not in done.stderr
    assert stamps(root) == before
