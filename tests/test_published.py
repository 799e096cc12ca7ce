import json
import shutil
from dataclasses import replace

import nbformat
import numpy as np
import pytest
import tiny_book
from verdicts import NOT, verdict

from bn_memorization import chapter, cli, fingerprint, paths, plans, published, report, runs, store
from bn_memorization.claims import CLAIMS
from bn_memorization.errors import BadInput, Failure

ARRAYS = {"loss": np.array([0.5, 0.25])}
NAMES = ("01_first", "02_second")


def address(config: str) -> store.Address:
    return store.Address("train", {"name": config}, "d" * 64, 1)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tiny book whose two chapters have been executed at smoke, each with a record."""
    (tmp_path / "book" / "chapters").mkdir(parents=True)
    root = tiny_book.write(tmp_path, monkeypatch)
    monkeypatch.setattr(runs, "address", address)
    planned = {name: lambda _, name=name: [name, "shared"] for name in NAMES}
    monkeypatch.setattr(plans, "CHAPTERS", planned)
    for config in (*NAMES, "shared"):
        store.write(address(config), ARRAYS, {})
    execute("smoke")
    return root


def execute(profile: str) -> None:
    for name in NAMES:
        glued = json.dumps([report.plain(verdict(NOT)) | {"profile": profile}])
        mark = fingerprint.of_chapter(name, profile)
        made = tiny_book.executed(mark, verdicts=glued)
        nbformat.write(made, paths.chapters() / f"{name}.ipynb")


def shipped(root) -> set[str]:
    return {path.name for path in (root / "published" / "records" / "train").iterdir()}


def test_verdicts_and_records_are_published_and_found(root):
    published.publish("smoke")
    (found,) = published.published()
    assert found.profile == "smoke"
    assert [v["claim"] for v in found.verdicts] == ["forced_final"] * 2
    keys = {address(config).key for config in (*NAMES, "shared")}
    assert {record.removeprefix("train/") for record in found.records} == shipped(root) == keys
    shutil.rmtree(root / "runs")
    assert store.exists(address("shared"))
    arrays, _ = store.read(address("shared"))
    np.testing.assert_array_equal(arrays["loss"], ARRAYS["loss"])


def test_a_verdict_on_a_claim_that_has_changed_is_not_told(root, monkeypatch):
    published.publish("smoke")
    assert [v["declared"]["threshold"] for v in published.verdicts()] == [0.0, 0.0]
    other = replace(CLAIMS["forced_final"], threshold=0.5)
    monkeypatch.setattr(published, "DECLARED", {"forced_final": other})
    assert published.verdicts() == []
    monkeypatch.setattr(published, "DECLARED", {})
    assert published.verdicts() == []


def test_an_own_record_comes_before_a_published_one(root):
    published.publish("smoke")
    assert address("shared").folder.is_relative_to(root / "runs")
    shutil.rmtree(root / "runs")
    assert address("shared").folder.is_relative_to(root / "published")
    assert address("another").folder.is_relative_to(root / "runs")


def test_publishing_again_changes_nothing(root):
    published.publish("smoke")
    before = (root / "published" / "smoke.json").read_bytes()
    published.publish("smoke")
    assert (root / "published" / "smoke.json").read_bytes() == before


def test_records_that_no_profile_names_are_removed(root):
    published.publish("smoke")
    stray = root / "published" / "records" / "train" / "of-an-older-version"
    shutil.copytree(address("shared").folder, stray)
    execute("quick")
    published.publish("quick")
    assert [found.profile for found in published.published()] == ["quick", "smoke"]
    assert stray.name not in shipped(root)
    assert len(shipped(root)) == 3


def test_a_chapter_that_is_not_up_to_date_is_left_out(root, capsys):
    (paths.chapters() / "02_second.ipynb").unlink()
    published.publish("smoke")
    (found,) = published.published()
    assert found.chapters == ["01_first"]
    assert len(found.verdicts) == 1
    assert {record.removeprefix("train/") for record in found.records} == {
        address("01_first").key,
        address("shared").key,
    }
    assert (
        "Left out, since they are not up to date with smoke: 02_second" in capsys.readouterr().out
    )


def test_a_book_that_is_not_up_to_date_is_not_published(root):
    with pytest.raises(Failure, match=r"No chapter is up to .*`make book PROFILE=quick`"):
        published.publish("quick")
    assert published.published() == []


def test_a_damaged_record_is_not_published(root):
    (address("shared").folder / store.ARRAYS).write_bytes(b"half")
    with pytest.raises(store.DamagedRecord):
        published.publish("smoke")
    assert published.published() == []


def test_an_unknown_profile_is_bad_input(root, capsys):
    with pytest.raises(BadInput, match="smok"):
        published.publish("smok")
    assert cli.main(["publish", "--profile", "smok"]) == 2
    assert "Unknown profile 'smok'" in capsys.readouterr().err


def test_the_scoreboard_is_out_of_date_when_something_is_published(root):
    before = fingerprint.of_scoreboard("smoke")
    chapters = [fingerprint.of_chapter(name, "smoke") for name in NAMES]
    published.publish("smoke")
    assert fingerprint.of_scoreboard("smoke") != before
    assert [fingerprint.of_chapter(name, "smoke") for name in NAMES] == chapters


def test_what_this_repository_ships_is_whole():
    """Every shipped record is named by a profile, readable, and where its content says."""
    named = {record for found in published.published() for record in found.records}
    folder = paths.published() / store.RECORDS
    assert {str(path.relative_to(folder)) for path in folder.glob("*/*")} == named
    for record in named:
        meta = json.loads((folder / record / store.META).read_text())
        told = store.Address(*(meta[k] for k in ("kind", "config", "data_sha256", "version")))
        assert f"{told.kind}/{told.key}" == record
        store.read(told)


def test_a_chapter_is_planned_as_the_book_plans_it(root):
    assert chapter.plan("01_first", "smoke").configs == ["01_first", "shared"]
