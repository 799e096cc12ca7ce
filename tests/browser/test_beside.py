"""A rerun's pages in a browser: the book's figures beside its own, and a command to copy."""

from pathlib import Path

import nbformat
import pytest
from chromium import open_browser

from bn_memorization import fingerprint, site

CHAPTER = "05_gamma_sigma"
FIGURES = """[...document.querySelectorAll(".beside img")].map(image => {
  const box = image.getBoundingClientRect();
  return [image.naturalWidth, box.x, box.y];
})"""


@pytest.fixture(scope="module")
def rerun(built_site, tmp_path_factory) -> Path:
    """The pages of a rerun: the book's own chapter, with another number of seeds in its name."""
    root, own = built_site.parents[1], tmp_path_factory.mktemp("rerun")
    notebook = nbformat.read(root / "book" / "chapters" / f"{CHAPTER}.ipynb", as_version=4)
    notebook.metadata[fingerprint.MARK]["parameters"]["seeds"] = 77
    nbformat.write(notebook, own / f"{CHAPTER}.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BN_MEMORIZATION_ROOT", str(root))
        (own / "staged").mkdir()
        site.stage(own / f"{CHAPTER}.ipynb", own / "staged")
        # Not strict: a rerun links to chapters that its pages do not have.
        site.build(own / "staged", own / "html", "rerun", strict=False)
    return own / "html" / "book" / "chapters"


def opened(browser, path: Path, width: int):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    return page


def test_figures_stand_side_by_side_or_one_above_the_other(rerun):
    path = rerun / f"{CHAPTER}-beside.html"
    with open_browser() as browser:
        wide, narrow = (opened(browser, path, width).evaluate(FIGURES) for width in (1400, 390))
        text = opened(browser, path, 1400).locator("article").inner_text()
    assert len(wide) >= 2
    assert len(wide) % 2 == 0
    assert all(width for width, _, _ in [*wide, *narrow])
    (_, left, top), (_, right, beside) = wide[:2]
    assert right > left + 300
    assert abs(top - beside) < 2
    (_, first, above), (_, second, below) = narrow[:2]
    assert abs(first - second) < 2
    assert below > above + 100
    assert "seeds" in text
    assert "77" in text


def test_the_narrow_page_does_not_scroll_sideways(rerun):
    with open_browser() as browser:
        page = opened(browser, rerun / f"{CHAPTER}-beside.html", 390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_click_copies_the_command_that_made_the_page(built_site):
    with open_browser() as browser:
        context = browser.new_context()
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.goto((built_site / "book" / "chapters" / f"{CHAPTER}.html").as_uri())
        block = page.locator("#how-this-page-was-made .highlight-bash").first
        block.hover()
        block.locator("button.copybtn").click()
        page.wait_for_function("navigator.clipboard.readText().then(t => t.length > 0)")
        copied = page.evaluate("navigator.clipboard.readText()")
        page_text = page.locator("#how-this-page-was-made").inner_text()
    assert copied.startswith("make book PROFILE=smoke")
    assert f"make chapter CHAPTER={CHAPTER} PROFILE=smoke" in page_text
