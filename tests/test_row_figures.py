from html.parser import HTMLParser

from bn_memorization import row_figures
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS

DECLARED = CLAIMS | CONTROLS


class Anchors(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found |= {value: tag for name, value in attributes if name == "id"}


def test_every_claim_and_control_is_shown_somewhere():
    assert row_figures.ANCHORS.keys() == DECLARED.keys()


def test_a_figure_is_told_from_the_section_of_a_table():
    page = CLAIMS["feedback"].chapter
    assert row_figures.shown(CLAIMS["feedback"]) == (f"{page}.html#fig-pull-shares", "figure")
    assert row_figures.shown(CLAIMS["feedback_direction"]) == (f"{page}.html#up-or-down", "table")


def test_every_anchor_is_in_the_built_page_and_is_what_it_is_said_to_be(built_site):
    pages: dict[str, dict[str, str]] = {}
    for claim in DECLARED.values():
        page, anchor = row_figures.shown(claim)[0].split("#")
        if page not in pages:
            pages[page] = Anchors((built_site / "book/chapters" / page).read_text()).found
        kind = "figure" if row_figures.shown(claim)[1] == "figure" else "section"
        assert pages[page].get(anchor) == kind, (claim.key, anchor)
