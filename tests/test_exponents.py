import numpy as np
import pytest

from bn_memorization import exponents, measured

SIZES = [16, 64, 256, 1024]


def curve(**changes) -> dict:
    return {
        "what": "a work", "varied": "samples", "at": SIZES, "n": 5,
        "seconds": [1e-6 * size**2 for size in SIZES], "bytes": [3000 * size for size in SIZES],
        **changes,
    }  # fmt: skip


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    other = curve(what="another", varied="blocks", seconds=[0.1, 0.2, 0.3, 0.5])
    row = {"lines": [curve(), other]}
    measured.write("speed", {"rows": {exponents.ROW: row}})


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_a_planted_power_is_found(power):
    noise = np.exp(np.random.default_rng(0).normal(0, 0.05, len(SIZES)))
    found = exponents.fit(SIZES, 7 * np.power(SIZES, power) * noise)
    assert found.low < power < found.high
    assert found.exponent == pytest.approx(power, abs=0.1)
    assert found.high - found.low < 0.5


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(400):
        found = exponents.fit(SIZES, np.power(SIZES, 1.5) * np.exp(rng.normal(0, 0.1, 4)))
        covered.append(found.low < 1.5 < found.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_memory_that_does_not_grow_has_the_power_zero():
    assert exponents.powers(curve(bytes=[0, 0, 0, 0]))["bytes"].exponent == 0


def test_the_section_has_what_is_steep_a_drawing_and_a_table(kept):
    text = exponents.section()
    assert "time of a work with samples (2.0)" in text
    assert "another" not in text.split("An exponent of 1")[0]
    assert 'role="img"' in text
    assert "| a work | samples | 16 | 1,024 | 2.00 (2.00 to 2.00) | 1.00 (1.00 to 1.00) |" in text
    assert text == exponents.section()  # the same bytes


def test_without_the_row_the_page_says_what_makes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    measured.write("speed", {"rows": {}})
    assert exponents.section() == "Not measured here: `make bench ROWS=scaling`."


def test_a_curve_is_told_in_a_line():
    assert "time 2.00" in exponents.told(curve())
