import pytest

from bn_memorization import measured, speed
from bn_memorization.errors import Failure
from bn_memorization.report import NO_BREAK

LINE = {
    "what": "a work", "against": "another", "seconds": 0.05, "other_seconds": 2.0, "ratio": 40.0,
    "low": 30.0, "high": 50.0, "n": 5, "target": 3, "limit": "product", "of_limit": 0.25,
    "error": 2e-7, "tolerance": 1e-5,
}  # fmt: skip
MEMORY = {
    "what": "memory", "against": "all of it", "bytes": 3 * 2**20, "other_bytes": 9 * 2**20,
    "ratio": 3.0, "target": 4,
}  # fmt: skip


MACHINE = {"processor": "A chip", "cores": 2, "gpu": False}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    row = {"load": 0.5, **MACHINE}
    measured.write(
        "speed",
        {"rows": {"a": {**row, "lines": [LINE]}, "b": {**row, "load": 1.5, "lines": [MEMORY]}}},
    )


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, True),
        ({"ratio": 3.0}, True),
        ({"ratio": 2.9}, False),
        ({"error": 2e-5}, False),  # fast and wrong
    ],
)
def test_a_target_is_reached_by_the_ratio_and_by_equal_results(changes, wanted):
    assert speed.reached(LINE | changes) is wanted


def test_the_summary_counts_what_is_reached_and_names_what_is_not(kept):
    text = speed.summary()
    assert text.startswith("1 of 2 are reached. Measured on A chip, 2 cores")
    assert "a load of 0.5 to 1.5" in text
    assert text.endswith("Not reached: memory against all of it. Nothing was measured on a GPU.")


def test_the_table_has_a_row_a_line(kept):
    head, rule, first, second = speed.table().splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == second.count("|")
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[2:] == [
        f"50.0{NO_BREAK}ms", f"2.0{NO_BREAK}s",
        "40.0 (30.0 to 50.0, n = 5)", "3", "25% of a matrix product's rate",
        "2e\N{MINUS SIGN}07",
    ]  # fmt: skip
    assert "| 3.15 MB | 9.44 MB | 3.00 | 4 |" in second.replace(NO_BREAK, " ")


def test_without_a_measurement_the_page_says_what_makes_one(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    with pytest.raises(Failure, match=r"benchmarks/speed\.py makes it"):
        speed.summary()


def add(row: str, lines: list[dict]) -> None:
    rows = measured.read("speed")["rows"]
    measured.write("speed", {"rows": {**rows, row: {"load": 0.1, "lines": lines, **MACHINE}}})


def test_parts_of_a_step_are_a_table_and_no_comparison(kept):
    assert speed.step_table() == "Not measured here: `make bench ROWS=step`."
    before = len(list(speed.lines()))
    add(speed.STEP, [{"part": "pooling", "seconds": 0.0015, "share": 0.25}])
    assert speed.step_table().splitlines()[-1] == f"| pooling | 1.5{NO_BREAK}ms | 25% |"
    assert len(list(speed.lines())) == before


def test_how_much_faster_batch_mode_could_be_is_told_by_network(kept):
    assert "not measured" in speed.bounds()
    line = {**LINE, "what": "batch-mode norms, lenet, B = 64, vmap", "possible": 3.96}
    add("c", [{**line, "error_there": 2e-5}])
    text = speed.bounds().replace("\N{MINUS SIGN}", "-")
    assert "faster by a factor of 4.0 for lenet." in text
    assert "is vmap, with a difference of at most 2e-07 where the passes have 2e-05." in text
