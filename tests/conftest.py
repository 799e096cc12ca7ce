"""What tests of several modules share: a seed; the book, built in a checkout of its own."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from checkouts import check_out
from drawn_data import check
from matplotlib.figure import Figure

from bn_memorization.figure_data import Drawn


@pytest.fixture
def one_thread():
    """Let torch use one thread, as workers do, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def seeded_on_one_thread(one_thread):
    """Draw the same numbers in each test, on one thread, and leave torch as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.fixture(autouse=True)
def _drawn_figures(request, monkeypatch) -> None:
    """Compare every figure that a test of pictures finishes with the data that it offers."""
    close = plt.close

    def checked(figure: Figure) -> None:
        finished = isinstance(figure, Drawn) and plt.fignum_exists(figure.number)
        close(figure)
        if finished:  # and not one of a chapter that was made into something else
            check(figure)

    if request.module.__name__.startswith("test_figures"):
        monkeypatch.setattr(plt, "close", checked)


@pytest.fixture(scope="session")
def built_site(tmp_path_factory) -> Path:
    """Build the whole book at the smoke profile, as a reader would; return the folder of pages."""
    root = tmp_path_factory.mktemp("checkout")
    command = [Path(sys.executable).with_name("bn-memorization"), "book", "--profile", "smoke"]
    done = subprocess.run(command, env=check_out(root), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"
