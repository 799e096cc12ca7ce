"""The first page in one screen: what was found, one picture, and the scoreboard in small.

All of it is computed from the verdicts of the executed chapters when the pages are built.
"""

from collections.abc import Iterator
from html import escape

import nbformat

from bn_memorization import paths, plain_answer, scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, MATCHED
from bn_memorization.errors import Failure
from bn_memorization.fingerprint import SCOREBOARD
from bn_memorization.judging import Claim
from bn_memorization.report import NO_BREAK, between, number, setting

IN_POINTS = ("accuracy", "AUC")
PICTURE = "fig-equal-training"
ALT = (
    "Interval plot of gaps between networks with batch normalization and plain ones, in points: "
    "hollow dots after as many epochs, filled dots where both are equally trained. The numbers "
    "stand in the scoreboard."
)


def asked_again(results: scoreboard.Results) -> list[dict]:
    """Return the gaps in points that were measured both after equal epochs and equal training.

    One for each setting that a claim and its control share: `claim`, `title`, `where`, `unit`, and
    the rows of both as `epochs` and `training`.
    """
    return [
        {
            "claim": claim.key,
            "title": claim.title,
            "where": setting(scoreboard.place(later)),
            "epochs": first,
            "training": later,
            "unit": claim.unit,
        }
        for claim, control in _controlled(results)
        for later in results[control.key]["rows"]
        for first in results[claim.key]["rows"]
        if scoreboard.place(first) == scoreboard.place(later)
    ]


def _controlled(results: scoreboard.Results) -> Iterator[tuple[Claim, Claim]]:
    for key, matched in MATCHED.items():
        claim = CLAIMS[key]
        trained_equally = matched.startswith("matched_") and claim.unit in IN_POINTS
        if trained_equally and key in results and matched in results:
            yield claim, CONTROLS[matched]


def answer() -> str:
    """Return the answer in plain words, and under it the gaps that it is about."""
    results = scoreboard.collect()
    topics = {topic.claim for topic in plain_answer.TOPICS}
    gaps = [gap for gap in asked_again(results) if gap["claim"] in topics]
    first, *rest = plain_answer.sentences(results)
    return "\n\n".join([" ".join([f"**{first}**", *rest]), *_listed(gaps)])


def counts() -> str:
    """Return how many claims hold, and every gap that was measured at equal training too."""
    results = scoreboard.collect()
    return "\n\n".join([scoreboard.summary(results), *_listed(asked_again(results))])


def _listed(gaps: list[dict]) -> list[str]:
    """Return what the numbers of the gaps are, and a list of them; nothing where there is none."""
    if not gaps:
        return []
    head = "BN minus plain (95 % intervals) after equal epochs, then at equal training:"
    return [head, "\n".join(f"- {_told(gap)}" for gap in gaps)]


def _told(gap: dict) -> str:
    epochs, training = (_with_interval(gap[when], gap["unit"]) for when in ("epochs", "training"))
    return f"{gap['title']} ({gap['where']}): {epochs}, then {training}"


def _with_interval(row: dict, unit: str) -> str:
    interval = between(row["low"], row["high"], unit).removesuffix(f"{NO_BREAK}points")
    return f"**{number(row['estimate'], unit)}** ({interval}, n{NO_BREAK}={NO_BREAK}{row['n']})"


def glance() -> str:
    """Return every claim of the paper with its verdict and what is left of it, as a table."""
    results = scoreboard.collect()
    lines = ["| claim | verdict | survives matching? |", "| --- | --- | --- |"]
    for claim in CLAIMS.values():
        title = f"[{scoreboard.titled(claim)}](chapters/{claim.chapter}.ipynb)"
        words = scoreboard.word(claim, results), scoreboard.survives(claim, results)
        lines.append(f"| {' | '.join([title, *map(_short, words)])} |")
    return "\n".join(lines)


def _short(word: str) -> str:
    """Return a verdict without what would take a second line of a small table."""
    return word.removesuffix(" at this scale").removesuffix(" in this build")


def picture() -> str:
    """Return the scoreboard's picture of the same gaps, to stand in a page as it is.

    Raises Failure when the scoreboard has not been executed.
    """
    path = paths.chapters() / f"{SCOREBOARD}.ipynb"
    if not path.is_file():
        raise Failure(f"{path} is not there. `make book` makes it.")
    for cell in nbformat.read(path, 4).cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if figure.get("name") == PICTURE:
            (svg,) = [o.data["image/svg+xml"] for o in cell.outputs if "image/svg+xml" in o.data]
            drawing = svg[svg.index("<svg") :].replace("\n", " ")
            return (
                f'```{{raw}} html\n<div class="first-picture" role="img" '
                f'aria-label="{escape(ALT)}">{drawing}</div>\n```'
            )
    raise Failure(f"{path} has no figure {PICTURE}.")
