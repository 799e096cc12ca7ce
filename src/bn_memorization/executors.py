"""Where runs happen: in this process, or in local worker processes of one thread each."""

import multiprocessing
import os
import re
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import wait

import torch

from bn_memorization.errors import BadInput

SPECS = "serial (this process), local (one process a core) or local:N (N processes)"


class SerialExecutor(Executor):
    """Runs each call at once in the calling process and thread, as deterministic as a worker."""

    def __init__(self):
        make_deterministic()

    def submit(self, fn, /, *args, **kwargs) -> Future:
        """Run `fn` now and return a finished future."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def executor(spec: str) -> Executor:
    """Return the executor that `spec` names: serial, local or local:N.

    Local workers use one thread each: two small models on two cores finish sooner side by side than
    one after another on two threads, and one thread makes a run's bits repeatable. Raises BadInput
    for another spec.
    """
    if spec == "serial":
        return SerialExecutor()
    if match := re.fullmatch(r"local(?::([1-9]\d{0,3}))?", spec):
        workers = int(match[1]) if match[1] else available_cores()
        return ProcessPoolExecutor(
            max_workers=workers,
            # A forked child of a process that has used torch's threads can deadlock.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=start_worker,
        )
    raise BadInput(f"Unknown executor {spec!r}. Choose {SPECS}.")


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_worker() -> None:
    """Prepare a worker process: one thread, deterministic kernels, no life after its parent.

    Ctrl-C is the parent's to answer: it lets the workers finish and write what they are at.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    make_deterministic()
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def make_deterministic() -> None:
    """Make torch use one thread, and kernels whose results do not depend on timing."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # CUDA refuses without it
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def _end_with(sentinel: int) -> None:
    # A pool whose parent was killed would otherwise wait for work forever.
    wait([sentinel])
    os._exit(1)
