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
