"""A checkout of a few lines: two chapters, a scoreboard, a few modules and two profiles."""

from pathlib import Path

import nbformat

PARAMETERS = """\
profile = "quick"  # where the rest comes from
epochs = 3  # passes
lr = 0.5  # step
dataset = ["mnist"]  # one or more"""

CHAPTER = """\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A title

# %% tags=["parameters"]
{parameters}

# %%
{code}
"""

SCOREBOARD = """\
import bn_memorization
from myst_nb import glue

glue("records", "{}", display=False)"""  # the lists of its rows' records: none

FILES = {
    "_config.yml": "title: Tiny\nonly_build_toc_files: true\nexecute: {execute_notebooks: 'off'}\n",
    "_toc.yml": "format: jb-book\nroot: book/intro\n",
    "CITATION.cff": """\
title: A book
type: software
version: "9.9"
authors:
  - name: The authors
  - family-names: Doe
    given-names: Jo
""",
    "pyproject.toml": "",
    "requirements.lock": "numpy==2.0.0\n",
    "book/intro.md": "# Intro\n\nProse.\n",
    "data/embedded/manifest.json": "{}",
    "notebooks/presets.yml": "02_second:\n",
    "notebooks/profiles/quick.yml": "01_first:\n  epochs: 5\n",
    "notebooks/profiles/smoke.yml": "01_first:\n  epochs: 2\n02_second:\n  lr: 0.1\n",
    "src/bn_memorization/__init__.py": "",
    "src/bn_memorization/alpha.py": "from bn_memorization import beta\n",
    "src/bn_memorization/beta.py": "def lazy():\n    from bn_memorization.delta import x\n",
    "src/bn_memorization/chapter.py": "",
    "src/bn_memorization/commands.py": "",
    "src/bn_memorization/parameters.py": "",
    "src/bn_memorization/planning.py": "",
    "src/bn_memorization/presets.py": "",
    "src/bn_memorization/rerun_cells.py": "",
    "src/bn_memorization/site.py": "",
    "src/bn_memorization/slim.py": "",
    "src/bn_memorization/delta.py": "import bn_memorization.alpha as back\nx = 1\n",
    "src/bn_memorization/omega.py": "import numpy\n",
}


def chapter_text(code: str, parameters: str = PARAMETERS) -> str:
    return CHAPTER.format(code=code, parameters=parameters)


def write_chapter(root: Path, name: str, code: str, parameters: str = PARAMETERS) -> None:
    (root / "notebooks" / f"{name}.py").write_text(chapter_text(code, parameters))


def write(root: Path, monkeypatch) -> Path:
    """Write the checkout into `root` and make it the project of this process."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    write_chapter(root, "01_first", "from bn_memorization import alpha")
    write_chapter(root, "02_second", "from bn_memorization.omega import y")
    write_chapter(root, "scoreboard", SCOREBOARD, 'profile = "quick"')
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(root))
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(root / "runs"))
    return root


def executed(mark: str = "", **glued: str) -> nbformat.NotebookNode:
    """Return a notebook as `chapter.execute` leaves it, with the texts that it glued."""
    outputs = [
        nbformat.v4.new_output(
            "display_data",
            {"application/papermill.record/text/plain": repr(text)},
            metadata={"scrapbook": {"mime_prefix": "application/papermill.record/", "name": key}},
        )
        for key, text in glued.items()
    ]
    cells = [nbformat.v4.new_code_cell("...", outputs=outputs, id="cell-000")]
    made = {"made_from": mark, "parameters": {"profile": "smoke"}}
    return nbformat.v4.new_notebook(cells=cells, metadata={"bn_memorization": made})
