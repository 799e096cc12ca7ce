"""Chapters side by side: their runs on one executor, each notebook once its runs are there."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from bn_memorization import budget, chapter, executors, planning, rerun_cells, runs
from bn_memorization.errors import Failure
from bn_memorization.run_kinds import Config


@dataclass(eq=False)
class Job:
    """A chapter to bring up to date, and how far it has come.

    `waits` holds its runs that are not there yet, `failed` those that could not be made; `trained`
    is how many seconds workers spent on its runs, `executed` how long its notebook took. A run that
    several chapters share counts for the first.
    """

    planned: chapter.Plan
    target: Path
    mark: str
    waits: set[Config] = field(default_factory=set)
    failed: dict[Config, BaseException] = field(default_factory=dict)
    of: int = 0
    trained: float = 0.0
    executed: float = 0.0


def bring_up(jobs: Iterable[Job], last: Iterable[Job] = ()) -> None:
    """Train what all jobs lack, in their order, and execute each notebook when its runs are there.

    The jobs in `last` read what the others leave, and are executed after them. Raises Failure,
    after all that could be done has been done, with what was wrong with each chapter, and as
    `runs.train_missing` does.
    """
    jobs, last = list(jobs), list(last)
    for job in [*jobs, *last]:
        job.target.unlink(missing_ok=True)
        job.waits = set(runs.missing(job.planned.configs))
        job.of = len(job.waits)
    with ThreadPoolExecutor(executors.available_cores()) as notebooks:
        try:
            _all_done(list(_start(jobs, notebooks)))
            _all_done([notebooks.submit(_execute, job) for job in last])
        finally:
            notebooks.shutdown(cancel_futures=True)


def _start(jobs: list[Job], notebooks: ThreadPoolExecutor) -> Iterator[Future]:
    yield from (notebooks.submit(_execute, job) for job in jobs if not job.waits)
    todo = dict.fromkeys(c for job in jobs for c in planning.longest_first(job.waits))
    wanted = {config for job in jobs for config in job.planned.configs}
    for ended in budget.settled(runs.train_missing(list(todo), len(wanted))):
        waiting = [job for job in jobs if ended.config in job.waits]
        waiting[0].trained += ended.seconds
        for job in waiting:
            job.waits.remove(ended.config)
            if ended.error:
                job.failed[ended.config] = ended.error
            if not job.waits:
                yield notebooks.submit(_execute, job)


def _execute(job: Job) -> None:
    if job.failed:
        raise runs.failure(job.failed, job.of) from next(iter(job.failed.values()))
    tqdm.write(f"{job.planned.name} ({job.planned.profile})")
    start = time.perf_counter()
    # All are there; a damaged one is told here, and not by a cell.
    done = runs.run_all(job.planned.configs)
    chapter.execute(rerun_cells.added(job.planned, done), job.target, job.mark)
    job.executed = time.perf_counter() - start


def _all_done(executing: Iterable[Future]) -> None:
    failures = [error for future in executing if (error := future.exception())]
    for error in failures:
        if not isinstance(error, Failure):  # nobody foresaw it
            raise error
    if failures:
        raise Failure("\n".join(map(str, failures))) from failures[0]
