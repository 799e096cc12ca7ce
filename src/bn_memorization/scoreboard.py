"""The scoreboard: every claim and control beside what the executed chapters found."""

import json
from collections.abc import Iterable, Mapping

from IPython.display import Markdown

from bn_memorization import chapter, fingerprint, paths
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, MATCHED, told
from bn_memorization.judging import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    Claim,
)
from bn_memorization.report import setting

NOT_RUN = "not run in this build"
NOT_ASKED = "not asked"
NOTHING = "nothing to survive"
SURVIVES = {
    REPRODUCED: "yes",
    PARTLY: "in part",
    NOT_REPRODUCED: "not shown",
    NOT_TESTABLE: NOT_TESTABLE,
}
IDENTITY = "growth_factor"  # an equation, true or false as algebra: it says nothing about training
_HEAD = ("measured here", "holds if", "verdict")
BAR = r"\|"  # a bar within a cell of a Markdown table

Results = Mapping[str, dict]  # {claim key: verdict as `report.plain` gives it}


def collect() -> dict[str, dict]:
    """Return {claim key: verdict} of all executed chapters, each as `report.plain` gives it.

    Raises Failure when a chapter has not been executed.
    """
    found = {}
    for stem in fingerprint.chapters():
        text = chapter.glued(paths.chapters() / f"{stem}.ipynb", "verdicts")
        found |= {verdict["claim"]: verdict for verdict in json.loads(text)}
    return found


def word(claim: Claim, results: Results) -> str:
    """Return a claim's verdict, or that the parameters of this build left it out."""
    return told(claim.key, results[claim.key]["word"]) if claim.key in results else NOT_RUN


def summary(results: Results) -> str:
    """Return the state of all claims of the paper in a few plain sentences.

    The identity is counted apart: that it holds is no finding about networks. Only a claim that is
    reproduced, at least in part, can survive a control.
    """
    words = {k: word(claim, results) for k, claim in CLAIMS.items() if k != IDENTITY}
    tested = [key for key, said in words.items() if said not in (NOT_RUN, NOT_TESTABLE)]
    decided = [key for key in tested if words[key] == REPRODUCED]
    text = (
        f"Of the {len(words)} testable statements that the paper's claims about trained networks "
        f"come to here, {len(tested)} were tested in this build, and {len(decided)} of those are "
        "reproduced."
    )
    if untestable := sum(said == NOT_TESTABLE for said in words.values()):
        text += f" {untestable} cannot be tested at the scale of this build."
    held = [key for key in tested if words[key] != NOT_REPRODUCED]
    answers = [survives(CLAIMS[key], results) for key in held]
    if asked := [a for a in answers if a in SURVIVES.values() and a != NOT_TESTABLE]:
        yes, part, no = (asked.count(said) for said in ("yes", "in part", "not shown"))
        text += (
            f" Of the {len(held)} that are, or are in part, {len(asked)} were also asked where "
            f"they are not trivially so: {yes} survive that, {part} in part, and for {no} it is "
            "not shown."
        )
    if IDENTITY in results:
        identity = word(CLAIMS[IDENTITY], results)
        text += f" The equation behind the mechanism, (γ/σ)² at fixed statistics, is {identity}."
    return text


def survives(claim: Claim, results: Results) -> str:
    """Return whether a claim holds in the comparison that its control makes."""
    control = MATCHED.get(claim.key)
    if control is None:
        return NOT_ASKED
    return SURVIVES[results[control]["word"]] if control in results else NOT_RUN


def row_survives(claim: Claim, row: dict, results: Results) -> str:
    """Return the same of a claim's row, a setting: what its control found there.

    A row that is not reproduced has nothing that could survive.
    """
    control = MATCHED.get(claim.key)
    found = results[control]["rows"] if control in results else []
    there = [one["verdict"] for one in found if place(one) == place(row)]
    if row["verdict"] in (NOT_REPRODUCED, NOT_TESTABLE):
        return NOTHING
    return SURVIVES[there[0]] if there else NOT_ASKED


def place(row: dict) -> dict[str, object]:
    """Return the setting of a row without its sizes: a control may be of fewer images."""
    return {name: value for name, value in row["where"].items() if name != "sizes"}


def titled(claim: Claim) -> str:
    """Return a claim's title with the number of the paper's claim, if it bears on one."""
    title = claim.title.replace("gamma/sigma", "γ/σ")
    return f"{claim.number}. {title}" if claim.number else title


def _survival(claim: Claim, results: Results) -> str:
    """Return the same as a table's cell: linked, with the settings that were matched."""
    control = CONTROLS.get(MATCHED.get(claim.key, ""))
    answer = survives(claim, results)
    if control is None:
        return answer
    rows = results.get(control.key, {"rows": []})["rows"]
    where = "; ".join(setting(row["where"]) for row in rows)
    return f"[{answer}]({control.chapter}.ipynb)" + (f" ({where})" if where else "")


def overview(results: Results) -> Markdown:
    """Return the table of the paper's claims: statement, measure, threshold, verdict, control."""
    rows = [[*_cells(claim, results), _survival(claim, results)] for claim in CLAIMS.values()]
    head = ["claim", "the claim, in our words", *_HEAD, "survives matching?"]
    return _folded("What each claim says, what is measured, and what decides it", head, rows)


def controls(results: Results) -> Markdown:
    """Return the table of our own controls: what each states, measures and found."""
    rows = [_cells(control, results) for control in CONTROLS.values()]
    head = ["on claim", "the control", *_HEAD]
    return _folded("What each control says, what is measured, and what decides it", head, rows)


def _cells(claim: Claim, results: Results) -> list[str]:
    verdict = f"[{word(claim, results)}]({claim.chapter}.ipynb)"
    number = str(claim.number) if claim.number else "none"
    return [number, claim.statement, claim.quantity, _holds_if(claim), verdict]


def _folded(title: str, head: list[str], rows: Iterable[list[str]]) -> Markdown:
    """Return a table that a reader opens by its title."""
    lines = [head, ["---"] * len(head)]
    lines += [[text.replace("|", BAR) for text in row] for row in rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return Markdown(f":::{{dropdown}} {title}\n{table}\n:::")


def _holds_if(claim: Claim) -> str:
    points = claim.unit in ("accuracy", "AUC")
    threshold = f"{100 * claim.threshold:g} points" if points else f"{claim.threshold:g}"
    return f"{claim.direction} {threshold}, n at least {claim.least_n}"


def intervals(results: Results) -> Markdown:
    """Return a sentence on what the intervals of each claim are."""
    kinds: dict[str, list[str]] = {}
    for verdict in results.values():
        for row in verdict["rows"]:
            title = (CLAIMS | CONTROLS)[verdict["claim"]].title
            kinds.setdefault(row["interval"], []).append(title)
    parts = [f"{kind} ({', '.join(dict.fromkeys(titles))})" for kind, titles in kinds.items()]
    return Markdown(f"The intervals are: {'; '.join(parts)}.")
