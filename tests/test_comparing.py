import json
import re

import nbformat
import pytest
import tiny_book
from checkouts import files_in
from nbformat.v4 import new_code_cell, new_output
from verdicts import NOT, PARTLY, REPRODUCED, verdict

from bn_memorization import comparing, report, site


def svg(word: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{word}</title></svg>'


def figure(name: str, drawn: str) -> nbformat.NotebookNode:
    """Return an executed cell whose picture says what was drawn."""
    data = {"image/svg+xml": svg(drawn), "text/plain": "<Figure>"}
    mystnb = {"figure": {"caption": f"Caption of {name}.", "name": name}}
    mystnb["image"] = {"alt": f'Alt text of "{name}": dots'}
    output = new_output("execute_result", data, execution_count=1)
    return new_code_cell("draw()", outputs=[output], metadata={"mystnb": mystnb})


def write(path, parameters: dict, figures: dict[str, str], *found, answer: str = "Some answer."):
    """Write an executed chapter with these parameters, {name: what is drawn} and verdicts."""
    verdicts = json.dumps([report.plain(one) for one in found])
    notebook = tiny_book.executed("mark", answer_text=answer, verdicts=verdicts)
    notebook.cells += [figure(name, drawn) for name, drawn in figures.items()]
    notebook.cells.append(new_code_cell("x", metadata={"mystnb": {"figure": {"name": "fig-none"}}}))
    notebook.metadata["bn_memorization"]["parameters"] = parameters
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def both(tmp_path):
    """A rerun at smoke and the book's page at quick, with one figure in common and one each."""
    yours = write(
        tmp_path / "rerun" / "01_first.ipynb",
        {"profile": "smoke", "epochs": 7, "lr": 0.1, "only": ["*/|`/*"]},
        {"fig-shared": "shared of yours", "fig-yours": "yours alone"},
        verdict(REPRODUCED, PARTLY),
        answer="Partly (smoke profile). Seven.",
    )
    book = write(
        tmp_path / "book" / "01_first.ipynb",
        {"profile": "quick", "epochs": 3, "lr": 0.1, "dataset": ["mnist", "cifar10"]},
        {"fig-book": "book alone", "fig-shared": "shared of book"},
        verdict(REPRODUCED, NOT),
        answer="Not reproduced (quick profile). Three.",
    )
    return yours, book


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_head_names_both_profiles_and_every_parameter_that_differs(both):
    text, _ = comparing.page(*both)
    head = text.split("## Parameters")[0]
    assert "(profile smoke)" in head
    assert "(profile quick)" in head
    rows = re.findall(r"^\| (`.*) \|$", section(text, "Parameters that differ"), re.M)
    assert rows == [
        "`epochs` | `7` | `3`",
        r"`only` | `` */\|`/* `` | ",
        "`profile` | `smoke` | `quick`",
        "`dataset` |  | `mnist,cifar10`",
    ]


def test_equal_parameters_are_told_so(both):
    text, _ = comparing.page(both[0], both[0])
    assert "None differs." in section(text, "Parameters that differ")


def test_both_answers_stand_in_columns(both):
    text, _ = comparing.page(*both)
    columns = section(text, "Answers").split(":::{grid-item}")[1:]
    assert len(columns) == 2
    assert "**Yours**" in columns[0]
    assert "Partly (smoke profile). Seven." in columns[0]
    assert "**The book's**" in columns[1]
    assert "Not reproduced (quick profile). Three." in columns[1]


def test_both_verdicts_of_a_setting_stand_in_one_row(both):
    text, _ = comparing.page(*both)
    table = section(text, "Verdicts").replace(report.NO_BREAK, " ")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    found = {row[0]: row[1:] for row in rows if len(row) == 3}
    title = verdict(REPRODUCED).claim.title
    assert found[f"**{title}**"] == ["**partly**", "**partly**"]
    same = "+20.0 points (+10.0 to +30.0 points), n = 4: reproduced"
    assert found["MNIST, LeNet, 5 % flipped"] == [same, same]
    assert (
        found["Fashion-MNIST, LeNet, 1 % flipped"][1] == ""
    )  # the book's page has no such setting
    assert found["CIFAR-10, LeNet, 5 % flipped"][0] == ""
    assert found["CIFAR-10, LeNet, 5 % flipped"][1].endswith("n = 4: not reproduced")


def test_figures_of_one_name_stand_side_by_side_yours_first(both):
    text, images = comparing.page(*both)
    assert images == {
        "yours-fig-shared.svg": svg("shared of yours"),
        "yours-fig-yours.svg": svg("yours alone"),
        "book-fig-shared.svg": svg("shared of book"),
        "book-fig-book.svg": svg("book alone"),
    }
    shared = section(text, "Shared")
    assert shared.count("Caption of fig-shared.") == 1
    places = [shared.index(f"{{image}} beside/{who}-fig-shared.svg") for who in ("yours", "book")]
    assert places == sorted(places)
    assert shared.count(r':alt: "Alt text of \"fig-shared\": dots"') == 2
    for title, missing in (("Yours", 1), ("Book", 0)):
        columns = section(text, title).split(":::{grid-item}")[1:]
        assert comparing.MISSING in columns[missing]
        assert "{image}" in columns[1 - missing]
    assert "None" not in re.findall(r"^## (\w+)$", text, re.M)  # a cell that drew nothing


@pytest.mark.parametrize("damaged", [False, True])
def test_without_a_book_the_page_says_how_to_build_it(both, damaged):
    yours, book = both
    book.write_text("{") if damaged else book.unlink()
    text, images = comparing.page(yours, book)
    assert "has not been built" in text
    assert "make book PROFILE=smoke" in text
    assert images == {}


def test_a_page_without_verdicts_is_compared_all_the_same(both):
    yours, book = both
    plain = tiny_book.executed("mark")
    plain.metadata["bn_memorization"]["parameters"] = {"profile": "quick"}
    nbformat.write(plain, book)
    text, _ = comparing.page(yours, book)
    assert comparing.MISSING in section(text, "Answers")
    assert "Partly (smoke profile)" in text


def test_a_staged_rerun_becomes_pages_and_leaves_the_book_as_it_is(tmp_path, monkeypatch, both):
    """With the real jupyter-book, and its warnings as errors."""
    yours, book = both
    root = tiny_book.write(tmp_path / "root", monkeypatch)
    (root / "_config.yml").write_text(
        tiny_book.FILES["_config.yml"]
        + "parse: {myst_enable_extensions: [colon_fence]}\n"
        + "sphinx: {extra_extensions: [sphinx_design]}\n"
    )
    for name in ("notation", "glossary", "rerunning", "references"):
        (root / "book" / f"{name}.md").write_text(f"# {name}\n")
    (root / "book" / "chapters").mkdir()
    nbformat.write(titled(book), root / "book" / "chapters" / "01_first.ipynb")
    nbformat.write(titled(yours), yours)
    before = files_in(root)
    (tmp_path / "staged").mkdir()
    page = site.stage(yours, tmp_path / "staged")
    site.build(tmp_path / "staged", tmp_path / "html", "rerun")
    html = (tmp_path / "html" / f"{page}-beside.html").read_text()
    for name in ("yours-fig-shared", "book-fig-shared"):
        (image,) = re.findall(rf'<img[^>]*src="([^"]*{name}[^"]*)"', html)
        assert (tmp_path / "html" / page).parent.joinpath(image).resolve().is_file()
    assert files_in(root) == before


def titled(path) -> nbformat.NotebookNode:
    """Return an executed notebook with a title, without which it is no page."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "python"}
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# A title"))
    return notebook
