"""The kinds of value that a parameter may have, each with its own check and message."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bn_memorization.errors import BadInput, check_choice, cut

LONGEST = 300  # characters of a free text; paths are rarely longer


@dataclass(frozen=True)
class Number:
    """A number of type `kind` in [least, most]; `open_least` leaves the least value out."""

    kind: type
    least: float
    most: float
    open_least: bool = False

    def parse(self, name: str, value: object) -> int | float:
        """Return the value as `kind`. Raises BadInput for a wrong type or a value out of range."""
        article = {int: "a whole number", float: "a number"}[self.kind]
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError
            number = self.kind(value)
            if isinstance(value, float) and number != value:
                raise ValueError
        except (ValueError, OverflowError):
            raise BadInput(f"{name}={cut(value)} is not {article}. {self._allowed(name)}") from None
        inside = self.least < number if self.open_least else self.least <= number
        if not (inside and number <= self.most):
            raise BadInput(f"{name}={cut(value)} is out of range. {self._allowed(name)}")
        return number + 0  # -0.0 becomes 0.0: equal settings have equal records

    def allowed(self) -> str:
        """Return what the value may be, in words."""
        article = {int: "a whole number", float: "a number"}[self.kind]
        bound = f"above {self.least:g}" if self.open_least else f"from {self.least:g}"
        return f"{article} {bound} up to {self.most:.10g}"

    def _allowed(self, name: str) -> str:
        return f"{name} must be {self.allowed()}."


@dataclass(frozen=True)
class Choice:
    """One of some words; `what` names them in messages."""

    what: str
    choices: Callable[[], Iterable[str]]

    def parse(self, name: str, value: object) -> str:
        """Return the value. Raises BadInput, with the valid choices, for another."""
        return check_choice(self.what, str(value), self.choices())

    def allowed(self) -> str:
        """Return what the value may be, in words."""
        return f"one of {', '.join(self.choices())}"


@dataclass(frozen=True)
class Text:
    """Free text in one line of at most `LONGEST` characters; all of it matches `pattern`."""

    pattern: str
    what: str

    def parse(self, name: str, value: object) -> str:
        """Return the text. Raises BadInput for another type or form, or one that is too long."""
        fits = isinstance(value, str) and value.isprintable() and len(value) <= LONGEST
        if not (fits and re.fullmatch(self.pattern, value)):
            shown = repr(value)[:80]
            raise BadInput(
                f"{name}={shown} is not {self.what}, on one line, of at most {LONGEST} characters."
            )
        return value

    def allowed(self) -> str:
        """Return what the value may be, in words."""
        return self.what


@dataclass(frozen=True)
class Pattern:
    """Values of several kinds joined by slashes, where a * in words stands for any letters."""

    form: str
    parts: tuple[Number | Choice, ...]

    def parse(self, name: str, value: object) -> str:
        """Return the pattern. Raises BadInput for another form or a part that matches nothing."""
        words = str(value).split("/")
        if len(words) != len(self.parts):
            raise BadInput(
                f"{name}={cut(value)} is not of the form {self.form}. Any of these may be *."
            )
        for kind, word in zip(self.parts, words, strict=True):
            known = kind.choices() if isinstance(kind, Choice) else ()
            if word != "*" and not any(fnmatchcase(choice, word) for choice in known):
                kind.parse(name, word)
        return "/".join(words)

    def allowed(self) -> str:
        """Return what the value may be, in words."""
        return f"{self.form}, any of them *"


@dataclass(frozen=True)
class ListOf:
    """One or more values of another kind, none twice: a list, or words joined by commas."""

    item: Number | Choice | Pattern

    def parse(self, name: str, value: object) -> list:
        """Return the list of parsed items. Raises BadInput for an empty one or a value twice."""
        if isinstance(value, str):
            value = value.split(",")
        items = list(value) if isinstance(value, list | tuple) else [value]
        parsed = [self.item.parse(name, item) for item in items]
        if not parsed:
            raise BadInput(f"{name} is empty. Give at least one value.")
        if len(set(parsed)) < len(parsed):
            raise BadInput(f"{name}={cut(value)} holds a value twice. Give each once.")
        return parsed

    def allowed(self) -> str:
        """Return what the value may be, in words."""
        return f"one or more, each {self.item.allowed()}"
