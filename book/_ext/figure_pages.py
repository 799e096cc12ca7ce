"""Sphinx extension: every figure in a box that may scroll, and its data as CSV below it.

The data stand in the metadata of the cell's output: see bn_memorization.figure_data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

FOLDER = "figure-data"
SVG = "image/svg+xml"
WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)pt"')
PHONE = 350  # points: what is wider is not shrunk to a phone's width, or its letters were too small


def drawn(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, picture and CSV of each figure in an executed notebook.

    Raises KeyError for a figure without data.
    """
    for cell in nbformat.read(path, as_version=4).cells:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for output in cell.get("outputs", []):
            if name and SVG in output.get("data", {}):
                yield name, output.data[SVG], output.metadata["csv"]


def add_data(app: Sphinx, doctree: nodes.document) -> None:
    """Write the data of a page's figures beside the pages, and link each below its figure."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    figures = {name: node for node in doctree.findall(nodes.figure) for name in node["names"]}
    up = "../" * app.env.docname.count("/")
    for name, svg, csv in drawn(path):
        file = f"{FOLDER}/{name}.csv"
        target = Path(app.outdir, file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(csv, encoding="utf-8", newline="")
        _box(figures[name], wide=float(WIDTH.search(svg)[1]) > PHONE)
        # Not in a legend: behind another node than a caption, its writer leaves the caption open.
        figures[name] += _html(_link(name, f"{up}{file}"))


def _box(figure: nodes.figure, *, wide: bool) -> None:
    attributes = ' tabindex="0" role="group" aria-label="figure, may scroll sideways"'
    figure.insert(0, _html(f'<div class="figure-box"{attributes if wide else ""}>'))
    figure.insert(2, _html("</div>"))
    figure["classes"] += ["figure-wide"] if wide else []


def _link(name: str, address: str) -> str:
    words = name.removeprefix("fig-").replace("-", " ")
    return (
        f'<p class="figure-data"><a href="{address}" download="{name}.csv" '
        f'aria-label="data (CSV) of the figure on {words}">data (CSV)</a></p>'
    )


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
