"""A rerun beside the book: parameters that differ, verdicts and figures, two and two.

From two executed notebooks of one chapter to the text of a page; neither is changed.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bn_memorization import commands, fingerprint, report
from bn_memorization.chapter import glued
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS, told
from bn_memorization.errors import Failure
from bn_memorization.rerun_cells import block, code, table

FOLDER = "beside"  # of the page's images, beside the page
SVG = "image/svg+xml"
TITLE = "# Yours beside the book's"
# The page has no list of its own headings: its figures take that room.
FRONT = "---\nhtml_theme.sidebar_secondary.remove: true\n---"
NOT_BUILT = (
    "The book has not been built here, so nothing stands beside this rerun. Build it, then give "
    "the command of the rerun again: it trains nothing twice."
)
MISSING = "This page has none."
Sides = Mapping[str, Path]  # "yours" and "book" to an executed notebook of the chapter


def page(yours: Path, book: Path) -> tuple[str, dict[str, str]]:
    """Return the Markdown of the page, and {file in `FOLDER`: SVG text} of the images on it.

    Both are paths of executed notebooks of one chapter; that of the book, of any profile, need not
    be there.
    """
    if fingerprint.mark_of(book) is None:
        command = block(commands.book(_parameters(yours)["profile"]))
        return f"{TITLE}\n\n{NOT_BUILT}\n\n{command}\n", {}
    sides = {"yours": yours, "book": book}
    profiles = {who: _parameters(path)["profile"] for who, path in sides.items()}
    figures = {who: _figures(path) for who, path in sides.items()}
    names = list(dict.fromkeys(name for found in figures.values() for name in found))
    parts = [
        f"{FRONT}\n\n{TITLE}",
        f"On the left, or above, [your rerun]({yours.name}) (profile {profiles['yours']}); on the "
        f"right, or below, the book's page (profile {profiles['book']}).",
        f"## Parameters that differ\n\n{_differing(sides)}",
        f"## Answers\n\n{_columns(lambda who: _answer(sides[who]))}",
        f"## Verdicts\n\n{_verdicts(sides)}",
        *(_pair(name, figures) for name in names),
    ]
    images = {_file(who, name): _svg(c) for who, f in figures.items() for name, c in f.items()}
    return "\n\n".join(parts) + "\n", images


def _parameters(path: Path) -> dict[str, object]:
    return nbformat.read(path, as_version=4).metadata[fingerprint.MARK]["parameters"]


def _differing(sides: Sides) -> str:
    """Return the table of parameters whose values differ, or a sentence where none does."""
    yours, book = (_parameters(path) for path in sides.values())
    rows = [
        [code(key), *(code(commands.text(of[key])) if key in of else "" for of in (yours, book))]
        for key in {**yours, **book}
        if yours.get(key) != book.get(key)
    ]
    return table(["parameter", "yours", "the book's"], rows) if rows else "None differs."


def _answer(path: Path) -> str:
    with suppress(Failure):
        return glued(path, "answer_text")
    return MISSING


def _verdicts(sides: Sides) -> str:
    """Return the table of verdicts: a row for each claim, and one for each of its settings."""
    found = {who: _by_setting(path) for who, path in sides.items()}
    rows = []
    for key in dict.fromkeys([*found["yours"], *found["book"]]):
        both = [found[who].get(key, {}) for who in sides]
        rows += [[where, *(of.get(where, "") for of in both)] for where in {**both[0], **both[1]}]
    return table(["claim and setting", "yours", "the book's"], rows) if rows else MISSING


def _by_setting(path: Path) -> dict[str, dict[str, str]]:
    """Return {claim key: {its title, or one of its settings: what was found}} as Markdown."""
    found = {}
    with suppress(Failure):
        for verdict in json.loads(glued(path, "verdicts")):
            claim = (CLAIMS | CONTROLS)[verdict["claim"]]
            of = {f"**{claim.title}**": f"**{told(claim.key, verdict['word'])}**"}
            of |= {report.setting(row["where"]): _told(row, claim) for row in verdict["rows"]}
            found[claim.key] = of
    return found


def _told(row: Mapping, claim) -> str:
    interval = report.between(row["low"], row["high"], claim.unit)
    effect = report.number(row["estimate"], claim.unit)
    return f"{effect} ({interval}), n = {row['n']}: {told(claim.key, row['verdict'])}"


def _figures(path: Path) -> dict[str, NotebookNode]:
    """Return {name: cell} of the cells that show a figure, in order."""
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        if name and any(SVG in output.get("data", {}) for output in cell.get("outputs", [])):
            found[name] = cell
    return found


def _svg(cell: NotebookNode) -> str:
    return next(o.data[SVG] for o in cell.outputs if SVG in o.get("data", {}))


def _file(who: str, name: str) -> str:
    return f"{who}-{name}.svg"


def _pair(name: str, figures: Mapping[str, Mapping[str, NotebookNode]]) -> str:
    """Return a figure of both pages under its caption, which is in the book as in the rerun."""
    cell = figures["yours"].get(name) or figures["book"][name]

    def column(who: str) -> str:
        if name not in figures[who]:
            return MISSING
        alt = json.dumps(cell.metadata["mystnb"]["image"]["alt"], ensure_ascii=False)
        return f"```{{image}} {FOLDER}/{_file(who, name)}\n:alt: {alt}\n```"

    title = name.removeprefix("fig-").replace("-", " ").capitalize()
    caption = cell.metadata["mystnb"]["figure"]["caption"]
    return f"## {title}\n\n{caption}\n\n{_columns(column)}"


def _columns(content: Callable[[str], str]) -> str:
    """Return what there is of both as two columns, in a narrow window one above the other."""
    heads = {"yours": "Yours", "book": "The book's"}
    items = [
        f":::{{grid-item}}\n:class: beside\n**{head}**\n\n{content(who)}\n:::"
        for who, head in heads.items()
    ]
    return "\n".join(["::::{grid} 1 1 2 2", ":gutter: 3", "", *items, "::::"])
