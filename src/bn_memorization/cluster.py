"""Runs on a Dask cluster: workers of one thread each, checked to have this code, and no retries.

Only a worker's answer crosses the wire, so that no disk need be shared: the process that asked
writes the records. Dask sends calls and answers as pickles. Whoever can reach a scheduler can
therefore run code on all its machines, which is why an address other than this machine's own needs
TLS, or a word that the network between is trusted.
"""

import ipaddress
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial

import dask
import distributed
from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin
from distributed.cfexecutor import ClientExecutor
from distributed.security import Security
from tqdm import tqdm

from bn_memorization import run_kinds
from bn_memorization.errors import BadInput, Failure
from bn_memorization.executors import HandedOn, WrongWorker, make_deterministic

PLAIN_VARIABLE = "BN_MEMORIZATION_DASK_PLAIN"
LOOPBACK = "127.0.0.1"
AHEAD = 1000  # enough for any cluster that one process can write for, and for it to grow by
CONNECT_SECONDS = 20
TLS_FILES = ("ca-file", "client.key", "client.cert")


class DaskExecutor(ClientExecutor):
    """Hands calls to a Dask cluster and closes what was opened for it.

    A call whose worker is lost is made again on another, by Dask, a few times; one that fails is
    not.
    """

    ahead = AHEAD

    def __init__(self, client: Client, local: LocalCluster | None = None):
        super().__init__(client, pure=False, retries=0)
        self._local = local
        self._code = run_kinds.code()
        tqdm.write(f"Dask's dashboard: {client.dashboard_link}", file=sys.stderr)

    def submit(self, fn: Callable, /, *args: object) -> Future:
        """Call fn(*args) on a worker."""
        future = HandedOn()
        future.inner = super().submit(_checked, self._code, fn, *args)
        future.inner.add_done_callback(partial(_ended, future))
        return future

    def _wrap_future(self, future: distributed.Future) -> Future:
        wrapped = super()._wrap_future(future)
        # Whoever still holds on to an answer makes Dask compute it again when its worker is lost.
        wrapped.add_done_callback(lambda _: future.release())
        return wrapped

    def check(self) -> None:
        """Raise Failure when the scheduler has gone for good; one that comes back is found."""
        if self._client.status in ("closing", "closed"):
            raise Failure(
                "The Dask scheduler has gone. Finished models are kept: once it runs again, the "
                "same command goes on from there."
            )

    def drop(self, futures: Iterable[Future]) -> None:
        """Cancel the calls that no worker has begun."""
        begun = {key for keys in self._client.run(_at_work).values() for key in keys}
        self._client.cancel([f for f in self._futures if f.key not in begun and not f.done()])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what workers are at, then leave the cluster; end it if it is our own."""
        if self._client.status == "running":
            if cancel_futures:
                self.drop(())
            super().shutdown(wait)
        self._client.close()
        if self._local is not None:
            self._local.close()


def on_this_machine(workers: int) -> DaskExecutor:
    """Start a cluster of so many worker processes here, for this process alone to reach."""
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        silence_logs=logging.CRITICAL,  # a failed run is told by who asked for it
    )
    client = Client(cluster, set_as_default=False)
    client.register_plugin(_LeaveCtrlC())
    return DaskExecutor(client, cluster)


def at(host: str, port: int, tls: bool) -> DaskExecutor:
    """Connect to a scheduler that runs already.

    Raises BadInput for a host elsewhere without TLS, unless BN_MEMORIZATION_DASK_PLAIN=yes says
    that the network is trusted; for TLS without certificates; and when no scheduler answers.
    """
    security = _security() if tls else _plain(host)
    address = f"{'tls' if tls else 'tcp'}://{_bracketed(host)}:{port}"
    try:
        client = Client(address, security=security, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"No Dask scheduler could be reached at {address}: {error}. Start one "
            f"(dask scheduler --host {host} --port {port}) and its workers, or choose another "
            "EXECUTOR."
        ) from error
    return DaskExecutor(client)


def _plain(host: str) -> None:
    if _is_here(host) or os.environ.get(PLAIN_VARIABLE) == "yes":
        return
    raise BadInput(
        f"EXECUTOR=dask:// to {host} would send pickles unencrypted, and whoever can reach that "
        "scheduler could run code. Use dask+tls:// (book/scaling.md says how), a tunnel to "
        f"{LOOPBACK}, or {PLAIN_VARIABLE}=yes where the network is trusted."
    )


def _security() -> Security:
    names = [f"distributed.comm.tls.{name}" for name in TLS_FILES]
    lacking = [name for name in names if not dask.config.get(name, None)]
    if lacking:
        raise BadInput(
            f"EXECUTOR=dask+tls:// needs {', '.join(lacking)} in Dask's configuration, or in the "
            f"environment: DASK_{lacking[0].upper().replace('.', '__').replace('-', '_')} and so "
            "on. book/scaling.md says how."
        )
    return Security(require_encryption=True)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which could mean anything
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _checked(code: dict, fn: Callable, *args: object) -> object:
    """Call fn(*args) on a worker that has the same code as who asks."""
    own = run_kinds.code()
    if own != code:
        differ = [name for name in code if own.get(name) != code[name]]
        raise WrongWorker(
            "A Dask worker has "
            + ", ".join(f"{name} {own.get(name)}, not {code[name]}" for name in differ)
            + ". Install there what is here (requirements.lock and this package) and start it anew."
        )
    make_deterministic()  # in the thread that works: torch counts threads for each thread
    return fn(*args)


def _ended(future: HandedOn, inner: Future) -> None:
    if not inner.cancelled() and isinstance(inner.exception(), KilledWorker):
        told = Failure(
            "every worker that took it up was ended from outside: out of memory, or killed. "
            "Workers with more memory, or a smaller batch or network, may do."
        )
        future.set_exception(told)
    else:
        future.take(inner)


def _at_work(dask_worker: object) -> list:
    return [task.key for task in dask_worker.state.executing]


class _LeaveCtrlC(WorkerPlugin):
    """Ctrl-C in the terminal is the asking process's to answer, which lets workers finish."""

    name = "leave-ctrl-c"

    def setup(self, worker: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
