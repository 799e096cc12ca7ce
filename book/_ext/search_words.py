"""Sphinx extension: the search finds words of tables and pictures, as it does those of the text.

Sphinx leaves out what stands in for a picture, and runs the cells of a table in HTML together.
"""

from __future__ import annotations

from html.parser import HTMLParser

from docutils import nodes
from sphinx.application import Sphinx

SPOKEN = ("alt", "aria-label")  # attributes whose words are read to who does not see the page
UNSEEN = ("script", "style")
NO_SUMMARY = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


class Words(HTMLParser):
    """Collects the words of HTML: its texts, each for itself, and what is said of its pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._unseen = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep what is said of a picture."""
        self._unseen += tag in UNSEEN
        self.found += [value for name, value in attributes if name in SPOKEN and value]

    def handle_endtag(self, tag: str) -> None:
        """Notice the end of what no reader sees."""
        self._unseen -= tag in UNSEEN

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self._unseen and data.strip():
            self.found.append(data.strip())


class indexed(nodes.General, nodes.Element):  # noqa: N801 (docutils finds visitors by this name)
    """Words for the index of the search, which do not show."""


def add_words(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add to a page, out of sight, the words that the index of the search would miss."""
    said = [image["alt"] for image in doctree.findall(nodes.image) if image.get("alt")]
    for raw in doctree.findall(nodes.raw):
        if "html" in raw["format"].split():
            said += Words(raw.astext()).found
    doctree += indexed("", nodes.Text("\n".join(said)))


def _skip(writer: object, node: indexed) -> None:
    raise nodes.SkipNode


def leave_out_summaries(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """On the page of results: a browser may not read pages for a summary from the file system."""
    if page == "search":
        app.add_js_file(None, body=NO_SUMMARY)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(indexed, html=(_skip, None))
    app.connect("doctree-resolved", add_words)
    app.connect("html-page-context", leave_out_summaries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
