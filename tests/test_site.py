import json
import shutil
from pathlib import Path

import nbformat
import pytest
import tiny_book
import yaml
from checkouts import REPOSITORY, files_in

from bn_memorization import fingerprint, paths, site
from bn_memorization.errors import Failure

CONTENTS = """\
format: jb-book
root: book/intro
parts:
  - caption: One
    chapters:
      - file: book/one
  - caption: Two
    chapters:
      - file: book/two
        sections:
          - file: book/below
      - file: book/three
"""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    return tiny_book.write(tmp_path, monkeypatch)


def test_pages_are_those_of_the_contents_in_order(tmp_path):
    (tmp_path / "_toc.yml").write_text(CONTENTS)
    assert site.pages(tmp_path) == [
        "book/intro", "book/one", "book/two", "book/below", "book/three",
    ]  # fmt: skip


def test_pages_of_a_book_of_one_page(root):
    assert site.pages(root) == ["book/intro"]


def test_the_real_contents_name_every_source_once():
    pages = site.pages(REPOSITORY)
    prose = {f"book/{path.stem}" for path in (REPOSITORY / "book").glob("*.md")}
    chapters = {f"book/chapters/{name}" for name in [*fingerprint.chapters(), "scoreboard"]}
    assert sorted(pages) == sorted(prose | chapters)


def test_stage_lays_out_one_chapter_and_what_it_links_to(root, tmp_path_factory):
    executed = tmp_path_factory.mktemp("elsewhere") / "01_first.ipynb"
    nbformat.write(tiny_book.executed(), executed)
    for name in ("notation", "glossary", "rerunning", "references"):
        (root / "book" / f"{name}.md").write_text(f"# {name}\n")
    (root / "book" / "_static").mkdir()
    (root / "book" / "_static" / "custom.css").touch()
    (root / "book" / "chapters").mkdir()
    (root / "book" / "chapters" / "02_second.ipynb").touch()
    into = tmp_path_factory.mktemp("staged")

    assert site.stage(executed, into) == "book/chapters/01_first"
    assert site.pages(into) == [
        "book/chapters/01_first",
        "book/chapters/01_first-beside",
        "book/notation",
        "book/glossary",
        "book/rerunning",
        "book/references",
    ]
    files = files_in(into)
    assert {f"{page}.md" for page in site.pages(into)[1:]} <= set(files)
    assert files["book/chapters/01_first.ipynb"] == executed.read_bytes()
    assert files["_config.yml"] == (root / "_config.yml").read_bytes()
    assert "book/_static/custom.css" in files
    assert "book/chapters/02_second.ipynb" not in files  # the book's own page is another


def test_stamp_is_none_without_a_site(tmp_path):
    assert site.stamp_of(tmp_path / "missing") is None
    assert site.stamp_of(tmp_path) is None
    (tmp_path / site.STAMP).write_text("mark")
    assert site.stamp_of(tmp_path) == "mark"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A book of two pages, its mark and pages as they are when all is well."""
    root = tmp_path_factory.mktemp("source")
    (root / "_config.yml").write_text(tiny_book.FILES["_config.yml"])
    contents = {"format": "jb-book", "root": "intro", "chapters": [{"file": "second"}]}
    (root / "_toc.yml").write_text(yaml.safe_dump(contents))
    (root / "intro.md").write_text("# Intro\n\nSee [the other](second.md).\n")
    (root / "second.md").write_text("# Second\n\nProse.\n")
    return root


def test_a_good_source_becomes_pages_and_a_broken_one_leaves_them(source, tmp_path, monkeypatch):
    target = tmp_path / "html"
    target.mkdir()
    (target / "old.html").touch()
    site.build(source, target, "mark 1")
    assert site.stamp_of(target) == "mark 1"
    assert (target / "intro.html").is_file()
    assert (target / "second.html").is_file()
    assert not (target / "old.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["html"]
    assert not (source / "_build").exists()

    before = files_in(tmp_path)
    (source / "second.md").write_text("# Second\n\nSee [what is not there](third.md).\n")
    with pytest.raises(Failure, match=r"(?s)third.*could not build the book \(exit status 1\)"):
        site.build(source, target, "mark 2")
    assert files_in(tmp_path) == before

    # Not strict: the same source is built all the same.
    site.build(source, tmp_path / "lenient" / "html", "mark 3", strict=False)
    assert site.stamp_of(tmp_path / "lenient" / "html") == "mark 3"
    assert files_in(target) == {
        name.removeprefix("html/"): content for name, content in before.items()
    }


def test_the_lists_of_the_scoreboard_lie_beside_its_page(root, tmp_path):
    """Where there is one; a page of a chapter alone has none."""
    html = tmp_path / "html"
    (html / site.CHAPTERS).mkdir(parents=True)
    site._put_lists(root, html)
    assert not (html / site.CHAPTERS / site.LISTS).exists()
    text = "claim,record\nforced_final,runs/train/abc\n"
    scoreboard = root / site.CHAPTERS / "scoreboard.ipynb"
    scoreboard.parent.mkdir()
    nbformat.write(tiny_book.executed(records=json.dumps({"01_first-quick.csv": text})), scoreboard)
    site._put_lists(root, html)
    assert (html / "book/chapters/records/01_first-quick.csv").read_text() == text


def test_a_page_that_jupyter_book_leaves_out_in_silence_is_a_failure(root, tmp_path, monkeypatch):
    """A script that makes one page of two and says that all is well."""
    script = tmp_path / "jupyter-book"
    script.write_text(
        '#!/bin/sh\nmkdir -p "$4/_build/html/book"; touch "$4/_build/html/book/intro.html"\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(site, "_script", lambda: str(script))
    site.build(root, tmp_path / "out" / "html", "mark")
    assert site.stamp_of(tmp_path / "out" / "html") == "mark"
    (root / "_toc.yml").write_text(CONTENTS)
    with pytest.raises(Failure, match=r"exit status 0, no page for book/one, book/two, book/below"):
        site.build(root, tmp_path / "out" / "html", "mark 2")
    assert site.stamp_of(tmp_path / "out" / "html") == "mark"


def test_the_script_called_is_there():
    """`python -m jupyter_book` does nothing and succeeds; the script must not be it."""
    assert Path(site._script()).name == "jupyter-book"
    assert shutil.which(site._script())


def test_the_real_site_has_all_pages_and_the_mark_of_its_sources(built_site, monkeypatch):
    checkout = built_site.parents[1]
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(checkout))
    assert paths.site() == built_site
    assert site.stamp_of(built_site) == fingerprint.of_site()
    for page in site.pages(checkout):
        assert (built_site / f"{page}.html").is_file()
    assert {path.name for path in built_site.parent.iterdir()} <= {"html", ".lock"}
