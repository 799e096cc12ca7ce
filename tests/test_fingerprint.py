import ast
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_book

from bn_memorization import fingerprint, paths
from bn_memorization.errors import BadInput

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    return tiny_book.write(tmp_path, monkeypatch)


def append(path: Path, text: str = "\n# changed\n") -> None:
    path.write_text(path.read_text() + text)


def marks(profile: str = "smoke") -> dict[str, str]:
    found = {name: fingerprint.of_chapter(name, profile) for name in fingerprint.chapters()}
    return found | {"scoreboard": fingerprint.of_scoreboard(profile)}


def changed(before: dict[str, str], profile: str = "smoke") -> set[str]:
    return {name for name, mark in marks(profile).items() if before.get(name) != mark}


FIRST, BOTH = {"01_first", "scoreboard"}, {"01_first", "02_second", "scoreboard"}


def test_chapters_and_profiles_are_found_in_order(root):
    for name in ("10_last", "3_none", "x2_none", "02_second"):
        tiny_book.write_chapter(root, name, "")
    (root / "notebooks" / "03_notes.md").touch()
    assert fingerprint.chapters() == ["01_first", "02_second", "10_last"]
    assert fingerprint.profiles() == ["quick", "smoke"]


@pytest.mark.parametrize(
    ("file", "affected"),
    [
        ("notebooks/01_first.py", FIRST),
        ("notebooks/02_second.py", {"02_second", "scoreboard"}),
        ("notebooks/scoreboard.py", {"scoreboard"}),
        ("src/bn_memorization/alpha.py", FIRST),  # imported
        ("src/bn_memorization/beta.py", FIRST),  # through alpha
        ("src/bn_memorization/delta.py", FIRST),  # through alpha and beta, within a function
        ("src/bn_memorization/omega.py", {"02_second", "scoreboard"}),
        ("src/bn_memorization/__init__.py", BOTH),
        ("src/bn_memorization/chapter.py", BOTH),  # it executes them
        ("src/bn_memorization/parameters.py", BOTH),
        ("src/bn_memorization/site.py", set()),
        ("requirements.lock", BOTH),
        ("data/embedded/manifest.json", BOTH),
        ("book/intro.md", set()),
        ("_config.yml", set()),
        ("pyproject.toml", set()),
    ],
)
def test_a_changed_file_changes_what_depends_on_it(root, file, affected):
    before = marks()
    append(root / file)
    assert changed(before) == affected


def test_a_module_that_no_chapter_imports_changes_nothing(root):
    before = marks()
    (root / "src/bn_memorization/unused.py").write_text("import bn_memorization.alpha\n")
    assert changed(before) == set()


def test_times_of_files_change_nothing(root):
    before, site = marks(), fingerprint.of_site()
    for path in root.rglob("*"):
        os.utime(path, (1, 1))
    assert changed(before) == set()
    assert fingerprint.of_site() == site


def test_the_place_of_the_checkout_changes_nothing(root, tmp_path_factory, monkeypatch):
    before, site = marks(), fingerprint.of_site()
    other = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(root, other)
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(other))
    assert changed(before) == set()
    assert fingerprint.of_site() == site


def test_another_process_finds_the_same(root):
    """Sets of files have another order there."""
    code = "from bn_memorization import fingerprint as f; print(f.of_chapter('01_first', 'smoke'))"
    own = os.environ | {"PYTHONHASHSEED": "77"}
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True)
    assert done.stdout.strip() == marks()["01_first"]


@pytest.mark.parametrize(
    ("text", "affected"),
    [
        ("01_first:\n  epochs: 3\n02_second:\n  lr: 0.1\n", FIRST),
        ("01_first:\n  epochs: 2\n02_second:\n  lr: 0.2\n", {"02_second", "scoreboard"}),
        ("01_first:\n  epochs: 2\n", {"02_second", "scoreboard"}),
        ("scoreboard: {}\n01_first:\n  epochs: 2\n02_second: {lr: 0.1}  # same\n", set()),
        ("01_first:\n  epochs: 2.0\n02_second:\n  lr: 0.1\n", FIRST),
        ("01_first:\n  epochs: 2\n  lr: 1\n02_second:\n  lr: 0.1\n", FIRST),
    ],
)
def test_a_profile_counts_for_the_chapter_that_it_sets(root, text, affected):
    before = marks()
    (root / "notebooks/profiles/smoke.yml").write_text(text)
    assert changed(before) == affected
    assert changed(marks("quick"), "quick") == set()


def test_the_order_of_settings_does_not_count(root):
    path = root / "notebooks/profiles/smoke.yml"
    path.write_text("01_first: {epochs: 2, lr: 0.1}\n")
    before = marks()
    path.write_text("01_first: {lr: 0.1, epochs: 2}\n")
    assert changed(before) == set()


def test_equal_settings_of_two_profiles_are_still_two(root):
    """The profile's name stands in every figure."""
    profiles = root / "notebooks/profiles"
    shutil.copy(profiles / "smoke.yml", profiles / "quick.yml")
    assert changed(marks("smoke"), "quick") == BOTH


def test_another_python_changes_all(root, monkeypatch):
    before, site = marks(), fingerprint.of_site()
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    assert changed(before) == BOTH
    assert fingerprint.of_site() != site


def test_a_renamed_module_is_another(root):
    before = marks()
    (root / "src/bn_memorization/omega.py").rename(root / "src/bn_memorization/omicron.py")
    path = root / "notebooks/02_second.py"
    path.write_text(path.read_text().replace("omega", "omicron"))
    assert changed(before) == {"02_second", "scoreboard"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", {"__init__"}),
        ("import bn_memorization", {"__init__"}),
        ("from bn_memorization import alpha, omega", {"alpha", "beta", "delta", "omega"}),
        ("from bn_memorization import (\n  beta as b,\n  omega as o,\n)", {"beta", "delta", "alpha",
                                                                        "omega"}),
        ("from bn_memorization.omega import y, z", {"omega"}),
        ("import bn_memorization.omega", {"omega"}),
        ("import os, bn_memorization.omega as o", {"omega"}),
        ("def f():\n    from bn_memorization import omega", {"omega"}),
        ("class C:\n    async def f():\n        import bn_memorization.omega", {"omega"}),
        ("try:\n    from bn_memorization.omega import y\nexcept ImportError: ...", {"omega"}),
        ("from bn_memorization import __version__, missing", set()),
        ("import numpy, bn_memorization_other.omega", set()),
        ("from bn_memorization_other import omega", set()),
        ("from other.bn_memorization import omega", set()),
        ("'from bn_memorization import omega'  # import bn_memorization.omega", set()),
        ("import omega", set()),
        ("from bn_memorization import omega\n  this is not Python", set()),
    ],
)  # fmt: skip
def test_modules_used(root, source, found):
    names = {path.stem for path in fingerprint.modules_used(source)}
    assert names == found | {"__init__"}
    package = root / "src" / "bn_memorization"
    assert all(path.parent == package for path in fingerprint.modules_used(source))


def test_a_text_that_is_not_python_is_out_of_date_and_fails_where_it_runs(root):
    before = marks()
    append(root / "notebooks/01_first.py", "\n# %%\nfor\n")
    assert changed(before) == FIRST
    before = marks()
    append(root / "src/bn_memorization/omega.py", "for\n")
    assert changed(before) == {"02_second", "scoreboard"}


def test_no_module_hides_an_import_from_the_search():
    """Relative imports and stars are not followed, so none may stand in a module or chapter."""
    for path in [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "notebooks").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                assert all(alias.name != "*" for alias in node.names), f"{path}: a star"


LOADED = """
import json, sys
for imports in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.startswith("bn_memorization")]:
        del sys.modules[name]
    exec(imports)
    print(*[name for name in sys.modules if name.partition(".")[0] == "bn_memorization"])
"""


def own_imports(source: str) -> str:
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(line for line in map(ast.unparse, nodes) if "bn_memorization" in line)


def test_what_python_loads_for_the_real_chapters_is_what_is_counted():
    names = [*fingerprint.chapters(), fingerprint.SCOREBOARD]
    sources = [(paths.notebooks() / f"{name}.py").read_text() for name in names]
    command = [sys.executable, "-c", LOADED, json.dumps([own_imports(text) for text in sources])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for source, line in zip(sources, done.stdout.splitlines(), strict=True):
        loaded = {word.partition(".")[2] or "__init__" for word in line.split()}
        assert len(loaded) > 1
        assert loaded <= {path.stem for path in fingerprint.modules_used(source)}


def test_profile_settings_carry_the_profiles_name(root):
    assert fingerprint.of_profile("smoke", "01_first") == {"epochs": 2, "profile": "smoke"}
    assert fingerprint.of_profile("smoke", "scoreboard") == {"profile": "smoke"}
    (root / "notebooks/profiles/smoke.yml").write_text("01_first:\n")
    assert fingerprint.of_profile("smoke", "01_first") == {"profile": "smoke"}


def test_an_unknown_profile_is_refused(root):
    for ask in (fingerprint.of_chapter, lambda name, profile: fingerprint.of_scoreboard(profile)):
        with pytest.raises(BadInput, match=r"Unknown profile 'smok'.*'smoke'.*quick, smoke"):
            ask("01_first", "smok")


@pytest.mark.parametrize(
    "text", ["", "- a\n", "text", "5", "01_first: 5\n", "01_first: [a]\n", "a: [", "a:\tb:\n c"]
)
def test_a_profile_that_maps_nothing_is_refused(root, text):
    (root / "notebooks/profiles/smoke.yml").write_text(text)
    with pytest.raises(BadInput, match=r"smoke\.yml"):
        fingerprint.of_profile("smoke", "01_first")


@pytest.mark.parametrize(
    "text", ["01_fist:\n  epochs: 2\n", "01_fist:\n", "01_first: {}\n01_fist: {}"]
)
def test_a_misspelled_chapter_in_a_profile_is_refused(root, text):
    (root / "notebooks/profiles/smoke.yml").write_text(text)
    message = r"chapter in .*smoke\.yml '01_fist'. Did you mean '01_first'\?.*02_second, scoreboard"
    for name in ("01_first", "02_second", "scoreboard"):
        with pytest.raises(BadInput, match=message):
            fingerprint.of_profile("smoke", name)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("book/intro.md", True),
        ("_config.yml", True),
        ("_toc.yml", True),
        ("CITATION.cff", True),
        ("requirements.lock", True),
        ("notebooks/01_first.py", False),  # counts once it is executed
        ("src/bn_memorization/alpha.py", False),
        ("src/bn_memorization/site.py", True),  # it builds them
        ("src/bn_memorization/chapter.py", False),
        ("data/embedded/manifest.json", False),
        ("published/measured/speed.json", True),  # prose tells it
        ("src/bn_memorization/scale.py", True),
    ],
)
def test_what_the_pages_depend_on(root, file, counts):
    (root / "published" / "measured").mkdir(parents=True)
    (root / "published" / "measured" / "speed.json").write_text("{}")
    (root / "src/bn_memorization/scale.py").write_text("")
    before = fingerprint.of_site()
    append(root / file)
    assert (fingerprint.of_site() != before) == counts


def test_new_files_count_for_the_pages_and_compiled_ones_do_not(root):
    before = fingerprint.of_site()
    for name in ("book/_ext/__pycache__/x.pyc", "_build/html/index.html", "runs/x"):
        (root / name).parent.mkdir(parents=True)
        (root / name).touch()
    assert fingerprint.of_site() == before
    (root / "book/chapters").mkdir()
    (root / "book/chapters/01_first.ipynb").touch()
    assert fingerprint.of_site() != before


def test_mark_of_reads_what_an_executed_notebook_says(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"metadata": {"bn_memorization": {"made_from": "5"}}, "cells": []}))
    assert fingerprint.mark_of(path) == "5"


def test_the_parameters_are_those_that_an_executed_notebook_says(tmp_path):
    path = tmp_path / "a.ipynb"
    said = {"made_from": "5", "parameters": {"epochs": 3}}
    path.write_text(json.dumps({"metadata": {"bn_memorization": said}, "cells": []}))
    assert fingerprint.parameters_of(path) == {"epochs": 3}
    path.write_text("{}")
    with pytest.raises(KeyError):
        fingerprint.parameters_of(path)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "5", '"text"', "{}", '{"metadata": {}}', '{"metadata": null}',
     '{"metadata": {"bn_memorization": "x"}}', '{"metadata": {"bn_memorization": {}}}', "\x00",
     '{"metadata": {"bn_memorization": {"made_from": "5"'],
)  # fmt: skip
def test_mark_of_a_notebook_without_one_is_none(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    assert fingerprint.mark_of(path) is None


def test_mark_of_what_is_no_readable_file_is_none(tmp_path):
    assert fingerprint.mark_of(tmp_path / "missing.ipynb") is None
    assert fingerprint.mark_of(tmp_path) is None
    (tmp_path / "binary.ipynb").write_bytes(b"\xff\xfe\x00")
    assert fingerprint.mark_of(tmp_path / "binary.ipynb") is None
