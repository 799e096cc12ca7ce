"""The table of every setting: sorted and filtered in the browser, whole without scripts."""

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


def values(page, column):
    cells = page.locator(f".sortable tbody tr:not([hidden]) td:nth-child({column})")
    return cells.evaluate_all("all => all.map((e) => Number(e.dataset.value))")


def test_a_click_sorts_and_a_second_turns_it_round(site):
    with opened(site) as page:
        head = page.locator(".sortable th", has=page.get_by_role("button", name="effect"))
        before = values(page, 3)
        assert before != sorted(before)  # or nothing could be seen to be sorted
        head.get_by_role("button").click()
        assert values(page, 3) == sorted(before)
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").focus()
        page.keyboard.press("Enter")
        assert values(page, 3) == sorted(before, reverse=True)
        assert head.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name="verdict").click()
        assert head.get_attribute("aria-sort") is None


def test_filters_leave_what_fits_all_of_them_and_say_how_many(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr")
        kept = rows.evaluate_all("all => all.map((e) => e.dataset.kept.split('|'))")
        page.get_by_label("about").select_option("claim 3")
        page.get_by_label("verdict").select_option(kept[0][4])
        wanted = sum(row[0] == "claim 3" and row[4] == kept[0][4] for row in kept)
        assert page.locator(".sortable tbody tr:visible").count() == wanted
        assert page.get_by_role("status").inner_text() == f"{wanted} of {len(kept)} rows"
        page.get_by_label("about").select_option("all")
        page.get_by_label("verdict").select_option("all")
        assert page.locator(".sortable tbody tr:visible").count() == len(kept)


def test_without_scripts_the_whole_table_stands(site):
    with open_browser() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(f"{site.as_uri()}/{PAGE}")
        assert page.locator(".sortable tbody tr:visible").count() > 20
        assert page.locator(".sortable button, .sortable select").count() == 0


def test_every_row_leads_to_its_chapter(site):
    with opened(site) as page:
        rows = page.locator(".sortable tbody tr")
        links = rows.locator("td:first-child a").evaluate_all(
            "all => all.map((e) => e.getAttribute('href'))"
        )
        assert len(links) == rows.count()
        folder = (site / PAGE).parent
        assert [link for link in links if not (folder / link).is_file()] == []
