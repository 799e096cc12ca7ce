"""The static pages: jupyter-book on a clean folder, warnings as errors, moved into place whole."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

from bn_memorization import fingerprint, paths
from bn_memorization.errors import Failure
from bn_memorization.slim import slim

STAMP = ".made_from"
CHAPTERS = "book/chapters"  # in the sources and in the site
LISTS = "records"  # what the scoreboard glues them under, and their folder


def stamp_of(site: Path) -> str | None:
    """Return the hash that a built site says it was made from, or None without one."""
    path = site / STAMP
    return path.read_text() if path.is_file() else None


def build(
    source: Path,
    target: Path,
    mark: str,
    strict: bool = True,
    told: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Build the book that lies in `source` and move it to `target`, marked with `mark`.

    Always from nothing: an incremental build repeats no warning. `strict` makes a warning an error.
    `told` are environment variables that the book's own extensions read.
    Raises Failure with what jupyter-book said; then `target` is left as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=target.parent) as work:
        command = [_script(), "build", str(source), "--path-output", work, "--all", "-n"]
        command += ["-W", "--keep-going"] if strict else []
        # No page shows when it was built.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", **told}
        done = subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
        html = Path(work, "_build", "html")
        _check(done, html, source)
        slim(html)
        _put_lists(source, html)
        (html / STAMP).write_text(mark)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(html, target)


def _put_lists(source: Path, html: Path) -> None:
    """Put the files that the scoreboard of `source` glued, if it has one, beside its page."""
    scoreboard = source / CHAPTERS / f"{fingerprint.SCOREBOARD}.ipynb"
    if not scoreboard.is_file():
        return
    from bn_memorization.chapter import glued  # seconds of imports, only for work

    for name, text in json.loads(glued(scoreboard, LISTS)).items():
        path = html / CHAPTERS / LISTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _script() -> str:
    # `python -m jupyter_book` does nothing and succeeds, so the script is called.
    return str(Path(sys.executable).with_name("jupyter-book"))


def _check(done: subprocess.CompletedProcess, html: Path, source: Path) -> None:
    missing = [page for page in pages(source) if not (html / f"{page}.html").is_file()]
    if done.returncode or missing:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        # A long build has much to say after the line that matters.
        told = [line for line in lines if "WARNING" in line or "ERROR" in line]
        raise Failure(
            "\n".join(told[:20] or lines[-40:])
            + f"\njupyter-book could not build the book (exit status {done.returncode}"
            + (f", no page for {', '.join(missing)}" if missing else "")
            + ")."
        )


def pages(source: Path) -> list[str]:
    """Return the pages that the table of contents in `source` names, the first page first."""
    contents = yaml.safe_load((source / "_toc.yml").read_text())
    parts = contents.get("parts", [])
    return [contents["root"], *(name for part in parts for name in _listed(part["chapters"]))]


def _listed(entries: list[dict]) -> list[str]:
    found = []
    for entry in entries:
        found += [entry["file"], *_listed(entry.get("sections", []))]
    return found


def stage(chapter: Path, into: Path) -> str:
    """Lay out a small book of a rerun, its comparison with the book's page, and what they link to.

    Returns the rerun's page. What the book has is read and left as it is.
    """
    from bn_memorization import comparing, rerun_cells  # seconds of imports, only for a rerun

    page = f"book/chapters/{chapter.stem}"
    beside = f"{page}{rerun_cells.BESIDE}"
    reference = [f"book/{name}" for name in ("notation", "glossary", "rerunning", "references")]
    shutil.copytree(paths.book(), into / "book", ignore=shutil.ignore_patterns("chapters"))
    shutil.copy(paths.root() / "_config.yml", into)
    (into / page).parent.mkdir()
    shutil.copy(chapter, into / f"{page}.ipynb")
    text, images = comparing.page(chapter, paths.chapters() / chapter.name)
    (into / f"{beside}.md").write_text(text)
    (into / page).with_name(comparing.FOLDER).mkdir()
    for name, svg in images.items():
        (into / page).with_name(comparing.FOLDER).joinpath(name).write_text(svg)
    parts = [
        {"caption": "The rerun and the book", "chapters": [{"file": beside}]},
        {"caption": "Reference", "chapters": [{"file": name} for name in reference]},
    ]
    contents = {"format": "jb-book", "root": page, "parts": parts}
    (into / "_toc.yml").write_text(yaml.safe_dump(contents))
    return page
