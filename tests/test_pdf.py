from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_book
from made_leaves import leaf

from bn_memorization import binding, book, browser, paths, pdf, printing, site
from bn_memorization.errors import BadInput, Failure

CONTENTS = """\
format: jb-book
root: book/intro
parts:
  - caption: One & all
    chapters:
      - file: book/two
        sections:
          - file: book/below
"""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    return tiny_book.write(tmp_path, monkeypatch)


def test_outline_is_the_table_of_contents(tmp_path):
    (tmp_path / "_toc.yml").write_text(CONTENTS)
    parts = [(0, "book/intro"), (0, "One & all"), (1, "book/two"), (2, "book/below")]
    assert pdf.outline(tmp_path) == parts
    (tmp_path / "_toc.yml").write_text("root: a\nchapters:\n  - file: b\n  - file: c\n")
    assert pdf.outline(tmp_path) == [(0, "a"), (0, "b"), (0, "c")]


def test_the_outline_of_the_real_book_has_every_page():
    named = [name for _, name in pdf.outline(paths.root()) if name.startswith("book/")]
    assert named == site.pages(paths.root())


def test_front_page_names_every_page_with_its_number_and_links_to_it(root):
    (root / "_toc.yml").write_text(CONTENTS)
    listed = {"book/intro": ("Intro", 2), "book/two": ("a < b", 3), "book/below": ("Below", 14)}
    text = pdf.front_page("A & B", Path("/built/html"), listed, pdf.outline(root))
    assert "<h1>A &amp; B</h1>" in text
    assert "One &amp; all" in text
    for name, shown, number in (
        ("book/intro", "Intro", 2), ("book/two", "a &lt; b", 3), ("book/below", "Below", 14),
    ):  # fmt: skip
        assert f'<a href="file:///built/html/{name}.html">{shown}</a>' in text
        assert f'<td class="number">{number}</td>' in text
    assert text.index("Intro") < text.index("One &amp; all") < text.index("Below")


def test_what_a_pdf_says_of_itself_is_from_the_citation_file(root):
    said = pdf.about("mark")
    assert said["/Title"] == "A book"
    assert said["/Author"] == "The authors; Doe, Jo"
    assert said[pdf.MADE_FROM] == "mark"


@pytest.fixture
def at_work(root, monkeypatch) -> list[str]:
    """A book that is built by name alone, and printed as one leaf; return what was done."""
    done = []

    @contextmanager
    def no_browser():
        yield None

    def build(profile):
        done.append(f"built {profile}")
        paths.site().mkdir(parents=True, exist_ok=True)
        (paths.site() / site.STAMP).write_text("mark")

    def printed(opened, html, names):
        done.append("printed")
        return [leaf(name) for name in names]

    monkeypatch.setattr(browser, "open_browser", no_browser)
    monkeypatch.setattr(book, "build", build)
    monkeypatch.setattr(printing, "print_pages", printed)
    monkeypatch.setattr(printing, "print_text", lambda opened, text: leaf("text", 2).pdf)
    return done


def test_a_pdf_is_made_once_for_the_same_pages(at_work, capsys, monkeypatch):
    pdf.make("smoke")
    assert at_work == ["built smoke", "printed"]
    assert pdf.made_from(paths.pdf()) == "mark"
    assert capsys.readouterr().out.rstrip().endswith(f"is ready. {paths.pdf()}")
    pdf.make("smoke")
    assert at_work == ["built smoke", "printed", "built smoke"]
    assert capsys.readouterr().out == f"Nothing to do: the PDF is up to date. {paths.pdf()}\n"
    monkeypatch.setattr(site, "stamp_of", lambda html: "another mark")
    pdf.make("smoke")
    assert at_work[-1] == "printed"
    assert pdf.made_from(paths.pdf()) == "another mark"


def test_the_front_counts_its_own_sheets(at_work, monkeypatch):
    texts = []
    monkeypatch.setattr(
        printing, "print_text", lambda opened, text: (texts.append(text), leaf("text", 2).pdf)[1]
    )
    pdf.make("smoke")
    assert '<td class="number">3</td>' in texts[-1]  # after two sheets of its own


def test_a_pdf_is_written_whole_or_not_at_all(at_work, monkeypatch):
    pdf.make("smoke")
    before = paths.pdf().read_bytes()
    monkeypatch.setattr(site, "stamp_of", lambda html: "another mark")

    def break_off(*asked):
        raise Failure("the browser died")

    monkeypatch.setattr(binding, "bind", break_off)
    with pytest.raises(Failure, match="the browser died"):
        pdf.make("smoke")
    assert paths.pdf().read_bytes() == before
    files = [path.name for path in paths.build().iterdir() if path.is_file()]
    assert files == [paths.pdf().name]


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path, monkeypatch):
    target = tmp_path / "book.pdf"
    target.write_bytes(b"old")

    def no_room(source, destination):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pdf.os, "replace", no_room)
    with pytest.raises(OSError, match="No space left"):
        pdf._write(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["book.pdf"]
    assert target.read_bytes() == b"old"


def test_without_a_browser_no_book_is_built(at_work, monkeypatch):
    @contextmanager
    def missing():
        raise BadInput(browser.MISSING)
        yield

    monkeypatch.setattr(browser, "open_browser", missing)
    with pytest.raises(BadInput, match="apt-get install chromium"):
        pdf.make("smoke")
    assert at_work == []


@pytest.mark.parametrize("content", [None, b"", b"no PDF", b"%PDF-1.4\n%%EOF"])
def test_what_is_no_pdf_of_ours_has_no_mark(tmp_path, content):
    path = tmp_path / "x.pdf"
    if content is not None:
        path.write_bytes(content)
    assert pdf.made_from(path) is None
