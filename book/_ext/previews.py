"""Sphinx extension: titles and descriptions of pages in plain letters, for links and searches.

sphinxext.opengraph takes both from the page, where a formula is TeX. By then the page itself is
typeset, so its formulas can become text.
"""

from __future__ import annotations

import re
import unicodedata

from docutils import nodes
from sphinx.application import Sphinx

SPAN = re.compile(r'<span class="math[^"]*">\\\((.*?)\\\)</span>')
SIGNS = {"times": "\u00d7", "le": "≤", "ge": "≥", "pm": "±", "approx": "≈", "to": "→", "in": "∈"}


def plain(tex: str) -> str:
    """Return a short formula in letters that need no typesetting: γ/σ, (γ/σ)²."""
    text = re.sub(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    text = re.sub(r"\\([A-Za-z]+) ?", lambda found: _letter(found[1]), text)
    return re.sub(r"\\.|[{}]", "", text.replace("^2", "²"))


def _letter(name: str) -> str:
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        return SIGNS.get(name, "")


def take_formulas_out(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Turn the formulas of the title, and of what the description is taken from, into text."""
    if context.get("title"):
        context["title"] = SPAN.sub(lambda found: plain(found[1]), context["title"])
    if doctree is None:
        return
    for formula in list(doctree.findall(nodes.math)):
        formula.parent.replace(formula, nodes.Text(plain(formula.astext())))
    for formula in list(doctree.findall(nodes.math_block)):
        formula.parent.remove(formula)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; before sphinxext.opengraph, which has the priority 500."""
    app.connect("html-page-context", take_formulas_out, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
