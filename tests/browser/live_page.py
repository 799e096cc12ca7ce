"""A chapter opened from the file system, with its picture that answers to touch."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chromium import open_browser
from playwright.sync_api import Locator, Page
from visits import listen


@dataclass(frozen=True)
class Live:
    """An open page, the figure on it, and the data that its picture is drawn from."""

    page: Page
    figure: Locator
    data: dict

    def text(self, selector: str) -> str:
        """Return the text of the one element in the figure that `selector` finds."""
        return self.figure.locator(selector).inner_text()

    def slide(self, label: str, value: float) -> None:
        """Set a slider, as a reader's hand does."""
        slider = self.figure.get_by_role("slider", name=label, exact=True)
        slider.evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )

    def press(self, name: str) -> None:
        """Press the button of that name."""
        self.figure.get_by_role("button", name=name, exact=True).click()


@contextmanager
def opened(site: Path, chapter: str, kind: str, **context: object) -> Iterator[Live]:
    """Open a chapter in a browser of its own; at the end fail if the page complained of anything.

    Also fails if it asked for anything beside its own files. `context` is that of the browser.
    """
    with open_browser() as browser:
        page = browser.new_context(**context).new_page()
        requests, complaints = listen(page)
        yield read(page, site, chapter, kind)
        assert complaints == []
        assert [url for url in requests if not url.startswith((site.as_uri(), "data:"))] == []


def read(page: Page, site: Path, chapter: str, kind: str) -> Live:
    """Open a chapter on a page and return what is there."""
    # By then the picture is there; formulas, which take longer, have no part in it.
    page.goto(f"{site.as_uri()}/book/chapters/{chapter}.html", wait_until="domcontentloaded")
    source = page.locator(f"[data-live={kind}]")
    figure = page.locator(f"#{source.get_attribute('data-figure')}")
    return Live(page, figure, json.loads(source.locator("script").text_content()))
