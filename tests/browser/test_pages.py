"""Every page, rendered: math, figures, headings, and nothing asked of another machine."""

import pytest
from chromium import open_browser
from visits import visit_all

RAW_TEX = ("$$", "\\(", "\\[", "\\frac", "\\gamma", "\\sigma")


def faults(visits, find):
    """Return {page: what ``find`` returned} of the pages where it found something."""
    return {visit.page: found for visit in visits if (found := find(visit))}


def test_one_file_for_each_entry_of_the_table_of_contents(site, names):
    assert len(set(names)) == len(names) > 1
    assert [name for name in names if not (site / f"{name}.html").is_file()] == []


def test_root_leads_to_the_first_page(site, names):
    assert f"{names[0]}.html" in (site / "index.html").read_text(encoding="utf-8")


def test_each_page_names_its_language_and_has_one_title(tour):
    assert faults(tour["light"], lambda v: v.shown["language"] != "en" and v.shown) == {}
    titles = {v.page: v.shown["headings"] for v in tour["light"]}
    assert {page: found for page, found in titles.items() if len(found) != 1} == {}
    assert len({found[0] for found in titles.values()}) == len(titles), titles


def test_every_formula_is_typeset(tour):
    for visits in tour.values():
        counts = {v.page: (v.shown["formulas"], v.shown["typeset"]) for v in visits}
        assert {page: c for page, c in counts.items() if c[0] != c[1]} == {}
        assert counts["book/notation"][0] > 0
    assert faults(tour["light"], lambda v: v.shown["broken"]) == {}


def test_no_raw_tex_in_the_prose(tour):
    left = faults(tour["light"], lambda v: [tex for tex in RAW_TEX if tex in v.shown["prose"]])
    assert left == {}


def test_every_figure_is_there_with_alt_text_and_caption(tour):
    def lacking(visit):
        return [f for f in visit.shown["figures"] if not (f["width"] and f["alt"] and f["caption"])]

    assert faults(tour["light"], lacking) == {}
    with_figures = faults(tour["light"], lambda v: len(v.shown["figures"]))
    assert "book/chapters/01_forced_memorization" in with_figures


@pytest.mark.parametrize("manner", ["light", "dark", "narrow"])
def test_no_page_complains(tour, manner):
    assert faults(tour[manner], lambda v: v.complaints) == {}


@pytest.mark.parametrize("manner", ["light", "dark", "narrow"])
def test_no_page_asks_another_machine(tour, address, manner):
    assert all(visit.requests for visit in tour[manner]), "the record of requests is empty"
    assert faults(tour[manner], lambda v: v.outside(address)) == {}


def test_the_same_from_the_file_system(site, names):
    base = site.as_uri()
    with open_browser() as browser:
        visits = visit_all(browser, base, names)
    assert faults(visits, lambda v: v.complaints) == {}
    assert faults(visits, lambda v: v.outside(base)) == {}
    assert faults(visits, lambda v: v.shown["formulas"] - v.shown["typeset"]) == {}
    assert faults(visits, lambda v: [f for f in v.shown["figures"] if not f["width"]]) == {}
