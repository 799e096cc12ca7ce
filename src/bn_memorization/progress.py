"""A line in the terminal that says how far a training is, and how long it will still take."""

import time
from types import TracebackType

from tqdm import tqdm

FORM = "{desc}: {n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}"


class Progress:
    """Runs done, failed and left, and the time left, by how much work each run is.

    Runs differ by a hundredfold, so that the mean time of a run would mislead.
    """

    def __init__(self, total: int, left: int, work: float):
        self._bar = tqdm(total=total, initial=total - left, desc="training", bar_format=FORM)
        self._work_left, self._work_done, self._start = work, 0.0, time.monotonic()
        self._failed = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def note(self, work: float, failed: bool = False) -> None:
        """Count a run that has ended."""
        self._failed += failed
        self._work_left -= work
        self._work_done += work
        self._bar.set_postfix_str(self._told(time.monotonic() - self._start), refresh=False)
        self._bar.update()

    def _told(self, seconds: float) -> str:
        left = self._bar.total - self._bar.n - 1
        told = f"{self._failed} failed, {left} left"
        if left and self._work_done:
            to_go = seconds * max(self._work_left, 0) / self._work_done
            told += f", about {tqdm.format_interval(to_go)} to go"
        return told
