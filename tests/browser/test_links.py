"""The built files themselves: links that lead somewhere, and nothing of the building machine."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

ROOT = Path(__file__).resolve().parents[2]
BASE = "http://book.invalid"  # stands for the root of the site while links are joined


class Page(HTMLParser):
    """The addresses that a page refers to and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src", "action") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def read_pages(site):
    """Return the pages by their path in the site; the theme's own templates are no pages."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    return {name: Page(path) for name, path in files.items() if not name.startswith("_static/")}


def broken_links(site, pages):
    """Return (page, link) of each link inside the site that leads to no file or no anchor."""
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target = urlsplit(urljoin(f"{BASE}/{name}", link))
            if target.netloc != urlsplit(BASE).netloc:
                continue
            path = unquote(target.path).lstrip("/")
            anchor = unquote(target.fragment)
            lost = anchor and path in pages and anchor not in pages[path].anchors
            if lost or not (site / path).is_file():
                broken.append((name, link))
    return broken


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html">there</a><a href="b.html#x">there</a><a href="#y">no anchor</a>'
        '<img src="c.png"><a href="b.html#z">no anchor</a><a href="https://example.org">out</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p><a href="#">top</a>')
    found = broken_links(tmp_path, read_pages(tmp_path))
    assert sorted(found) == [("a.html", "#y"), ("a.html", "b.html#z"), ("a.html", "c.png")]


def test_every_internal_link_and_anchor_resolves(site, names):
    pages = read_pages(site)
    assert sum(len(pages[f"{name}.html"].links) for name in names) > len(names)
    assert broken_links(site, pages) == []


def test_no_path_of_this_machine_in_what_is_published(site):
    private = {str(path) for path in (Path.home(), ROOT, site, Path(sys.prefix))} - {"/"}
    read = [*site.rglob("*.html"), *(site / "_sources").rglob("*"), *site.rglob("*.svg")]
    read.append(site / "searchindex.js")
    leaks = {
        (file.relative_to(site).as_posix(), path)
        for file in filter(Path.is_file, read)
        for path in private
        if f"{path}/" in file.read_text(encoding="utf-8")
    }
    assert leaks == set()
