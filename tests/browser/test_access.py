"""axe-core finds nothing to mend on any page: light and dark, wide and narrow, all folds open."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import open_browser

# WCAG 2.0 to 2.2, levels A and AA, and what axe-core's makers hold for good practice.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# MathJax draws formulas, and gives each its text beside the drawing: the drawing alone is left out,
# since its thousand glyphs hold no words and take most of axe-core's time.
PLACE = {"exclude": [["mjx-container > svg"]]}
OPEN = """async () => {
  await window.MathJax?.startup?.promise;
  document.querySelectorAll("main details").forEach((e) => { e.open = true; });
}"""


def violations(page, contrast: bool = True) -> list[tuple[str, str, str]]:
    """Return rule, element and axe-core's words for all that it finds on an open page."""
    rules = {"color-contrast": {"enabled": contrast}}
    options = {"resultTypes": ["violations"], "runOnly": RULES, "rules": rules}
    found = Axe().run(page, PLACE, options)
    return [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in found.response["violations"]
        for node in rule["nodes"]
    ]


def test_what_cannot_be_read_or_told_is_found():
    """Or a page without violations would say nothing."""
    with open_browser() as browser:
        page = browser.new_page()
        page.set_content(
            "<html lang='en'><title>x</title><main><h1>x</h1><img src='x.png'>"
            "<p style='color: #aaa; background: #fff'>faint</p></main></html>"
        )
        assert {rule for rule, *_ in violations(page)} == {"image-alt", "color-contrast"}


# Contrast takes most of the time: it is measured once in each scheme and at each width.
@pytest.mark.parametrize(
    ("scheme", "width", "contrast"),
    [("light", 1400, True), ("dark", 390, True), ("dark", 1400, False), ("light", 390, False)],
)
def test_no_page_has_violations(address, site, names, scheme, width, contrast):
    beside = [path.stem for path in site.glob("*.html") if path.stem != "index"]
    found = {}
    with open_browser() as browser:
        page = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",  # else a color may be read in the middle of its change
        ).new_page()
        for name in [*names, *beside]:
            page.goto(f"{address}/{name}.html")
            page.evaluate(OPEN)
            if left := violations(page, contrast):
                found[name] = left
    assert found == {}
