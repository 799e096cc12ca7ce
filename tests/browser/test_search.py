"""The search, from the file system too: it finds words of tables, captions and alt texts."""

import re
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest
from chromium import open_browser
from visits import listen

WORD = re.compile(r"(?<![\w-])[a-z]{6,}(?![\w-])")
KINDS = ("td", "figcaption", "alt")
VOID = ("img", "br", "hr", "input", "meta", "link")


class Article(HTMLParser):
    """The words of a page's article by where they stand: table cell, caption, alt, or elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "else")}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self._open.append(tag)
        self._keep("alt", dict(attributes).get("alt") or "")

    def handle_endtag(self, tag):
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            inner = [tag for tag in self._open if tag in KINDS]
            self._keep(inner[-1] if inner else "else", data)

    def _keep(self, kind: str, text: str) -> None:
        if "article" in self._open:
            self.words[kind] += WORD.findall(text.lower())

    def only_in(self, kind: str) -> list[str]:
        """Return the words that stand in that kind of place alone, by their first letters."""
        others = {w[:5] for name, words in self.words.items() if name != kind for w in words}
        return [word for word in dict.fromkeys(self.words[kind]) if word[:5] not in others]


def test_words_are_told_apart_by_where_they_stand():
    page = Article(
        "<p>before</p><article><p>margin</p><img alt='narwhal margins'><br>"
        "<figcaption>beluga <b>narwhals</b></figcaption><td>zebras</td><style>lemurs</style>"
        "</article><p>behind</p>"
    )
    assert page.words["else"] == ["margin"]
    assert [page.only_in(kind) for kind in KINDS] == [["zebras"], ["beluga"], []]


@contextmanager
def results(base, word, **context):
    """Search for a word; yield the page of results and the addresses found."""
    with open_browser() as browser:
        page = browser.new_context(**context).new_page()
        _, complaints = listen(page)
        page.goto(f"{base}/search.html?q={word}")
        page.wait_for_selector("#search-results .search-summary:has-text('found')", timeout=10_000)
        links = page.locator("#search-results li a")
        yield page, links.evaluate_all("all => all.map((e) => e.getAttribute('href'))")
        assert complaints == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_is_found_that_stands_in_one_kind_of_place_alone(site, names, kind):
    articles = {name: Article((site / f"{name}.html").read_text("utf-8")) for name in names}
    wanted = [(name, word) for name in names for word in articles[name].only_in(kind)[:1]]
    assert wanted, f"no page has a word in {kind} alone"
    for name, word in wanted[:3]:
        with results(site.as_uri(), word) as (_, found):
            assert f"{name}.html" in [link.partition("#")[0] for link in found], word


def test_a_term_is_found_in_the_glossary_first(site):
    with results(site.as_uri(), "margin") as (_, found):
        assert found[0] == "book/glossary.html#term-margin"
        assert any(link.startswith("book/notation.html") for link in found)


def test_over_http_a_result_shows_the_words_around(address):
    with results(address, "margin") as (page, found):
        page.wait_for_selector("#search-results p.context")
        assert len(found) > 3


def test_what_was_searched_for_is_marked_where_it_stands(site):
    with results(site.as_uri(), "margin", color_scheme="dark") as (page, _):
        page.locator("#search-results a[href='book/notation.html']").click()
        page.wait_for_selector("article .highlighted")
