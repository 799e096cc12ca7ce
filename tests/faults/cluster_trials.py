"""Faults of a Dask cluster: its worker, its scheduler, and a worker that does not belong there."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress

import drill
from drill import finish, start, wait_for
from ground import Ground, begun, completed, refused

from bn_memorization import __version__

OLDER = 'import bn_memorization\nbn_memorization.__version__ = "0.0.1"\n'


def dask_worker_killed(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        driver = start(place, "dask-local:1")
        least = rng.randrange(1, len(drill.RUNS) - 3)
        wait_for(lambda p=place, n=least: len(p.present()) >= n, "records")
        place.strike()
        os.kill(place.started()[-1][1], signal.SIGKILL)
        completed(finish(driver))
        total += ground.judged(place)
    return "SIGKILL of a Dask worker amid a run", total


def scheduler_restarted(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        port = _free_port()
        cluster = _cluster(port)
        try:
            driver = start(place, f"dask://127.0.0.1:{port}")
            least = rng.randrange(1, len(drill.RUNS) - 3)
            wait_for(lambda p=place, n=least: len(p.present()) >= n, "records")
            place.strike()
            _end(cluster)
            cluster = _cluster(port)
            status, said = finish(driver)
            if status:
                refused((status, said), "are kept")
                completed(finish(start(place, f"dask://127.0.0.1:{port}")))
            total += ground.judged(place)
        finally:
            _end(cluster)
    return "SIGKILL of scheduler and worker, and new ones at the same address", total


def worker_of_another_version(
    ground: Ground, rng: random.Random, tries: int
) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place, port = begun(ground), _free_port()
        older = ground.folder / "older"
        older.mkdir(exist_ok=True)
        (older / "sitecustomize.py").write_text(OLDER)
        path = os.pathsep.join([str(older), drill.surroundings()["PYTHONPATH"]])
        cluster = _cluster(port, PYTHONPATH=path)
        try:
            outcome = finish(start(place, f"dask://127.0.0.1:{port}"))
        finally:
            _end(cluster)
        refused(outcome, "bn_memorization 0.0.1", f"not {__version__}")
        completed(ground.forks.run(place))
        total += ground.judged(place)
    return "a Dask worker that has an older version of this package is refused", total


def _cluster(port: int, **more: str) -> list[subprocess.Popen]:
    """Start a Dask scheduler and a worker, as on two machines of a cluster."""
    scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-dashboard"]
    return [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *arguments],
            env=drill.surroundings() | more,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for name, *arguments in (scheduler, worker)
    ]


def _end(cluster: list[subprocess.Popen]) -> None:
    for process in cluster:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a worker has processes of its own
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
