"""The first page in one screen: what was found, one picture, and every claim's verdict.

All of it is computed from the verdicts of the executed chapters when the pages are built.
"""

from collections.abc import Iterator
from html import escape

import nbformat

from bn_memorization import paths, scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, MATCHED
from bn_memorization.errors import Failure
from bn_memorization.fingerprint import SCOREBOARD
from bn_memorization.judging import Claim
from bn_memorization.report import between, number, setting

IN_POINTS = ("accuracy", "AUC")
PICTURE = "fig-equal-training"
ALT = (
    "Interval plot of gaps between networks with batch normalization and plain ones, in points: "
    "hollow dots after as many epochs, filled dots where both are equally trained. The numbers "
    "stand in the scoreboard."
)


def asked_again(results: scoreboard.Results) -> list[dict]:
    """Return the gaps in points that were measured both after equal epochs and equal training.

    One for each setting that a claim and its control share: `title`, `where`, `n`, and the rows of
    both as `epochs` and `training`.
    """
    return [
        {
            "title": claim.title,
            "where": setting({k: v for k, v in later["where"].items() if k != "sizes"}),
            "epochs": first,
            "training": later,
            "unit": claim.unit,
        }
        for claim, control in _controlled(results)
        for later in results[control.key]["rows"]
        for first in results[claim.key]["rows"]
        if _place(first) == _place(later)
    ]


def _controlled(results: scoreboard.Results) -> Iterator[tuple[Claim, Claim]]:
    for key, matched in MATCHED.items():
        claim = CLAIMS[key]
        trained_equally = matched.startswith("matched_") and claim.unit in IN_POINTS
        if trained_equally and key in results and matched in results:
            yield claim, CONTROLS[matched]


def _place(row: dict) -> dict:
    return {name: value for name, value in row["where"].items() if name != "sizes"}


def answer() -> str:
    """Return the answer in a few sentences: the claims' verdicts, and what is left of the gaps."""
    results = scoreboard.collect()
    text = scoreboard.summary(results)
    if found := [_told(gap) for gap in asked_again(results)]:
        text += "\n\nBN minus plain, after equal epochs and at equal training:\n\n"
    return text + "\n".join(f"- {line}" for line in found)


def _told(gap: dict) -> str:
    epochs, training, unit = gap["epochs"], gap["training"], gap["unit"]
    interval = between(training["low"], training["high"], unit)
    return (
        f"{gap['title']} ({gap['where']}): {number(epochs['estimate'], unit)}, and "
        f"**{number(training['estimate'], unit)}** ({interval}, n = {training['n']})"
    )


def glance() -> str:
    """Return every claim of the paper with its verdict and what is left of it, as a table."""
    results = scoreboard.collect()
    lines = ["| claim | verdict | survives equal training? |", "| --- | --- | --- |"]
    for claim in CLAIMS.values():
        title = f"[{claim.number}. {claim.title}](chapters/{claim.chapter}.ipynb)"
        asked = scoreboard.survives(claim, results)
        lines.append(f"| {title} | {scoreboard.word(claim, results)} | {asked} |")
    return "\n".join(lines)


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
