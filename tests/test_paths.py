from pathlib import Path

import pytest

from bn_memorization import paths
from bn_memorization.errors import Failure

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def _no_variables(monkeypatch):
    for variable in ("ROOT", "DATA", "RUNS"):
        monkeypatch.delenv(f"BN_MEMORIZATION_{variable}", raising=False)


@pytest.mark.usefixtures("_no_variables")
def test_root_is_found_from_the_package():
    assert paths.root() == REPOSITORY
    assert paths.embedded() == REPOSITORY / "data" / "embedded"
    assert paths.full_data() == REPOSITORY / "data" / "full"
    assert paths.runs() == REPOSITORY / "runs"


@pytest.mark.usefixtures("_no_variables")
def test_root_can_be_given(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    for folder in (paths.embedded, paths.full_data, paths.runs, paths.profiles, paths.chapters):
        assert tmp_path in folder().parents
    assert paths.build() == tmp_path / "_build"


def test_data_and_runs_can_lie_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(tmp_path / "d"))
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "r"))
    assert paths.full_data() == tmp_path / "d"
    assert paths.runs() == tmp_path / "r"


@pytest.mark.usefixtures("_no_variables")
def test_package_outside_a_checkout_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "site-packages" / "paths.py"))
    with pytest.raises(Failure, match="BN_MEMORIZATION_ROOT"):
        paths.root()
