from dataclasses import replace

import numpy as np
import pytest
from made_shadows import KEEP
from made_ways import PENALTY, every, private, shadows, ways

from bn_memorization import frontier, frontier_verdicts
from bn_memorization.frontier_verdicts import above_guessing
from bn_memorization.judging import NOT_REPRODUCED, REPRODUCED
from bn_memorization.tradeoff import NOTHING, STOPPING


def verdicts(made):
    return {v.claim.key: v for v in frontier_verdicts.verdicts(ways(made), 2.0)}


def test_verdicts_on_planted_differences():
    """Four pairs are the least that the controls ask for, so there are eight models."""
    masks = np.concatenate([KEEP, KEEP[:2]])
    found = verdicts(every(keep=masks))
    assert found["tradeoff_penalty"].word == REPRODUCED
    assert found["tradeoff_penalty"].evidence[0].estimate > 0.1
    assert found["tradeoff_penalty_cost"].word == REPRODUCED
    assert found["tradeoff_penalty_cost"].evidence[0].estimate == pytest.approx(-0.05)
    assert found["tradeoff_norms"].word == REPRODUCED
    assert found["tradeoff_private"].evidence[0].n == 4
    assert abs(found["tradeoff_private"].evidence[0].estimate) < 0.1


def test_verdicts_where_nothing_differs():
    """The same margins in all ways: no gap at all, and DP-SGD that hides nothing."""
    masks = np.concatenate([KEEP, KEEP[:2]])
    same = {"keep": masks, "shift": 3.0, "test": 0.8}
    made = [
        *shadows(**same, norm="batch"),
        *shadows(**same, norm="group"),
        *shadows(**same, norm="batch", **PENALTY),
        *private(**same),
    ]
    found = verdicts(made)
    for key in ("tradeoff_penalty", "tradeoff_norms", "tradeoff_private"):
        assert found[key].word == NOT_REPRODUCED, key
    assert found["tradeoff_norms"].evidence[0].estimate == 0.0
    assert found["tradeoff_penalty_cost"].word == REPRODUCED


def test_every_remedy_is_named_so_that_no_two_rows_are_the_same_setting():
    made = [*every(), *shadows(2.0, 0.6, norm="batch", **PENALTY | {"penalty_target": 0.5})]
    found = verdicts(made)
    assert [item.where["remedy"] for item in found["tradeoff_penalty"].evidence] == [
        "log, weight 1, target 0.25",
        "log, weight 1, target 0.5",
    ]
    assert found["tradeoff_norms"].evidence[0].where["remedy"] == NOTHING
    private = [above_guessing(ways(made), epsilon)[0].where for epsilon in (2.0, 8.0)]
    assert [where["remedy"] for where in private] == ["DP-SGD, ε = 2", "DP-SGD, ε = 8"]


def beside(path, penalized):
    """Return the stop of BN, at these mean test accuracies after its looks, beside a penalty's."""
    penalty = shadows(1.0, penalized, norm="batch", **PENALTY)
    bn, way = ways([*shadows(3.0, 0.9, norm="batch"), *penalty])
    looks = list(range(len(path) + 1))
    test = np.tile(np.array([0.1, *path])[:, None], 6)
    pool = replace(bn.pool, looks=looks, test_accuracy=test, phi=bn.pool.phi[[0] + [1] * len(path)])
    found = frontier_verdicts.beside_stopping([replace(bn, pool=pool, look=len(path)), way])
    assert [pair[0].remedy for pair in found] == ["log"] * len(found)
    return [stop.key for _, stop in found]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ([0.57, 0.73, 0.90], ("batch", STOPPING, "2")),  # the first that is as accurate
        ([0.70, 0.90, 0.71, 0.80], ("batch", STOPPING, "2")),  # and not the nearest, .71
        ([0.50, 0.60, 0.90], ("batch", NOTHING, "")),  # the end, which is no stop
        ([0.50, 0.60, 0.55], ("batch", STOPPING, "2")),  # never: the best
    ],
)
def test_a_penalty_stands_beside_the_first_stop_that_is_as_accurate(path, wanted):
    assert beside(path, 0.706) == [wanted]


def test_nothing_stands_beside_a_penalty_where_bn_was_looked_at_once():
    assert beside([0.9], 0.706) == []


def test_dp_sgd_stands_beside_its_own_norms_first_look():
    ((way, stop),) = frontier_verdicts.beside_private(ways(), 2.0)
    assert way.key == ("group", frontier.PRIVATE, "2")
    assert stop.key == ("group", STOPPING, "2")
    np.testing.assert_allclose(stop.test, 0.65)
    assert frontier_verdicts.beside_private(ways(), 3.0) == []
    alone = [way for way in ways() if (way.norm, way.remedy) != ("group", NOTHING)]
    assert frontier_verdicts.beside_private(alone, 2.0) == []


def test_epsilon_is_the_one_asked_for():
    found = ways()
    small, large = above_guessing(found, 2.0), above_guessing(found, 8.0)
    assert len(small) == len(large) == 1
    assert small[0].estimate < large[0].estimate
    assert above_guessing(found, 3.0) == []
