import io
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import tiny_book

from bn_memorization import chapter, fingerprint, rerun_cells, runs
from bn_memorization.errors import BadInput, Failure

CODE = """\
import sys

class Shown:
    "Its repr holds an address, which differs each time."

print(epochs, lr, dataset, profile)
Shown()

# %%
1 + 1

# %% tags=["remove-cell"]
from myst_nb import glue
glue("answer_text", "it's \\"5\\"\\nand more", display=False)
glue("number", "7", display=False)
"""


FAILING = """\
print("before")

# %%
def inner():
    return {}["a key"]
inner()

# %%
print("after")
"""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    for name in ("JUPYTER_PATH", "IPYTHONDIR"):  # execution sets these; put them back afterwards
        monkeypatch.setenv(name, "")
    return tiny_book.write(tmp_path, monkeypatch)


def execute(root: Path, code: str, given: dict | None = None, mark: str = "mark") -> Path:
    tiny_book.write_chapter(root, "01_first", code)
    target = root / "book" / "chapters" / "01_first.ipynb"
    chapter.execute(chapter.plan("01_first", "smoke", given), target, mark)
    return target


def cell_of(plan: chapter.Plan) -> str:
    (cell,) = (c for c in plan.notebook.cells if "parameters" in c.metadata.get("tags", []))
    return cell.source


def test_plan_puts_given_over_profile_over_notebook(root):
    plan = chapter.plan("01_first", "smoke", {"lr": "0.25", "dataset": "mnist,cifar10"})
    assert plan.parameters == {
        "profile": "smoke",
        "epochs": 2,  # of the profile; the notebook says 3
        "lr": 0.25,
        "dataset": ["mnist", "cifar10"],
    }
    assert cell_of(plan).splitlines() == [
        "profile = 'smoke'  # where the rest comes from",
        "epochs = 2  # passes",
        "lr = 0.25  # step",
        "dataset = ['mnist', 'cifar10']  # one or more",
    ]
    assert cell_of(chapter.plan("02_second", "quick")).splitlines()[1] == "epochs = 3  # passes"


def test_a_plan_knows_what_was_given_over_the_profile(root):
    plan = chapter.plan("01_first", "smoke", {"lr": "0.25", "dataset": "mnist,cifar10"})
    assert plan.given == {"lr": 0.25, "dataset": ["mnist", "cifar10"]}
    assert plan.defaults == {"profile": "smoke", "epochs": 2, "lr": 0.5, "dataset": ["mnist"]}
    assert chapter.plan("01_first", "smoke", {}).given == {}  # a rerun all the same
    of_book = chapter.plan("01_first", "smoke")
    assert of_book.given is None
    assert of_book.defaults == of_book.parameters


def test_plan_refuses_bad_input(root):
    for arguments, message in [
        (("03_third", "smoke"), "Unknown chapter '03_third'.*01_first, 02_second, scoreboard"),
        (("01_first", "smok"), "Unknown profile 'smok'"),
        (("01_first", "smoke", {"profile": "quick"}), "use PROFILE or --profile"),
        (("01_first", "smoke", {"epoch": 1}), "Unknown parameter of 01_first 'epoch'"),
        (("01_first", "smoke", {"epochs": 0}), "out of range"),
        (("scoreboard", "smoke", {"epochs": 1}), "Unknown parameter of scoreboard"),
    ]:
        with pytest.raises(BadInput, match=message):
            chapter.plan(*arguments)


@pytest.mark.parametrize("found", [0, 2])
def test_plan_wants_one_parameters_cell(root, found):
    path = root / "notebooks" / "01_first.py"
    text = path.read_text()
    tagged = '# %% tags=["parameters"]\n'
    path.write_text(
        text.replace(tagged, "# %%\n") if found == 0 else text + f"\n{tagged}lr = 1.0\n"
    )
    with pytest.raises(BadInput, match=rf"01_first\.py has {found} cells tagged parameters"):
        chapter.plan("01_first", "smoke")


def test_an_executed_chapter(root):
    target = execute(root, CODE, {"lr": "1e-3"})
    notebook = nbformat.read(target, as_version=4)
    nbformat.validate(notebook)
    texts = [output["text"] for cell in notebook.cells for output in cell.get("outputs", [])
             if output.output_type == "stream"]  # fmt: skip
    assert texts == ["2 0.001 ['mnist'] smoke\n"]
    assert notebook.metadata["bn_memorization"] == {
        "made_from": "mark",
        "parameters": {"profile": "smoke", "epochs": 2, "lr": 0.001, "dataset": ["mnist"]},
    }
    assert fingerprint.mark_of(target) == "mark"
    assert chapter.glued(target, "answer_text") == 'it\'s "5"\nand more'
    assert chapter.glued(target, "number") == "7"
    with pytest.raises(Failure, match="glues nothing under 'missing'"):
        chapter.glued(target, "missing")

    # Nothing else is left, and a second execution gives the same bytes.
    assert [path.name for path in target.parent.iterdir()] == ["01_first.ipynb"]
    first = target.read_bytes()
    assert b"0x" not in first
    assert execute(root, CODE, {"lr": "1e-3"}).read_bytes() == first


def test_a_failing_cell(root):
    """The chapter that was there before is gone, and the failed one is kept with its traceback."""
    target = root / "book" / "chapters" / "01_first.ipynb"
    target.parent.mkdir()
    target.write_text("finished long ago")
    with pytest.raises(Failure) as raised:
        execute(root, FAILING)
    message = str(raised.value)
    failed = root / "_build" / "failed" / "01_first.ipynb"
    parts = ["Traceback", 'return {}["a key"]', "KeyError: 'a key'", "Chapter 01_first failed"]
    for part in [*parts, str(failed)]:
        assert part in message
    assert "\x1b" not in message
    assert list(target.parent.iterdir()) == []
    outputs = [o for cell in nbformat.read(failed, 4).cells for o in cell.get("outputs", [])]
    assert [o.text for o in outputs if o.output_type == "stream"] == ["before\n"]
    assert [o.ename for o in outputs if o.output_type == "error"] == ["KeyError"]


def test_a_cell_that_is_not_python_fails_like_any_other(root):
    with pytest.raises(Failure, match=r"(?s)SyntaxError.*Chapter 01_first failed"):
        execute(root, "x = 1\n\n# %%\nfor for\n")


def test_a_killed_kernel_is_a_failure(root):
    target = root / "book" / "chapters" / "01_first.ipynb"
    with pytest.raises(Failure, match="Chapter 01_first failed: Kernel died"):
        execute(root, f"import os\nos.kill(os.getpid(), {signal.SIGKILL:d})")
    assert not target.exists()


def test_the_readers_own_settings_have_no_part(root, monkeypatch, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    startup = home / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("epochs_of_mine = 99; print('from the reader')")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("IPYTHONDIR", str(home / ".ipython"))
    target = execute(root, "print('epochs_of_mine' in globals())\nimport os\nprint(os.getcwd())")
    (output,) = nbformat.read(target, 4).cells[-1].outputs
    assert output.text == f"False\n{root}\n"


def test_chapters_are_executed_side_by_side(root):
    """Each waits for the other's file, so that neither could end alone."""
    code = """\
import time
from pathlib import Path

Path({own!r}).touch()
deadline = time.monotonic() + 120
while not Path({other!r}).exists():
    assert time.monotonic() < deadline
    time.sleep(0.02)
"""
    names = ["01_first", "02_second"]
    files = [str(root / name) for name in names]
    for name, own, other in zip(names, files, files[::-1], strict=True):
        tiny_book.write_chapter(root, name, code.format(own=own, other=other))
    targets = {name: root / "book" / "chapters" / f"{name}.ipynb" for name in names}
    with ThreadPoolExecutor(2) as threads:
        for name in names:
            threads.submit(chapter.execute, chapter.plan(name, "smoke"), targets[name], "mark")
    assert [fingerprint.mark_of(target) for target in targets.values()] == ["mark", "mark"]
    assert sorted(targets.values()) == sorted(targets["01_first"].parent.iterdir())


def test_stable_removes_what_differs_and_keeps_the_rest():
    outputs = [
        nbformat.v4.new_output("display_data", {"text/plain": "<A at 0x7f00aa>, 0x10, at 5",
                                                "text/html": "<b>at 0xBEEF</b> <i> at 0x0</i>",
                                                "image/svg+xml": "<svg> at 0x12 </svg>"}),
        nbformat.v4.new_output("stream", name="stdout", text="kept\n"),
    ]  # fmt: skip
    cells = [
        nbformat.v4.new_markdown_cell("at 0x12", metadata={"papermill": {}, "tags": ["a"]}),
        nbformat.v4.new_code_cell("1", outputs=outputs, metadata={"execution": {"iopub": "now"}}),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"papermill": {"duration": 1}, "k": 1}
    )
    stable = chapter.stable(notebook)
    assert stable.metadata == {"k": 1}
    assert [cell.id for cell in stable.cells] == ["cell-000", "cell-001"]
    assert [cell.metadata for cell in stable.cells] == [{"tags": ["a"]}, {}]
    assert stable.cells[0].source == "at 0x12"
    assert stable.cells[1].outputs[0].data == {
        "text/plain": "<A>, 0x10, at 5",
        "text/html": "<b>at 0xBEEF</b> <i></i>",
        "image/svg+xml": "<svg> at 0x12 </svg>",
    }
    assert stable.cells[1].outputs[1].text == "kept\n"


def test_glued_says_what_to_do_without_a_notebook(tmp_path):
    with pytest.raises(Failure, match=r"missing\.ipynb is not there\. Run `make book`"):
        chapter.glued(tmp_path / "missing.ipynb", "answer_text")


@pytest.fixture(scope="session")
def built_chapters(built_site) -> dict[str, nbformat.NotebookNode]:
    folder = built_site.parents[1] / "book" / "chapters"
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))}


def test_real_chapters_are_all_executed_in_order(built_chapters):
    assert list(built_chapters) == [*fingerprint.chapters(), fingerprint.SCOREBOARD]
    for notebook in built_chapters.values():
        counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
        assert counts == list(range(1, len(counts) + 1))


def test_real_chapters_print_nothing_on_stderr_and_no_address(built_chapters):
    for name, notebook in built_chapters.items():
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                assert output.output_type != "error"
                assert output.get("name") != "stderr", f"{name}: {output.text}"
                assert " at 0x" not in str(output), f"{name}: {cell.source}"


def test_real_chapters_show_pictures_that_hold_no_time(built_chapters):
    for name, notebook in built_chapters.items():
        data = [o.get("data", {}) for cell in notebook.cells for o in cell.get("outputs", [])]
        pictures = [item["image/svg+xml"] for item in data if "image/svg+xml" in item]
        assert pictures or name == fingerprint.SCOREBOARD
        assert not any("image/png" in item for item in data)
        for picture in pictures:
            assert "<dc:date>" not in picture


def test_a_real_chapter_executed_again_gives_the_same_bytes(built_site, tmp_path, monkeypatch):
    """Chapter 1 and its figures and tables; its runs are read, not trained."""
    checkout = built_site.parents[1]
    for name in ("JUPYTER_PATH", "IPYTHONDIR"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(checkout))
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(checkout / "runs"))
    name = fingerprint.chapters()[0]
    finished = checkout / "book" / "chapters" / f"{name}.ipynb"
    mark = fingerprint.of_chapter(name, "smoke")
    assert fingerprint.mark_of(finished) == mark
    target = tmp_path / f"{name}.ipynb"
    plan = chapter.plan(name, "smoke")
    chapter.execute(rerun_cells.added(plan, runs.run_all(plan.configs)), target, mark)
    assert target.read_bytes() == finished.read_bytes()
    assert os.listdir(tmp_path) == [target.name]


def test_real_chapters_offer_the_data_of_every_figure(built_chapters):
    for name, notebook in built_chapters.items():
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        for output in outputs:
            if "image/svg+xml" in output.get("data", {}):
                table = pd.read_csv(io.StringIO(output.metadata["csv"]))
                assert len(table), name
                assert table.columns.is_unique


def test_the_data_of_a_real_figure_are_those_of_its_runs(built_chapters, built_site):
    """The first accuracy and the mean that chapter 1 draws, from the run records by hand."""
    (csv,) = [
        output.metadata["csv"]
        for cell in built_chapters[fingerprint.chapters()[0]].cells
        for output in cell.get("outputs", [])
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == "fig-corrupted-accuracy"
    ]
    table = pd.read_csv(io.StringIO(csv))
    seeds = table[[column for column in table if column.startswith("seed ")]]
    np.testing.assert_allclose(table["mean"], seeds.mean(axis=1), rtol=1e-4)
    finals = set()
    for meta in (built_site.parents[1] / "runs").glob("*/*/meta.json"):
        with np.load(meta.with_name("arrays.npz")) as arrays:
            if "fitted" in arrays:
                finals |= {round(float(share), 4) for share in arrays["fitted"].mean(axis=-1)[-1:]}
    last = table[table.epoch == table.epoch.max()]
    drawn = last[seeds.columns].to_numpy().ravel()
    assert all(round(value, 4) in finals for value in drawn[~np.isnan(drawn)])
