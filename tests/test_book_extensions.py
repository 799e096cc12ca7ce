"""The book's own Sphinx extensions, on a small book."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXTENSIONS = Path(__file__).resolve().parents[1] / "book" / "_ext"
CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_nb", "offline_mathjax", "glue_dependencies"]
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
"""


def write_notebook(folder, value):
    """Write an executed notebook that glues ``value`` under the key "answer"."""
    output = nbformat.v4.new_output(
        "display_data",
        data={"application/papermill.record/text/plain": repr(value)},
        metadata={"scrapbook": {"mime_prefix": "application/papermill.record/", "name": "answer"}},
    )
    cells = [
        nbformat.v4.new_markdown_cell("# Measured", id="title"),
        nbformat.v4.new_code_cell("pass", outputs=[output], id="glue"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "measured.ipynb")


def build(folder):
    """Build the book and return the text of the page that quotes the notebook."""
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "out" / "quote.html").read_text(encoding="utf-8")


@pytest.fixture
def book(tmp_path):
    (tmp_path / "conf.py").write_text(CONF, encoding="utf-8")
    # The quoting page stands apart from the contents, which a changed notebook renews anyway.
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\nmeasured\nquote\n```\n")
    (tmp_path / "quote.md").write_text("# Quote\n\n{glue:text}`measured.ipynb::answer:s` $x$\n")
    return tmp_path


def test_a_quoted_value_is_renewed_and_mathjax_comes_along(book):
    write_notebook(book, "old answer")
    first = build(book)
    assert "old answer" in first
    assert 'src="_static/tex-svg-full.js' in first
    assert "cdn" not in first
    assert (book / "out" / "_static" / "tex-svg-full.js").stat().st_size > 1_000_000

    write_notebook(book, "new answer")
    assert "new answer" in build(book)
