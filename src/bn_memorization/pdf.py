"""The whole book as one PDF: every page as the browser prints it, behind a table of contents."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from bn_memorization import __version__, binding, book, browser, citing, paths, printing, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FRONT = "front"  # the name of the title page and contents among the printed pages
MADE_FROM = "/MadeFrom"  # where the PDF says which pages it was printed from
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24272b; margin: 0 }
h1 { font-size: 34px; line-height: 1.2; font-weight: 600; margin: 90px 0 10px }
h2 { font-size: 20px; font-weight: 600; margin: 60px 0 10px }
p { margin: 0 0 6px; color: #5a6068 }
table { width: 100%; border-collapse: collapse }
td { padding: 2px 0; vertical-align: top }
td.part { padding-top: 12px; color: #5a6068 }
td.number { text-align: right; padding-left: 20px }
a { color: inherit; text-decoration: none }
"""


def make(profile: str) -> None:
    """Bring the book up to date and print it; do nothing where its PDF is there.

    Raises BadInput, before anything runs, where there is no browser to print with; Failure where a
    page cannot be printed, and as `book.build` does. Then the PDF that there was is left as it was.
    """
    with browser.open_browser():  # a book takes minutes; who has no browser shall not wait
        pass
    book.build(profile)
    mark, target = site.stamp_of(paths.site()), paths.pdf()
    if made_from(target) == mark:
        print(f"Nothing to do: the PDF is up to date. {target}")
        return
    print("Printing ...", flush=True)
    content = whole(paths.root(), paths.site(), mark)
    _write(target, content)
    print(f"The PDF ({profile}, {len(content) / 1e6:.1f} MB) is ready. {target}")


def made_from(path: Path) -> str | None:
    """Return the mark of the pages that a PDF was printed from, or None without one."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        return PdfReader(path).metadata.get(MADE_FROM)
    except (OSError, PyPdfError, AttributeError):
        return None


def whole(source: Path, html: Path, mark: str) -> bytes:
    """Return the PDF of the book that lies in `source` and was built in `html`."""
    contents = outline(source)
    names = site.pages(source)
    with browser.open_browser() as opened:
        leaves = printing.print_pages(opened, html, names)
        front = _front(opened, source, html, leaves, contents)
    base = f"{html.as_uri()}/"
    return binding.bind([front, *leaves], [(0, FRONT), *contents], base, about(mark))


def outline(source: Path) -> list[tuple[int, str]]:
    """Return the table of contents in `source`: (level, name of a page or caption of a part)."""
    contents = yaml.safe_load((source / "_toc.yml").read_text())
    entries = [(0, contents["root"]), *_below(contents.get("chapters", []), 0)]
    for part in contents.get("parts", []):
        entries += [(0, part["caption"]), *_below(part["chapters"], 1)]
    return entries


def _below(chapters: Sequence[dict], level: int) -> list[tuple[int, str]]:
    entries = []
    for entry in chapters:
        entries += [(level, entry["file"]), *_below(entry.get("sections", []), level + 1)]
    return entries


def about(mark: str) -> dict[str, str]:
    """Return what the PDF says of itself. No date: the same book makes the same file."""
    cited = citing.citation()
    return {
        "/Title": cited["title"],
        "/Author": "; ".join(citing.authors(cited["authors"])),
        "/Creator": f"bn_memorization {__version__}",
        MADE_FROM: mark,
    }


def _front(
    opened: "Browser",
    source: Path,
    html: Path,
    leaves: Sequence[printing.Printed],
    contents: Sequence[tuple[int, str]],
) -> printing.Printed:
    title = yaml.safe_load((source / "_config.yml").read_text())["title"]
    pages = 0
    while True:  # its own length moves the numbers that it gives
        numbers = {n: at + pages for n, at in binding.page_numbers(leaves).items()}
        text = front_page(
            title, html, {p.name: (p.title, numbers[p.name]) for p in leaves}, contents
        )
        printed = printing.Printed(FRONT, printing.print_text(opened, text), "Contents")
        found = binding.page_count(printed)
        if found == pages:
            return printed
        pages = found


def front_page(
    title: str,
    html: Path,
    listed: Mapping[str, tuple[str, int]],
    contents: Sequence[tuple[int, str]],
) -> str:
    """Return title page and table of contents as HTML; `listed` has each page's title and number.

    Its entries are links to the book's pages.
    """
    cited = citing.citation()
    rows = []
    for level, name in contents:
        if name not in listed:
            rows.append(f'<tr><td class="part" colspan="2">{escape(name)}</td></tr>')
            continue
        text, number = listed[name]
        link = f'<a href="{escape((html / name).as_uri())}.html">{escape(text)}</a>'
        indent = f' style="padding-left: {1.2 * max(level - 1, 0):.1f}em"'
        rows.append(f'<tr><td{indent}>{link}</td><td class="number">{number}</td></tr>')
    return (
        f"<!doctype html><html lang='en'><style>{STYLE}</style><h1>{escape(title)}</h1>"
        f"<p>{escape(cited['title'])}</p><p>{escape('; '.join(citing.authors(cited['authors'])))}"
        f"</p><h2>Contents</h2><table>{''.join(rows)}</table></html>"
    )


def _write(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".pdf-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)  # a temporary file is its maker's alone
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
