import math

from bn_memorization import paths
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS


def test_declared_controls_are_whole():
    for key, declared in CONTROLS.items():
        assert declared.key == key
        assert declared.direction in ("above", "below"), key
        assert math.isfinite(declared.threshold), key
        assert declared.least_n >= 2, key  # one unit has no interval
        assert declared.statement.endswith("."), key
        assert declared.title, key
        assert declared.quantity, key
        assert declared.unit, key
        assert (paths.notebooks() / f"{declared.chapter}.py").is_file(), key


def test_a_control_bears_on_a_claim_of_the_paper_and_is_none_itself():
    assert not set(CONTROLS) & set(CLAIMS)
    numbers = {key: c.number for key, c in CONTROLS.items()}
    none = {key for key, number in numbers.items() if number == 0}
    assert none == {"audit_attack", "audit_planted"}  # of a reader's network the paper says nothing
    assert {number for number in numbers.values() if number} <= {c.number for c in CLAIMS.values()}
