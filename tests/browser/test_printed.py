"""A small book, built and printed by a real browser."""

import shutil
from io import BytesIO
from pathlib import Path

import pytest
import tiny_book
from checkouts import REPOSITORY
from pypdf import PdfReader

from bn_memorization import browser, paths, pdf, printing, site
from bn_memorization.errors import Failure

WIDE = " | ".join(f"column{number}ofmany" for number in range(30))
FIRST = f"""\
# What is $\\gamma/\\sigma$?

See [the other](two.md), [its end](two.md#the-end), [below](#a-table) or <https://example.org/>.

$$ x = \\frac{{1}}{{2}} $$

:::{{dropdown}} Closed on the screen
Whatisinside
:::

## A table

| {WIDE} |
|{" --- |" * 30}
| {" | ".join(["x"] * 29)} | lastcell |
"""
SECOND = "# Two\n\n" + "A line that fills the sheet.\n\n" * 90 + "## The end\n\nLast words.\n"
# The style and MathJax are those of the book.
CONFIG = """\
title: Tiny
only_build_toc_files: true
execute: {execute_notebooks: "off"}
parse: {myst_enable_extensions: [colon_fence, dollarmath]}
sphinx:
  local_extensions: {offline_mathjax: book/_ext}
  config:
    myst_heading_anchors: 2
    html_static_path: [book/_static]
    html_css_files: [custom.css]
"""
CONTENTS = """\
format: jb-book
root: book/one
parts:
  - caption: Later
    chapters:
      - file: book/two
"""
FILES = {
    "_config.yml": CONFIG,
    "_toc.yml": CONTENTS,
    "book/one.md": FIRST,
    "book/two.md": SECOND,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("printed")
    with pytest.MonkeyPatch.context() as patch:
        tiny_book.write(root, patch)
        for name, text in FILES.items():
            (root / name).write_text(text)
        for name in ("_ext", "_static"):
            shutil.copytree(REPOSITORY / "book" / name, root / "book" / name)
        site.build(root, paths.site(), "mark")
    return root


@pytest.fixture(scope="module")
def content(root) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BN_MEMORIZATION_ROOT", str(root))
        return pdf.whole(root, paths.site(), "mark")


@pytest.fixture(scope="module")
def reader(content) -> PdfReader:
    return PdfReader(BytesIO(content))


def test_all_that_a_reader_wants_is_on_paper(reader):
    texts = [page.extract_text() for page in reader.pages]
    assert len(texts) >= 4  # contents, the first page, and two sheets of the second
    whole = "\n".join(texts)
    assert "Whatisinside" in whole  # open, and no button to open it
    assert "Last words." in whole
    assert "Search" not in whole  # no sidebar
    assert "Next" not in whole
    for raw in ("\\gamma", "\\frac", "$"):
        assert raw not in whole
    assert texts[0].count("Contents") == 1


def test_nothing_is_cut_at_the_right_edge(reader):
    """Thirty columns, the last of which would lie far outside."""
    found = []

    def visit(text, matrix, text_matrix, font, size):
        if "lastcell" in text:
            found.append((matrix[0] * text_matrix[4] + matrix[4], text))

    reader.pages[1].extract_text(visitor_text=visit)
    ((left, _),) = found
    assert 300 < left < float(reader.pages[1].mediabox.width)


def test_sheets_are_numbered_and_say_whose_they_are(reader):
    last = [page.extract_text().splitlines()[-1] for page in reader.pages]
    assert last[1:] == [
        "What is γ/σ? 2", *(f"Two {number}" for number in range(3, len(last) + 1)),
    ]  # fmt: skip


def test_links_lead_into_the_document_or_out_of_it(reader):
    sheets = {page.indirect_reference.idnum: n for n, page in enumerate(reader.pages)}
    found, out = [], []
    for link in (entry.get_object() for entry in reader.pages[1]["/Annots"]):
        if "/A" in link:
            out.append(link["/A"]["/URI"])
        else:
            found.append(sheets[link["/Dest"][0].idnum])
    last = len(reader.pages) - 1
    assert found == [2, last, 1]
    assert out == ["https://example.org/"]
    contents = [entry.get_object()["/Dest"][0].idnum for entry in reader.pages[0]["/Annots"]]
    assert [sheets[number] for number in contents] == [1, 2]


def test_outline_is_the_table_of_contents_with_headings(reader):
    def flat(entries, level=0):
        for entry in entries:
            if isinstance(entry, list):
                yield from flat(entry, level + 1)
            else:
                yield level, entry.title, reader.get_destination_page_number(entry)

    last = len(reader.pages) - 1
    assert list(flat(reader.outline)) == [
        (0, "Contents", 0),
        (0, "What is γ/σ?", 1),
        (1, "A table", 1),
        (0, "Later", 2),
        (1, "Two", 2),
        (2, "The end", last),
    ]


def test_the_same_book_makes_the_same_file(root, content, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(root))
    assert pdf.whole(root, paths.site(), "mark") == content


def test_a_page_that_is_not_there_is_named(tmp_path):
    with browser.open_browser() as opened:
        with pytest.raises(Failure, match=r"missing\.html could not be printed"):
            printing.print_pages(opened, tmp_path, ["missing"])
        (tmp_path / "bare.html").write_text("<p>No title.</p>")
        with pytest.raises(Failure, match=r"bare\.html has no title"):
            printing.print_pages(opened, tmp_path, ["bare"])
