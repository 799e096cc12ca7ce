"""The first page's list of claims agrees with the claims that are judged."""

import re
from pathlib import Path

from bn_memorization.claims import CLAIMS

INTRO = Path(__file__).resolve().parents[1] / "book" / "intro.md"


def listed_claims():
    """Return {number: last cell} of the rows of the list of claims."""
    rows = re.findall(r"^\* - (\d+)\n(.*?)(?=^\* - |^:::)", INTRO.read_text(), re.M | re.S)
    return {int(number): row.split("\n  - ")[-1].strip() for number, row in rows}


def test_every_claim_is_listed_once_and_says_where_it_is_tested():
    chapters = {claim.number: claim.chapter for claim in CLAIMS.values()}
    listed = listed_claims()
    assert sorted(listed) == sorted(chapters)
    for number, chapter in chapters.items():
        assert f"](chapters/{chapter}.ipynb)" in listed[number]
