"""Where runs happen: in this process, in local worker processes, or on a Dask cluster."""

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.connection import wait
from types import ModuleType

import torch

from bn_memorization.errors import BadInput, Failure

SPECS = (
    "serial (this process), local (one process a core), local:N (N processes), dask-local:N (a "
    "Dask cluster here), dask://host:port or dask+tls://host:port (one that runs already)"
)


class WrongWorker(Failure):
    """A worker has other code than the process that asks it, so its runs would be other runs."""


class FollowedExecutor(Executor):
    """What `training.follow` asks of an executor: `ahead` is how many calls to have submitted."""

    ahead: int

    def check(self) -> None:
        """Raise Failure when no call will ever end."""

    def drop(self, futures: Iterable[Future]) -> None:
        """Cancel those of the futures whose calls have not begun."""
        for future in futures:
            future.cancel()


class SerialExecutor(FollowedExecutor):
    """Runs each call at once in the calling process and thread, as deterministic as a worker."""

    ahead = 1

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


class HandedOn(Future):
    """The future of a call that may be handed on more than once; `inner` is of the last time."""

    inner: Future

    def cancel(self) -> bool:
        """Cancel the call unless it has begun."""
        return self.inner.cancel()

    def take(self, inner: Future) -> None:
        """Take over how the call ended."""
        if inner.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
        elif error := inner.exception():
            self.set_exception(error)
        else:
            self.set_result(inner.result())


class LocalExecutor(FollowedExecutor):
    """Worker processes on this machine.

    When one is ended from outside, the calls that the pool had are made again, one at a time and
    each in a process of its own, so that who ends it by itself harms no other.
    """

    def __init__(self, workers: int):
        self.workers = workers
        self.ahead = workers + 1  # a worker that has finished shall not wait for its next call
        self._pool = _processes(workers)
        self._one_at_a_time = ThreadPoolExecutor(1)

    def submit(self, fn: Callable, /, *args: object, **kwargs: object) -> Future:
        """Call fn(*args, **kwargs) in a worker process."""
        call = partial(fn, *args, **kwargs)
        future = HandedOn()
        try:
            future.inner = self._pool.submit(call)
        except BrokenProcessPool:
            self._pool = _processes(self.workers)
            future.inner = self._pool.submit(call)
        future.inner.add_done_callback(partial(self._ended, future, call))
        return future

    def _ended(self, future: HandedOn, call: Callable, inner: Future) -> None:
        if inner.cancelled() or not isinstance(inner.exception(), BrokenProcessPool):
            future.take(inner)
            return
        future.inner = self._one_at_a_time.submit(_alone, call)
        future.inner.add_done_callback(future.take)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers, once they are done with what they have if `wait`."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)
        self._one_at_a_time.shutdown(wait, cancel_futures=cancel_futures)


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        max_workers=workers,
        # A forked child of a process that has used torch's threads can deadlock.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=start_worker,
    )


def _alone(call: Callable) -> object:
    try:
        with _processes(1) as pool:
            return pool.submit(call).result()
    except BrokenProcessPool:
        raise Failure(
            "its process was ended from outside, and again when it was alone: out of memory, or "
            "killed. Fewer processes (EXECUTOR=local:1), or a smaller batch or network, need less."
        ) from None


def executor(spec: str) -> Executor:
    """Return the executor that `spec` names, one of `SPECS`; see `FollowedExecutor`.

    Workers use one thread each: two small models on two cores finish sooner side by side than one
    after another on two threads, and one thread makes a run's bits repeatable. Raises BadInput for
    another spec, when Dask is asked for and not installed, and as `cluster.at` does.
    """
    if spec == "serial":
        return SerialExecutor()
    if match := re.fullmatch(r"local(?::([1-9]\d{0,3}))?", spec):
        return LocalExecutor(int(match[1]) if match[1] else available_cores())
    if match := re.fullmatch(r"dask-local:([1-9]\d{0,3})", spec):
        return _cluster().on_this_machine(int(match[1]))
    if match := re.fullmatch(r"dask(\+tls)?://(\[[\da-fA-F:]+\]|[\w.-]+):(\d{1,5})", spec):
        return _cluster().at(match[2].strip("[]"), int(match[3]), tls=bool(match[1]))
    raise BadInput(f"Unknown executor {spec!r}. Choose {SPECS}.")


def _cluster() -> ModuleType:
    try:
        from bn_memorization import cluster  # Dask takes long to import and few have it
    except ModuleNotFoundError as error:
        raise BadInput(
            f"Dask is not installed ({error.name} is missing). make installs it for "
            "EXECUTOR=dask...; without make: pip install --require-hashes -r "
            "requirements-dask.lock."
        ) from error
    return cluster


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
    # Filling every new tensor with NaN shows who reads memory before writing it, and changes no
    # result of who does not. It is a twentieth of a step.
    torch.utils.deterministic.fill_uninitialized_memory = False


def _end_with(sentinel: int) -> None:
    # A pool whose parent was killed would otherwise wait for work forever.
    wait([sentinel])
    os._exit(1)
