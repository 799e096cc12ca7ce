"""What a chapter and the book depend on, as hashes of contents: times of files lie.

Nothing heavy is imported here, so that finding nothing to do takes no time.
"""

import ast
import hashlib
import json
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from bn_memorization import paths, presets
from bn_memorization.errors import BadInput, check_choice

PACKAGE = "bn_memorization"
SCOREBOARD = "scoreboard"
# Modules with a part in the result that no chapter imports. What they import in turn is either a
# chapter's own, or decides whether something can run and not what comes of it.
EXECUTING = ("chapter", "parameters", "rerun_cells", "commands", "presets", "planning")
BUILDING = ("site", "slim")
# What prose pages call: see book/_ext/computed.py.
COMPUTED = "from bn_memorization import citing, exponents, first_page, scale, speed, stack_speed"
MARK = "bn_memorization"  # where an executed notebook's metadata holds what made it


def chapters() -> list[str]:
    """Return the names of the book's chapters, in order."""
    return sorted(path.stem for path in paths.notebooks().glob("[0-9][0-9]*_*.py"))


def profiles() -> list[str]:
    """Return the names of the profiles there are."""
    return sorted(path.stem for path in paths.profiles().glob("*.yml"))


def of_profile(profile: str, chapter: str) -> dict[str, object]:
    """Return what a profile's file sets for a chapter, its own name included.

    Raises BadInput for an unknown profile, a file that is not such a mapping or one that sets
    something for a chapter that there is not.
    """
    check_choice("profile", profile, profiles())
    path = paths.profiles() / f"{profile}.yml"
    try:
        content = yaml.safe_load(path.read_text())
    except Exception as error:  # a date, a huge number or a deep nest fail in other ways than YAML
        raise BadInput(f"{path} is not YAML: {error}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path} must map chapters to parameters, such as 'epochs: 5'.")
    for name in content:
        check_choice(f"chapter in {path}", name, [*chapters(), SCOREBOARD])
    settings = content.get(chapter) or {}
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise BadInput(f"{path}: {chapter} must map parameter names to values.")
    for name, value in settings.items():
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str | int | float) for item in items):
            raise BadInput(f"{path}: {chapter}: {name} must be a number, a text or a list of them.")
    return settings | {"profile": profile}


def modules_used(source: str) -> set[Path]:
    """Return the files of this package that a source text imports, directly or through others.

    A text that is not Python imports nothing here; it fails, with its traceback, when it runs.
    """
    package = paths.root() / "src" / PACKAGE
    found: set[Path] = set()
    todo = [source]
    while todo:
        for name in _imported(todo.pop()):
            path = package / f"{name}.py"
            if path not in found and path.is_file():
                found.add(path)
                todo.append(path.read_text())
    return found


@cache  # the same modules are asked for chapter after chapter
def _imported(source: str) -> tuple[str, ...]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        nodes = []
    return ("__init__", *(name for node in nodes for name in _named(node)))


def _named(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
        yield node.module.split(".")[1]
    elif isinstance(node, ast.Import):
        yield from (
            alias.name.split(".")[1] for alias in node.names if alias.name.startswith(f"{PACKAGE}.")
        )


def of_chapter(name: str, profile: str) -> str:
    """Return the hash of all that a chapter's executed notebook depends on.

    Its text, its parameters, the reruns it suggests, the modules that it imports and those that
    put its parameters in place and execute it, the runs it asks for, the embedded data, the lock
    and the Python version. Raises BadInput as `of_profile` does.
    """
    notebook = paths.notebooks() / f"{name}.py"
    source = notebook.read_text()
    files = [
        notebook,
        paths.root() / "requirements.lock",
        paths.embedded() / "manifest.json",
        *modules_used(source).union(_own(EXECUTING)),
    ]
    settings = json.dumps(of_profile(profile, name), sort_keys=True, default=str)
    suggested = json.dumps(presets.read(name))
    return _hash(files, settings, suggested, platform.python_version())


def of_scoreboard(profile: str) -> str:
    """Return the hash of what the scoreboard depends on.

    That is as a chapter, every chapter, and what was published.
    """
    others = [of_chapter(name, profile) for name in chapters()]
    shipped = paths.published().glob("*.json")
    return _hash(shipped, of_chapter(SCOREBOARD, profile), *others)


def of_site() -> str:
    """Return the hash of all that the built pages depend on.

    Prose, settings, how to cite, executed chapters, the module that builds the pages, and the
    modules and measurements whose text stands in prose.
    """
    root, book = paths.root(), paths.book()
    files = [path for path in book.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = ("_config.yml", "_toc.yml", "requirements.lock", "CITATION.cff")
    settings = [root / name for name in names]
    computed = [*modules_used(COMPUTED), *paths.published().glob("measured/*.json")]
    modules = {*computed, *_own(BUILDING)}
    return _hash([*files, *settings, *modules], platform.python_version())


def _own(modules: Iterable[str]) -> list[Path]:
    return [paths.root() / "src" / PACKAGE / f"{name}.py" for name in modules]


def mark_of(path: Path) -> str | None:
    """Return the hash that an executed notebook says it was made from, or None without one."""
    try:
        return json.loads(path.read_text())["metadata"][MARK]["made_from"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def parameters_of(path: Path) -> dict[str, object]:
    """Return the parameters that an executed notebook says it was executed with.

    Raises KeyError when it does not say so.
    """
    return json.loads(path.read_text())["metadata"][MARK]["parameters"]


def _hash(files: Iterable[Path], *texts: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"\0{path.relative_to(paths.root())}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()
