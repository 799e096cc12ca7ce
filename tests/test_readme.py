"""The README says what is there: no gap left open, and a map that is the tree."""

import re

import pytest
from checkouts import REPOSITORY

from bn_memorization import fingerprint

PACKAGE = REPOSITORY / "src" / "bn_memorization"
GENERATED = {"runs", "book/chapters"}  # a fresh clone has none of them
TOP = {
    *("Makefile", "_config.yml", "_toc.yml", "pyproject.toml", "requirements.lock"),
    *("environment.yml", "LICENSE", "CITATION.cff", ".ci/run"),
    *("book", "notebooks", "data/embedded", "tests", "src/bn_memorization"),
}


@pytest.fixture(scope="module")
def readme() -> str:
    """Return the README's text."""
    return (REPOSITORY / "README.md").read_text()


@pytest.fixture(scope="module")
def listed(readme) -> list[str]:
    """Return every path of the map, relative to the root, in order."""
    return paths_of(readme.split("## Map")[1].split("```")[1])


def paths_of(text: str) -> list[str]:
    """Return the paths of a map: an indented name is in the folder above, two blanks end names."""
    found, folder = [], ""
    for line in text.strip("\n").splitlines():
        names = re.split(r"\s{2,}", line.strip())[0].split()
        if not all(is_path(name) for name in names):
            continue
        inside = folder if line.startswith("  ") else ""
        found += [inside + name.rstrip("/") for name in names]
        if not inside:
            folder = names[0]
    return found


def is_path(name: str) -> bool:
    """Return whether a word of the map's first column is a path and not a heading's."""
    return bool(re.search(r"[./_]", name)) or name in ("Makefile", "LICENSE")


def test_how_a_map_is_read():
    text = (
        "a.yml b.yml   two\nc/   folder\n  -- two words\n  d.py e.py   in it\n  f/   too\ng.md   x"
    )
    assert paths_of(text) == ["a.yml", "b.yml", "c", "c/d.py", "c/e.py", "c/f", "g.md"]


def test_no_placeholder_is_left(readme):
    assert not re.findall(r"@[A-Z_]+@|\bTODO\b|\bTBD\b|\bFIXME\b", readme)


def test_the_map_lists_every_module_once(listed):
    there = sorted(path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py")
    prefix = "src/bn_memorization/"
    assert sorted(p.removeprefix(prefix) for p in listed if p.startswith(prefix)) == there


def test_the_map_lists_every_notebook_in_order(listed):
    there = [f"notebooks/{name}.py" for name in (*fingerprint.chapters(), fingerprint.SCOREBOARD)]
    assert [p for p in listed if p.startswith("notebooks/") and p.endswith(".py")] == there


def test_the_map_lists_the_top(listed):
    assert set(listed) >= TOP


def test_the_map_lists_every_profile(readme):
    assert f"{', '.join(['smoke', 'quick', 'standard', 'paper'])}\n" in readme
    assert fingerprint.profiles() == sorted(["smoke", "quick", "standard", "paper"])


def test_the_map_lists_nothing_that_is_not_there(listed):
    missing = [p for p in listed if p not in GENERATED and not (REPOSITORY / p).exists()]
    assert not missing


def test_every_link_of_the_readme_leads_somewhere(readme):
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert targets
    missing = [t for t in targets if "://" not in t and not (REPOSITORY / t).exists()]
    assert not missing
