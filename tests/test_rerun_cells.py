import re
from dataclasses import replace

import made_audit
import planted
import pytest
import tiny_book
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bn_memorization import chapter, fingerprint, plans, rerun_cells
from bn_memorization.train import Run

MARKED = """\
print(epochs)

# %% [markdown] tags=["try-it"]
# ## Try it

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %%
1 + 1
"""
LINES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tiny_book.write(tmp_path, monkeypatch)
    tiny_book.write_chapter(root, "01_first", MARKED)
    (root / "notebooks" / "presets.yml").write_text(
        "01_first:\n"
        "  - {ask: 'More?', params: epochs=4}\n"
        "  - {ask: 'Too much?', params: epochs=99999999}\n"
        "  - {ask: 'Small?', params: lr=0.25, profile: quick}\n"
    )
    runs = {2: [0, 1], 4: [0, 1, 2], 5: [1]}  # by epochs: the seeds of the runs
    monkeypatch.setitem(
        plans.CHAPTERS,
        "01_first",
        lambda values: [planted.config(seed=seed) for seed in runs[values["epochs"]]],
    )
    return root


def texts(given: dict | None, seconds: float = 60.0) -> list[str]:
    """Return the added cells of the first chapter, whose two runs took `seconds` each."""
    plan = chapter.plan("01_first", "smoke", given)
    before = [cell.source for cell in plan.notebook.cells]
    done = [Run(config, {}, {"seconds": seconds}) for config in plan.configs]
    made = rerun_cells.added(plan, done)
    assert [cell.source for cell in plan.notebook.cells] == before  # the plan stays as it was
    after = [cell.source for cell in made.notebook.cells]
    assert [text for text in after if text in before] == before
    return [text for text in after if text not in before]


def test_the_books_own_page(root):
    lead, more, small, table, made = texts(None)
    assert "rerunning.md" in lead
    assert more == (
        "**More?** 1 new network, about 60 s.\n\n"
        "```bash\nmake chapter CHAPTER=01_first PROFILE=smoke PARAMS='epochs=4'\n```"
    )
    assert small == (
        "**Small?** Trains nothing new.\n\n"
        "```bash\nmake chapter CHAPTER=01_first PROFILE=quick PARAMS='lr=0.25'\n```"
    )
    assert "| parameter | may be | in smoke | cost of more |" in table
    assert made.index("make book PROFILE=smoke") < made.index(
        "make chapter CHAPTER=01_first PROFILE=smoke\n"
    )


def test_a_rerun_names_its_own_command_and_not_the_books(root):
    head, *_, made = texts({"lr": "1e-3", "dataset": "mnist,cifar10"})
    assert "`lr=0.001`, `dataset=mnist,cifar10`" in head
    assert "(01_first-beside.md)" in head
    assert "make book" not in made
    assert "PROFILE=smoke PARAMS='lr=0.001 dataset=mnist,cifar10'\n" in made


def test_a_rerun_with_nothing_given_is_one(root):
    head, *_, made = texts({})
    assert "with the profile's own parameters" in head
    assert made.endswith("```bash\nmake chapter CHAPTER=01_first PROFILE=smoke\n```")
    assert "make book" not in made


def rows(table: str) -> dict[str, list[str]]:
    """Return {parameter: its other cells} as a reader sees them."""
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first.split("`")[1]: [first.partition("<br>")[2], *rest] for first, *rest in cells}


def test_the_table_has_all_that_can_be_set_and_this_pages_value_where_it_differs(root):
    table = texts({"lr": "0.25", "epochs": "2"})[-2]
    assert rows(table) == {
        "epochs": ["passes", "a whole number from 1 up to 10000", "`2`", "", "in proportion"],
        "lr": ["step", "a number above 0 up to 100", "`0.5`", "`0.25`", ""],
        "dataset": [
            "one or more",
            "one or more, each one of mnist, fashion_mnist, cifar10, cifar100",
            "`mnist`",
            "",
            "in proportion",
        ],
    }


def test_an_audited_network_has_no_time(root, monkeypatch):
    configs = [replace(made_audit.CONFIG, model=model) for model in range(2)]
    monkeypatch.setitem(plans.CHAPTERS, "01_first", lambda values: configs[: values["epochs"] - 1])
    assert texts(None)[1].startswith("**More?** 1 new network.\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "less than a second"),
        (1.0, "about 1 s"),
        (89.4, "about 89 s"),
        (90, "about 2 minutes"),
        (1800, "about 30 minutes"),
        (5399, "about 90 minutes"),
        (5400, "about 1.5 hours"),
        (86400, "about 24.0 hours"),
    ],
)
def test_durations(seconds, text):
    assert rerun_cells.duration(seconds) == text


@given(LINES)
def test_any_text_is_shown_as_it_is(text):
    markdown = MarkdownIt().enable("table")
    line = rerun_cells.table(["a", "b"], [[rerun_cells.code(text), "x"]])
    tokens = [t for token in markdown.parse(line) for t in token.children or []]
    (code,) = [token.content for token in tokens if token.type == "code_inline"]
    assert code == text
    (fence,) = markdown.parse(rerun_cells.block(text))
    assert (fence.type, fence.info, fence.content) == ("fence", "bash", f"{text}\n")


def test_every_real_chapter_marks_both_places():
    for name in fingerprint.chapters():
        cells = chapter.plan(name, "quick").notebook.cells
        tags = [tag for cell in cells for tag in cell.metadata.get("tags", [])]
        assert (tags.count("try-it"), tags.count("made-by")) == (1, 1), name
        titles = {
            tag: cell.source.splitlines()[0]
            for cell in cells
            for tag in cell.metadata.get("tags", [])
            if tag in ("try-it", "made-by")
        }
        assert titles == {"try-it": "## Try it", "made-by": "## How this page was made"}, name


def test_a_notebook_without_the_marks_stays_as_it_is(root):
    tiny_book.write_chapter(root, "01_first", "1")
    assert texts(None) == []


def test_every_parameter_of_a_real_chapter_is_explained():
    for name in fingerprint.chapters():
        plan = chapter.plan(name, "smoke")
        table = rerun_cells._all_of(plan)
        explained = rows(table)
        assert explained.keys() == plan.parameters.keys() - {"profile"}, name
        for key, (meaning, *_) in explained.items():
            assert re.search(r"\w", meaning), f"{name}: {key}"
