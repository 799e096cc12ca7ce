"""A change of the code behind run records comes with a new version, or old records lie."""

import ast
import hashlib
import io
import tokenize
from pathlib import Path

import pytest

from bn_memorization import private, shadows, train

PACKAGE = Path(train.__file__).parent
TRAINING = (
    *("train", "config", "sample", "corrupt", "data", "foreign"),
    *("models", "norms", "lenet", "resnet", "densenet", "regularize", "hold"),
    *("gradnorm", "ratios"),  # the probes
)
ATTACK = ("shadows", "masks", "queries", "signals")
# For each: the version, and the hash of its modules' code when it was recorded.
RECORDED = {
    "train": (7, "b5f9758ac306f798"),
    "shadows": (3, "e3e1bef56f942003"),
    "private": (1, "ccae985d0841d2dc"),
}
NOW = {
    "train": (train.VERSION, TRAINING),
    "shadows": (shadows.VERSION, ATTACK),
    "private": (private.VERSION, ("private",)),
}


def code(source: str) -> str:
    """Return a source text without comments, docstrings, empty lines and its version's line."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines[first.lineno - 1 : first.end_lineno] = [""] * (
                first.end_lineno - first.lineno + 1
            )
    kept = [line.rstrip() for line in lines if line.strip()]
    return "\n".join(line for line in kept if not line.startswith("VERSION ="))


def digest(modules: tuple[str, ...]) -> str:
    texts = [code((PACKAGE / f"{name}.py").read_text()) for name in modules]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", RECORDED)
def test_the_code_is_that_of_the_version(name):
    version, modules = NOW[name]
    assert (version, digest(modules)) == RECORDED[name], (
        f"raise {name}.VERSION if results change, then record the new version and hash"
    )


def test_only_words_about_the_code_are_left_out():
    plain = "VERSION = 1\nx = '#1'\n\n\ndef f():\n    return f'{x}#'\n"
    told = """\'\'\'About
it.\'\'\'

# Why.
VERSION = 2
x = '#1'  # one


def f():
    \'\'\'Return it.\'\'\'
    # Why.
    return f'{x}#'
"""
    assert code(told) == code(plain) == "x = '#1'\ndef f():\n    return f'{x}#'"
    assert code(plain.replace("#1", "#2")) != code(plain)
