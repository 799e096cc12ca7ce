"""The scoreboard: every claim beside what the executed chapters found."""

import json

import pandas as pd
from IPython.display import Markdown
from pandas.io.formats.style import Styler

from bn_memorization import chapter, fingerprint, paths
from bn_memorization.claims import CLAIMS
from bn_memorization.judging import NOT_TESTABLE, REPRODUCED, Claim
from bn_memorization.report import between, number, readable, setting

NOT_RUN = "not run in this build"
BAR = r"\|"  # a bar within a cell of a Markdown table


def collect() -> dict[str, dict]:
    """Return {claim key: verdict} of all executed chapters, each as `report.plain` gives it.

    Raises Failure when a chapter has not been executed.
    """
    found = {}
    for stem in fingerprint.chapters():
        text = chapter.glued(paths.chapters() / f"{stem}.ipynb", "verdicts")
        found |= {verdict["claim"]: verdict for verdict in json.loads(text)}
    return found


def word(claim: Claim, results: dict[str, dict]) -> str:
    """Return a claim's verdict, or that the parameters of this build left it out."""
    return results[claim.key]["word"] if claim.key in results else NOT_RUN


def summary(results: dict[str, dict]) -> str:
    """Return the state of all claims in one or two plain sentences."""
    words = [word(claim, results) for claim in CLAIMS.values()]
    tested = [w for w in words if w != NOT_RUN]
    decided = sum(w == REPRODUCED for w in tested)
    text = (
        f"Of the {len(words)} testable statements that the paper's claims come to here, "
        f"{len(tested)} were tested in this build, and {decided} of those are reproduced."
    )
    untestable = sum(w == NOT_TESTABLE for w in tested)
    if untestable:
        text += f" {untestable} cannot be tested at the scale of this build."
    return text


def overview(results: dict[str, dict]) -> Markdown:
    """Return the table of claims: statement, what is measured, threshold, verdict, chapter."""
    lines = [
        "| claim | the claim, in our words | measured here | holds if | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for claim in CLAIMS.values():
        verdict = f"[{word(claim, results)}]({claim.chapter}.ipynb)"
        cells = (str(claim.number), claim.statement, claim.quantity, _holds_if(claim), verdict)
        lines.append(f"| {' | '.join(text.replace('|', BAR) for text in cells)} |")
    return Markdown("\n".join(lines))


def _holds_if(claim: Claim) -> str:
    points = claim.unit in ("accuracy", "AUC")
    threshold = f"{100 * claim.threshold:g} points" if points else f"{claim.threshold:g}"
    return f"{claim.direction} {threshold}, n at least {claim.least_n}"


def settings(results: dict[str, dict]) -> Styler:
    """Return the table of all settings: claim, where, effect, interval, n, profile, verdict."""
    rows = []
    for verdict in results.values():
        claim = CLAIMS[verdict["claim"]]
        for row in verdict["rows"]:
            rows.append(
                {
                    "claim": f"{claim.number}. {claim.title}",
                    "setting": setting(row["where"]),
                    "effect": number(row["estimate"], claim.unit),
                    "interval": between(row["low"], row["high"], claim.unit),
                    "n": row["n"],
                    "profile": verdict["profile"],
                    "verdict": row["verdict"],
                }
            )
    return readable(pd.DataFrame(rows))


def intervals(results: dict[str, dict]) -> Markdown:
    """Return a sentence on what the intervals of each claim are."""
    kinds: dict[str, list[str]] = {}
    for verdict in results.values():
        for row in verdict["rows"]:
            kinds.setdefault(row["interval"], []).append(CLAIMS[verdict["claim"]].title)
    parts = [f"{kind} ({', '.join(dict.fromkeys(titles))})" for kind, titles in kinds.items()]
    return Markdown(f"The intervals are: {'; '.join(parts)}.")
