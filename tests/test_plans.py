import pytest

from bn_memorization import chapter, fingerprint, paths, plans, runs


def test_a_chapter_that_trains_nothing_asks_for_nothing():
    assert plans.none({"epochs": 5}) == []


@pytest.mark.parametrize("name", sorted(plans.CHAPTERS))
def test_planned_chapters_are_there_and_ask_for_runs_of_a_known_kind(name):
    assert (paths.notebooks() / f"{name}.py").is_file()
    configs = chapter.plan(name, "smoke").configs
    assert configs
    assert all(type(config) in runs.KINDS for config in configs)


def test_a_plan_follows_its_parameters():
    """Two seeds more are two runs more of each arm and setting; the search has one seed."""
    few, many = (
        plans.CHAPTERS["01_forced_memorization"](
            chapter.plan("01_forced_memorization", "smoke").parameters | {"seeds": seeds}
        )
        for seeds in (2, 4)
    )
    assert few[-1] == many[-1]  # the one run of the search
    assert len(many) - len(few) == len(few) - 1
    assert {config.seed for config in many} > {config.seed for config in few}


def test_chapters_without_a_plan_are_run_without_runs(monkeypatch):
    name = fingerprint.chapters()[0]
    monkeypatch.delitem(plans.CHAPTERS, name)
    assert chapter.plan(name, "smoke").configs == []
