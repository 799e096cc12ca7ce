"""Chapter 1's picture: any epoch, one by one or played, and nothing that moves by itself."""

from live_page import opened

CHAPTER, KIND = "01_forced_memorization", "playback"


def check(live, epoch: int) -> None:
    """Assert that the page shows that epoch: who is fitted, and how many."""
    for arm, grid in zip(live.data["arms"], live.figure.locator(".live-tiles").all(), strict=True):
        fitted = grid.locator(".live-tile").evaluate_all(
            "all => all.map((e) => Number(e.classList.contains('fitted'))).join('')"
        )
        assert fitted == arm["fitted"][epoch]
    counts = [f"{arm['name']} has fitted {arm['count'][epoch]}" for arm in live.data["arms"]]
    assert live.text(".live-summary").endswith(f"samples: {', '.join(counts)}.")
    assert live.text(".live-summary").startswith(f"Epoch {epoch},")


def test_every_epoch_by_slider_buttons_and_keys(site):
    with opened(site, CHAPTER, KIND) as live:
        last = live.data["epochs"]
        check(live, last)
        for epoch in range(last + 1):
            live.slide("Epoch", epoch)
            check(live, epoch)
        live.press("One epoch back")
        check(live, last - 1)
        live.press("One epoch on")
        live.press("One epoch on")  # there is none after the last
        check(live, last)
        slider = live.figure.get_by_role("slider")
        slider.focus()
        live.page.keyboard.press("Home")
        check(live, 0)
        live.press("One epoch back")
        check(live, 0)


def test_it_plays_when_asked_and_not_before(site):
    """Also for readers who do not mind motion; so no others are asked."""
    context = {"reduced_motion": "no-preference", "viewport": {"width": 390, "height": 800}}
    with opened(site, CHAPTER, KIND, **context) as live:
        live.page.clock.install()
        live.page.reload()
        last = live.data["epochs"]
        live.page.clock.run_for(60_000)
        check(live, last)  # as it was when the page came
        live.press("Play")
        check(live, 0)
        live.page.clock.run_for(8000 // last + 50)
        check(live, 1)
        live.press("Pause")
        live.page.clock.run_for(60_000)
        check(live, 1)
        live.press("Play")
        live.page.clock.run_for(60_000)
        check(live, last)
        assert live.figure.get_by_role("button", name="Play", exact=True).is_visible()
        assert live.page.evaluate("document.documentElement.scrollWidth") <= 390
