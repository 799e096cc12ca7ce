"""Sphinx extension: rebuild a page that quotes a computed value together with its source.

MyST-NB fills in a value glued from another page while writing, but records no dependency: an
incremental build would leave the old value standing.
"""

from __future__ import annotations

from docutils import nodes
from myst_nb.ext.glue.utils import PendingGlueReference
from sphinx.application import Sphinx


def note_quoted_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Make the page just read depend on each page whose glued values it quotes."""
    for reference in doctree.findall(PendingGlueReference):
        app.env.note_dependency(app.env.doc2path(reference.refdoc))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", note_quoted_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
