import json
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import tiny_book
from IPython.display import Markdown
from verdicts import NOT, REPRODUCED, UNTESTED, evidence, verdict

from bn_memorization import control_claims, fingerprint, report, scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, MATCHED
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
    n = len(CLAIMS) - 1  # the identity is told apart
    assert numbers_in(scoreboard.summary({})) == [n, 0, 0]
    text = scoreboard.summary(RESULTS)
    assert numbers_in(text) == [n, 2, 1]  # one of the two is only partly so
    assert "cannot be tested" not in text
    assert "control" not in text
    untested = {key: found(key, verdict(UNTESTED)) for key in ("penalty", "penalty_cost")}
    text = scoreboard.summary(RESULTS | untested)
    assert numbers_in(text) == [n, 2, 1, 2]
    assert "2 cannot be tested" in text


def test_summary_counts_the_identity_apart():
    identity = {"growth_factor": found("growth_factor", verdict(evidence(1.0, 1.0, 1.0)))}
    text = scoreboard.summary(identity)
    assert numbers_in(text.partition(" The equation")[0]) == [len(CLAIMS) - 1, 0, 0]
    assert text.endswith("at fixed statistics, is reproduced.")


@pytest.fixture
def controlled(monkeypatch):
    """Two controls, of forced_final and of forced_speed."""
    made = {key: replace(CLAIMS["forced_final"], key=key, chapter="08_c") for key in ("a", "b")}
    monkeypatch.setattr(scoreboard, "CONTROLS", made)
    monkeypatch.setattr(control_claims, "CONTROLS", made)
    monkeypatch.setattr(scoreboard, "MATCHED", {"forced_final": "a", "forced_speed": "b"})


def test_a_claim_survives_as_its_control_says(controlled):
    final, loss = CLAIMS["forced_final"], CLAIMS["forced_loss"]
    assert scoreboard.survives(loss, RESULTS) == "not asked"
    assert rows_of(RESULTS)[loss.statement][5] == "not asked"
    assert scoreboard.survives(final, RESULTS) == "not run in this build"
    assert rows_of(RESULTS)[final.statement][5] == "[not run in this build](08_c.ipynb)"
    mnist, cifar = (
        "MNIST, LeNet, 5\xa0% flipped",
        "CIFAR-10, LeNet, 5\xa0% flipped",
    )
    for made, said, where in [
        ((REPRODUCED,), "yes", mnist),
        ((NOT,), "not shown", cifar),
        ((REPRODUCED, NOT), "in part", f"{mnist}; {cifar}"),
        ((UNTESTED,), "not testable at this scale", mnist),
    ]:
        results = RESULTS | {"a": found("a", verdict(*made))}
        assert scoreboard.survives(final, results) == said
        assert rows_of(results)[final.statement][5] == f"[{said}](08_c.ipynb) ({where})"


def test_a_row_survives_as_its_control_says_in_the_same_setting(controlled):
    """Of more images or fewer; and only what holds, at least in part, has something to survive."""
    final, loss = CLAIMS["forced_final"], CLAIMS["forced_loss"]
    reproduced, failed = RESULTS["forced_final"]["rows"]
    assert scoreboard.row_survives(final, reproduced, RESULTS) == "not asked"
    fewer = verdict(evidence(-0.1, 0.1, 0.3, sizes="9 images"), NOT)
    results = RESULTS | {"a": found("a", fewer)}
    assert scoreboard.row_survives(final, reproduced, results) == "in part"
    assert scoreboard.row_survives(final, failed, results) == "nothing to survive"
    assert scoreboard.row_survives(loss, reproduced, results) == "not asked"
    elsewhere = reproduced | {"where": {"dataset": "fashion_mnist"}}
    assert scoreboard.row_survives(final, elsewhere, results) == "not asked"


def test_titles_have_the_number_of_their_claim_and_greek_letters():
    assert scoreboard.titled(CLAIMS["penalty_cost"]) == "7. Penalty on γ/σ: cost"
    assert scoreboard.titled(CONTROLS["audit_attack"]) == CONTROLS["audit_attack"].title


def test_summary_counts_what_survives(controlled):
    results = RESULTS | {"a": found("a", verdict(NOT)), "b": found("b", verdict(REPRODUCED))}
    told = scoreboard.summary(results).partition("reproduced.")[2]
    assert numbers_in(told.replace(":", " ")) == [2, 2, 1, 0, 1]


def test_a_claim_that_is_not_reproduced_survives_nothing(controlled):
    results = RESULTS | {"forced_final": found("forced_final", verdict(NOT))}
    results |= {"a": found("a", verdict(REPRODUCED)), "b": found("b", verdict(NOT))}
    told = scoreboard.summary(results).partition("reproduced.")[2]
    assert numbers_in(told.replace(":", " ")) == [1, 1, 0, 0, 1]


def test_a_control_on_no_claim_has_no_number(monkeypatch):
    alone = {"c": replace(CLAIMS["forced_final"], key="c", number=0, title="Alone")}
    monkeypatch.setattr(scoreboard, "CONTROLS", alone)
    assert table_of(scoreboard.controls({}))[2].startswith("| none |")


def test_controls_have_a_table_of_their_own_and_words_of_their_own(controlled):
    lines = table_of(scoreboard.controls(RESULTS | {"a": found("a", verdict(NOT))}))
    assert len(lines) == 4
    assert lines[2].endswith("| [not shown](08_c.ipynb) |")
    assert lines[3].endswith("| [not run in this build](08_c.ipynb) |")


def test_every_match_is_of_a_claim_by_a_control_on_it():
    for key, control in MATCHED.items():
        assert CONTROLS[control].number == CLAIMS[key].number
    assert not CONTROLS.keys() & CLAIMS.keys()


def table_of(folded: Markdown) -> list[str]:
    """Return the lines of a table, and check that it is folded under a title."""
    first, *lines, last = folded.data.splitlines()
    assert first.startswith(":::{dropdown} What each ")
    assert last == ":::"
    return lines


def rows_of(results: dict) -> dict[str, list[str]]:
    """Return {statement: row} of the overview, its rule and head checked."""
    lines = [
        [part.strip().replace(r"\|", "|") for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table_of(scoreboard.overview(results))
    ]
    head, rule, *rows = lines
    assert set("".join(rule)) == {"-"}
    assert all(len(row) == len(head) == 6 for row in lines)
    return {row[1]: row for row in rows}


def test_overview_lists_every_claim_with_what_decides_it():
    rows = rows_of(RESULTS)
    assert list(rows) == [claim.statement for claim in CLAIMS.values()]
    for claim in CLAIMS.values():
        number, _, quantity, holds_if, _, _ = rows[claim.statement]
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
    declared = CLAIMS | CONTROLS
    assert {declared[key].chapter for key in results} == set(fingerprint.chapters())
    for key, result in results.items():
        assert result["claim"] == key
        assert result["profile"] == "smoke"
        assert result["rows"]
    page = (built_site / "book" / "chapters" / "scoreboard.html").read_text()
    text = " ".join(page.split()).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    assert scoreboard.summary(results) in text
