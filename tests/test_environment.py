"""The three lists of packages agree: pyproject.toml, requirements.lock and environment.yml."""

import re
import tomllib

import pytest
import yaml
from checkouts import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
LOCK = (REPOSITORY / "requirements.lock").read_text()
CONDA = yaml.safe_load((REPOSITORY / "environment.yml").read_text())


DASK = PROJECT["optional-dependencies"]["dask"]
DASK_LOCK = (REPOSITORY / "requirements-dask.lock").read_text()


def declared():
    return [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]


def test_every_direct_dependency_is_pinned_exactly():
    for requirement in [*declared(), *DASK]:
        assert re.fullmatch(r"[a-z0-9_-]+==[0-9a-z.]+", requirement), requirement


def test_lock_holds_every_pin():
    locked = set(re.findall(r"^([a-z0-9_.-]+==\S+)", LOCK, re.M))
    assert set(declared()) <= locked


def test_dasks_lock_holds_its_pins_and_agrees_with_the_other():
    of_dask, of_all = (
        dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)", lock, re.M)) for lock in (DASK_LOCK, LOCK)
    )
    assert set(DASK) <= {f"{name}=={version}" for name, version in of_dask.items()}
    shared = of_dask.keys() & of_all.keys()
    assert {name: of_dask[name] for name in shared} == {name: of_all[name] for name in shared}


@pytest.mark.parametrize("lock", [LOCK, DASK_LOCK])
def test_lock_has_a_hash_for_every_package_and_names_no_address(lock):
    packages = re.split(r"^(?=[a-z0-9])", lock, flags=re.M)[1:]
    assert len(packages) > len(DASK)
    for package in packages:
        assert "--hash=sha256:" in package, package
    assert "://" not in lock
    assert "--index-url" not in lock
    assert "--find-links" not in lock


def test_conda_environment_has_the_same_pins_and_python():
    *conda, pip = CONDA["dependencies"]
    assert pip == {"pip": declared()}
    assert f"python{PROJECT['requires-python']}" in conda


@pytest.mark.parametrize(
    "verb",
    [
        *("book", "chapter", "pdf", "site", "results", "plan", "data", "publish"),
        *("test", "lint", "clean"),
    ],
)
def test_makefile_and_command_line_have_the_same_verbs(verb):
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(rf"^{verb}: .*## ", makefile, re.M)
    assert re.search(rf"\$\(RUN\) {verb}\b", makefile)
