import re

import pytest

from bn_memorization import measured, scale

HARMLESS = {
    "fault": "disk full",
    "means": "a tmpfs",
    "tried": 3,
    "finished": 9,
    "lost": 0,
    "retrained": 0,
    "again": 2,
    "half_written": 0,
    "same": True,
}
COSTS = {
    "run": {
        "records": 200,
        "disk_bytes": 80_000,
        "answer_bytes": 90_000,
        "call_bytes": 500,
        "training_seconds": 26.0,
        "write_seconds": 0.008,
        "find_seconds": 0.0001,
        "read_seconds": 0.002,
    },
    "tasks": {"count": 10_000, "seconds_a_task": 0.005, "ahead": 1000, "grown_bytes": 6e7},
    "overhead": {
        "runs": 20, "run_seconds": 5.0, "workers": 2, "seconds": 51.0, "ideal_seconds": 50.0,
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))


def cells(text: str) -> list[list[str]]:
    """Return the rows of the Markdown table in a text, its head first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_row_a_fault():
    measured.write("faults", {"trials": [HARMLESS, HARMLESS | {"fault": "x", "same": False}]})
    head, _, first, second = cells(scale.faults())
    assert dict(zip(head, first, strict=True)) == {
        "fault": "**disk full**: a tmpfs",
        "tried": "3",
        "lost": "0",
        "repeated": "0",
        "half-written": "0",
        "results": "the same",
        "made again": "2",
    }
    assert second[5] == "other"
    assert "Measured on " in scale.faults()


def test_no_harm_is_said_only_where_there_was_none():
    measured.write("faults", {"trials": [HARMLESS, HARMLESS]})
    assert "2 kinds of fault were let happen 6 times. No finished" in scale.faults_summary()
    for harm in ({"lost": 1}, {"retrained": 1}, {"half_written": 1}):
        measured.write("faults", {"trials": [HARMLESS, HARMLESS | harm]})
        assert "1 finished runs were lost, trained again or left" in scale.faults_summary()
    measured.write("faults", {"trials": [HARMLESS | {"same": False}]})
    assert "Results changed after: disk full." in scale.faults_summary()


def test_many_runs_cost_as_many_times_what_one_does():
    measured.write("scheduler", COSTS)
    head, _, *rows = cells(scale.sizes())
    assert head == ["what it takes", "1,000 runs", "1,000,000 runs"]
    found = {row[0]: row[1:] for row in rows}
    assert found["files, two a record"] == ["2,000", "2,000,000"]
    assert found["disk"] == ["80 MB", "80 GB"]
    assert found["out to workers, calls"] == ["500 kB", "500 MB"]
    assert found["back from workers, results"] == ["90 MB", "90 GB"]
    assert found["scheduler and driver, a task"] == ["5 s", "1.4 hours"]
    assert found["training, on one core"] == ["7.2 hours", "300 days"]


def test_what_one_driver_keeps_up_with():
    measured.write("scheduler", COSTS)
    told = scale.sizes_summary()
    assert "busy for 13 ms a run, so it keeps up with about 2,000 such workers" in told
    assert "10,000 calls that do nothing" in told
    assert "5.0 ms each" in told


def test_what_dask_adds():
    measured.write("scheduler", COSTS)
    assert scale.overhead().endswith("where 50 s are the least possible: 2.0 % more.")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (76_015, "76 kB"), (3.2e12, "3.2 TB")],
)
def test_sizes(count, text):
    assert scale.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.5, "0.5 s"), (90, "1.5 min"), (5400, "1.5 hours"), (9e4, "1 days"), (9e8, "29 years")],
)
def test_durations(seconds, text):
    assert scale.duration(seconds) == text


def test_what_comes_with_the_code_is_told(monkeypatch):
    """From the real measurements: no exponent, and nothing that is not a number."""
    monkeypatch.delenv("BN_MEMORIZATION_ROOT")
    tables, told = (scale.faults, scale.sizes), (scale.faults_summary, scale.sizes_summary)
    for tell in (*tables, *told, scale.overhead):
        assert not re.search(r"\de[+-]\d|nan\b|inf\b|None", tell())


def test_dask_adds_less_than_a_twentieth_to_runs_of_five_seconds(monkeypatch):
    monkeypatch.delenv("BN_MEMORIZATION_ROOT")
    found = measured.read("scheduler")["overhead"]
    assert found["run_seconds"] == 5
    assert found["seconds"] < 1.05 * found["ideal_seconds"]
