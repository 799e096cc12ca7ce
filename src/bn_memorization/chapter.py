"""One chapter: parameters checked, notebook executed, result moved into place."""

import ast
import asyncio
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
import papermill
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from bn_memorization import fingerprint, parameters, paths, plans
from bn_memorization.errors import BadInput, Failure, check_choice

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
RECORD = "application/papermill.record/text/plain"  # what glue(..., display=False) writes
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Plan:
    """A chapter ready to run: its notebook with the parameters in place, and the runs it needs.

    `defaults` are the parameters as the profile has them, `given` what a rerun puts over them, or
    None for the page of the book.
    """

    name: str
    profile: str
    parameters: dict[str, object]
    notebook: NotebookNode
    configs: list
    defaults: Mapping[str, object] = field(default_factory=dict)
    given: Mapping[str, object] | None = None


def plan(name: str, profile: str, given: Mapping[str, object] | None = None) -> Plan:
    """Read a chapter, check its parameters and put them into its parameters cell.

    `given`, of a rerun, goes over the profile's settings, and these over the notebook's own. Raises
    BadInput for an unknown chapter or profile, for parameters as `parameters.check` does, and for
    parameters that do not go together as `experiments` does.
    """
    check_choice("chapter", name, [*fingerprint.chapters(), fingerprint.SCOREBOARD])
    if "profile" in (given or {}):
        raise BadInput("profile is not a parameter to set by name: use PROFILE or --profile.")
    path = paths.notebooks() / f"{name}.py"
    notebook = jupytext.reads(path.read_text(), fmt="py:percent")
    cell = _parameters_cell(notebook, path)
    declared = parameters.declared(cell.source)
    defaults = parameters.check(name, declared, fingerprint.of_profile(profile, name))
    values = parameters.check(name, defaults, given or {})
    own = None if given is None else {parameter: values[parameter] for parameter in given}
    cell.source = parameters.assign(cell.source, values)
    notebook.metadata["kernelspec"] = KERNEL
    configs = plans.CHAPTERS.get(name, plans.none)(values)
    return Plan(name, profile, values, notebook, configs, defaults, own)


def _parameters_cell(notebook: NotebookNode, path: Path) -> NotebookNode:
    tagged = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise BadInput(f"{path} has {len(tagged)} cells tagged parameters; it must have one.")
    return tagged[0]


def execute(planned: Plan, target: Path, mark: str) -> None:
    """Execute the notebook of a chapter whose runs are there and move the result to `target`.

    Chapters may be executed at the same time, in threads. `mark` is kept in the result and found by
    `fingerprint.mark_of`. Raises Failure with the cell's traceback when a cell fails; then `target`
    is gone, and the notebook as far as it came lies in the build folder. Raises Failure too when
    the notebook's process is killed.
    """
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".executing-", dir=target.parent) as folder:
        source, result = Path(folder, "source.ipynb"), Path(folder, "result.ipynb")
        nbformat.write(planned.notebook, source)
        _run_kernel(planned, source, result)
        notebook = stable(nbformat.read(result, as_version=4))
        notebook.metadata[fingerprint.MARK] = {"made_from": mark, "parameters": planned.parameters}
        nbformat.write(notebook, result)
        os.replace(result, target)


def _run_kernel(planned: Plan, source: Path, result: Path) -> None:
    # No other environment's kernel and no reader's own IPython settings shall have a part in it.
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix, "share", "jupyter"))
    settings = source.parent / "ipython"
    settings.mkdir()
    options = [
        f"--ipython-dir={settings}",
        "--log-level=ERROR",  # or it warns of loopback sockets every time
        "--HistoryManager.enabled=False",
    ]
    try:
        papermill.execute_notebook(
            source,
            result,
            kernel_name=KERNEL["name"],
            cwd=paths.root(),
            extra_arguments=options,
            progress_bar=False,  # several may be executed at a time
            shutdown_kernel="immediate",  # nothing in it is wanted any more
        )
    except RuntimeError as error:  # what a kernel that is gone raises
        raise Failure(
            f"Chapter {planned.name} failed: {error}. Was its process killed, or out of memory?"
        ) from error
    except PapermillExecutionError as error:
        failed = paths.failed() / f"{planned.name}.ipynb"
        failed.parent.mkdir(parents=True, exist_ok=True)
        os.replace(result, failed)
        traceback = ANSI.sub("", "\n".join(error.traceback))
        raise Failure(
            f"{traceback}\nChapter {planned.name} failed in cell {error.exec_count} "
            f"({error.ename}); the notebook as far as it came is {failed}."
        ) from error
    finally:
        with contextlib.suppress(RuntimeError):  # there is none when no kernel could be started
            asyncio.get_event_loop().close()  # the thread's own, which nobody else would close


def stable(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without what differs from one execution to the next."""
    notebook.metadata.pop("papermill", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03}"
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        for output in cell.get("outputs", []):
            for kind, text in output.get("data", {}).items():
                if kind.startswith("text/") and isinstance(text, str):
                    output.data[kind] = ADDRESS.sub("", text)
    return notebook


def glued(path: Path, key: str) -> str:
    """Return the text that an executed notebook glued under `key`.

    Raises Failure when the notebook or the key is not there.
    """
    if not path.is_file():
        raise Failure(f"{path} is not there. Run `make book` first.")
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == key:
                return ast.literal_eval(output.data[RECORD])
    raise Failure(f"{path} glues nothing under {key!r}.")
