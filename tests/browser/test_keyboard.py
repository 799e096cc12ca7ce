"""Everything that a mouse reaches a keyboard reaches too, and shows where it is."""

import pytest
from chromium import open_browser

CHAPTERS = {
    "01_forced_memorization": ".live-playback",
    "03_membership_inference": ".live-one_sample",
    "04_margin_growth": ".live-explorer",
}
# Marks, of all that a keyboard can stop at, what has no frame of its own of at least two pixels.
# Focus that follows a press of a key is one that a browser shows.
UNMARKED = """() => {
  const stops = [...document.querySelectorAll(
    'a[href], button, input, select, summary, [tabindex="0"]')];
  return stops
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.tabIndex >= 0)
    .filter((e) => {
      e.focus();
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(e);
      const seen = outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2;
      return document.activeElement !== e || !seen || / 0\\)$/.test(outlineColor);
    })
    .map((e) => e.outerHTML.slice(0, 120));
}"""
# What scrolls sideways and that no key can move: neither it nor anything in it can be stopped at.
STUCK = """() => [...document.querySelectorAll('main *')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
  .filter((e) => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX))
  .filter((e) => !e.closest('mjx-container') && e.tabIndex < 0)
  .filter((e) => !e.querySelector('[tabindex="0"]'))
  .map((e) => e.outerHTML.slice(0, 120))"""


def opened(browser, address, chapter, **context):
    page = browser.new_context(**context).new_page()
    page.goto(f"{address}/book/chapters/{chapter}.html")
    page.evaluate("window.MathJax?.startup?.promise")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_the_keyboard_has_reached_is_framed(address, scheme):
    with open_browser() as browser:
        for chapter in (*CHAPTERS, "scoreboard"):
            page = opened(browser, address, chapter, color_scheme=scheme)
            page.keyboard.press("Tab")
            assert page.evaluate(UNMARKED) == [], chapter
        page.add_style_tag(content=":focus-visible { outline: none !important; }")
        assert len(page.evaluate(UNMARKED)) > 50  # or the test could not fail


def test_the_first_stop_skips_to_the_text(address):
    with open_browser() as browser:
        page = opened(browser, address, "01_forced_memorization")
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert "Skip to main content" in skip.inner_text()
        assert skip.is_visible()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#pst-primary-sidebar')") is None
        assert page.evaluate("document.activeElement.closest('main') !== null")


def test_each_control_of_a_live_picture_is_a_stop_in_its_order(address):
    with open_browser() as browser:
        for chapter, picture in CHAPTERS.items():
            page = opened(browser, address, chapter)
            controls = page.locator(f"{picture} :is(button, input)")
            controls.first.focus()
            for place in range(1, controls.count()):
                page.keyboard.press("Tab")
                here = controls.nth(place).evaluate("e => e === document.activeElement")
                assert here, (chapter, place)


def test_what_scrolls_sideways_can_be_scrolled_by_keys(address, names):
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        stuck = {}
        for name in names:
            page.goto(f"{address}/{name}.html")
            if found := page.evaluate(STUCK):
                stuck[name] = found
        assert stuck == {}
        page.goto(f"{address}/book/chapters/{next(iter(CHAPTERS))}.html")
        box = page.locator(".cell_output > .output[tabindex='0']:has(table)").first
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("e => e.scrollLeft > 0", arg=box.element_handle(), timeout=5000)


def test_folds_the_sidebar_and_the_search_open_by_key(address):
    with open_browser() as browser:
        page = opened(browser, address, "04_margin_growth", reduced_motion="reduce")
        for fold in ("main details > summary", "#pst-primary-sidebar details > summary"):
            summary = page.locator(fold).first
            summary.focus()
            before = summary.evaluate("e => e.parentElement.open")
            page.keyboard.press("Enter")
            assert summary.evaluate("e => e.parentElement.open") != before, fold
        page.keyboard.press("Control+k")
        page.wait_for_function("document.activeElement.type === 'search'")
        page.keyboard.press("Escape")
        page.wait_for_function("!document.querySelector('#pst-search-dialog').open")


@pytest.mark.parametrize("chapter", ["01_forced_memorization", "08_controls", "scoreboard"])
def test_letters_of_twice_the_size_fit_a_wide_window(address, chapter):
    with open_browser() as browser:
        page = opened(browser, address, chapter, viewport={"width": 1400, "height": 900})
        page.add_style_tag(content="html { font-size: 200% !important; }")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400
        cut = """all => all.filter((e) => e.getBoundingClientRect().right > innerWidth)
          .map((e) => e.textContent.slice(0, 40))"""
        assert page.locator("main :is(h1, h2, p, li):not(table *)").evaluate_all(cut) == []


def test_nothing_moves_for_who_asks_for_stillness(address):
    with open_browser() as browser:
        page = opened(browser, address, "01_forced_memorization", reduced_motion="reduce")
        moving = """() => [document.documentElement, ...document.querySelectorAll('*')]
          .filter((e) => {
            const style = getComputedStyle(e);
            return style.scrollBehavior === 'smooth'
              || style.transitionDuration.split(', ').some((t) => parseFloat(t) > 0)
              || (style.animationName !== 'none' && parseFloat(style.animationDuration) > 0);
          })
          .map((e) => e.outerHTML.slice(0, 80))"""
        assert page.evaluate(moving) == []
