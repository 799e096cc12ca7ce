"""The parameters a reader may set: what each is called, may be, and whether a chapter has it.

One vocabulary for all chapters, so that `epochs` means one thing in the book. A chapter's own
parameters are those its parameters cell assigns; everything is checked before anything runs.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bn_memorization import config, corrupt, data, fingerprint, lira, models, queries, regularize
from bn_memorization.errors import BadInput, check_choice


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
            raise BadInput(f"{name}={value} is not {article}. {self._allowed(name)}") from None
        inside = self.least < number if self.open_least else self.least <= number
        if not (inside and number <= self.most):
            raise BadInput(f"{name}={value} is out of range. {self._allowed(name)}")
        return number + 0  # -0.0 becomes 0.0: equal settings have equal records

    def _allowed(self, name: str) -> str:
        article = {int: "a whole number", float: "a number"}[self.kind]
        bound = f"above {self.least:g}" if self.open_least else f"from {self.least:g}"
        return f"{name} must be {article} {bound} up to {self.most:.10g}."


@dataclass(frozen=True)
class Choice:
    """One of some words; `what` names them in messages."""

    what: str
    choices: Callable[[], Iterable[str]]

    def parse(self, name: str, value: object) -> str:
        """Return the value. Raises BadInput, with the valid choices, for another."""
        return check_choice(self.what, str(value), self.choices())


@dataclass(frozen=True)
class Pattern:
    """Values of several kinds joined by slashes, where a * in words stands for any letters."""

    form: str
    parts: tuple[Number | Choice, ...]

    def parse(self, name: str, value: object) -> str:
        """Return the pattern. Raises BadInput for another form or a part that matches nothing."""
        words = str(value).split("/")
        if len(words) != len(self.parts):
            raise BadInput(f"{name}={value} is not of the form {self.form}. Any of these may be *.")
        for kind, word in zip(self.parts, words, strict=True):
            known = kind.choices() if isinstance(kind, Choice) else ()
            if word != "*" and not any(fnmatchcase(choice, word) for choice in known):
                kind.parse(name, word)
        return "/".join(words)


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
            raise BadInput(f"{name}={value} holds a value twice. Give each once.")
        return parsed


_DATASET = Choice("data set", lambda: data.DATASETS)
_ARCH = Choice("architecture", lambda: models.ARCHITECTURES)
_CORRUPTION = Choice("corruption", lambda: corrupt.CORRUPTIONS)
_NOISE_RATE = Number(float, 0, 0.5, open_least=True)
_SETTING = Pattern(
    "data set/architecture/corruption/share", (_DATASET, _ARCH, _CORRUPTION, _NOISE_RATE)
)

VOCABULARY: dict[str, Number | Choice | ListOf] = {
    "profile": Choice("profile", fingerprint.profiles),
    "dataset": ListOf(_DATASET),
    "source": Choice("source", lambda: data.SOURCES),
    "train_size": Number(int, 100, 60_000),
    "eval_size": Number(int, 100, 60_000),
    "arch": ListOf(_ARCH),
    "norm": Choice("norm", lambda: sorted(set(models.NORMS) - {models.PLAIN})),
    "corruption": ListOf(_CORRUPTION),
    "noise_rate": ListOf(_NOISE_RATE),
    "only": ListOf(_SETTING),
    "outlier_rate": ListOf(Number(float, 0, 0.5)),
    "pool_size": Number(int, 100, 60_000),
    "n_models": Number(int, lira.LEAST_MODELS, 10_000),
    "moments": Number(int, 1, 100),
    "queries": Number(int, 1, len(queries.VIEWS)),
    "seeds": Number(int, 2, 1000),
    "seed": Number(int, 0, 2**31 - 1),
    "epochs": Number(int, 1, 10_000),
    "deep_train_size": Number(int, 100, 60_000),
    "deep_eval_size": Number(int, 100, 60_000),
    "deep_epochs": Number(int, 1, 10_000),
    "deep_batch_size": Number(int, 2, 60_000),
    "batch_size": Number(int, 2, 60_000),
    "optimizer": Choice("optimizer", lambda: config.OPTIMIZERS),
    "lr": Number(float, 0, 100, open_least=True),
    "momentum": Number(float, 0, 0.999),
    "weight_decay": Number(float, 0, 10),
    "penalty_form": ListOf(Choice("penalty form", lambda: regularize.FORMS)),
    "penalty_weight": ListOf(Number(float, 0, 1000, open_least=True)),
    "penalty_target": ListOf(Number(float, 0, 1000, open_least=True)),
    "rival_weight_decay": ListOf(Number(float, 0, 10, open_least=True)),
    "rival_lr": ListOf(Number(float, 0, 100, open_least=True)),
    "cases": Number(int, 10, 100_000),
}


def declared(cell: str) -> dict[str, object]:
    """Return the names and default values that a parameters cell assigns.

    Raises BadInput for anything in the cell but assignments of plain literals, each on a line of
    its own: `assign` replaces whole lines.
    """
    try:
        body = ast.parse(cell).body
    except SyntaxError as error:
        raise BadInput(f"The parameters cell is not Python: {error}.") from None
    defaults, last = {}, 0
    for node in body:
        try:
            (target,) = node.targets
            defaults[target.id] = ast.literal_eval(node.value)
            if not last < node.lineno == node.end_lineno:
                raise ValueError
        except (AttributeError, TypeError, ValueError):
            raise BadInput(
                f"The parameters cell holds {ast.unparse(node)!r}; it may hold only plain "
                "literals, one name a line."
            ) from None
        last = node.lineno
    return defaults


def of_command_line(pairs: Iterable[str]) -> dict[str, str]:
    """Return {name: text} of words like `epochs=5`. Raises BadInput for a word of another form."""
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name.isidentifier() and equals and value):
            raise BadInput(f"Parameter {pair!r} is not of the form name=value.")
        if name in given:
            raise BadInput(f"Parameter {name} is given twice.")
        given[name] = value
    return given


def check(chapter: str, defaults: Mapping, *settings: Mapping) -> dict[str, object]:
    """Return the chapter's parameters, later `settings` over earlier ones over `defaults`.

    Raises BadInput for a name that the chapter does not have, with the nearest one that it has, and
    for a value of a wrong type or out of range.
    """
    merged = dict(defaults)
    for setting in settings:
        for name, value in setting.items():
            merged[check_choice(f"parameter of {chapter}", name, defaults)] = value
    return {name: _kind(name).parse(name, value) for name, value in merged.items()}


def _kind(name: str) -> Number | Choice | ListOf:
    return VOCABULARY[check_choice("parameter", name, VOCABULARY)]


def assigned(namespace: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a notebook's namespace holds: call it right after their cell."""
    return {name: namespace[name] for name in VOCABULARY if name in namespace}


def assign(cell: str, values: Mapping[str, object]) -> str:
    """Return the parameters cell with `values` in place of its own, its comments kept."""
    lines = []
    for line in cell.splitlines():
        name = line.partition("=")[0].strip()
        if name in values:
            comment = line.partition("  #")
            lines.append(f"{name} = {values[name]!r}{''.join(comment[1:])}")
        else:
            lines.append(line)
    return "\n".join(lines)
