"""The three lists of packages agree: pyproject.toml, requirements.lock and environment.yml."""

import re
import tomllib

import pytest
import yaml
from checkouts import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
LOCK = (REPOSITORY / "requirements.lock").read_text()
CONDA = yaml.safe_load((REPOSITORY / "environment.yml").read_text())


def declared():
    return [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]


def test_every_direct_dependency_is_pinned_exactly():
    for requirement in declared():
        assert re.fullmatch(r"[a-z0-9_-]+==[0-9a-z.]+", requirement), requirement


def test_lock_holds_every_pin():
    locked = set(re.findall(r"^([a-z0-9_.-]+==\S+)", LOCK, re.M))
    assert set(declared()) <= locked


def test_lock_has_a_hash_for_every_package_and_names_no_address():
    packages = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.M)[1:]
    assert len(packages) > len(declared())
    for package in packages:
        assert "--hash=sha256:" in package, package
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
    assert "--find-links" not in LOCK


def test_conda_environment_has_the_same_pins_and_python():
    *conda, pip = CONDA["dependencies"]
    assert pip == {"pip": declared()}
    assert f"python{PROJECT['requires-python']}" in conda


@pytest.mark.parametrize("verb", ["book", "chapter", "data", "test", "lint", "clean"])
def test_makefile_and_command_line_have_the_same_verbs(verb):
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(rf"^{verb}: .*## ", makefile, re.M)
    assert re.search(rf"\$\(RUN\) {verb}\b", makefile)
