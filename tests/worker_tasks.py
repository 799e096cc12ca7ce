"""What tests run in worker processes; these import this file by name, so it imports little."""

import os
import signal
import time
from pathlib import Path

import torch

PATIENCE = 120  # seconds; only a broken test waits that long


def settings() -> dict:
    return {
        "pid": os.getpid(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "ignores_ctrl_c": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
    }


def meet(folder: Path, others: int) -> int:
    """Return this process's id once `others` processes have called this with the same folder."""
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.iterdir())) < others:
        if time.monotonic() > deadline:
            raise TimeoutError("the other workers never came")
        time.sleep(0.02)
    return os.getpid()


def stay(folder: Path) -> None:
    """Leave this process's id as a file's name and stay for long."""
    (folder / str(os.getpid())).touch()
    time.sleep(10 * PATIENCE)


def fail(message: str) -> None:
    raise KeyError(message)


def leave_mark_and_fail(folder: Path) -> None:
    (folder / str(time.monotonic_ns())).touch()
    raise KeyError("lost")


def die_once(mark: Path) -> str:
    """End this process from outside the first time; return the second."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(file: Path) -> str:
    """Leave this process's id as a file's name and stay until `file` is there."""
    (file.parent / str(os.getpid())).touch()
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("it never came")
        time.sleep(0.02)
    return "went"
