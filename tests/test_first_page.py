import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_scoreboard import found
from verdicts import evidence, verdict

from bn_memorization import first_page, plain_answer, scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.errors import Failure

RESULTS = {
    "forced_final": found(
        "forced_final",
        verdict(evidence(0.4, 0.5, 0.6), evidence(0.1, 0.2, 0.3, dataset="fashion_mnist")),
    ),
    "matched_loss": found("matched_loss", verdict(evidence(-0.1, 0.05, 0.2, sizes="9 images"))),
    "forced_loss": found("forced_loss", verdict(evidence(1.0, 2.0, 3.0), unit="nats")),
    "matched_corrupted_loss": found("matched_corrupted_loss", verdict(evidence(1.0, 2.0, 3.0))),
    "penalty": found("penalty", verdict(evidence(0.1, 0.2, 0.3))),
    "penalty_held": found("penalty_held", verdict(evidence(0.1, 0.2, 0.3))),
}


@pytest.fixture
def collected(monkeypatch):
    monkeypatch.setattr(scoreboard, "collect", lambda: RESULTS)


def test_a_gap_stands_beside_the_same_setting_at_equal_training():
    """Not other settings, not what is no gap in points, and not what holds the weights."""
    (gap,) = first_page.asked_again(RESULTS)
    assert gap["title"] == CLAIMS["forced_final"].title
    assert gap["where"] == "MNIST, LeNet, 5\xa0% flipped"
    assert (gap["epochs"]["estimate"], gap["training"]["estimate"]) == (0.5, 0.05)


def plain_spaces(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_answer_says_what_it_means_and_then_gives_both_gaps_with_interval_and_n(collected):
    """Of the claims that it speaks of, and of no other."""
    lead, head, *gaps = plain_spaces(first_page.answer()).split("\n\n")
    first, *rest = plain_answer.sentences(RESULTS)
    assert lead == " ".join([f"**{first}**", *rest])
    assert "95 % intervals" in head
    assert gaps == [
        "- Final accuracy on corrupted samples (MNIST, LeNet, 5 % flipped): "
        "**+50.0 points** (+40.0 to +60.0, n = 4), then "
        "**+5.0 points** (\N{MINUS SIGN}10.0 to +20.0, n = 4)"
    ]


def test_without_a_control_the_answer_has_no_numbers(monkeypatch):
    only = {"forced_final": RESULTS["forced_final"]}
    monkeypatch.setattr(scoreboard, "collect", lambda: only)
    first, *rest = plain_answer.sentences(only)
    assert first_page.answer() == " ".join([f"**{first}**", *rest])
    assert first_page.counts() == scoreboard.summary(only)


def test_the_counts_are_the_scoreboards_with_every_gap_that_was_asked_again(collected):
    summary, _, gaps = first_page.counts().split("\n\n")
    assert summary == scoreboard.summary(RESULTS)
    assert len(gaps.splitlines()) == len(first_page.asked_again(RESULTS))


def test_the_glance_has_every_claim_with_its_verdict(collected):
    lines = first_page.glance().splitlines()[2:]
    assert len(lines) == len(CLAIMS)
    assert lines[0] == (
        f"| [1. {CLAIMS['forced_final'].title}](chapters/01_forced_memorization.ipynb) "
        "| reproduced | in part |"
    )


def test_the_glance_tells_a_missing_verdict_in_one_line(monkeypatch):
    words = iter(["not testable at this scale", "not run in this build"] * len(CLAIMS))
    monkeypatch.setattr(scoreboard, "collect", dict)
    monkeypatch.setattr(scoreboard, "word", lambda *_: next(words))
    monkeypatch.setattr(scoreboard, "survives", lambda *_: next(words))
    for line in first_page.glance().splitlines()[2:]:
        assert line.endswith("| not testable | not run |")


def test_the_picture_is_the_scoreboards_and_names_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    folder = tmp_path / "book" / "chapters"
    folder.mkdir(parents=True)
    with pytest.raises(Failure, match=r"scoreboard\.ipynb is not there"):
        first_page.picture()
    cell = new_code_cell(metadata={"mystnb": {"figure": {"name": first_page.PICTURE}}})
    svg = "<?xml?><svg\n><g/></svg>"
    cell.outputs = [new_output("display_data", data={"image/svg+xml": svg})]
    nbformat.write(new_notebook(cells=[new_code_cell("1"), cell]), folder / "scoreboard.ipynb")
    html = first_page.picture()
    assert "<svg ><g/></svg>" in html
    assert re.search(r'role="img" aria-label="[^"]+"', html)
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), folder / "scoreboard.ipynb")
    with pytest.raises(Failure, match=first_page.PICTURE):
        first_page.picture()
