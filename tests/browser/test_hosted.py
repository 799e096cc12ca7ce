"""A small book with the real book's settings, as a host shows it below a folder of its own."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkouts import REPOSITORY
from chromium import open_browser
from serving import QuietHandler, serve
from visits import listen

from bn_memorization import hosting, site

BELOW = "/bn_memorization/"
ADDRESS = f"https://name.example{BELOW}"
PDF = "bn_memorization.pdf"
FILES = {
    "_toc.yml": "format: jb-book\nroot: book/intro\nchapters:\n  - file: book/chapters/one\n",
    "book/intro.md": "# Does it work?\n\nA sentence on {math}`(\\gamma/\\sigma)^2`.\n",
    "book/chapters/one.md": "# Is $\\gamma/\\sigma$ above $\\frac{1}{2}$?\n\nSo.\n\n$$x$$\n",
}


def write(root: Path) -> None:
    folders = ("book/_ext", "book/_static", "book/_templates")
    for name in ("_config.yml", "book/references.bib", *folders):
        source, target = REPOSITORY / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("small")
    write(root)
    return root


@pytest.fixture(scope="module")
def hosted(root, tmp_path_factory) -> Path:
    """Return the pages below BELOW, as of a site whose address is known and that has a PDF."""
    pages = tmp_path_factory.mktemp("host") / BELOW.strip("/")
    told = {hosting.SITE_URL: ADDRESS, hosting.SITE_PDF: PDF}
    site.build(root, pages, "mark", told=told)
    (pages / PDF).write_bytes(b"%PDF-")
    hosting.lay_out(pages, None)
    return pages


@pytest.fixture(scope="module")
def unknown(root, tmp_path_factory) -> Path:
    """Return the pages as `make book` builds them."""
    pages = tmp_path_factory.mktemp("built") / "html"
    site.build(root, pages, "mark")
    return pages


class Host(QuietHandler):
    """A static host: for what is not there it shows the site's page for wrong addresses."""

    folder: Path

    def __init__(self, *args: object) -> None:
        super().__init__(*args, directory=str(self.folder))

    def send_error(self, code, message=None, explain=None):
        page = (self.folder / BELOW.strip("/") / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture
def host(hosted) -> Iterator[str]:
    handler = type("HostOfSite", (Host,), {"folder": hosted.parent})
    with serve(handler) as address:
        yield address


def test_a_wrong_address_shows_a_page_that_works(host):
    wrong = f"{host}{BELOW}no/such/folder/page.html"
    with open_browser() as browser:
        page = browser.new_page()
        requests, complaints = listen(page)
        page.goto(wrong)
        assert page.locator("article h1").inner_text() == "Page not found"
        links = page.eval_on_selector_all("a[href]", "all => all.map((one) => one.href)")
        assert [url for url in requests if not url.startswith((host, "data:"))] == []
        # Its own status, and nothing that it asks for is missing.
        refused = "Failed to load resource: the server responded with a status of 404 (Not Found)"
        assert sorted(complaints) == [f"404 {wrong}", refused]
        assert [url for url in requests if url != wrong and BELOW not in url] == []
        inside = {link.partition("#")[0] for link in links if link.startswith(host)} - {wrong}
        assert f"{host}{BELOW}index.html" in inside
        assert f"{host}{BELOW}book/chapters/one.html" in inside  # the table of contents, too
        for link in sorted(inside):
            assert page.request.get(link).status == 200, link


def test_all_that_the_page_for_wrong_addresses_asks_for_is_there(hosted):
    text = (hosted / "404.html").read_text()
    for address in re.findall(r'(?:src|href)="([^"#?]+)', text):
        assert address.startswith(BELOW), address
        assert (hosted / address.removeprefix(BELOW)).is_file(), address


def test_the_pages_work_below_a_folder_and_link_the_pdf(host):
    with open_browser() as browser:
        page = browser.new_page()
        requests, complaints = listen(page)
        for name in ("book/intro", "book/chapters/one"):
            page.goto(f"{host}{BELOW}{name}.html")
            link = page.get_by_role("link", name="The whole book as a PDF")
            assert link.evaluate("(one) => one.href") == f"{host}{BELOW}{PDF}"
        assert complaints == []
        assert [url for url in requests if not url.startswith((host, "data:"))] == []


def tags(page: Path) -> dict[str, str]:
    pattern = r'<meta (?:property|name)="([^"]+)" content="([^"]*)"'
    return dict(re.findall(pattern, page.read_text()))


def test_a_link_that_is_shared_shows_title_text_and_picture(hosted):
    found = tags(hosted / "book/chapters/one.html")
    assert found["og:title"] == "Is γ/σ above 1/2?"
    assert found["og:description"] == found["description"] == "So."
    assert found["og:url"] == f"{ADDRESS}book/chapters/one.html"
    assert found["og:image"] == f"{ADDRESS}_static/{hosting.CARD}"
    found = tags(hosted / "book/intro.html")
    assert "(γ/σ)²" in found["og:description"]


def test_without_an_address_none_is_made_up(unknown):
    found = tags(unknown / "book/chapters/one.html")
    assert found["og:title"] == "Is γ/σ above 1/2?"
    assert not [name for name in found if name.startswith(("og:url", "og:image"))]
    text = "".join(path.read_text() for path in unknown.rglob("*.html"))
    assert "name.example" not in text
    assert PDF not in text


@pytest.mark.parametrize("name", ["book/intro", "book/chapters/one"])
def test_no_tex_in_titles_and_descriptions(hosted, name):
    text = (hosted / f"{name}.html").read_text()
    title = re.search(r"<title>(.*?)</title>", text, re.S)[1]
    for shown in (title, *tags(hosted / f"{name}.html").values()):
        assert "\\" not in shown


def test_pages_are_the_same_from_build_to_build(root, unknown, tmp_path):
    site.build(root, tmp_path / "again", "mark")
    first, again = (
        {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
        for made in (unknown, tmp_path / "again")
    )
    assert first.keys() == again.keys()
    assert [str(name) for name in first if first[name] != again[name]] == []
