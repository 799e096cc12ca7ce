"""The parameters a reader may set: what each is called, may be, and whether a chapter has it.

One vocabulary for all chapters, so that `epochs` means one thing in the book. A chapter's own
parameters are those its parameters cell assigns; everything is checked before anything runs.
"""

import ast
from collections.abc import Iterable, Mapping

from bn_memorization import (
    audit_input,
    config,
    corrupt,
    data,
    fingerprint,
    lira,
    models,
    queries,
    regularize,
)
from bn_memorization.errors import BadInput, check_choice, cut
from bn_memorization.kinds import Choice, ListOf, Number, Pattern, Text

_DATASET = Choice("data set", lambda: data.DATASETS)
_ARCH = Choice("architecture", lambda: models.ARCHITECTURES)
_NORM = Choice("norm", lambda: sorted(set(models.NORMS) - {models.PLAIN}))
_CORRUPTION = Choice("corruption", lambda: corrupt.CORRUPTIONS)
_NOISE_RATE = Number(float, 0, 0.5, open_least=True)
_DOTTED = Text(r"[^\W\d]\w*(\.[^\W\d]\w*)+", "a dotted name such as package.module.factory")
_FILE = Text(r"\S(.*\S)?", "the name of a file or folder")
_SETTING = Pattern(
    "data set/architecture/corruption/share",
    (_DATASET, _ARCH, _CORRUPTION, Number(float, 0, 0.5)),
)

VOCABULARY: dict[str, Number | Choice | ListOf | Text] = {
    "profile": Choice("profile", fingerprint.profiles),
    "dataset": ListOf(_DATASET),
    "source": Choice("source", lambda: data.SOURCES),
    "train_size": Number(int, 100, 60_000),
    "eval_size": Number(int, 100, 60_000),
    "arch": ListOf(_ARCH),
    "norm": _NORM,
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
    "deep_pool_size": Number(int, 100, 60_000),
    "deep_eval_size": Number(int, 100, 60_000),
    "deep_epochs": Number(int, 1, 10_000),
    "deep_batch_size": Number(int, 2, 60_000),
    "plain_lr": ListOf(Number(float, 0, 100, open_least=True)),
    "plain_epochs": Number(int, 1, 10_000),
    "batch_size": Number(int, 2, 60_000),
    "optimizer": Choice("optimizer", lambda: config.OPTIMIZERS),
    "lr": Number(float, 0, 100, open_least=True),
    "momentum": Number(float, 0, 0.999),
    "weight_decay": Number(float, 0, 10),
    "penalty_form": ListOf(Choice("penalty form", lambda: regularize.FORMS)),
    "penalty_weight": ListOf(Number(float, 0, 1000, open_least=True)),
    "penalty_target": ListOf(Number(float, 0, 1000, open_least=True)),
    "penalty_only": ListOf(_SETTING),
    "penalty_train_size": Number(int, 100, 60_000),
    "penalty_epochs": Number(int, 1, 10_000),
    "rival_weight_decay": ListOf(Number(float, 0, 10, open_least=True)),
    "rival_lr": ListOf(Number(float, 0, 100, open_least=True)),
    "norms": ListOf(_NORM),
    "batch_sizes": ListOf(Number(int, 2, 60_000)),
    "longer": Number(int, 2, 100),
    "pool_dataset": ListOf(_DATASET),
    "pool_epochs": Number(int, 1, 10_000),
    "pool_eval_size": Number(int, 100, 60_000),
    "pool_batch_size": Number(int, 2, 60_000),
    "small_pool_size": Number(int, 100, 60_000),
    "small_models": Number(int, lira.LEAST_MODELS, 10_000),
    # The accountant is exact to 0.01, which is much below 0.1, and overflows at a large epsilon.
    "epsilon": ListOf(Number(float, 0.1, 20)),
    "delta": Number(float, 1e-9, 0.1),
    "clip": Number(float, 0, 1000, open_least=True),
    "private_epochs": Number(int, 1, 10_000),
    "private_batch_size": Number(int, 2, 60_000),
    "private_lr": Number(float, 0, 100, open_least=True),
    "dose": ListOf(Number(float, 0, 1000, open_least=True)),
    "dose_weight": Number(float, 0, 1000, open_least=True),
    "dose_layer": ListOf(Number(int, 1, 1000)),
    "dose_lr": ListOf(Number(float, 0, 100, open_least=True)),
    "attack_dose": ListOf(Number(float, 0, 1000, open_least=True)),
    "cases": Number(int, 10, 100_000),
    "model": _DOTTED,
    "weights": _FILE,
    "images": _FILE,
    "image_size": Number(int, 0, 1024),
    "num_classes": Number(int, 0, 10_000),
    "scaling": Choice("scaling", lambda: audit_input.SCALINGS),
    "planted_rate": Number(float, 0, 0.5),
    "shown": Number(int, 1, 64),
}

# Twice as much of these is about twice as much training; so is a list of twice the length.
MULTIPLIES = frozenset(
    {"seeds", "n_models", "small_models"}
    | {f"{of}epochs" for of in ("", "deep_", "plain_", "penalty_", "private_", "pool_")}
    | {f"{of}train_size" for of in ("", "deep_", "penalty_")}
    | {f"{of}pool_size" for of in ("", "deep_", "small_")}
    | {name for name, kind in VOCABULARY.items() if isinstance(kind, ListOf)}
) - {"only", "penalty_only"}  # these leave out


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


def explained(cell: str) -> dict[str, str]:
    """Return {name: comment} of a parameters cell, or no text for a parameter without a comment."""
    lines = [line.partition("  # ") for line in cell.splitlines()]
    return {head.partition("=")[0].strip(): comment for head, _, comment in lines if "=" in head}


def of_command_line(pairs: Iterable[str]) -> dict[str, str]:
    """Return {name: text} of words like `epochs=5`. Raises BadInput for a word of another form."""
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name.isidentifier() and equals and value):
            raise BadInput(f"Parameter {cut(pair)!r} is not of the form name=value.")
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


def told(name: str) -> tuple[str, str]:
    """Return what a parameter may be, and what more of it does to the time of training.

    Raises BadInput for a name that no chapter has.
    """
    return _kind(name).allowed(), "in proportion" if name in MULTIPLIES else ""


def _kind(name: str) -> Number | Choice | ListOf | Text:
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
