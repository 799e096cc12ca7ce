import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bn_memorization.slim import slim


@pytest.fixture
def html(tmp_path):
    files = ["a.css", "a.css.map", "locales/de/x.mo", "vendor/f/f.woff2", "vendor/f/f.ttf"]
    for name in files:
        path = tmp_path / "_static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "page.html").write_text("a page.map")
    return tmp_path


def test_what_no_page_needs_goes_and_the_rest_stays(html):
    slim(html)
    left = {str(path.relative_to(html)) for path in html.rglob("*") if path.is_file()}
    assert left == {"page.html", "_static/a.css", "_static/vendor/f/f.woff2"}
    assert not (html / "_static/locales").exists()


def test_the_search_is_loaded_where_it_is_used_alone(html):
    tools = "".join(
        f'\n<script src="{{0}}{name}.js"></script>'
        for name in ("_static/searchtools", "_static/language_data", "searchindex")
    )
    (html / "book").mkdir()
    (html / "book/a.html").write_text(f'<script src="x.js"></script>{tools.format("../")}<p>text')
    (html / "search.html").write_text(tools.format(""))
    slim(html)
    assert (html / "book/a.html").read_text() == '<script src="x.js"></script><p>text'
    assert (html / "search.html").read_text() == tools.format("")


def test_a_notebook_keeps_its_sources_and_loses_its_outputs(html):
    output = new_output("stream", text="7\n")
    cells = [new_markdown_cell("seven"), new_code_cell("7", outputs=[output], execution_count=3)]
    path = html / "_sources/book/chapters/a.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(new_notebook(cells=cells)))
    slim(html)
    found = nbformat.read(path, 4)
    nbformat.validate(found)
    assert [cell.source for cell in found.cells] == ["seven", "7"]
    assert json.loads(path.read_text())["cells"][1]["outputs"] == []
    assert found.cells[1].execution_count is None
