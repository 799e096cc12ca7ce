"""Faults of a record: it is cut, altered, or another's."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ground import Ground, completed, refused

from bn_memorization import store


def _damage(
    ground: Ground, rng: random.Random, tries: int, break_: Callable[[Path, Path], set[str]]
) -> Counter:
    """Break one record after the other; each is refused by name, deleted as told, and made anew."""
    total, done = Counter(), 0
    while done < tries:
        place, damaged = ground.place(), set()
        completed(ground.forks.run(place))
        folders = sorted(place.records.glob("train/*"))
        rng.shuffle(folders)
        for folder, other in zip(folders[::2], folders[1::2], strict=True):
            if done == tries:
                break
            done += 1
            damaged |= break_(folder, other)
            refused(ground.forks.run(place), str(folder), "is damaged", "Delete that folder")
            shutil.rmtree(folder)
            completed(ground.forks.run(place))
        total += ground.judged(place, damaged)
    return total


def record_truncated(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    def cut(folder: Path, other: Path) -> set[str]:
        path = folder / rng.choice([store.ARRAYS, store.META])
        os.truncate(path, rng.randrange(path.stat().st_size - 1))
        return {folder.name}

    return "one of its two files cut at a random byte", _damage(ground, rng, tries, cut)


def byte_flipped(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    def flip(folder: Path, other: Path) -> set[str]:
        path = folder / store.ARRAYS
        content = bytearray(path.read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        return {folder.name}

    return "one random bit of its arrays", _damage(ground, rng, tries, flip)


def record_moved(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    def move(folder: Path, other: Path) -> set[str]:
        shutil.rmtree(folder)
        other.rename(folder)
        return {folder.name, other.name}

    return "the record of another run in its place", _damage(ground, rng, tries, move)
