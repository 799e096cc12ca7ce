"""Two builds of one book, started at the same moment."""

import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import drill
import pytest
import tiny_book
from checkouts import REPOSITORY
from ground import Ground, begun

TRAINS = "import drill\n\ndrill.drive('serial')"


def two_books(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = begun(ground)
        root = _book(place.log.parent / "book")
        own = place.session(BN_MEMORIZATION_ROOT=str(root))
        command = [Path(sys.executable).with_name("bn-memorization"), "book", "--profile", "smoke"]
        builds = [
            subprocess.Popen(
                command,
                env=drill.surroundings() | own,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(2)
        ]
        said = [build.communicate(timeout=drill.PATIENCE)[0] for build in builds]
        assert [build.returncode for build in builds] == [0, 0], said
        assert sum("Another build is at work" in text for text in said) == 1
        total += ground.judged(place)
    return "two builds of one book, whose chapter asks for the runs", total


def _book(root: Path) -> Path:
    """Write a book of two short chapters, the first of which trains."""
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        tiny_book.write(root, patch)
    tiny_book.write_chapter(root, "01_first", TRAINS)
    tiny_book.write_chapter(root, "02_second", "x = 1")
    shutil.rmtree(root / "data" / "embedded")
    (root / "data" / "embedded").symlink_to(REPOSITORY / "data" / "embedded")
    return root
