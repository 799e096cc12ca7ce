"""The two kinds of error a user meets: it could not begin, or it could not be done."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 200  # characters of a value in a message


class BadInput(ValueError):
    """What was asked cannot be run as it stands: a wrong value, or data or room that is not there.

    Nothing has run. The command line exits with status 2.
    """


class Failure(RuntimeError):
    """What was asked was begun and could not be done. The command line exits with status 1."""


def check_choice(what: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`.

    Raises BadInput that names `what`, the value, the nearest choice (where one is near) and all
    choices.
    """
    choices = sorted(choices)
    if value in choices:
        return value
    near = get_close_matches(cut(value), choices, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    told = repr(cut(value)) if isinstance(value, str) else cut(repr(value))
    raise BadInput(f"Unknown {what} {told}.{hint} Choose from: {', '.join(choices)}.")


def cut(value: object) -> str:
    """Return a value as text that a message can hold: at most MOST_SHOWN characters of it."""
    text = str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
