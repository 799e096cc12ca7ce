"""Sphinx extension: text of a page that a function of the package computes when it is built.

``{computed} bn_memorization.scale.faults`` stands for the Markdown that the function returns.
"""

from __future__ import annotations

from importlib import import_module

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PACKAGE = "bn_memorization."


class Computed(SphinxDirective):
    """Puts in the place of a function's name what it returns."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed text. A name outside the package, or a failure, is an error."""
        module, _, name = self.arguments[0].rpartition(".")
        if not module.startswith(PACKAGE):
            raise self.error(f"{self.arguments[0]} is not a function of {PACKAGE[:-1]}")
        try:
            text = getattr(import_module(module), name)()
        except Exception as error:
            raise self.error(f"{self.arguments[0]}: {error}") from error
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("computed", Computed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
