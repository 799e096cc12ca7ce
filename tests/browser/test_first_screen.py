"""The first page in one screen: the question, the answer, its picture, all claims, the ways on."""

import pytest
from chromium import open_browser

PARTS = {
    "question": "h1",
    "answer": ".first-screen .answer",
    "ways on": ".first-screen p:has(> a[href*='10_audit'])",
    "picture": ".first-picture svg",
    "scoreboard in small": ".first-half table",
}
BOXES = """(selectors) => Object.fromEntries(Object.entries(selectors).map(([name, selector]) => {
  const all = document.querySelectorAll(`article ${selector}`);
  const { left, right, top, bottom } = all[0].getBoundingClientRect();
  return [name, { count: all.length, left, right, top, bottom }];
}))"""


def boxes(site, width: int, height: int) -> dict[str, dict]:
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto((site / "book" / "intro.html").as_uri())
        found = page.evaluate(BOXES, PARTS)
    assert {name: box["count"] for name, box in found.items()} == dict.fromkeys(PARTS, 1)
    return found


@pytest.fixture(scope="module")
def wide(site):
    return boxes(site, 1400, 900)


def test_all_of_it_is_in_the_first_screen(wide):
    assert {name: box["bottom"] for name, box in wide.items() if box["bottom"] > 900} == {}
    assert {name: box["right"] for name, box in wide.items() if box["right"] > 1400} == {}


def test_the_picture_stands_beside_the_scoreboard_and_below_the_answer(wide):
    picture, table, answer = wide["picture"], wide["scoreboard in small"], wide["answer"]
    assert picture["right"] <= table["left"]
    assert picture["top"] < table["bottom"]
    assert table["top"] < picture["bottom"]
    assert answer["bottom"] <= min(picture["top"], table["top"])


def test_in_a_narrow_window_one_stands_below_the_other(site):
    narrow = boxes(site, 390, 844)
    tops = [narrow[name]["top"] for name in PARTS]
    assert tops == sorted(tops)
    assert all(box["left"] >= 0 and box["right"] <= 390 for box in narrow.values())
    assert narrow["question"]["bottom"] < narrow["answer"]["top"] < 844


def test_the_answer_begins_with_words_and_has_gaps_with_interval_and_n(site):
    with open_browser() as browser:
        page = browser.new_page()
        page.goto((site / "book" / "intro.html").as_uri())
        answer = page.locator(".first-screen .answer")
        assert "networks with BN" in answer.locator("strong").first.inner_text()
        for line in answer.locator("li").all_inner_texts():
            assert line.count("n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}") == 2
            assert line.count(" to ") + line.count("(none") == 2
        ways = (
            page.locator(PARTS["ways on"])
            .locator("a")
            .evaluate_all("all => all.map((e) => e.getAttribute('href'))")
        )
        assert ways == [
            "chapters/01_forced_memorization.html",
            "chapters/scoreboard.html",
            "rerunning.html",
            "chapters/10_audit.html",
        ]


def test_the_bullets_stand_inside_the_box(site):
    """A list's dots stand left of its text, by as much as its padding."""
    with open_browser() as browser:
        page = browser.new_page()
        page.goto((site / "book" / "intro.html").as_uri())
        paddings = page.locator(".answer ul").evaluate_all(
            "all => all.map((e) => parseFloat(getComputedStyle(e).paddingLeft))"
        )
        assert all(padding >= 16 for padding in paddings)
