import pytest

from bn_memorization import chapter, row_runs
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS
from bn_memorization.private import PrivateConfig
from bn_memorization.row_runs import behind

DECLARED = CLAIMS | CONTROLS
FLIPPED = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}
RANDOM = {"growth_factor", "growth_exact"}  # checked on networks that the page draws


@pytest.fixture(scope="module")
def parameters():
    """Give a chapter's parameters in the quick profile."""
    found = {}

    def of(claim: str) -> dict:
        name = DECLARED[claim].chapter
        if name not in found:
            found[name] = chapter.plan(name, "quick")
        return found[name].parameters

    of.plans = found
    return of


def test_every_claim_and_control_has_its_runs():
    assert row_runs.RUNS.keys() == DECLARED.keys()


@pytest.mark.parametrize("claim", sorted(DECLARED))
def test_what_is_behind_a_claim_is_what_its_chapter_trains(claim, parameters):
    where = {"moment": "end of training", "batch_size": "batches of 32"}
    found = behind(claim, where, parameters(claim))
    planned = set(parameters.plans[DECLARED[claim].chapter].configs)
    assert set(found) <= planned
    assert len(set(found)) == len(found)
    assert bool(found) != (claim in RANDOM)


def test_a_setting_has_both_arms_of_every_seed_and_no_others(parameters):
    p = parameters("forced_final")
    found = behind("forced_final", FLIPPED, p)
    assert {(c.seed, c.norm) for c in found} == {
        (seed, norm) for seed in range(p["seeds"]) for norm in ("batch", "none")
    }
    assert len(found) == 2 * p["seeds"]
    for name, value in FLIPPED.items():
        assert {getattr(config, name) for config in found} == {value}


def test_a_search_is_behind_no_claim(parameters):
    p = parameters("forced_final")
    where = {"dataset": "cifar10", "arch": "resnet8", "corruption": "flip", "noise_rate": 0.05}
    found = behind("forced_final", where, p)
    assert {config.lr for config in found} == {p["lr"]}


def test_a_moment_is_that_of_the_networks(parameters):
    p = parameters("feedback")
    lengths = {
        moment: {config.epochs for config in behind("feedback", {"moment": moment}, p)}
        for moment in ("a third of training", "end of training")
    }
    assert lengths["end of training"] == {p["epochs"]}
    assert lengths["a third of training"] == {p["epochs"] // 3}


def test_norms_sizes_doses_and_privacy_pick_their_own(parameters):
    p = parameters("norm_gamma")
    assert {c.norm for c in behind("norm_gamma", FLIPPED, p)} == {"batch", "batch_fixed_gamma"}
    small = behind("batch_sizes", {**FLIPPED, "batch_size": "batches of 16"}, p)
    assert {config.batch_size for config in small} == {16}
    held = behind("dose_exponent", {}, parameters("dose_exponent"))
    assert {(c.hold_weights, c.penalty_layer, c.penalty) for c in held} == {(True, None, "log")}
    p = parameters("tradeoff_private")
    private = behind("tradeoff_private", {}, p)
    assert all(isinstance(config, PrivateConfig) for config in private)
    assert {config.epsilon for config in private} == {min(p["epsilon"])}
    assert {c.norm for c in behind("tradeoff_norms", {}, p)} == {"batch", "group"}


def test_a_claim_without_an_entry_is_an_error():
    with pytest.raises(KeyError):
        behind("no claim", {}, {})
