"""Where faults happen, and what is the same for all of them."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import drill
from drill import Forks, Place, wait_for


class Ground:
    """Where trials take place: a folder, forked drivers, and the results of an undisturbed one."""

    def __init__(self, folder: Path):
        self.folder, self.number = folder, 0
        self.forks = Forks(folder)
        undisturbed, before = self.place(), time.perf_counter()
        completed(self.forks.run(undisturbed))
        self.seconds = time.perf_counter() - before
        self.wanted = undisturbed.sums()
        assert len(self.wanted) == len(drill.RUNS)

    def place(self) -> Place:
        """Return an empty place."""
        self.number += 1
        return Place(self.folder / str(self.number))

    def judged(self, place: Place, damaged: Collection[str] = ()) -> Counter:
        """Return the counts of a place, and whether its results are the undisturbed ones."""
        same = place.sums() == self.wanted
        return place.counts(damaged) + Counter(same=int(same), places=1)


def refused(outcome: tuple[int, str], *words: str) -> None:
    """Check that a driver ended with a message that holds the words, and with no traceback."""
    status, said = outcome
    missing = [word for word in words if word not in said]
    if status != 1 or missing or "Traceback" in said:
        raise AssertionError(f"status {status}, without {missing} in:\n{said}")


def completed(outcome: tuple[int, str]) -> None:
    status, said = outcome
    if status != 0:
        raise AssertionError(f"status {status}:\n{said}")


def begun(ground: Ground) -> Place:
    """Return a place with some of the runs."""
    place = ground.place()
    driver = ground.forks.start(place)
    wait_for(lambda: len(place.present()) >= 3, "records")
    os.kill(driver, signal.SIGKILL)
    ground.forks.finish()
    return place


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    return _state(pid) != "Z"


def _state(pid: int) -> str:
    """Return the letter for a process's state: Z has ended and waits to be collected."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return found.stdout.strip()[:1]
