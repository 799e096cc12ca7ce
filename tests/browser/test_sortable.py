"""The table of every setting: sorted and filtered in the browser, whole without scripts."""

import csv
from collections import Counter
from contextlib import contextmanager

from chromium import open_browser
from visits import listen

PAGE = "book/chapters/scoreboard.html"


@contextmanager
def opened(site):
    with open_browser() as browser:
        page = browser.new_page()
        requests, complaints = listen(page)
        page.goto(f"{site.as_uri()}/{PAGE}", wait_until="domcontentloaded")
        yield page
        assert complaints == []
        assert [url for url in requests if not url.startswith((site.as_uri(), "data:"))] == []


def values(page, name):
    cells = page.locator(f".sortable tbody tr:not([hidden]) td.{name}")
    return cells.evaluate_all("all => all.map((e) => Number(e.dataset.value))")


def test_a_click_sorts_and_a_second_turns_it_round(site):
    with opened(site) as page:
        head = page.locator(".sortable th", has=page.get_by_role("button", name="effect"))
        before = values(page, "effect")
        assert before != sorted(before)  # or nothing could be seen to be sorted
        head.get_by_role("button").click()
        assert values(page, "effect") == sorted(before)
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").focus()
        page.keyboard.press("Enter")
        assert values(page, "effect") == sorted(before, reverse=True)
        assert head.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name="verdict").click()
        assert head.get_attribute("aria-sort") is None


def test_rows_are_sorted_by_how_many_records_they_have(site):
    with opened(site) as page:
        before = values(page, "runs")
        page.get_by_role("button", name="run records").click()
        assert values(page, "runs") == sorted(before)
        assert min(before) == 0 < max(before)


def test_filters_leave_what_fits_all_of_them_and_say_how_many(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr")
        kept = rows.evaluate_all("all => all.map((e) => e.dataset.kept.split('|'))")
        filters = page.locator(".sortable-filters label")
        names = filters.evaluate_all("all => all.map((e) => e.firstChild.textContent.trim())")
        verdict = names.index("verdict")
        claim = filters.nth(names.index("claim")).locator("select")
        claim.select_option("3")
        filters.nth(verdict).locator("select").select_option(kept[0][verdict])
        wanted = sum(row[0] == "3" and row[verdict] == kept[0][verdict] for row in kept)
        assert page.locator(".sortable tbody tr:visible").count() == wanted
        assert page.get_by_role("status").inner_text() == f"{wanted} of {len(kept)} rows"
        claim.select_option("all")
        filters.nth(verdict).locator("select").select_option("all")
        assert page.locator(".sortable tbody tr:visible").count() == len(kept)


def test_each_filter_offers_the_values_of_its_own_column(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr")
        kept = rows.evaluate_all("all => all.map((e) => e.dataset.kept.split('|'))")
        offered = page.locator(".sortable-filters select").evaluate_all(
            "all => all.map((e) => [...e.options].slice(1).map((o) => o.value))"
        )
        columns = [set(column) for column in zip(*kept, strict=True)]
        assert [set(values) for values in offered] == columns


def test_the_keyboard_reaches_filters_heads_the_table_and_its_links_in_this_order(site):
    with opened(site) as page:
        page.locator(".sortable select").first.focus()
        reached = []
        for _ in range(20):
            reached.append(
                page.evaluate("document.activeElement.className || document.activeElement.tagName")
            )
            page.keyboard.press("Tab")
        order = list(dict.fromkeys(name for name in reached if name in ORDER))
        assert order == ORDER


ORDER = ["SELECT", "sortable-box", "BUTTON", "A"]


def test_without_scripts_the_whole_table_stands(site):
    with open_browser() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(f"{site.as_uri()}/{PAGE}")
        assert page.locator(".sortable tbody tr:visible").count() > 20
        assert page.locator(".sortable button, .sortable select").count() == 0


def links(page, name):
    found = page.locator(f".sortable tbody td.{name} a")
    return found.evaluate_all("all => all.map((e) => e.getAttribute('href'))")


def test_every_row_leads_to_its_chapter_its_figure_and_its_records(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr").count()
        folder = (site / PAGE).parent
        for name in ("claim", "shown", "runs"):
            targets = links(page, name)
            assert len(targets) == rows, name
            assert [t for t in targets if not (folder / t.partition("#")[0]).is_file()] == []


def test_a_list_of_records_has_as_many_for_a_row_as_the_row_says(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr").evaluate_all(
            """all => all.map((e) => [
              e.querySelector(".runs a").getAttribute("href"),
              e.querySelector(".setting").textContent,
              Number(e.querySelector(".runs").dataset.value),
            ])"""
        )
        said = Counter()
        for file, place, records in rows:
            if records:
                said[file, place] += records
        listed = Counter(
            (file, line["setting"])
            for file in {file for file, _ in said}
            for line in csv.DictReader((site / PAGE).parent.joinpath(file).read_text().splitlines())
        )
        assert listed == said


def test_a_click_on_a_rows_figure_shows_it(site):
    with opened(site) as page:
        page.locator(".sortable tbody td.shown a", has_text="figure").first.click()
        page.wait_for_url("**/01_forced_memorization.html#fig-forced-gaps")
        assert page.locator("figure#fig-forced-gaps").is_visible()


def shown(site, width, height):
    """Return what of the table can be seen in a window without scrolling sideways."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(f"{site.as_uri()}/{PAGE}")
        return page.evaluate(
            """() => {
              const box = document.querySelector(".sortable-box");
              const row = box.querySelector("tbody tr");
              const cells = Object.fromEntries([...row.cells].map((cell) => {
                const { left, right, height } = cell.getBoundingClientRect();
                return [cell.className, { left, right, height }];
              }));
              const top = box.getBoundingClientRect().top;
              return { cells, top, inside: box.clientWidth, wanted: box.scrollWidth };
            }"""
        )


def test_nothing_needs_sideways_scrolling_in_a_wide_window_and_the_table_comes_first(site):
    found = shown(site, 1400, 900)
    assert found["wanted"] <= found["inside"]
    assert found["top"] < 900
    lefts = [cell["left"] for cell in found["cells"].values()]
    assert lefts == sorted(lefts)  # a row is a row


def test_in_a_narrow_window_a_row_is_a_card_that_fits(site):
    found = shown(site, 390, 844)
    assert found["wanted"] <= found["inside"] <= 390
    for name in ("claim", "setting", "effect", "verdict"):
        cell = found["cells"][name]
        assert cell["height"] > 0, name
        assert 0 <= cell["left"] < cell["right"] <= 390, name


def test_a_table_as_cards_is_a_table_to_those_who_hear_it(site):
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(f"{site.as_uri()}/{PAGE}")
        table = page.locator(".sortable").get_by_role("table")
        assert table.get_by_role("columnheader").count() == 9
        assert table.get_by_role("row").count() > 20
        assert table.get_by_role("row").nth(1).get_by_role("cell").count() == 9
