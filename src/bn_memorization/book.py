"""The whole book: what is out of date is run again, in order, and the pages are built from it."""

import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from filelock import FileLock, Timeout

from bn_memorization import fingerprint, paths, site
from bn_memorization.errors import BadInput

if TYPE_CHECKING:  # what runs chapters takes seconds to import, and is not needed to say no
    from bn_memorization import pipeline

LEAST_FREE = 500 * 2**20  # bytes; a book with its run records takes a fifth of it
LONGEST_NAME = 200  # of a folder, in characters; file systems allow 255 bytes


def target_of(name: str) -> Path:
    """Return where the executed notebook of a chapter lies."""
    return paths.chapters() / f"{name}.ipynb"


def stale(profile: str) -> dict[str, str]:
    """Return {name: hash} of the chapters, and the scoreboard, that are not up to date, in order.

    Raises BadInput for an unknown profile.
    """
    wanted = {name: fingerprint.of_chapter(name, profile) for name in fingerprint.chapters()}
    wanted[fingerprint.SCOREBOARD] = fingerprint.of_scoreboard(profile)
    return {n: mark for n, mark in wanted.items() if fingerprint.mark_of(target_of(n)) != mark}


def build(profile: str) -> None:
    """Bring the book up to date and say where the time went; do nothing if it is.

    Every chapter's parameters and data are checked before the first one runs. When a chapter or a
    page fails, the pages that there were, then out of date, are taken away. Raises BadInput and
    Failure as the chapters do.
    """
    fingerprint.of_profile(profile, fingerprint.SCOREBOARD)  # a wrong one shall not wait
    check_folder(paths.build())
    with _alone():
        todo = stale(profile)
        if not todo and site.stamp_of(paths.site()) == fingerprint.of_site():
            print(f"Nothing to do: the book ({profile}) is up to date. {first_page()}")
            return
        check_folders()
        start = time.perf_counter()
        jobs = _planned(todo, profile)
        with _no_pages_if_it_fails():
            _bring_up(jobs)
            _remove_strays()
            before = time.perf_counter()
            site.build(paths.root(), paths.site(), fingerprint.of_site())
            pages = time.perf_counter() - before
        spent = {name: (job.trained, job.executed) for name, job in jobs.items()}
        _report({**spent, "pages": (0.0, pages)}, time.perf_counter() - start)
        print(f"The book ({profile}) is ready. {first_page()}")


def _planned(todo: Mapping[str, str], profile: str) -> "dict[str, pipeline.Job]":
    if not todo:
        return {}
    from bn_memorization import chapter, pipeline, runs  # seconds of imports, only for work

    plans = {name: chapter.plan(name, profile) for name in todo}
    for plan in plans.values():
        runs.check(plan.configs)
    return {name: pipeline.Job(plans[name], target_of(name), todo[name]) for name in todo}


def _bring_up(jobs: "Mapping[str, pipeline.Job]") -> None:
    if not jobs:
        return
    from bn_memorization import pipeline

    chapters = [job for name, job in jobs.items() if name != fingerprint.SCOREBOARD]
    pipeline.bring_up(chapters, [job for job in jobs.values() if job not in chapters])


@contextmanager
def _no_pages_if_it_fails() -> Iterator[None]:
    """Leave no pages that look finished when a step of the book fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(paths.site(), ignore_errors=True)
        raise


def rerun(name: str, profile: str, given: Mapping[str, str]) -> None:
    """Run one chapter with other parameters, onto pages of its own beside the book's.

    The book and its chapters stay as they are. When it fails, no pages of an earlier rerun with
    these parameters are left. Raises BadInput and Failure as the chapter does.
    """
    from bn_memorization import chapter, pipeline

    planned = chapter.plan(name, profile, given)
    check_folders()
    values = {parameter: planned.parameters[parameter] for parameter in given}
    folder = paths.reruns() / _folder_name(name, profile, values)
    start = time.perf_counter()
    executed = folder / f"{name}.ipynb"
    shutil.rmtree(folder / "html", ignore_errors=True)
    job = pipeline.Job(planned, executed, mark="rerun")
    pipeline.bring_up([job])
    with tempfile.TemporaryDirectory() as staged:
        page = site.stage(executed, Path(staged))
        # Not strict: links to chapters that this small book does not have are no error.
        site.build(Path(staged), folder / "html", mark="rerun", strict=False)
    _report({name: (job.trained, job.executed)}, time.perf_counter() - start)
    print(f"{name} with your parameters is ready. {address(folder / 'html' / f'{page}.html')}")


def _folder_name(name: str, profile: str, values: Mapping[str, object]) -> str:
    words = []
    for key, value in sorted(values.items()):
        items = value if isinstance(value, list) else [value]
        words.append(f"{key}={','.join(map(str, items))}")
    text = "-".join([name, profile, *words]).replace("/", "+")
    if len(text) <= LONGEST_NAME:
        return text
    return "-".join([name, profile, hashlib.sha256(text.encode()).hexdigest()[:16]])


def first_page() -> str:
    """Return the address of the book's first page."""
    return address(paths.site() / "index.html")


def address(page: Path) -> str:
    """Return the address of a page on this disk, which a terminal can open."""
    return f"file://{quote(str(page.resolve()), safe='/=,+*')}"


def check_folders() -> None:
    """Raise BadInput if a folder to be written to cannot be, or its disk is full."""
    for folder in (paths.runs(), paths.chapters(), paths.build()):
        check_folder(folder)
        free = shutil.disk_usage(folder).free
        if free < LEAST_FREE:
            raise BadInput(
                f"The disk of {folder} has {free >> 20} MB left; {LEAST_FREE >> 20} MB are needed."
            )


def check_folder(folder: Path) -> None:
    """Make a folder. Raises BadInput if it cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        other = ", or set BN_MEMORIZATION_RUNS to another folder for the run records"
        raise BadInput(
            f"Cannot write to {folder}: {error.strerror}. Make it writable"
            f"{other if folder == paths.runs() else ''}."
        ) from error


def clean() -> None:
    """Remove what can be made again: executed chapters and built pages. Run records stay."""
    for folder in (paths.chapters(), paths.build()):
        shutil.rmtree(folder, ignore_errors=True)
    print(f"Removed {paths.chapters()} and {paths.build()}. Run records stay in {paths.runs()}.")


def _remove_strays() -> None:
    """Remove the notebooks of chapters that are gone, and what a killed build left."""
    known = {*fingerprint.chapters(), fingerprint.SCOREBOARD}
    for path in paths.chapters().glob("*.ipynb"):
        if path.stem not in known:
            path.unlink()
    for folder in [*paths.chapters().glob(".executing-*"), *paths.build().glob(".site-*")]:
        shutil.rmtree(folder)


@contextmanager
def _alone():
    lock = FileLock(paths.build() / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Another build is at work; waiting for it to end.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _report(spent: Mapping[str, tuple[float, float]], seconds: float) -> None:
    print("Where the time went, in seconds of one core: training, then notebook or pages.")
    for name, (trained, rest) in spent.items():
        print(f"  {trained:9.1f} s {rest:7.1f} s  {name}")
    trained, rest = (sum(column) for column in zip(*spent.values(), strict=True))
    print(f"  {trained:9.1f} s {rest:7.1f} s  in all, done in {seconds:.1f} s by the clock")
