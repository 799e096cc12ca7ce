"""What all rows share: side-by-side times, the machine's limits, peak memory of a fresh process."""

import ctypes
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import psutil
import torch
from torch.utils.flop_counter import FlopCounterMode

from bn_memorization import machine, paths

REPEATS = 5
MIB = 2**20
Work = Callable[[], object]


def side_by_side(
    works: Mapping[Hashable, Work], repeats: int = REPEATS
) -> tuple[dict[Hashable, list[float]], dict[Hashable, object]]:
    """Return the seconds of each work, [repeats], and what it returns.

    One work after another and again; a first time that is not counted warms up.
    """
    found = {name: work() for name, work in works.items()}
    seconds: dict[Hashable, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(_once(work))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return seconds, found


def compared(
    what: str,
    against: str,
    ours: list[float],
    theirs: list[float],
    *,
    target: float | None,
    scale: float = 1.0,
    **told: object,
) -> dict:
    """Return a line of the table: how many times longer the other takes, median and extremes.

    `scale` is how much more work there is in ours: the other did that part of it, and its seconds
    are multiplied. Each ratio is of two times taken one after the other.
    """
    theirs = [scale * seconds for seconds in theirs]
    ratios = [other / own for own, other in zip(ours, theirs, strict=True)]
    return {
        "what": what,
        "against": against,
        "seconds": statistics.median(ours),
        "other_seconds": statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "n": len(ratios),
        "target": target,
        "scale": scale,
        **told,
    }


def within(what: str, seconds: list[float], allowed: float, **told: object) -> dict:
    """Return a line of a work that shall take at most so many seconds."""
    return compared(
        what, "what it may take", seconds, [allowed] * len(seconds), target=1, **told
    )  # fmt: skip


def sizes(what: str, against: str, size: int, other: int, *, target: float, **told: object) -> dict:
    """Return a line of sizes in bytes: how many times larger the other is."""
    return {
        "what": what, "against": against, "bytes": size, "other_bytes": other,
        "ratio": other / size, "target": target, **told,
    }  # fmt: skip


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference, relative to the largest of 1 and what is wanted, of all."""
    return float(np.max(np.abs(found - wanted) / np.maximum(1, np.abs(wanted))))


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest relative difference."""
    return float(np.max(np.abs(found / wanted - 1)))


def product_rate(size: int = 1024) -> float:
    """Return the operations a second of a float32 matrix product, the best of several."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / min(_once(lambda: a @ b) for _ in range(8))


def copy_rate(size: int = 128 * MIB) -> float:
    """Return the bytes read and written a second by copying an array, best of several."""
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    return 2 * size / min(_once(lambda: np.copyto(target, source)) for _ in range(8))


def _once(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def operations(work: Work) -> int:
    """Return the floating-point operations of a work's products and convolutions."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def of_product(work: Work, seconds: float) -> dict:
    """Return what share of a matrix product's rate a work reaches."""
    return {"limit": "product", "of_limit": operations(work) / seconds / product_rate()}


def peak_bytes(module: str, *calls: tuple[str | int, ...]) -> list[int]:
    """Return by how much the peak memory of a fresh process grows with each call's work.

    `module`.prepare(*call) sets a work up.
    """
    code = f"from benchmarks import measure, {module}; measure.grow({module}.prepare, {calls!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=paths.root(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()[-len(calls) :]]


def grow(prepare: Callable[..., Work], calls: Sequence[tuple]) -> None:
    """Do each call's work in a fork of this process and print by how much its memory rose."""
    torch.set_num_threads(1)  # no threads, so that it may be forked
    for call in calls:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        work = prepare(*call)
        forget_high_water()
        before = psutil.Process().memory_info().rss
        work()
        print(high_water() - before, flush=True)
        os._exit(0)


def forget_high_water() -> None:
    """Begin anew with the highest use of memory: setting up may have taken more than a work does.

    Memory that is free is handed back before, or a work would take it again unseen. Only Linux can
    do both; elsewhere what is measured is rough.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def high_water() -> int:
    """Return this process's highest use of memory so far, in bytes."""
    try:
        with open("/proc/self/status") as file:
            (line,) = [line for line in file if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    except OSError:  # Linux hands the other figure on to processes that are started: no use there
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def circumstances() -> dict:
    """Return what a row was measured on: processor, memory, load, threads, versions, commit."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": round(os.getloadavg()[0], 1),
        **machine.describe("cpu"),
        "numpy": np.__version__,
        "gpu": torch.cuda.is_available(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith("model name")]
    except OSError:
        lines = []
    return lines[0].partition(":")[2].strip() if lines else platform.processor()
