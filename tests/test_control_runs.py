from dataclasses import asdict, replace

import pytest

from bn_memorization import chapter, control_runs, fingerprint
from bn_memorization.config import TrainConfig
from bn_memorization.errors import BadInput
from bn_memorization.shadows import ShadowConfig

CHAPTER = "08_controls"


def parameters(**changes):
    return chapter.plan(CHAPTER, "smoke", changes).parameters


def test_the_plan_is_the_sum_of_its_parts_and_none_twice():
    given = parameters()
    parts = ("long_runs", "rates", "norms", "batch_sizes", "claim_pools", "small_pools")
    wanted = [config for part in parts for config in getattr(control_runs, part)(given)]
    found = control_runs.plan(given)
    assert found == wanted
    assert len(set(found)) == len(found)


def test_long_runs_go_on_from_short_ones():
    given = parameters(epochs=3, longer=4, seeds=2)
    runs = control_runs.long_runs(given)
    assert [(run.norm, run.seed) for run in runs] == [
        *(("batch", 0), ("none", 0), ("batch", 1), ("none", 1))
    ]
    assert {run.epochs for run in runs} == {12}
    shorter = {asdict(replace(run, epochs=3, lr=0.05)).__str__() for run in runs}
    assert {str(asdict(run)) for run in control_runs.rates(given) if run.lr == 0.05} == shorter


def test_rates_sizes_and_norms_change_one_thing():
    given = parameters(rival_lr=[0.1, 0.05], batch_sizes=[128, 16], norms=["group", "layer"])
    bases = {(r.norm, r.seed): replace(r, epochs=2) for r in control_runs.long_runs(given)}
    for make, name, wanted in (
        (control_runs.rates, "lr", [0.05, 0.1]),
        (control_runs.batch_sizes, "batch_size", [16, 128]),
    ):
        runs = make(given)
        assert sorted({getattr(run, name) for run in runs}) == wanted
        assert len(runs) == 2 * len(bases)
        for run in runs:
            assert replace(bases[run.norm, run.seed], **{name: getattr(run, name)}) == run
    for run in control_runs.norms(given):
        assert run.norm in ("group", "layer")
        assert replace(bases["batch", run.seed], norm=run.norm) == run


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rival_lr": [0.02]}, "rival_lr holds 0.02"),
        ({"batch_sizes": [32, 16]}, "batch_sizes holds 32"),
        ({"norms": ["batch"]}, "norms holds batch"),
        ({"small_models": 7}, "even"),
    ],
)
def test_what_would_be_there_twice_or_cannot_be_used_is_refused(changes, named):
    with pytest.raises(BadInput, match=named):
        parameters(**changes)


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_the_pools_of_the_claims_are_chapter_3s(profile):
    third = set(chapter.plan("03_membership_inference", profile).configs)
    own = control_runs.claim_pools(chapter.plan(CHAPTER, profile).parameters)
    assert own
    assert set(own) <= third


def test_small_pools_have_every_norm_and_the_arms_for_longer():
    given = parameters(epochs=2, longer=3, norms=["group"])
    configs = control_runs.small_pools(given)
    assert {c.model for c in configs} == set(range(given["small_models"]))
    ends = {(c.norm, c.epochs, c.moments) for c in configs}
    assert ends == {("batch", 6, 6), ("none", 6, 6), ("group", 2, 2)}
    assert all(c.looks == list(range(c.epochs + 1)) for c in configs)  # after every epoch


def test_all_configs_are_of_a_kind_that_can_be_run():
    kinds = {type(config) for config in control_runs.plan(parameters())}
    assert kinds == {TrainConfig, ShadowConfig}
