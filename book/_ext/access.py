"""Sphinx extension: what assistive technology needs of a page, and the theme and pandas leave out.

A table without a caption is named after its section, and its heads say that they head columns.
Works are items of their list. The arrows that open sections in the sidebar say which.
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx

PART = re.compile(
    r'<h[1-6]>(?P<title>.*?)<a class="headerlink"'
    r"|<table(?P<table>[^>]*)>(?!\s*<caption)"
    r"|<th(?P<head>(?: [^>]*)?)>",
    re.DOTALL,
)
# ARIA 1.3 deprecates the role that docutils gives to a work; a list's child must be an item.
WORK = 'role="doc-biblioentry"'
ARROW = re.compile(r"(?P<title>[^<>]+)</a>(?P<opens><details[^>]*>)<summary>")
AFTER_THE_THEME = 900


def name_tables(body: str) -> str:
    """Return a page's HTML with a name for each table and a scope for each of their heads."""
    section, named = "", Counter()

    def complete(part: re.Match) -> str:
        nonlocal section
        if part["title"] is not None:
            section = unescape(re.sub(r"<[^>]+>", "", part["title"])).strip()
        elif part["table"] is not None and "aria-label" not in part["table"]:
            named[section] += 1
            number = f", table {named[section]}" if named[section] > 1 else ""
            return f'<table aria-label="{escape(section + number)}"{part["table"]}>'
        elif part["head"] is not None and "scope=" not in part["head"]:
            return f'<th scope="col"{part["head"]}>'
        return part[0]

    return PART.sub(complete, body)


def name_arrows(contents: str) -> str:
    """Return a table of contents as HTML in which each arrow says whose sections it opens."""
    return ARROW.sub(
        r'\g<title></a>\g<opens><summary aria-label="Sections of: \g<title>">', contents
    )


def complete(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Complete a page's body, and the table of contents beside it."""
    if "body" in context:
        context["body"] = name_tables(context["body"]).replace(WORK, 'role="listitem"')
    if listed := context.get("generate_toctree_html"):  # of this theme alone
        context["generate_toctree_html"] = lambda *a, **k: name_arrows(str(listed(*a, **k)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", complete, priority=AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
