"""Chapter 4's picture: sliders move the growth, by the formula that Python has."""

import pytest
from live_page import opened

from bn_memorization import explorer

CHAPTER, KIND = "04_margin_growth", "explorer"
OF = explorer.functions()


def shown(live) -> tuple[float, float]:
    """Return the two growths that the page tells."""
    return tuple(float(live.text(f"[data-growth={name}]")) for name in ("fixed", "exact"))


def test_sliders_move_the_growth_as_the_formula_says(site):
    with opened(site, CHAPTER, KIND) as live:
        values = dict(explorer.START)
        assert live.data["start"] == values
        for name, label, value in (
            ("gamma", "γ", 2.4),
            ("sigma", "σ", 0.8),
            ("z", "|z|", 1.7),
            ("m", "m", 32),
        ):
            dot = live.figure.locator("circle.dot").get_attribute("cy")
            values[name] = value
            live.slide(label, value if name != "m" else 5)
            wanted = [OF[growth](*values.values()) for growth in ("fixed", "exact")]
            assert shown(live) == pytest.approx([float(f"{one:.3g}") for one in wanted])
            assert live.figure.locator("circle.dot").get_attribute("cy") != dot
        assert f"{2.4 / 0.8:g}\N{SUPERSCRIPT TWO} = 9" in live.text("li:first-child")
        live.slide("m", 2)  # two to the power of it
        live.slide("|z|", 8)
        assert live.text("[data-growth=exact]") == "no such sample"
        assert "|z| = 1.73" in live.text("li:last-child")
        assert live.figure.locator("circle.dot").count() == 0


def test_presets_and_keys_and_a_narrow_window(site):
    with opened(site, CHAPTER, KIND, viewport={"width": 390, "height": 800}) as live:
        preset = live.data["presets"][-1]
        button = live.figure.get_by_role("button", name=preset["title"], exact=True)
        button.focus()
        live.page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        values = [preset[name] for name in explorer.NAMES]
        wanted = [OF[growth](*values) for growth in ("fixed", "exact")]
        assert shown(live) == pytest.approx(wanted, rel=0.006)
        mean, both = (f"{share:.3g}" for share in preset["kept"])
        kept = f"{mean} is left where the mean alone moves, {both} where both do."
        assert live.text("li:last-child").endswith(kept)
        live.slide("γ", 1)
        assert button.get_attribute("aria-pressed") == "false"
        slider = live.figure.get_by_role("slider", name="γ", exact=True)
        slider.focus()
        live.page.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "1.05"
        assert live.page.evaluate("document.documentElement.scrollWidth") <= 390
