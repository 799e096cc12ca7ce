"""Chapter 3's picture: another image, network or rate, and what the attack says of it."""

from itertools import product

from live_page import opened

CHAPTER, KIND = "03_membership_inference", "one_sample"


def told(data, sample, attacked, rate) -> list[str]:
    """Return what the page shall say of each arm."""
    image = data["samples"][sample]
    network = image["trained_on"] if attacked == "trained on it" else 1 - image["trained_on"]
    found = []
    for arm, whole in zip(image["arms"], data["arms"], strict=True):
        threshold = whole["threshold"][network][rate]
        member = threshold is not None and arm["score"][network] >= threshold
        right = member == (attacked == "trained on it")
        found.append(
            f"called a {'member' if member else 'non-member'}, {'rightly' if right else 'wrongly'}."
        )
    return found


def says(live) -> list[str]:
    texts = live.figure.locator(".live-says").all_inner_texts()
    return [text.partition(": ")[2] for text in texts]


def target_is_shaded(live) -> list[bool]:
    """Return, for each arm, whether the attacked network's margin lies where members are."""
    return live.figure.locator("svg:has(.target)").evaluate_all(
        """charts => charts.map((chart) => {
          const x = Number(chart.querySelector(".target").getAttribute("x1"));
          return [...chart.querySelectorAll(".beyond")].some((r) => {
            const from = Number(r.getAttribute("x"));
            return from - 1 <= x && x <= from + Number(r.getAttribute("width")) + 1;
          });
        })"""
    )


def test_what_is_called_a_member(site):
    with opened(site, CHAPTER, KIND) as live:
        images = live.figure.locator(".live-images button")
        assert images.count() == len(live.data["samples"])
        last = len(live.data["rates"]) - 1
        for attacked, rate in product(("trained on it", "never saw it"), (0, last, last // 2)):
            live.press(attacked)
            live.slide("False-positive rate allowed", rate)
            for sample in range(0, images.count(), 3):
                images.nth(sample).click()
                assert images.nth(sample).get_attribute("aria-pressed") == "true"
                assert live.data["samples"][sample]["title"] in live.text(".live-summary")
                wanted = told(live.data, sample, attacked, rate)
                assert says(live) == wanted
                # The page finds where members are by its own density, this by Python's score.
                assert target_is_shaded(live) == [text.startswith("called a m") for text in wanted]


def test_the_marks_move_and_keys_choose(site):
    with opened(site, CHAPTER, KIND, viewport={"width": 390, "height": 800}) as live:
        dots = live.figure.locator("svg:last-of-type").last.locator("circle.dot").first
        slider = live.figure.get_by_role("slider")
        before = dots.get_attribute("cx"), slider.get_attribute("aria-valuetext")
        slider.focus()
        live.page.keyboard.press("ArrowRight")
        assert dots.get_attribute("cx") > before[0]
        assert slider.get_attribute("aria-valuetext") != before[1]
        shadows = len(live.data["samples"][0]["arms"][0]["in"]["margins"])
        first = live.figure.locator("svg").first
        assert first.locator("circle").count() == 2 * shadows
        last = live.figure.locator(".live-images button").last
        margins = first.locator("circle").evaluate_all("all => all.map(c => c.outerHTML).join()")
        last.focus()
        live.page.keyboard.press("Space")
        assert last.get_attribute("aria-pressed") == "true"
        first = live.figure.locator("svg").first.locator("circle")
        assert first.evaluate_all("all => all.map(c => c.outerHTML).join()") != margins
        assert live.page.evaluate("document.documentElement.scrollWidth") <= 390
