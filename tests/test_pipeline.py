import threading
from dataclasses import dataclass

import pytest
from nbformat.v4 import new_notebook

from bn_memorization import budget, chapter, pipeline, planning, runs
from bn_memorization.errors import Failure
from bn_memorization.runs import Ended

PATIENCE = 60  # seconds; only a broken test waits that long


@dataclass(frozen=True)
class Run:
    name: str

    def describe(self) -> str:
        return self.name


@pytest.fixture
def world(monkeypatch):
    """Runs and notebooks that take no time; what happened, in order."""
    happened, there = [], set()
    executed = {}

    def train(todo, of):
        for run in todo:
            happened.append(run.name)
            bad = run.name.startswith("bad")
            there.add(run)
            yield Ended(run, seconds=10.0, error=Failure("diverged") if bad else None)
            if (name := executed.get("await")) and run.name == executed["after"]:
                assert executed[name].wait(PATIENCE)  # the chapter's notebook, in a thread

    def execute(planned, target, mark):
        happened.append(planned.name)
        executed.setdefault(planned.name, threading.Event()).set()

    monkeypatch.setattr(runs, "missing", lambda configs: [c for c in configs if c not in there])
    monkeypatch.setattr(runs, "run_all", lambda configs: [])
    monkeypatch.setattr(runs, "train_missing", train)
    monkeypatch.setattr(budget, "settled", lambda ended: ended)
    monkeypatch.setattr(planning, "longest_first", lambda configs: sorted(configs, key=str))
    monkeypatch.setattr(chapter, "execute", execute)
    return happened, executed


def job(tmp_path, name: str, *names: str) -> pipeline.Job:
    planned = chapter.Plan(name, "smoke", {}, new_notebook(), [Run(one) for one in names])
    return pipeline.Job(planned, tmp_path / f"{name}.ipynb", "mark")


def test_a_notebook_is_executed_while_others_runs_are_trained(world, tmp_path):
    happened, executed = world
    executed |= {"await": "A", "after": "a2", "A": threading.Event()}
    jobs = [job(tmp_path, "A", "a1", "a2"), job(tmp_path, "B", "a1", "b1")]
    pipeline.bring_up(jobs, [job(tmp_path, "last")])
    assert happened == ["a1", "a2", "A", "b1", "B", "last"]
    assert [(one.trained, one.executed > 0) for one in jobs] == [(20.0, True), (10.0, True)]


def test_a_failed_run_fails_its_own_chapters_and_no_other(world, tmp_path):
    happened, _ = world
    jobs = [job(tmp_path, "A", "a1", "bad1", "bad2"), job(tmp_path, "B", "b1")]
    jobs += [job(tmp_path, "C", "bad1")]
    with pytest.raises(Failure) as caught:
        pipeline.bring_up(jobs, [job(tmp_path, "last")])
    assert set(str(caught.value).splitlines()) == {
        "2 of 3 runs failed. The first, bad1: diverged",
        "1 of 1 runs failed. The first, bad1: diverged",
    }
    assert sorted(happened) == ["B", "a1", "b1", "bad1", "bad2"]


def test_what_was_there_is_removed_before_it_is_made_anew(world, tmp_path):
    one = job(tmp_path, "A", "bad1")
    one.target.write_text("of another day")
    with pytest.raises(Failure):
        pipeline.bring_up([one])
    assert not one.target.exists()
