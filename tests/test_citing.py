import re

import pytest
import tiny_book
from checkouts import REPOSITORY

from bn_memorization import citing


def fields(entry: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.M))


def test_entry_of_the_book(tmp_path, monkeypatch):
    tiny_book.write(tmp_path, monkeypatch)
    entry = citing.of_book()
    assert entry.startswith("@misc{bn_memorization,\n")
    assert entry.endswith("\n}")
    assert fields(entry) == {
        "author": "{The authors} and Doe, Jo",
        "title": "{A book}",
        "version": "9.9",
        "note": "Software",
    }


def test_entry_of_the_paper_is_the_one_that_the_book_cites():
    """The bibliography is another list, and says the same."""
    entry = citing.of_paper()
    cited = (REPOSITORY / "book" / "references.bib").read_text()
    key = re.match(r"@misc\{(\w+),", entry)[1]
    known = fields(cited[cited.index(f"{{{key},") :].partition("\n}")[0])
    assert {name: text.strip("{}") for name, text in fields(entry).items()} == known


def test_no_bare_underscore_reaches_latex():
    for entry in (citing.of_book(), citing.of_paper()):
        assert not re.search(r"(?<!\\)_", entry.partition("\n")[2])


@pytest.mark.parametrize("of", [citing.of_book, citing.of_paper])
def test_braces_are_even(of):
    assert of().count("{") == of().count("}")


def test_both_are_boxes_of_bibtex():
    assert citing.both().count("```bibtex\n@misc{") == 2
    assert citing.of_book() in citing.both()
    assert citing.of_paper() in citing.both()


def test_the_readme_has_both_entries():
    readme = (REPOSITORY / "README.md").read_text()
    assert f"```bibtex\n{citing.of_book()}\n\n{citing.of_paper()}\n```" in readme
