"""Sphinx extension: a page that marks terms of the glossary carries what they mean.

Each ``{term}`` is a link to the glossary. The definitions of those on a page stand at its end,
hidden, and ``glossary.js`` shows one beside its term. Without scripts the links are what is there.
"""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SCRIPT = "glossary.js"
TIP = '<div id="{id}-means" class="term-means" role="tooltip" popover="manual">{text}</div>'


def definitions(env: BuildEnvironment) -> dict[str, str]:
    """Return {anchor: first paragraph} of every term that the glossaries of the book define."""
    terms = env.get_domain("std").get_objects()
    pages = {page for _, _, kind, page, _, _ in terms if kind == "term"}
    items = [
        item for page in pages for item in env.get_doctree(page).findall(nodes.definition_list_item)
    ]
    return {
        anchor: item.next_node(nodes.paragraph).astext().replace("\n", " ")
        for item in items
        for term in item.findall(nodes.term)
        for anchor in term["ids"]
    }


def _marked(doctree: nodes.document) -> list[str]:
    """Return the anchors that the terms marked in a page lead to, each once."""
    links = [mark.parent for mark in doctree.findall(nodes.inline) if "std-term" in mark["classes"]]
    # A link within the glossary itself has the anchor alone.
    anchors = [link.get("refid") or link["refuri"].rpartition("#")[2] for link in links]
    return list(dict.fromkeys(anchors))


def add_definitions(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Add to a page that marks terms their definitions and the script that shows them."""
    marked = _marked(doctree) if doctree else []
    if not marked:
        return
    known = definitions(app.env)
    context["body"] += "".join(TIP.format(id=a, text=escape(known[a])) for a in marked)
    app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_definitions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
