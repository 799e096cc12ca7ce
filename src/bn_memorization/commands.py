"""The commands that make a page, as a reader would type them into a shell."""

import shlex
from collections.abc import Mapping

SCRIPT = ".venv/bin/bn-memorization"


def book(profile: str) -> str:
    """Return the command that builds the whole book."""
    return f"make book PROFILE={profile}"


def chapter(name: str, profile: str, given: Mapping[str, object]) -> str:
    """Return the command that reruns a chapter with the checked parameters in `given`.

    PARAMS is split at spaces, so a value that holds one goes past make.
    """
    words = [f"{key}={text(value)}" for key, value in given.items()]
    if any(len(word.split()) > 1 for word in words):
        return shlex.join([SCRIPT, "chapter", name, *words, "--profile", profile])
    parts = ["make", "chapter", f"CHAPTER={name}", f"PROFILE={profile}"]
    return " ".join([*parts, *([f"PARAMS={_quoted(' '.join(words))}"] if words else [])])


def text(value: object) -> str:
    """Return a parameter's value as it is written in a command: a list with commas."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _quoted(words: str) -> str:
    quoted = shlex.quote(words)
    return quoted if quoted != words else f"'{words}'"
