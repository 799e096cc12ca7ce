"""Narrow windows do not scroll sideways; light and dark pages differ and can be read."""

import re

import pytest

NARROW = 390
READABLE = 4.5  # WCAG 2.1 AA, text of ordinary size


def channels(color):
    """Return the three sRGB channels of a computed CSS color, each 0 to 1."""
    return [float(number) / 255 for number in re.findall(r"[\d.]+", color)[:3]]


def luminance(color):
    """Return the relative luminance of WCAG 2.1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Return the contrast ratio of WCAG 2.1, from 1 to 21."""
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_known_pairs():
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(9, 9, 9)", "rgb(9, 9, 9)") == pytest.approx(1)
    # the lightest gray that passes on white
    assert contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)") == pytest.approx(4.54, abs=0.01)


def test_no_page_scrolls_sideways_when_narrow(tour):
    wide = {v.page: (v.shown["width"], v.shown["sticking"][:3]) for v in tour["narrow"]}
    assert {page: found for page, found in wide.items() if found[0] > NARROW or found[1]} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_follows_the_readers_system(tour, scheme):
    themes = {v.page: v.shown["theme"] for v in tour[scheme]}
    assert {page: theme for page, theme in themes.items() if theme != scheme} == {}


def test_dark_pages_are_dark_and_light_pages_light(tour):
    for light, dark in zip(tour["light"], tour["dark"], strict=True):
        assert luminance(light.shown["background"]) > 0.8, light.page
        assert luminance(dark.shown["background"]) < 0.1, dark.page


@pytest.mark.parametrize("manner", ["light", "dark", "narrow"])
def test_all_text_can_be_read(tour, manner):
    faint = {}
    for visit in tour[manner]:
        assert visit.shown["texts"], visit.page
        for text in visit.shown["texts"]:
            ratio = contrast(text["color"], text["behind"])
            if ratio < READABLE:
                faint[visit.page, text["text"]] = (round(ratio, 2), text["color"], text["behind"])
    assert faint == {}
