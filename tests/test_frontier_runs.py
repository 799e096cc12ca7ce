from collections import Counter

import pytest

from bn_memorization import chapter, fingerprint, frontier_runs
from bn_memorization.errors import BadInput
from bn_memorization.private import PrivateConfig
from bn_memorization.shadows import ShadowConfig

NAME = "09_tradeoffs"


def parameters(**changes):
    return chapter.plan(NAME, "smoke").parameters | changes


def how(config):
    return (
        config.norm,
        config.penalty,
        config.penalty_target,
        config.weight_decay,
        getattr(config, "epsilon", None),
    )


def test_every_way_has_every_model():
    asked = parameters(penalty_target=[0.5, 0.25], epsilon=[2.0, 8.0])
    counted = Counter(how(config) for config in frontier_runs.plan(asked))
    assert counted == {
        ("batch", "none", 1.0, 0.0, None): 6,
        ("none", "none", 1.0, 0.0, None): 6,
        ("group", "none", 1.0, 0.0, None): 6,
        ("layer", "none", 1.0, 0.0, None): 6,
        ("batch", "log", 0.5, 0.0, None): 6,
        ("batch", "log", 0.25, 0.0, None): 6,
        ("batch", "none", 1.0, 0.01, None): 6,
        ("group", "none", 1.0, 0.0, 2.0): 6,
        ("group", "none", 1.0, 0.0, 8.0): 6,
    }


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_ways_differ_in_what_they_are_named_for_alone(profile):
    configs = chapter.plan(NAME, profile).configs
    own = ("norm", "penalty", "penalty_weight", "penalty_target", "weight_decay")
    public = [config for config in configs if type(config) is ShadowConfig]
    shared = {
        tuple(v for k, v in vars(config).items() if k not in (*own, "model", "dataset", "arch"))
        for config in public
    }
    assert len(shared) == 1
    assert all(config.norm == "group" for config in configs if isinstance(config, PrivateConfig))


def test_bn_and_plain_are_chapter_3s_models():
    third = set(chapter.plan("03_membership_inference", "quick").configs)
    for norm in ("batch", "none"):
        own = [c for c in chapter.plan(NAME, "quick").configs if how(c)[:2] == (norm, "none")]
        assert {c for c in own if c.weight_decay == 0} <= third


def test_private_runs_have_settings_of_their_own():
    asked = parameters(private_epochs=3, private_batch_size=20, private_lr=0.5, clip=2.0)
    found = [c for c in frontier_runs.plan(asked) if isinstance(c, PrivateConfig)]
    assert found
    for config in found:
        assert (config.epochs, config.batch_size, config.lr) == (3, 20, 0.5)
        assert (config.clip, config.delta, config.looks) == (2.0, asked["delta"], [0, 3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_models": 7}, "n_models=7"),
        ({"n_models": 4}, "n_models=4"),
        ({"rival_weight_decay": [0.0]}, "rival_weight_decay"),
        ({"private_batch_size": 100}, "batch_size=100"),
    ],
)
def test_what_cannot_be_run_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        frontier_runs.plan(parameters(**changes))
