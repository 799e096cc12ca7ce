"""What tests of several modules share: a seed; the book, built in a checkout of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from checkouts import check_out


@pytest.fixture
def seeded_on_one_thread():
    """Draw the same numbers in each test, on one thread, and leave torch as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def built_site(tmp_path_factory) -> Path:
    """Build the whole book at the smoke profile, as a reader would; return the folder of pages."""
    root = tmp_path_factory.mktemp("checkout")
    command = [Path(sys.executable).with_name("bn-memorization"), "book", "--profile", "smoke"]
    done = subprocess.run(command, env=check_out(root), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"
