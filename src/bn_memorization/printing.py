"""Pages of the built book on paper: one PDF a page, as Chromium prints it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from bn_memorization.errors import Failure

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCALE = 0.8  # of the size on the screen
SIDE = 16  # margins left and right of A4, in mm
PAPER = {
    "format": "A4",
    "scale": SCALE,
    "print_background": True,
    "margin": {"top": "16mm", "bottom": "18mm", "left": f"{SIDE}mm", "right": f"{SIDE}mm"},
}
# As wide as what is printed, so that what is measured here is what comes on paper.
WIDTH = int((210 - 2 * SIDE) / 25.4 * 96 / SCALE)

# Runs in the page. Returns its headings: [level, text, id]. An anchor gets a place in the PDF only
# where a link of the same page names it; so each gets a link, which nobody sees.
DRESS = """
async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready;
  const article = document.querySelector("article") ?? document.body;
  article.querySelectorAll("details").forEach((details) => (details.open = true));
  article.querySelectorAll("img[loading]").forEach((img) => img.removeAttribute("loading"));
  await Promise.all([...article.querySelectorAll("img")].map((img) => img.decode().catch(() => 0)));
  for (const wide of article.querySelectorAll("table, pre, mjx-container")) {
    const box = wide.closest("div, figure, section");
    const room = box.getBoundingClientRect().width;
    const width = Math.max(wide.scrollWidth, wide.getBoundingClientRect().width);
    if (width > room + 1) wide.style.zoom = room / width;
  }
  for (const element of article.querySelectorAll("[id]:not(svg *)")) {
    const link = document.createElement("a");
    link.href = "#" + encodeURIComponent(element.id);
    link.style.display = "none";
    article.append(link);
  }
  return [...article.querySelectorAll("h1, h2")].map((heading) => {
    const text = heading.cloneNode(true);
    text.querySelectorAll(".headerlink, mjx-container > svg").forEach((e) => e.remove());
    const id = heading.id || heading.closest("section")?.id || "";
    return [Number(heading.tagName[1]), text.textContent.trim(), id];
  });
}
"""


@dataclass(frozen=True)
class Printed:
    """One page of the book: its name, its PDF, its title, and (text, anchor) of its headings."""

    name: str
    pdf: bytes
    title: str
    headings: tuple[tuple[str, str], ...] = ()


def print_pages(browser: "Browser", html: Path, names: Sequence[str]) -> list[Printed]:
    """Print pages of a built book, in that order.

    Raises Failure where a page does not load or has no title.
    """
    context = browser.new_context(
        viewport={"width": WIDTH, "height": 1000}, color_scheme="light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.emulate_media(media="print")
    try:
        return [_print(page, html, name) for name in names]
    finally:
        context.close()


def _print(page: "Page", html: Path, name: str) -> Printed:
    from playwright.sync_api import Error

    path = html / f"{name}.html"
    try:
        page.goto(path.as_uri())
        found = page.evaluate(DRESS)
        titles = [text for level, text, _ in found if level == 1]
        if not titles:
            raise Failure(f"{path} has no title to print.")
        pdf = page.pdf(**PAPER | _footer(titles[0]))
    except Error as error:
        raise Failure(f"{path} could not be printed: {error}") from error
    below = tuple((text, anchor) for level, text, anchor in found if level == 2)
    return Printed(name, pdf, titles[0], below)


def _footer(title: str) -> dict[str, object]:
    # The page's number is not Chromium's to know: it counts from one in each page of the book.
    style = f"margin: 0 {SIDE}mm; color: #5a6068; font: 7pt system-ui, sans-serif"
    return {
        "display_header_footer": True,
        "header_template": "<span></span>",
        "footer_template": f'<span style="{style}">{escape(title)}</span>',
    }


def print_text(browser: "Browser", text: str) -> bytes:
    """Return the PDF of a text in HTML that is no page of the book."""
    page = browser.new_page(color_scheme="light")
    try:
        page.set_content(text)
        return page.pdf(**PAPER)
    finally:
        page.close()
