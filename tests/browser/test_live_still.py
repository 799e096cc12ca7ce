"""Without scripts, and on paper, a still figure stands where a picture would answer to touch."""

from chromium import open_browser
from live_page import read

PICTURES = {
    "01_forced_memorization": "playback",
    "03_membership_inference": "one_sample",
    "04_margin_growth": "explorer",
}


def test_the_still_figure_is_there_without_scripts(site):
    with open_browser() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        for chapter, kind in PICTURES.items():
            still = read(page, site, chapter, kind)
            assert still.figure.locator("img").is_visible(), chapter
            assert still.figure.locator("figcaption").is_visible(), chapter
            assert still.figure.locator(".live").count() == 0, chapter


def test_the_picture_takes_its_place_on_the_screen_and_not_in_print(site):
    with open_browser() as browser:
        page = browser.new_page()
        for chapter, kind in PICTURES.items():
            page.emulate_media(media="screen")
            found = read(page, site, chapter, kind)
            picture, still = found.figure.locator(".live"), found.figure.locator("> .figure-box")
            assert (picture.is_visible(), still.is_visible()) == (True, False), chapter
            assert found.figure.locator("figcaption").is_visible(), chapter
            page.emulate_media(media="print")
            assert (picture.is_visible(), still.is_visible()) == (False, True), chapter
