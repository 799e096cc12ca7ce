import hashlib
import io
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bn_memorization import store
from bn_memorization.errors import Failure
from bn_memorization.store import Address, DamagedRecord

BASE = Address("train", {"lr": 0.1, "norm": "batch", "deep": {"a": [1, 2]}}, "d" * 64, 1)
ARRAYS = {"loss": np.array([0.5, np.nan, -0.0]), "fitted": np.array([[True], [False]])}


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def put(address=BASE, arrays=ARRAYS, details=None):
    store.write(address, arrays, details or {})
    return address.folder


def same(first, second):
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype
        assert array.shape == second[name].shape
        assert array.tobytes() == second[name].tobytes()  # NaN and -0.0 bit for bit


def damaged(address, field):
    """Expect a refusal that names the field and the folder."""
    return pytest.raises(DamagedRecord, match=f"{re.escape(str(address.folder))}.*{field}")


def left_over(root):
    return list(root.glob("*/.writing-*"))


def test_round_trip_keeps_every_bit():
    arrays = ARRAYS | {
        "none": np.empty((3, 0), np.int64),
        "one": np.array(1.5, np.float32),
        "bytes": np.arange(256, dtype=np.uint8),
        "text": np.array(["a", "bcd"]),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    }
    put(arrays=arrays, details={"seconds": 1.25})
    found, meta = store.read(BASE)
    same(arrays, found)
    assert meta["seconds"] == 1.25
    assert (meta["kind"], meta["config"], meta["data_sha256"], meta["version"]) == (
        BASE.kind,
        BASE.config,
        BASE.data_sha256,
        BASE.version,
    )


DTYPES = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from(["a", "b", "long_name"]), hnp.arrays(DTYPES, SHAPES)))
def test_round_trip_of_any_arrays(arrays):
    shutil.rmtree(BASE.folder, ignore_errors=True)
    put(arrays=arrays)
    same(arrays, store.read(BASE)[0])


def test_a_tuple_in_the_config_reads_back():
    """JSON knows lists only, and a tuple has the key of its list."""
    address = replace(BASE, config={"sizes": (1, 2)})
    assert address.key == replace(BASE, config={"sizes": [1, 2]}).key
    put(address)
    same(ARRAYS, store.read(address)[0])


def test_an_empty_record_is_a_record():
    put(arrays={})
    assert store.read(BASE)[0] == {}


def test_key_is_hexadecimal_and_does_not_depend_on_the_order_of_the_config():
    turned = dict(reversed(BASE.config.items()))
    assert list(turned) != list(BASE.config)
    assert replace(BASE, config=turned).key == BASE.key
    assert re.fullmatch("[0-9a-f]{64}", BASE.key)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"data_sha256": "e" * 64},
        {"version": 2},
        {"config": BASE.config | {"lr": math.nextafter(0.1, 1)}},
        {"config": BASE.config | {"deep": {"a": [2, 1]}}},
        {"config": BASE.config | {"more": None}},
        {"config": {k: v for k, v in BASE.config.items() if k != "norm"}},
    ],
)
def test_key_changes_with_each_field(change):
    other = replace(BASE, **change)
    assert other.key != BASE.key
    assert other.folder != BASE.folder


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_config_that_is_not_json_has_no_key(value):
    with pytest.raises(ValueError, match="JSON"):
        _ = replace(BASE, config={"lr": value}).key


def test_get_or_compute_computes_once():
    calls = []

    def compute():
        calls.append("compute")
        return ARRAYS

    def describe():
        calls.append("describe")
        return {"seconds": 3}

    for _ in range(2):
        arrays, meta = store.get_or_compute(BASE, compute, describe)
        same(ARRAYS, arrays)
        assert meta["seconds"] == 3
    assert calls == ["compute", "describe"]


def test_a_failed_computation_leaves_nothing(root):
    def compute():
        raise Failure("diverged")

    with pytest.raises(Failure, match="diverged"):
        store.get_or_compute(BASE, compute, dict)
    assert not store.exists(BASE)
    assert not root.exists()


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_cut_file_is_refused(keep):
    path = put() / store.ARRAYS
    whole = path.read_bytes()
    assert len(whole) > 200
    path.write_bytes(whole[:keep])
    with damaged(BASE, "arrays_sha256"):
        store.read(BASE)


@pytest.mark.parametrize("place", [0, 0.25, 0.5, 0.75, 1])
def test_one_flipped_bit_is_refused(place):
    path = put() / store.ARRAYS
    blob = bytearray(path.read_bytes())
    blob[int(place * (len(blob) - 1))] ^= 1
    path.write_bytes(blob)
    with damaged(BASE, "arrays_sha256"):
        store.read(BASE)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("kind", {"kind": "other"}),
        ("config", {"config": BASE.config | {"lr": 0.2}}),
        ("data_sha256", {"data_sha256": "e" * 64}),
        ("version", {"version": 2}),
    ],
)
def test_another_record_moved_into_place_is_refused(field, change):
    other = replace(BASE, **change)
    BASE.folder.parent.mkdir(parents=True)
    os.rename(put(other), BASE.folder)
    with damaged(BASE, f"{field} is"):
        store.read(BASE)


@pytest.mark.parametrize("field", ["kind", "config", "data_sha256", "version", "arrays_sha256"])
def test_a_missing_field_is_refused(field):
    path = put() / store.META
    meta = json.loads(path.read_text())
    del meta[field]
    path.write_text(json.dumps(meta))
    with damaged(BASE, field):
        store.read(BASE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"[1, 2]", "holds no object"),
        (b"null", "holds no object"),
        (b"{}", "kind"),
    ],
)
def test_meta_that_is_no_object_is_refused(content, message):
    (put() / store.META).write_bytes(content)
    with damaged(BASE, message):
        store.read(BASE)


@pytest.mark.parametrize("name", [store.ARRAYS, store.META])
def test_a_record_without_one_of_its_files_is_refused_before_anything_is_computed(name):
    (put() / name).unlink()

    def compute():
        raise AssertionError("computed in spite of the damaged record")

    with damaged(BASE, name):
        store.get_or_compute(BASE, compute, dict)


def test_a_missing_record_is_refused_by_read():
    with damaged(BASE, "cannot be read"):
        store.read(BASE)


def test_advice_helps():
    folder = put()
    (folder / store.META).write_text("")
    with pytest.raises(DamagedRecord, match="Delete that folder to train"):
        store.read(BASE)
    shutil.rmtree(folder)
    same(ARRAYS, store.get_or_compute(BASE, lambda: ARRAYS, dict)[0])


def test_object_arrays_are_not_written(root):
    with pytest.raises(ValueError, match="Object arrays"):
        put(arrays={"bad": np.array([{"a": 1}, None], object)})
    assert not store.exists(BASE)
    assert not left_over(root)


class Trap:
    """Leaves a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_pickle_is_refused_and_never_opened(tmp_path):
    """Even with the right checksum."""
    folder, buffer = put(), io.BytesIO()
    np.savez(buffer, loss=np.array([Trap(tmp_path / "sprung")], object), allow_pickle=True)
    forge(folder, buffer.getvalue())
    with damaged(BASE, "cannot be decoded"):
        store.read(BASE)
    assert not (tmp_path / "sprung").exists()


def forge(folder, blob):
    """Give a record other arrays, with the checksum that belongs to them."""
    (folder / store.ARRAYS).write_bytes(blob)
    meta = json.loads((folder / store.META).read_text())
    meta["arrays_sha256"] = hashlib.sha256(blob).hexdigest()
    (folder / store.META).write_text(json.dumps(meta))


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    folder, buffer = put(), io.BytesIO()
    np.savez_compressed(buffer, loss=np.zeros(100_000))
    assert len(buffer.getvalue()) < 10_000
    forge(folder, buffer.getvalue())
    assert len(store.read(BASE)[0]["loss"]) == 100_000
    monkeypatch.setattr(store, "MOST_BYTES", 100_000)
    monkeypatch.setattr(store.np, "load", None)
    with damaged(BASE, r"bytes unpacked; at most 100,000"):
        store.read(BASE)


def test_a_write_that_fails_leaves_nothing_and_says_what_to_do(root, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "rename", full)
    with pytest.raises(Failure, match=r"No space left on device.*BN_MEMORIZATION_RUNS") as caught:
        put()
    assert str(BASE.folder) in str(caught.value)
    assert not store.exists(BASE)
    assert list((root / "train").iterdir()) == []


def test_an_interrupted_write_leaves_nothing(root, monkeypatch):
    def interrupt(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(store.os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        put()
    assert list((root / "train").iterdir()) == []


def test_a_folder_that_cannot_be_made(root):
    root.write_text("a file in its place")
    with pytest.raises(Failure, match="Cannot write the run record"):
        put()
    assert root.read_text() == "a file in its place"


def test_a_full_disk(root):
    """A real one: the process may write no file beyond 4,096 bytes."""
    resource = pytest.importorskip("resource")
    script = (
        "import resource, numpy as np\n"
        "from bn_memorization import store\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))\n"
        f"address = store.{BASE!r}\n"
        "store.write(address, {'a': np.random.default_rng(0).random(5000)}, {})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "CannotWrite: Cannot write the run record" in done.stderr
    assert list((root / "train").iterdir()) == []


def test_when_another_writer_was_first_its_record_stays(root):
    def compute():
        put(arrays={"a": np.zeros(1)}, details={"by": "the other"})
        return {"a": np.ones(1)}

    arrays, meta = store.get_or_compute(BASE, compute, lambda: {"by": "this one"})
    same(arrays, {"a": np.zeros(1)})
    assert meta["by"] == "the other"
    assert not left_over(root)


def test_writers_at_the_same_moment_make_one_record(root, monkeypatch):
    everyone, real = threading.Barrier(4), os.rename

    def together(*paths):
        everyone.wait(60)
        real(*paths)

    monkeypatch.setattr(store.os, "rename", together)
    errors, results = [], []

    def writer():
        try:
            results.append(store.get_or_compute(BASE, lambda: ARRAYS, dict)[0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=writer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(results) == 4
    for found in results:
        same(ARRAYS, found)
    assert list((root / "train").iterdir()) == [BASE.folder]


def unfinished(root, host, process):
    """Return a folder that a writer is at, or was."""
    folder = root / "train" / f"{store.WRITING}{host}-{process}-abc_1"
    folder.mkdir(parents=True)
    (folder / store.ARRAYS).write_bytes(b"half")
    return folder


def ended_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


HERE = socket.gethostname()


def test_sweep_takes_what_processes_left_that_are_gone(root):
    record = put()
    left = unfinished(root, HERE, ended_process())
    at_work = unfinished(root, HERE, os.getpid())
    never = unfinished(root, HERE, 2**70)
    for folder in (record, at_work):
        os.utime(folder, (1000, 1000))  # however old
    store.sweep()
    assert not left.exists()
    assert not never.exists()
    assert sorted(root.glob("*/*")) == sorted([record, at_work])
    same(ARRAYS, store.read(BASE)[0])


@pytest.mark.parametrize(
    ("host", "process"), [("elsewhere", 1), (f"{HERE}-2", os.getpid()), (HERE, "x")]
)
def test_sweep_takes_what_is_old_where_it_cannot_ask(root, host, process):
    """Or from a time that has not come: the clock has been set back since."""
    folder = unfinished(root, host, process)
    store.sweep()
    assert folder.exists()
    now, far = time.time(), store.ABANDONED_SECONDS + 60
    for moment in (now - far, now + far):
        os.utime(folder, (moment, moment))
        store.sweep()
        assert not folder.exists()
        folder.mkdir()


def test_sweep_takes_what_an_older_version_left(root):
    folder = root / "train" / ".writing-ab-cd_ef"
    folder.mkdir(parents=True)
    os.utime(folder, (1000, 1000))
    store.sweep()
    assert not folder.exists()


def test_another_users_process_is_not_taken_for_gone(root, monkeypatch):
    def denied(process, number):
        raise PermissionError

    folder = unfinished(root, HERE, 1)
    monkeypatch.setattr(store.os, "kill", denied)
    store.sweep()
    assert folder.exists()


def test_a_record_whose_folder_is_swept_away_amid_writing_is_written_again(root, monkeypatch):
    """As by another machine with a wrong clock."""
    real = os.rename

    def swept(temporary, final):
        shutil.rmtree(temporary)
        monkeypatch.setattr(store.os, "rename", real)
        real(temporary, final)

    monkeypatch.setattr(store.os, "rename", swept)
    put()
    same(ARRAYS, store.read(BASE)[0])
    assert not left_over(root)


def test_sweep_without_any_runs(root):
    store.sweep()
    assert not root.exists()


def test_sweep_meets_a_writer_that_has_just_finished(root, monkeypatch):
    """Its temporary folder was listed and is gone."""

    class Listing:
        def glob(self, pattern):
            return iter([root / "train" / ".writing-gone"])

    monkeypatch.setattr(store.paths, "runs", Listing)
    store.sweep()


def address(number):
    return Address("train", {"number": number}, "d" * 64, 1)


def content(number):
    return {"a": np.random.default_rng(number).random(20_000)}


SHARED = """
import os, signal, sys
import numpy as np
from bn_memorization import store

def put(number):
    arrays = {"a": np.random.default_rng(number).random(20_000)}
    store.write(store.Address("train", {"number": number}, "d" * 64, 1), arrays, {})
"""
WRITE_ON = SHARED + "for number in range(10_000): put(number)\n"
DIE_AT_EACH_STEP = (
    SHARED
    + """
def die_at(step):
    left = [step]
    def count(event, arguments):
        if event == "open" or event.startswith("os."):  # whatever touches the disk
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)

for step in range(1, 100):
    child = os.fork()
    if child == 0:
        die_at(step)
        put(step)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(step)
        break
"""
)


def check_kept(numbers):
    """Return the numbers whose record is there, all of them whole."""
    kept = [number for number in numbers if store.exists(address(number))]
    for number in kept:
        same(content(number), store.read(address(number))[0])
    return kept


def test_kill_at_each_step_of_a_write_leaves_a_whole_record_or_none(root):
    done = subprocess.run(
        [sys.executable, "-c", DIE_AT_EACH_STEP], capture_output=True, text=True, check=True
    )
    last = int(done.stdout)
    assert last > 5  # each step before it was cut short
    assert left_over(root)
    kept = check_kept(range(1, last + 1))
    assert last in kept
    assert 1 not in kept
    for number in range(1, last + 1):
        store.get_or_compute(address(number), lambda n=number: content(n), dict)
    assert check_kept(range(1, last + 1)) == list(range(1, last + 1))


def test_kill_9_among_many_writes(root):
    writer = subprocess.Popen([sys.executable, "-c", WRITE_ON])
    try:
        deadline = time.monotonic() + 60
        while not store.exists(address(8)):
            assert writer.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        writer.kill()
    assert writer.wait() == -signal.SIGKILL
    kept = check_kept(range(10_000))
    assert kept == list(range(len(kept)))
    whole = {address(number).folder for number in kept}
    assert set(root.glob("*/*")) - set(left_over(root)) == whole
