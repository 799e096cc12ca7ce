"""Drivers that train tiny runs while something goes wrong, and what each left behind.

A driver is a process of its own that asks for RUNS through `runs.run_all`; a session is one life of
one. Every start of a training is written to a log, so that what was trained again can be counted.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import planted

from bn_memorization import machine, paths, run_kinds, runs, store

HERE = Path(__file__).parent
PATIENCE = 120  # seconds; only a broken trial waits that long
LOG = "DRILL_LOG"  # where the start of each training is noted
GREEDY = "DRILL_GREEDY"  # which run asks for more memory than there is
CLOCK = "DRILL_CLOCK"  # seconds to add to it
LARGEST = "DRILL_LARGEST"  # file that may be written, in bytes
OWN = {machine.DEVICE_VARIABLE: "cpu", "OMP_NUM_THREADS": "1"}
RUNS = [
    planted.config(dataset="mnist", train_size=100, eval_size=100, epochs=1, norm=norm, seed=seed)
    for seed in range(6)
    for norm in ("batch", "none")
]


@dataclass(frozen=True)
class Trial:
    """What a fault did, over all times that it was `tried`, and by what `means`.

    `lost` counts finished runs that were gone or changed afterwards, `retrained` finished runs that
    were trained again, `again` runs that were made again since they were at work, not yet brought
    back, or damaged when it struck; `half_written` what was left that is no whole record. `same`
    says whether all results were those of undisturbed drivers, bit for bit.
    """

    fault: str
    means: str
    tried: int
    finished: int
    lost: int
    retrained: int
    again: int
    half_written: int
    same: bool

    @property
    def harmless(self) -> bool:
        """Whether nothing finished was lost and all came out as it should."""
        return self.same and not (self.lost or self.retrained or self.half_written)


def compute(own: dict[str, str], config, *how):
    """Train as `run_kinds.compute` does, and say so in the log; `own` is the driver's."""
    line = f"{run_kinds.address(config).key} {os.getpid()}\n"
    with open(own[LOG], "ab", buffering=0) as log:
        log.write(line.encode())  # one write, so that lines of several processes do not mix
    if own.get(GREEDY) == str(RUNS.index(config)):
        np.ones(2**44)  # 128 TiB
    return run_kinds.compute(config, *how)


def drive(spec: str) -> None:
    """Ask for all runs as the book does."""
    if CLOCK in os.environ:
        real, offset = time.time, float(os.environ[CLOCK])
        time.time = lambda: real() + offset
    if LARGEST in os.environ:
        limit = (int(os.environ[LARGEST]), resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    own = {name: os.environ[name] for name in (LOG, GREEDY) if name in os.environ}
    runs.compute = partial(compute, own)
    runs.run_all(RUNS, spec)


class Place:
    """A folder with the records and the log of some sessions."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.records, self.log = folder / "runs", folder / "log"
        self.log.touch()
        self.found: list[tuple[int, dict]] = []  # trainings begun and records, at each `strike`

    def session(self, **more: str) -> dict[str, str]:
        """Return what the environment of the next session adds, and note what it finds."""
        self.strike()
        return {"BN_MEMORIZATION_RUNS": str(self.records), LOG: str(self.log)} | more

    def strike(self) -> None:
        """Note what is there now: from here on it must stay, and not be trained again."""
        self.found.append((len(self.started()), self.present()))

    def present(self) -> dict[str, tuple]:
        """Return {key: place on disk and content} of the records there are, whole or not."""
        return {
            folder.name: (folder.stat().st_ino, *(f.read_bytes() for f in sorted(folder.iterdir())))
            for folder in self.records.glob("train/*")
            if not folder.name.startswith(store.WRITING)
        }

    def started(self) -> list[tuple[str, int]]:
        """Return (key, process id) of each training that began, in order."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(key, int(pid)) for key, pid in lines]

    def sums(self) -> dict[str, str]:
        """Return {key: sha256 over all arrays} of the records, read and checked."""
        found = {}
        os.environ["BN_MEMORIZATION_RUNS"] = str(self.records)
        try:
            for address in map(run_kinds.address, RUNS):
                if address.folder.parent.parent == paths.runs() and store.exists(address):
                    found[address.key] = _sha256(store.read(address)[0])
        finally:
            del os.environ["BN_MEMORIZATION_RUNS"]
        return found

    def counts(self, damaged: Collection[str] = ()) -> Counter:
        """Return what became of the records in all sessions; those `damaged` on purpose aside."""
        after, started = self.present(), [key for key, _ in self.started()]
        lost, twice, seen = set(), set(), set()
        for begun, before in self.found:
            whole = {key: what for key, what in before.items() if key not in damaged}
            seen |= whole.keys()
            lost |= {key for key, what in whole.items() if after.get(key) != what}
            twice |= {number for number in range(begun, len(started)) if started[number] in whole}
        retrained = len(twice)
        again = len(self.started()) - len(RUNS) - retrained
        strays = [path for path in self.records.glob("*/*") if path.name not in set(self.sums())]
        return Counter(
            finished=len(seen),
            lost=len(lost),
            retrained=retrained,
            again=again,
            half_written=len(strays),
        )


def _sha256(arrays: store.Arrays) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()


def surroundings() -> dict[str, str]:
    """Return the environment of all that takes part in a drill."""
    return os.environ | OWN | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}


def start(place: Place, spec: str, **more: str) -> subprocess.Popen:
    """Start a driver with this executor."""
    return subprocess.Popen(
        [sys.executable, HERE / "driver.py", spec],
        env=surroundings() | place.session(**more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(driver: subprocess.Popen) -> tuple[int, str]:
    """Return a driver's exit status and what it said."""
    _, said = driver.communicate(timeout=PATIENCE)
    return driver.returncode, said


def wait_for(condition, what: str):
    """Return what `condition` returns once that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"in vain for {what}")
        time.sleep(0.005)
    return found


class Forks:
    """Drivers of one process each, forked from one that has imported everything already."""

    def __init__(self, folder: Path):
        self.said = folder / "said"
        self.parent = subprocess.Popen(
            [sys.executable, HERE / "driver.py", "forks"],
            env=surroundings(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answer()

    def start(self, place: Place, drivers: int = 1, **more: str) -> int:
        """Start drivers at once and return the first one's process id."""
        self.said.unlink(missing_ok=True)
        own = place.session(**more) | {"said": str(self.said), "drivers": str(drivers)}
        print(json.dumps(own), file=self.parent.stdin, flush=True)
        return int(self._answer().split()[0])

    def finish(self) -> tuple[int, str]:
        """Return the exit status, negative where a signal ended a driver, and what was said."""
        statuses = map(int, self._answer().split())
        return max(statuses, key=abs), self.said.read_text() if self.said.exists() else ""

    def run(self, place: Place, drivers: int = 1, **more: str) -> tuple[int, str]:
        """Let drivers ask for all runs."""
        self.start(place, drivers, **more)
        return self.finish()

    def close(self) -> None:
        """End the parent of the drivers."""
        self.parent.stdin.close()
        self.parent.wait(PATIENCE)
        self.parent.stdout.close()

    def _answer(self) -> str:
        line = self.parent.stdout.readline()
        if not line:
            raise RuntimeError("the parent of the drivers is gone")
        return line.strip()
