"""The built files themselves: links that lead somewhere, and nothing of the building machine."""

import os
import re
import socket
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
    assert found_in(site, {f"{path}/" for path in private}) == set()


SECRET = re.compile("TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)


def secrets() -> set[str]:
    """Return what the environment keeps under a name that says secret, and this machine's name."""
    kept = {value for name, value in os.environ.items() if SECRET.search(name) and len(value) > 7}
    host = socket.gethostname()
    return kept | ({host} if re.fullmatch(r".*[\d.-].*", host) and len(host) > 5 else set())


def test_what_is_secret_is_known(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh-1234")
    monkeypatch.setenv("KEYBOARD", "abcdefgh-5678")
    assert {"abcdefgh-1234"} <= secrets()
    assert "abcdefgh-5678" not in secrets()


def test_no_secret_in_what_is_published(site):
    assert found_in(site, secrets()) == set()


def found_in(site: Path, texts: set[str]) -> set[tuple[str, str]]:
    """Return (file, text) of the texts that stand in what a reader of the site can read."""
    read = [*site.rglob("*.html"), *(site / "_sources").rglob("*"), *site.rglob("*.svg")]
    read.append(site / "searchindex.js")
    return {
        (file.relative_to(site).as_posix(), text)
        for file in filter(Path.is_file, read)
        for text in texts
        if text in file.read_text(encoding="utf-8")
    }
