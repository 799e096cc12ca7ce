"""Every setting that was tried, as one table that can be sorted and filtered where scripts run.

Without them it is a plain table in the claims' order. The script is `book/_static/sortable.js`.
"""

import math
from collections.abc import Iterable
from html import escape

from IPython.display import HTML

from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, told
from bn_memorization.judging import Claim
from bn_memorization.report import between, name, number, setting

DECLARED = CLAIMS | CONTROLS
HEAD = ("claim", "setting", "effect", "95 % interval", "on a scale", "verdict", "n", "profile")
SORTED_BY_NUMBER = ("effect", "n")
FILTERS = ("about", "data set", "network", "profile", "verdict")
WIDTH, HEIGHT, MARGIN = 130, 14, 5  # of an interval's picture, in pixels


def table(verdicts: Iterable[dict]) -> HTML:
    """Return a row for each setting of each verdict, as `report.plain` and a profile give them.

    Effects of one unit are drawn on one scale, with its zero and the claim's threshold.
    """
    rows = [
        (DECLARED[verdict["claim"]], verdict["profile"], row)
        for verdict in verdicts
        for row in verdict["rows"]
    ]
    scales = _scales(rows)
    body = "".join(_row(*row, scales[row[0].unit]) for row in rows)
    head = "".join(
        f'<th scope="col"{" data-number" if text in SORTED_BY_NUMBER else ""}>{text}</th>'
        for text in HEAD
    )
    return HTML(
        f'<div class="sortable" data-script="sortable" data-filters="{"|".join(FILTERS)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _scales(rows: Iterable[tuple[Claim, str, dict]]) -> dict[str, tuple[float, float]]:
    """Return the ends of each unit's scale: all that is drawn of it lies within."""
    ends: dict[str, list[float]] = {}
    for claim, _, row in rows:
        found = (0.0, claim.threshold, row["estimate"], row["low"], row["high"])
        ends.setdefault(claim.unit, []).extend(v for v in found if math.isfinite(v))
    return {unit: (min(values), max(values)) for unit, values in ends.items()}


def _row(claim: Claim, profile: str, row: dict, scale: tuple[float, float]) -> str:
    where, word = row["where"], told(claim.key, row["verdict"])
    about = f"claim {claim.number}" if claim.number else "no claim"
    kept = (
        about,
        name(where.get("dataset", "none")),
        name(where.get("arch", "none")),
        profile,
        word,
    )
    title = f"{claim.number}. {claim.title}" if claim.number else claim.title
    effect = number(row["estimate"], claim.unit)
    cells = (
        f'<a href="{claim.chapter}.html">{escape(title)}</a>',
        escape(setting(where)),
        escape(effect),
        escape(between(row["low"], row["high"], claim.unit)),
        _picture(claim, row, scale),
        escape(word),
        str(row["n"]),
        escape(profile),
    )
    values = ("", "", f"{row['estimate']!r}", "", "", "", str(row["n"]), "")
    filled = "".join(
        f"<td{f' data-value={chr(34)}{value}{chr(34)}' if value else ''}>{cell}</td>"
        for cell, value in zip(cells, values, strict=True)
    )
    return f'<tr data-kept="{escape("|".join(kept))}">{filled}</tr>'


def _picture(claim: Claim, row: dict, scale: tuple[float, float]) -> str:
    """Return an interval as a small picture; the cells beside it say the same in words."""
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
