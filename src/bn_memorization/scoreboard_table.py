"""Every setting that was tried, as one table that can be sorted and filtered where scripts run.

Without them it is a plain table in the claims' order. The script is `book/_static/sortable.js`. In
a narrow window each row is a card: `book/_static/custom.css`.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from IPython.display import HTML

from bn_memorization import scoreboard
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, SIZES, told
from bn_memorization.judging import Claim
from bn_memorization.report import NO_INTERVAL, between, count, name, number, setting, unsigned
from bn_memorization.row_figures import shown
from bn_memorization.row_records import Row

DECLARED = CLAIMS | CONTROLS
# What a column is called, and the name of its cells in the style sheet.
HEAD = {
    "claim": "claim",
    "setting": "setting",
    "effect and 95 % interval": "effect",
    "verdict": "verdict",
    "survives matching?": "survives",
    "shown in": "shown",
    "run records": "runs",
    "n": "n",
    "profile": "profile",
}
SORTED_BY_NUMBER = ("effect", "runs", "n")
FILTERS = ("claim", "data set", "architecture", "verdict", "survives matching?", "profile")
MADE = "how-this-page-was-made"  # the section of a chapter that tells its runs
WIDTH, HEIGHT, MARGIN = 170, 14, 5  # of an interval's picture, in pixels

Tried = tuple[Claim, dict, dict, str]  # claim, verdict, row, what its control says


def table(verdicts: Iterable[dict], behind: Iterable[Row]) -> HTML:
    """Return a row for each setting of each verdict, as `report.plain` and a profile give them.

    `behind` holds the run records of each row, as `row_records.rows` gives them. Effects of one
    unit are drawn on one scale, with its zero and the claim's threshold.
    """
    tried = _tried(list(verdicts))
    scales = _scales(tried)
    body = "".join(
        _row(*one, runs, scales[one[0].unit]) for one, runs in zip(tried, behind, strict=True)
    )
    head = "".join(
        f'<th scope="col" role="columnheader"'
        f"{' data-number' if key in SORTED_BY_NUMBER else ''}>{text}</th>"
        for text, key in HEAD.items()
    )
    # The roles are those that the elements have anyway, and would lose as cards.
    return HTML(
        f'<div class="sortable" data-script="sortable" data-filters="{"|".join(FILTERS)}">'
        '<div class="sortable-box" tabindex="0" role="region" aria-label="All settings">'
        f'<table role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div></div>'
    )


def _tried(verdicts: Sequence[dict]) -> list[Tried]:
    by_profile: dict[str, dict[str, dict]] = {}
    for verdict in verdicts:
        by_profile.setdefault(verdict["profile"], {})[verdict["claim"]] = verdict
    found = []
    for verdict in verdicts:
        claim, results = DECLARED[verdict["claim"]], by_profile[verdict["profile"]]
        for row in verdict["rows"]:
            asked = scoreboard.row_survives(claim, row, results) if claim.key in CLAIMS else ""
            found.append((claim, verdict, row, asked))
    return found


def _scales(tried: Iterable[Tried]) -> dict[str, tuple[float, float]]:
    """Return the ends of each unit's scale: all that is drawn of it lies within."""
    ends: dict[str, list[float]] = {}
    for claim, _, row, _ in tried:
        found = (0.0, claim.threshold, row["estimate"], row["low"], row["high"])
        ends.setdefault(claim.unit, []).extend(v for v in found if math.isfinite(v))
    return {unit: (min(values), max(values)) for unit, values in ends.items()}


def _row(
    claim: Claim, verdict: dict, row: dict, asked: str, runs: Row, scale: tuple[float, float]
) -> str:
    word, where = told(claim.key, row["verdict"]), row["where"]
    page, kind = shown(claim)
    cells = {
        "claim": f'<a href="{claim.chapter}.html">{escape(scoreboard.titled(claim))}</a>',
        "setting": escape(setting(where)),
        "effect": f"{_picture(claim, row, scale)} <span>{escape(_effect(claim, row))}</span>",
        "verdict": escape(word),
        "survives": escape(asked or "control"),
        "shown": f'<a href="{page}">{kind}</a>',
        "runs": _runs(runs),
        "n": str(row["n"]),
        "profile": escape(verdict["profile"]),
    }
    values = {"effect": repr(row["estimate"]), "runs": str(len(runs.records)), "n": str(row["n"])}
    filled = "".join(
        _cell(key, label.rstrip("?"), cells[key], values.get(key)) for label, key in HEAD.items()
    )
    kept = _kept(claim, where, word, asked, verdict["profile"])
    return f'<tr role="row" data-kept="{escape("|".join(kept))}">{filled}</tr>'


def _cell(key: str, label: str, markup: str, value: str | None) -> str:
    to_sort = "" if value is None else f' data-value="{value}"'
    return f'<td role="cell" class="{key}" data-label="{label}"{to_sort}>{markup}</td>'


def _kept(claim: Claim, where: dict, word: str, asked: str, profile: str) -> tuple[str, ...]:
    """Return a row's value for each of the filters."""
    return (
        str(claim.number or "none"),
        name(where["dataset"]) if "dataset" in where else "none",
        name(where["arch"]) if "arch" in where else "none",
        word,
        asked or "control",
        profile,
    )


def _effect(claim: Claim, row: dict) -> str:
    """Return an effect with its interval as text; a size has no sign."""
    ends = between(row["low"], row["high"], claim.unit)
    interval = "no interval" if ends == NO_INTERVAL else ends
    text = f"{number(row['estimate'], claim.unit)} ({interval})"
    return unsigned(text) if claim.key in SIZES else text


def _runs(row: Row) -> str:
    if not row.records:
        return f'<a href="{row.claim.chapter}.html#{MADE}">none</a>'
    text = count(len(row.records), "record")
    return f'<a href="{escape(row.link)}" download>{text}</a>'


def _picture(claim: Claim, row: dict, scale: tuple[float, float]) -> str:
    """Return an interval as a small picture; the words beside it say the same."""
    low, high = scale

    def at(value: float) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return f"{MARGIN + share * (WIDTH - 2 * MARGIN):.1f}"

    middle = HEIGHT / 2
    lines = [f'<path class="zero" d="M{at(0)} 0V{HEIGHT}"/>']
    if claim.threshold:
        lines.append(f'<path class="threshold" d="M{at(claim.threshold)} 0V{HEIGHT}"/>')
    if math.isfinite(row["low"]) and math.isfinite(row["high"]):
        lines.append(f'<path class="interval" d="M{at(row["low"])} {middle}H{at(row["high"])}"/>')
    lines.append(f'<circle cx="{at(row["estimate"])}" cy="{middle}" r="3"/>')
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f"{''.join(lines)}</svg>"
    )
