import pytest

from bn_memorization import measured
from bn_memorization.errors import Failure


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    return tmp_path


def test_what_is_written_is_read_with_how_it_was_made(root):
    path = measured.write("speed", {"seconds": 3.5})
    assert path == root / "published" / "measured" / "speed.json"
    found = measured.read("speed")
    assert found["seconds"] == 3.5
    assert found["made"].keys() == {"day", "system", "cores", "load", "versions"}
    assert found["made"]["versions"].keys() >= {"bn_memorization", "python", "torch"}
    assert str(root) not in path.read_text()


def test_a_package_that_is_not_there_has_no_version(monkeypatch):
    monkeypatch.setattr(measured, "PACKAGES", ("torch", "no_such_package"))
    measured.write("x", {})
    assert measured.read("x")["made"]["versions"].keys() == {"bn_memorization", "python", "torch"}


@pytest.mark.parametrize("content", [None, "{"])
def test_without_a_measurement_the_script_that_makes_it_is_named(content):
    if content:
        measured.write("speed", {})
        measured.path_of("speed").write_text(content)
    with pytest.raises(Failure, match=r"speed.json cannot be read .*benchmarks/speed.py makes it"):
        measured.read("speed")
