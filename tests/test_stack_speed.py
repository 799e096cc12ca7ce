from pathlib import Path

import pytest

from bn_memorization import measured, stack_speed

CPU = {
    "where": "cpu", "networks": 32, "seconds": 2.0, "other_seconds": 3.0, "times": 1.5, "low": 1.25,
    "high": 1.75, "n": 5, "error": 2e-12, "tolerance": 1e-5,
}  # fmt: skip
GPU = {"where": "cuda", "networks": 32}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Return a function that keeps a measurement of the given rows."""
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))

    def keep(rows: dict) -> Path:
        return measured.write("speed", {"rows": rows})

    return keep


def cells() -> list[list[str]]:
    rows = stack_speed.table().splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_without_a_gpu_the_table_says_so(kept):
    kept({"stacked": {"lines": [GPU, CPU]}})
    assert cells() == [
        ["32", "a GPU", "", "", "not measured on a GPU", ""],
        [
            *("32", "one thread of a CPU", "2.0 s", "3.0 s", "1.5 (1.2 to 1.8, n = 5)"),
            "2e\N{MINUS SIGN}12",
        ],
    ]


def test_before_any_measurement_it_says_so_too(kept):
    kept({})
    assert cells() == [["32", "a GPU", "", "", "not measured on a GPU", ""]]


def test_a_ratio_on_a_gpu_is_told(kept):
    line = {"ratio": 12.0, "low": 11.0, "high": 13.0, "n": 5, "seconds": 1.0, "other_seconds": 12.0}
    kept({"stacked": {"lines": [GPU | line]}})
    assert cells()[0][2:5] == ["1.0 s", "12.0 s", "12.0 (11.0 to 13.0, n = 5)"]
    told = stack_speed.told(GPU | line)
    assert told == "32 LeNets as one stack on a GPU: 12.0 (11.0 to 13.0, n = 5)"
