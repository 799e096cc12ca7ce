"""The data of every figure: linked below it, and downloaded from a folder, without a server."""

import pandas as pd
from chromium import open_browser


def test_every_figure_of_a_chapter_links_its_data(site):
    with open_browser() as browser:
        page, found = browser.new_page(), 0
        for path in sorted(site.glob("book/chapters/*.html")):
            page.goto(path.as_uri())
            for figure in page.locator("figure[id^=fig-]").all():
                (address,) = [
                    link.get_attribute("href") for link in figure.locator(".figure-data a").all()
                ]
                data = (path.parent / address).resolve()
                assert data.name == f"{figure.get_attribute('id')}.csv"
                assert len(pd.read_csv(data))
                found += 1
        assert found > 40


def test_a_click_downloads_the_data_from_a_folder(site, tmp_path):
    path = site / "book" / "chapters" / "03_membership_inference.html"
    with open_browser() as browser:
        page = browser.new_page(accept_downloads=True)
        page.goto(path.as_uri())
        with page.expect_download() as download:
            page.locator("#fig-membership-gaps .figure-data a").click()
        download.value.save_as(tmp_path / "gaps.csv")
        assert download.value.suggested_filename == "fig-membership-gaps.csv"
    table = pd.read_csv(tmp_path / "gaps.csv")
    assert {"setting", "mean", "low", "high", "n", "threshold"} <= set(table)
    assert len(table)


def test_a_phone_reads_the_letters_of_every_figure(site):
    """Nine points are twelve pixels; what is left of them is about nine, and not below 8.5."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        for path in sorted(site.glob("book/chapters/*.html")):
            page.goto(path.as_uri())
            for picture in page.locator("figure:not(.is-live) .figure-box img").all():
                shrunk = picture.evaluate("image => image.clientWidth / image.naturalWidth")
                assert shrunk >= 0.71, (path.name, picture.get_attribute("alt"))
