"""Sphinx extension: a page with something that answers to touch gets its scripts, no other does."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

MARK = re.compile(r'data-live="(\w+)"')  # what bn_memorization.live.embed writes
SHARED = "live.js"
ALONE = re.compile(r'data-script="(\w+)"')  # needs no other script: see scoreboard_table


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Add the scripts of what a page holds, to this page alone."""
    raw = [node.astext() for node in doctree.findall(nodes.raw)] if doctree else []
    kinds = {kind for text in raw for kind in MARK.findall(text)}
    alone = {f"{name}.js" for text in raw for name in ALONE.findall(text)}
    # Deferred scripts run in their order, when the figures that they look for are there.
    live = [SHARED, *(f"{kind}.js" for kind in sorted(kinds))] if kinds else []
    for name in [*live, *sorted(alone)]:
        app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
