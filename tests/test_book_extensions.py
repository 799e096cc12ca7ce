"""The book's own Sphinx extensions, on a small book."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXTENSIONS = Path(__file__).resolve().parents[1] / "book" / "_ext"
CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_nb", "offline_mathjax"]
myst_enable_extensions = ["dollarmath"]
"""


def test_mathjax_comes_along_and_no_page_asks_for_it(tmp_path):
    (tmp_path / "conf.py").write_text(CONF, encoding="utf-8")
    (tmp_path / "index.md").write_text("# Book\n\n$x$\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), f"{tmp_path}/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'src="_static/tex-svg-full.js' in page
    assert "cdn" not in page
    assert (tmp_path / "out" / "_static" / "tex-svg-full.js").stat().st_size > 1_000_000


def test_scripts_come_to_pages_with_a_picture_alone(tmp_path):
    extensions = CONF.replace('"offline_mathjax"', '"live_pictures"')
    (tmp_path / "conf.py").write_text(extensions, encoding="utf-8")
    raw = '```{{raw}} html\n<div data-live="{}" data-figure="fig-x"></div>\n```\n'
    pages = {
        "index": "# Book\n\n```{toctree}\none\ntwo\n```\n",
        "one": "# One\n\n" + raw.format("playback"),
        "two": "# Two\n\n" + raw.format("explorer") + raw.format("playback"),
    }
    for name, text in pages.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), f"{tmp_path}/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = {"index": [], "one": ["live", "playback"], "two": ["live", "explorer", "playback"]}
    for name, scripts in wanted.items():
        page = (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")
        found = re.findall(r'<script defer="defer" src="_static/(\w+)\.js[^"]*"></script>', page)
        assert found == scripts, name


GLOSSARY = """\
# Glossary

```{glossary}
margin
logit margin
  How far a label is <above> the others,
  and by what.

  See {term}`loss`.

loss
  What falls.
```
"""


def built(tmp_path: Path, extension: str, pages: dict[str, str]) -> Path:
    """Build these pages with one of the book's extensions, warnings as errors; return the HTML."""
    (tmp_path / "conf.py").write_text(CONF.replace("offline_mathjax", extension), encoding="utf-8")
    others = "\n".join(name for name in pages if name != "index")
    pages = {"index": f"# Book\n\n```{{toctree}}\n{others}\n```\n"} | pages
    for name, text in pages.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-qW", "-b", "html", str(tmp_path)]
    done = subprocess.run([*command, f"{tmp_path}/out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def test_a_page_that_marks_terms_carries_what_they_mean(tmp_path):
    text = "# One\n\nThe {term}`margins <logit margin>`, and the {term}`loss`. A {term}`loss`.\n"
    out = built(tmp_path, "definitions", {"one": text, "two": "# Two\n", "glossary": GLOSSARY})
    wanted = {
        "one": [
            ("term-logit-margin", "How far a label is &lt;above&gt; the others, and by what."),
            ("term-loss", "What falls."),
        ],
        "two": [],
        "glossary": [("term-loss", "What falls.")],
    }
    for name, means in wanted.items():
        page = (out / f"{name}.html").read_text(encoding="utf-8")
        found = re.findall(r'<div id="(.+?)-means" .*? popover="manual">(.+?)</div>', page)
        assert found == means, name
        assert ('src="_static/glossary.js' in page) == bool(means), name
    assert 'href="glossary.html#term-logit-margin"' in (out / "one.html").read_text()


def test_a_term_that_the_glossary_lacks_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="term not in glossary: 'gain'"):
        built(tmp_path, "definitions", {"one": "# One\n\n{term}`gain`\n", "glossary": GLOSSARY})


def test_the_search_has_words_of_tables_and_of_what_stands_in_for_a_picture(tmp_path):
    table = "<table><tr><td>zebra</td><td>quagga &amp; okapi</td></tr></table>"
    hidden = '<style>.lemur{}</style><script type="application/json">["tapir"]</script>'
    (tmp_path / "x.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    text = (
        f"# One\n\n```{{raw}} html\n{table}{hidden}<svg aria-label='ibex'></svg>\n```\n\n"
        "![walrus](x.svg)\n\n```{figure} x.svg\n:alt: narwhal\n\nbeluga\n```\n"
    )
    out = built(tmp_path, "search_words", {"one": text})
    index = (out / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    for word in ("zebra", "quagga", "okapi", "ibex", "walru", "narwhal", "beluga"):
        assert word in terms, word  # as the stemmer leaves it
    assert not {"lemur", "tapir"} & set(terms)
    page = (out / "one.html").read_text(encoding="utf-8")
    assert page.count("zebra") == page.count("walrus") == 1  # for the index alone
    assert "SHOW_SEARCH_SUMMARY = false" in (out / "search.html").read_text()
    assert "SHOW_SEARCH_SUMMARY = false" not in page


def test_tables_have_a_name_and_their_heads_a_scope(tmp_path):
    bare = "<table id='t'><thead><tr><th class='x'>a</th></tr></thead></table>"
    text = (
        f"# One\n\n## A & *b*\n\n| h |\n| --- |\n| c |\n\n```{{raw}} html\n{bare}\n"
        "<table>\n  <caption>kept</caption><th scope='row'>r</th></table>\n```\n"
    )
    page = (built(tmp_path, "access", {"one": text}) / "one.html").read_text(encoding="utf-8")
    names = re.findall(r'<table(?: aria-label="([^"]*)")?', page)
    assert names == ["A &amp; b", "A &amp; b, table 2", ""]
    assert re.findall("<th [^>]*>", page) == [
        '<th scope="col" class="head">',
        "<th scope=\"col\" class='x'>",
        "<th scope='row'>",
    ]


def computed_page(tmp_path: Path, text: str, strict: str = "-qW") -> subprocess.CompletedProcess:
    """Build a page of this text, with a measurement for the functions that it names."""
    (tmp_path / "conf.py").write_text(CONF.replace("offline_mathjax", "computed"), encoding="utf-8")
    (tmp_path / "index.md").write_text(f"# Book\n\n{text}\n", encoding="utf-8")
    measured = tmp_path / "published" / "measured"
    measured.mkdir(parents=True)
    trial = dict.fromkeys(("tried", "finished", "lost", "retrained", "again", "half_written"), 7)
    trials = [trial | {"fault": "a <b>fault</b>", "means": "by hand", "same": True}]
    made = {"day": "2026-01-01", "system": "x", "cores": 1, "load": 0, "versions": {}}
    (measured / "faults.json").write_text(json.dumps({"made": made, "trials": trials}))
    command = [sys.executable, "-m", "sphinx", strict, "-b", "html", str(tmp_path)]
    command += [f"{tmp_path}/out"]
    own = os.environ | {"BN_MEMORIZATION_ROOT": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=own)


def test_a_page_says_what_a_function_returns(tmp_path):
    done = computed_page(tmp_path, "```{computed} bn_memorization.scale.faults\n```")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "</strong>: by hand</p></td>" in page
    assert "<p>half-written</p>" in page


def test_a_page_that_cannot_be_computed_is_an_error(tmp_path):
    names = ("os.getcwd", "bn_memorization.scale.nothing", "bn_memorization.scale.sizes")
    text = "\n\n".join(f"```{{computed}} {name}\n```" for name in names)
    done = computed_page(tmp_path, text, strict="-q")
    for told in (
        "ERROR: os.getcwd is not a function of bn_memorization",
        "has no attribute 'nothing'",
        "benchmarks/scheduler.py makes it",
    ):
        assert told in done.stderr


def figure_notebook(csv: str, width: int) -> str:
    """Return an executed notebook with one figure of that width in points, and its data."""
    cell = nbformat.v4.new_code_cell("draw()")
    cell.metadata["mystnb"] = {"figure": {"caption": "What is drawn.", "name": "fig-two-points"}}
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="9pt"></svg>'
    data = {"image/svg+xml": svg, "text/plain": "<Drawn>"}
    metadata = {"csv": csv}
    cell.outputs = [nbformat.v4.new_output("execute_result", data, metadata=metadata)]
    cells = [nbformat.v4.new_markdown_cell("# One"), cell]
    about = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=about))


@pytest.mark.parametrize(("width", "wide"), [(300, False), (576, True)])
def test_a_figure_has_its_data_beside_the_pages_and_a_link_to_it(tmp_path, width, wide):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "one.ipynb").write_text(figure_notebook("x,y\n1,2\n", width))
    extra = CONF.replace("offline_mathjax", "figure_pages") + 'nb_execution_mode = "off"\n'
    (tmp_path / "conf.py").write_text(extra)
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\npart/one\n```\n")
    command = [sys.executable, "-m", "sphinx", "-qW", "-b", "html", str(tmp_path)]
    done = subprocess.run([*command, f"{tmp_path}/out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "part" / "one.html").read_text(encoding="utf-8")
    (figure,) = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    (address,) = re.findall(r'<a href="([^"]*)" download', figure)
    assert ((tmp_path / "out" / "part") / address).read_bytes() == b"x,y\n1,2\n"
    assert figure.index("<img") < figure.index("What is drawn.") < figure.index("data (CSV)")
    assert ("figure-wide" in figure) == wide
    assert ('tabindex="0"' in figure) == wide
