"""The book: a build with nothing to do, the size of its pages, and the rerun of one chapter."""

import functools
import subprocess
import sys
from collections.abc import Iterator

from benchmarks import measure
from bn_memorization import book, fingerprint, paths, site
from bn_memorization.errors import Failure

PROFILE, CHAPTER = "quick", "01_forced_memorization"
COMMAND = "from bn_memorization.cli import main; raise SystemExit(main())"
IMPORTS = "from bn_memorization import cli"
MOST_SECONDS, MOST_IDLE_SECONDS, MOST_BYTES = 20, 3, 15 * 10**6


def python(code: str, *words: str) -> None:
    """Run code in a Python of its own. Raises Failure with what it said when it fails."""
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(words)} failed: {done.stderr.strip()}")


def check_built() -> None:
    """Raise Failure unless there is a book and nothing to do for it."""
    if book.stale(PROFILE) or site.stamp_of(paths.site()) != fingerprint.of_site():
        raise Failure(
            f"The book ({PROFILE}) is not up to date: `make book`, then `make bench ROWS=pages`. A "
            "row that is measured is a change of the book, so this row comes first."
        )


def size_of_site() -> int:
    """Return the bytes of all files of the built pages."""
    return sum(path.stat().st_size for path in paths.site().rglob("*") if path.is_file())


def run(repeats: int = measure.REPEATS) -> Iterator[dict]:
    """Return the lines. Raises Failure where there is no book that is up to date."""
    check_built()
    works = {
        "imports": functools.partial(python, IMPORTS),
        "nothing": functools.partial(python, COMMAND, "book", "--profile", PROFILE),
    }
    seconds, _ = measure.side_by_side(works, repeats)
    started = min(seconds["imports"]) / min(seconds["nothing"])
    yield measure.within(
        "the book with nothing to do", seconds["nothing"], MOST_IDLE_SECONDS,
        limit="imports", of_limit=started,
    )  # fmt: skip
    yield measure.sizes(
        "the book's pages", "what they may take", size_of_site(), MOST_BYTES, target=1
    )
    rerun = functools.partial(python, COMMAND, "chapter", "--profile", PROFILE, CHAPTER)
    seconds, _ = measure.side_by_side({"rerun": rerun}, repeats)
    yield measure.within(
        f"rerun of {CHAPTER}, all runs recorded", seconds["rerun"], MOST_SECONDS
    )  # fmt: skip
