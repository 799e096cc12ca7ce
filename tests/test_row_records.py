import csv
import io
import json
from dataclasses import asdict
from functools import cache

import pytest
from test_scoreboard import found
from verdicts import REPRODUCED, verdict

from bn_memorization import (
    chapter,
    fingerprint,
    paths,
    published,
    row_records,
    row_runs,
    run_kinds,
    store,
)
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS
from bn_memorization.run_kinds import KINDS

CHAPTER = CLAIMS["forced_final"].chapter
PLACE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}


def written(key: str, profile: str, where: dict) -> dict:
    made = found(key, verdict(REPRODUCED), profile)
    made["rows"][0]["where"] = where
    return made


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Chapter 1, as if this build had executed it with the parameters of the smoke profile."""
    parameters = chapter.plan(CHAPTER, "smoke").parameters
    folder = tmp_path / "chapters"
    folder.mkdir()
    notebook = {"metadata": {fingerprint.MARK: {"made_from": "x", "parameters": parameters}}}
    (folder / f"{CHAPTER}.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(paths, "chapters", lambda: folder)
    monkeypatch.setattr(row_records, "_name", cache(row_records._name.__wrapped__))
    return parameters


def test_a_row_of_this_build_has_the_records_that_its_chapter_reads(executed):
    (row,) = row_records.rows([written("forced_final", "smoke", PLACE)], "smoke")
    configs = row_runs.behind("forced_final", PLACE, executed)
    assert list(row.records.values()) == configs
    for record, config in row.records.items():
        address = run_kinds.address(config)
        assert record.endswith(f"/train/{address.key}")
        assert record.startswith(("runs/", "published/records/"))
    assert row.file == f"{CHAPTER}-smoke.csv"


def test_a_record_that_comes_with_the_code_is_named_where_it_is_read(
    executed, tmp_path, monkeypatch
):
    (row,) = row_records.rows([written("forced_final", "smoke", PLACE)], "smoke")
    config = next(iter(row.records.values()))
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(paths, "published", lambda: tmp_path / "published")
    monkeypatch.setattr(row_records, "_name", row_records._name.__wrapped__)
    key = run_kinds.address(config).key
    assert row_records._name(config) == f"runs/train/{key}"
    (tmp_path / "published" / store.RECORDS / "train" / key).mkdir(parents=True)
    assert row_records._name(config) == f"published/records/train/{key}"


def test_every_published_row_has_all_its_records_among_the_published_ones():
    """And none that does not stand in the list of what was published."""
    listed = {record for one in published.published() for record in one.records}
    shown = row_records.rows(published.verdicts(), "another")
    assert shown
    for row in shown:
        parameters = chapter.plan(row.claim.chapter, row.profile).parameters
        wanted = row_runs.behind(row.claim.key, row.where, parameters)
        assert list(row.records.values()) == wanted, row.claim.key
        assert {name.removeprefix("published/records/") for name in row.records} <= listed


def test_a_published_run_is_found_by_its_config_and_left_out_where_it_is_not(tmp_path, monkeypatch):
    configs = row_runs.behind("forced_final", PLACE, chapter.plan(CHAPTER, "standard").parameters)
    first = configs[0]
    folder = tmp_path / store.RECORDS / KINDS[type(first)].folder / "a-key"
    folder.mkdir(parents=True)
    (folder / store.META).write_text(json.dumps({"kind": "train", "config": asdict(first)}))
    monkeypatch.setattr(paths, "published", lambda: tmp_path)
    monkeypatch.setattr(row_records, "_published", row_records._published.__wrapped__)
    (row,) = row_records.rows([written("forced_final", "standard", PLACE)], "quick")
    assert row.records == {"published/records/train/a-key": first}


def test_a_list_has_a_line_for_each_record_of_each_row_with_its_settings(executed):
    verdicts = [written(key, "smoke", PLACE) for key in ("forced_final", "forced_speed")]
    shown = row_records.rows(verdicts, "smoke")
    ((file, text),) = row_records.lists(shown).items()
    assert file == f"{CHAPTER}-smoke.csv"
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["record"] for line in lines] == [name for row in shown for name in row.records]
    assert {line["claim"] for line in lines} == {"forced_final", "forced_speed"}
    config = next(iter(shown[0].records.values()))
    assert lines[0]["setting"] == "MNIST, LeNet, 5\N{NO-BREAK SPACE}% flipped"
    assert lines[0]["run"] == config.describe()
    assert {name: lines[0][name] for name in asdict(config)} == {
        name: "" if value is None else str(value) for name, value in asdict(config).items()
    }


def test_kinds_of_runs_that_differ_share_a_list():
    """What one has no such setting of is blank."""
    standard = row_records.rows(published.verdicts(), "another")
    text = row_records.lists(standard)["08_controls-standard.csv"]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert {bool(line["pool_size"]) for line in lines} == {True, False}
    assert all(bool(line["pool_size"]) != bool(line["train_size"]) for line in lines)
    assert "04_margin_growth-standard.csv" in row_records.lists(standard)
    assert {line["claim"] for line in lines} <= CONTROLS.keys()


def test_a_row_without_records_is_in_no_list():
    (row,) = row_records.rows([written("growth_factor", "standard", {})], "quick")
    assert row.records == {}
    assert row_records.lists([row]) == {}
