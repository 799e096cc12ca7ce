"""What a term means, shown beside it: under a mouse, at keyboard focus, after a tap."""

import re
from contextlib import contextmanager

from chromium import open_browser
from visits import listen

CHAPTER = "book/chapters/03_membership_inference.html"
TERM = "article a:has(> .std-term)"


@contextmanager
def opened(site, **context):
    """Open a chapter from the file system; yield it with its first term, and what that means."""
    with open_browser() as browser:
        page = browser.new_context(**context).new_page()
        requests, complaints = listen(page)
        page.goto(f"{site.as_uri()}/{CHAPTER}", wait_until="domcontentloaded")
        term = page.locator(TERM).first
        anchor = term.get_attribute("href").partition("#")[2]
        yield page, term, page.locator(f"[id='{anchor}-means']")
        assert complaints == []
        assert [url for url in requests if not url.startswith((site.as_uri(), "data:"))] == []


def inside(page, tip):
    """Return whether all of a definition lies in the window."""
    box, size = tip.bounding_box(), page.viewport_size
    across = box["x"] >= 0 and box["x"] + box["width"] <= size["width"]
    return across and box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def test_a_mouse_shows_it_and_may_go_there_without_losing_it(site):
    with opened(site) as (page, term, tip):
        assert not tip.is_visible()
        term.hover()
        assert tip.is_visible()
        assert len(tip.inner_text()) > 20
        assert inside(page, tip)
        tip.hover()
        page.wait_for_timeout(600)
        assert tip.is_visible()
        page.mouse.move(1, 1)
        tip.wait_for(state="hidden", timeout=2_000)


def test_the_keyboard_shows_it_and_escape_takes_it_away(site):
    with opened(site) as (page, term, tip):
        term.scroll_into_view_if_needed()
        term.evaluate("e => e.focus({focusVisible: true})")
        assert tip.is_visible()
        assert tip.get_attribute("role") == "tooltip"
        assert term.get_attribute("aria-describedby") == tip.get_attribute("id")
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        assert term.evaluate("e => e === document.activeElement")
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        assert tip.is_visible()
        page.keyboard.press("Tab")
        assert not tip.is_visible()


def test_one_at_a_time(site):
    with opened(site) as (page, term, _):
        others = page.locator(TERM)
        term.hover()
        others.nth(1).hover()
        assert page.locator(".term-means:visible").count() == 1


def test_a_tap_shows_it_and_a_second_one_leads_to_the_glossary(site):
    narrow = {"width": 390, "height": 844}
    with opened(site, has_touch=True, viewport=narrow) as (page, term, tip):
        term.tap()
        assert tip.is_visible()
        assert inside(page, tip)
        assert page.url.endswith(CHAPTER)
        page.locator(".admonition.answer").tap()
        assert not tip.is_visible()
        term.tap()
        term.tap()
        page.wait_for_url("**/book/glossary.html#term-*")


def test_every_term_on_every_page_has_its_meaning(site, names):
    counts = {}
    for name in names:
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        marked = re.findall(r'<a [^>]*href="[^"]*#([^"]+)"[^>]*><span class="[^"]*std-term', text)
        known = re.findall(r'<div id="([^"]+)-means" class="term-means"', text)
        assert sorted(set(marked)) == sorted(known), name
        counts[name] = len(marked)
    assert counts[CHAPTER.removesuffix(".html")] > 5


def test_without_scripts_it_is_a_link_to_the_glossary(site):
    with open_browser() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(f"{site.as_uri()}/{CHAPTER}")
        term = page.locator(TERM).first
        term.hover()
        assert page.locator(".term-means:visible").count() == 0
        term.click()
        page.wait_for_url("**/book/glossary.html#term-*")
        assert page.locator("dt:target").is_visible()
