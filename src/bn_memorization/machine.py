"""What a run is made on: the device, the versions and the commit."""

import os
import platform
import subprocess
from functools import cache

import torch

from bn_memorization import __version__, paths
from bn_memorization.errors import BadInput

DEVICE_VARIABLE = "BN_MEMORIZATION_DEVICE"


def device() -> str:
    """Return the device to train on: the one named in the environment, else CUDA, MPS or the CPU.

    Raises BadInput if the one named is not there.
    """
    found = {"cuda": torch.cuda.is_available(), "mps": torch.mps.is_available(), "cpu": True}
    here = [name for name, there in found.items() if there]
    wanted = os.environ.get(DEVICE_VARIABLE, "auto")
    if wanted == "auto":
        return here[0]
    if wanted not in here:
        raise BadInput(
            f"{DEVICE_VARIABLE}={wanted!r} (for make: DEVICE) is not here. "
            f"Choose from: auto, {', '.join(here)}."
        )
    return wanted


def describe(where: str) -> dict:
    """Return the machine's part of a run record's meta data, for a run on the device `where`."""
    return {
        "device": where,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "versions": {
            "bn_memorization": __version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
        },
        "git": _git_state(),
    }


@cache
def _git_state() -> dict:
    """Return the commit and whether the tree differs from it; both None outside a repository."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(paths.root()), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
