import math

import pytest

from bn_memorization import paths
from bn_memorization.claims import CLAIMS


@pytest.mark.parametrize("key", CLAIMS)
def test_declared_claims_are_whole(key):
    declared = CLAIMS[key]
    assert declared.key == key
    assert declared.direction in ("above", "below")
    assert math.isfinite(declared.threshold)
    assert declared.least_n >= 2  # one unit has no interval
    assert declared.statement.endswith(".")
    assert declared.title
    assert declared.quantity
    assert declared.unit
    if declared.chapter is not None:
        assert (paths.notebooks() / f"{declared.chapter}.py").is_file()


def test_the_paper_has_seven_claims():
    assert {declared.number for declared in CLAIMS.values()} == set(range(1, 8))
