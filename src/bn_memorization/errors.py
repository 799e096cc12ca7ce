"""The two kinds of error a user meets: it could not begin, or it could not be done."""

from collections.abc import Iterable
from difflib import get_close_matches


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
    near = get_close_matches(str(value), choices, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise BadInput(f"Unknown {what} {value!r}.{hint} Choose from: {', '.join(choices)}.")
