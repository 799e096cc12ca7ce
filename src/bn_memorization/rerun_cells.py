"""The cells of a chapter that say how to run it again: commands, parameters, what to try.

They are text, put beside the notebook's own when its runs are there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

from nbformat.v4 import new_markdown_cell

from bn_memorization import chapter, commands, parameters, planning, presets
from bn_memorization.audit_runs import AuditConfig
from bn_memorization.errors import BadInput
from bn_memorization.train import Run

TRY, MADE = "try-it", "made-by"  # tags of the cells that these stand behind
BESIDE = "-beside"  # ends the name of a rerun's second page
RERUNNING = (
    "Each command builds a page of its own, with its figures beside the book's "
    "([rerunning a chapter](../rerunning.md)). Times are of training alone, one network after "
    "another, estimated from what this page's own took. What another page has trained is not "
    "trained again."
)
PROPORTION = (
    "*In proportion*: twice as much, or a list of twice the length, is about twice the training of "
    "the networks that the parameter is about."
)


def added(planned: chapter.Plan, done: Sequence[Run]) -> chapter.Plan:
    """Return the plan with these cells in its notebook; `done` are the runs of its configs.

    A notebook gets those whose place it marks with the tags `try-it` and `made-by`, and a rerun's
    notebook a second cell that says what it is.
    """
    notebook = deepcopy(planned.notebook)
    seconds = sum(run.meta["seconds"] for run in done)
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        tags = cell.metadata.get("tags", [])
        if TRY in tags:
            cells += map(new_markdown_cell, [*_suggested(planned, seconds), _all_of(planned)])
        if MADE in tags:
            cells.append(new_markdown_cell(_made_by(planned)))
    if planned.given is not None:
        cells.insert(1, new_markdown_cell(_head(planned)))
    notebook.cells = cells
    return replace(planned, notebook=notebook)


def _head(planned: chapter.Plan) -> str:
    given = ", ".join(code(f"{key}={commands.text(value)}") for key, value in planned.given.items())
    what = f"with {given}" if given else "with the profile's own parameters"
    return (
        f":::{{admonition}} A rerun of this chapter\n:class: answer\n\nThis page was made {what}. "
        f"[Yours beside the book's]({planned.name}{BESIDE}.md) has its figures and verdicts next "
        "to those of the book.\n:::"
    )


def _made_by(planned: chapter.Plan) -> str:
    alone = block(commands.chapter(planned.name, planned.profile, planned.given or {}))
    if planned.given is not None:
        return f"This page is a rerun, made by\n\n{alone}"
    book = block(commands.book(planned.profile))
    return f"The book, with this page, was made by\n\n{book}\n\nThe same chapter alone:\n\n{alone}"


def _suggested(planned: chapter.Plan, seconds: float) -> Iterator[str]:
    """Yield what introduces the suggestions, and each that goes with the profile's settings."""
    yield RERUNNING
    for preset in presets.read(planned.name):
        profile = preset.get("profile", planned.profile)
        given = parameters.of_command_line(preset["params"].split())
        with suppress(BadInput):  # what a reader's own profile sets may not go with it
            wanted = chapter.plan(planned.name, profile, given)
            cost = _cost(wanted.configs, planned.configs, seconds)
            command = block(commands.chapter(planned.name, profile, wanted.given))
            yield f"**{preset['ask']}** {cost}\n\n{command}"


def _cost(wanted: Sequence, own: Sequence, seconds: float) -> str:
    new, share = planning.compared(wanted, own)
    if not new:
        return "Trains nothing new."
    networks = "1 new network" if new == 1 else f"{new} new networks"
    # How an audited network compares with another is not known.
    timed = own and not isinstance(own[0], AuditConfig)
    return f"{networks}, {duration(share * seconds)}." if timed else f"{networks}."


def duration(seconds: float) -> str:
    """Return a time for readers who want to know whether to wait."""
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    minutes = seconds / 60
    return f"about {minutes:.0f} minutes" if minutes < 90 else f"about {minutes / 60:.1f} hours"


def _all_of(planned: chapter.Plan) -> str:
    """Return the table of all parameters; the value of this page only where it is another."""
    (cell,) = (c for c in planned.notebook.cells if "parameters" in c.metadata.get("tags", []))
    meaning = parameters.explained(cell.source)
    head = ["parameter", "may be", f"in {planned.profile}", "this page", "cost of more"]
    rows = []
    for key, default in planned.defaults.items():
        if key == "profile":  # not set by name
            continue
        value = planned.parameters[key]
        own = "" if value == default else code(commands.text(value))
        may_be, cost = parameters.told(key)
        what = f"{code(key)}<br>{meaning[key]}"
        rows.append([what, may_be, code(commands.text(default)), own, cost])
    if planned.given is None:
        head, *rows = ([*row[:3], row[4]] for row in (head, *rows))
    shown = f":::{{table}}\n:class: parameters\n\n{table(head, rows)}\n:::"
    return f"### All parameters\n\n{shown}\n\n{PROPORTION}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in line)} |" for line in lines
    )


def code(text: str) -> str:
    """Return text, of one line and of any characters, as Markdown that shows it as it is."""
    fence = _longer_than_in(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def block(command: str) -> str:
    """Return a command, of any characters, as a block with a button that copies it."""
    fence = _longer_than_in(command, 3)
    return f"{fence}bash\n{command}\n{fence}"


def _longer_than_in(text: str, least: int) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)
