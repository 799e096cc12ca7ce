import json
import platform
import subprocess

import pytest
import torch

from bn_memorization import machine
from bn_memorization.errors import BadInput


@pytest.fixture
def having(monkeypatch):
    """Return a function that lets torch find the named accelerators and no others."""

    def found(*names):
        for name in ("cuda", "mps"):
            present = name in names
            monkeypatch.setattr(getattr(torch, name), "is_available", lambda here=present: here)

    monkeypatch.delenv(machine.DEVICE_VARIABLE, raising=False)
    return found


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Return an empty folder that stands for the repository, asked about afresh."""
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    machine._git_state.cache_clear()
    yield tmp_path
    machine._git_state.cache_clear()


def git(root, *words):
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    done = subprocess.run(
        ["git", "-C", str(root), *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("there", "best"),
    [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("cuda", "mps"), "cuda")],
)
def test_the_best_device_is_taken(having, monkeypatch, there, best):
    having(*there)
    assert machine.device() == best
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "auto")
    assert machine.device() == best


def test_the_environment_names_the_device(having, monkeypatch):
    having("cuda", "mps")
    for name in ("cpu", "mps", "cuda"):
        monkeypatch.setenv(machine.DEVICE_VARIABLE, name)
        assert machine.device() == name


@pytest.mark.parametrize("wanted", ["cuda", "tpu", "CPU", ""])
def test_a_device_that_is_not_here_is_refused(having, monkeypatch, wanted):
    having("mps")
    monkeypatch.setenv(machine.DEVICE_VARIABLE, wanted)
    message = (
        rf"^BN_MEMORIZATION_DEVICE='{wanted}' \(for make: DEVICE\) is not here\. "
        r"Choose from: auto, mps, cpu\.$"
    )
    with pytest.raises(BadInput, match=message):
        machine.device()


def test_description_says_what_a_run_was_made_on():
    found = machine.describe("cpu")
    assert found["device"] == "cpu"
    assert found["threads"] == torch.get_num_threads()
    assert found["machine"] == platform.machine()
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["torch"] == torch.__version__
    assert json.loads(json.dumps(found)) == found  # plain JSON values, as the store needs them


def test_commit_and_dirty_flag(root):
    git(root, "init", "--quiet")
    (root / "file").write_text("one")
    git(root, "add", "file")
    git(root, "commit", "--quiet", "--message", "one")
    (root / "new").write_text("not tracked, so not a change")
    assert machine.describe("cpu")["git"] == {
        "commit": git(root, "rev-parse", "HEAD"),
        "dirty": False,
    }
    (root / "file").write_text("two")
    machine._git_state.cache_clear()
    assert machine.describe("cpu")["git"]["dirty"] is True


def test_outside_a_repository_there_is_no_commit(root, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))
    assert machine.describe("cpu")["git"] == {"commit": None, "dirty": None}


def test_without_git_there_is_no_commit(root, monkeypatch):
    monkeypatch.setenv("PATH", str(root))
    assert machine.describe("cpu")["git"] == {"commit": None, "dirty": None}
