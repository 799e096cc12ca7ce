import json
import re
from pathlib import Path

import nbformat
import pytest
import tiny_book
from test_report import cells
from verdicts import NOT, REPRODUCED, UNTESTED, evidence, verdict

from bn_memorization import fingerprint, report, scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.errors import Failure
from bn_memorization.judging import Verdict


def found(key: str, made: Verdict, profile: str = "smoke") -> dict:
    """Return a verdict as an executed chapter gives it, for the claim `key`."""
    return report.plain(made) | {"claim": key, "profile": profile}


RESULTS = {
    "forced_final": found("forced_final", verdict(REPRODUCED, NOT)),
    "forced_speed": found("forced_speed", verdict(evidence(1.0, 2.0, 3.0), unit="epochs"), "quick"),
}


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    (tmp_path / "book" / "chapters").mkdir(parents=True)
    return tiny_book.write(tmp_path, monkeypatch)


def write_executed(root: Path, chapter: str, *verdicts: dict) -> None:
    path = root / "book" / "chapters" / f"{chapter}.ipynb"
    nbformat.write(tiny_book.executed(verdicts=json.dumps(verdicts)), path)


def test_collect_reads_every_executed_chapter(root):
    write_executed(root, "01_first", *RESULTS.values())
    other = found("growth_factor", verdict(UNTESTED))
    write_executed(root, "02_second", other)
    write_executed(root, "99_left_over", found("penalty", verdict(NOT)))  # no chapter's source
    assert scoreboard.collect() == RESULTS | {"growth_factor": other}


def test_collect_fails_without_a_chapter_or_its_verdicts(root):
    write_executed(root, "01_first", *RESULTS.values())
    with pytest.raises(Failure, match=r"02_second\.ipynb is not there"):
        scoreboard.collect()
    nbformat.write(tiny_book.executed(answer="x"), root / "book/chapters/02_second.ipynb")
    with pytest.raises(Failure, match="glues nothing under 'verdicts'"):
        scoreboard.collect()


def test_word_is_the_chapters_or_that_it_was_not_run():
    assert scoreboard.word(CLAIMS["forced_final"], RESULTS) == "partly"
    assert scoreboard.word(CLAIMS["forced_speed"], RESULTS) == "reproduced"
    assert scoreboard.word(CLAIMS["penalty"], RESULTS) == "not run in this build"
    assert scoreboard.word(CLAIMS["forced_final"], {}) == "not run in this build"


def numbers_in(text: str) -> list[int]:
    return [int(word) for word in text.replace(",", " ").split() if word.isdigit()]


def test_summary_counts():
    n = len(CLAIMS)
    assert numbers_in(scoreboard.summary({})) == [n, 0, 0]
    text = scoreboard.summary(RESULTS)
    assert numbers_in(text) == [n, 2, 1]  # one of the two is only partly so
    assert "cannot be tested" not in text
    untested = {key: found(key, verdict(UNTESTED)) for key in ("growth_factor", "penalty")}
    text = scoreboard.summary(RESULTS | untested)
    assert numbers_in(text) == [n, 4, 1, 2]
    assert "2 cannot be tested" in text


def rows_of(results: dict) -> dict[str, list[str]]:
    """Return {statement: row} of the overview, its rule and head checked."""
    lines = [
        [part.strip().replace(r"\|", "|") for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in scoreboard.overview(results).data.splitlines()
    ]
    head, rule, *rows = lines
    assert set("".join(rule)) == {"-"}
    assert all(len(row) == len(head) == 5 for row in lines)
    return {row[1]: row for row in rows}


def test_overview_lists_every_claim_with_what_decides_it():
    rows = rows_of(RESULTS)
    assert list(rows) == [claim.statement for claim in CLAIMS.values()]
    for claim in CLAIMS.values():
        number, _, quantity, holds_if, _ = rows[claim.statement]
        assert number == str(claim.number)
        assert quantity == claim.quantity
        assert holds_if.startswith(claim.direction)
        assert holds_if.endswith(f"n at least {claim.least_n}")


def test_overview_shows_thresholds_in_the_readers_unit():
    rows = rows_of({})
    for key, text in {
        "forced_final": "above 0 points",
        "forced_speed": "above 0,",
        "membership_1": "above 3 points",
        "growth_factor": "below 1e-10,",
        "ratio_above_one": "above 0.5,",
    }.items():
        assert rows[CLAIMS[key].statement][3].startswith(text)


def test_overview_links_each_verdict_to_its_chapter():
    rows = rows_of(RESULTS)
    final = CLAIMS["forced_final"]
    assert rows[final.statement][4] == f"[partly]({final.chapter}.ipynb)"
    for claim in CLAIMS.values():
        assert rows[claim.statement][4].endswith(f"]({claim.chapter}.ipynb)")
    missing = CLAIMS["penalty"]
    assert rows[missing.statement][4] == f"[not run in this build]({missing.chapter}.ipynb)"


def test_settings_has_a_row_for_each_setting_of_each_claim():
    head, *rows = cells(scoreboard.settings(RESULTS))
    titles = [f"{CLAIMS[key].number}. {CLAIMS[key].title}" for key in RESULTS]
    assert head == ["claim", "setting", "effect", "interval", "n", "profile", "verdict"]
    mnist = "MNIST, LeNet, 5 % flipped"
    assert rows == [
        [titles[0], mnist, "+20.0 points", "+10.0 to +30.0 points", "4", "smoke", "reproduced"],
        [titles[0], "CIFAR-10, LeNet, 5 % flipped", "-20.0 points", "-30.0 to -10.0 points", "4",
         "smoke", "not reproduced"],
        [titles[1], mnist, "+2.0 epochs", "+1.0 to +3.0 epochs", "4", "quick", "reproduced"],
    ]  # fmt: skip


def test_settings_are_the_same_html_for_the_same_results():
    again = json.loads(json.dumps(RESULTS))
    assert scoreboard.settings(again).to_html() == scoreboard.settings(RESULTS).to_html()


def test_intervals_name_each_kind_once_with_its_claims():
    other = found("growth_factor", verdict(UNTESTED))
    for row in other["rows"]:
        row["interval"] = "range"
    text = scoreboard.intervals(RESULTS | {"growth_factor": other}).data
    titles = ", ".join(CLAIMS[key].title for key in RESULTS)
    kind = RESULTS["forced_final"]["rows"][0]["interval"]
    assert text == (
        f"The intervals are: {kind} ({titles}); range ({CLAIMS['growth_factor'].title})."
    )


def test_real_chapters_give_verdicts_on_their_own_claims(built_site, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(built_site.parents[1]))
    results = scoreboard.collect()
    # At smoke not every claim's setting is run, but every chapter has something to say.
    assert {CLAIMS[key].chapter for key in results} == set(fingerprint.chapters())
    for key, result in results.items():
        assert result["claim"] == key
        assert result["profile"] == "smoke"
        assert result["rows"]
    page = (built_site / "book" / "chapters" / "scoreboard.html").read_text()
    text = " ".join(page.split()).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    assert scoreboard.summary(results) in text
