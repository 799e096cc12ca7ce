import planted
import pytest

from bn_memorization import budget, chapter, cli, fingerprint, planning, run_kinds, runs, store
from bn_memorization.errors import Failure
from bn_memorization.planning import Times
from bn_memorization.runs import Ended

RUN = planted.config(dataset="mnist", train_size=100, eval_size=100, epochs=1, batch_size=50)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """An empty folder of runs, one chapter of one run, times without a measurement."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(fingerprint, "chapters", lambda: ["01_one"])
    plan = chapter.Plan("01_one", "smoke", {}, None, [RUN])
    monkeypatch.setattr(chapter, "plan", lambda name, profile: plan)
    times = Times(step=1800.0, image=0.0, look=0.0)
    monkeypatch.setattr(
        budget.stopwatch, "measure", lambda networks, where: dict.fromkeys(networks, times)
    )


def test_a_plan_says_what_is_missing_and_later_what_it_took(capsys):
    assert cli.main(["plan", "--profile", "smoke"]) == 0
    out = capsys.readouterr().out
    assert "01_one                    train          0        1        1.00\n" in out
    assert "Earlier" not in out
    list(budget.settled([Ended(RUN, seconds=7200.0), Ended(RUN, error=Failure("no"))]))
    budget.show("smoke")
    told = "Earlier, 1 runs were estimated at 1.00 hours and took 2.00.\n"
    assert capsys.readouterr().out.endswith(told)


def test_what_was_trained_before_an_interruption_is_kept_too():
    budget.show("smoke")

    def stopped():
        yield Ended(RUN, seconds=3600.0)
        raise Failure("stopped")

    with pytest.raises(Failure):
        list(budget.settled(stopped()))
    (line,) = store.read_note(budget.ESTIMATES)
    assert line["actual"] == 3600.0


def test_without_a_plan_nothing_is_kept():
    list(budget.settled([Ended(RUN, seconds=7200.0)]))
    assert store.read_note(budget.ESTIMATES) is None


@pytest.mark.parametrize("note", [[], {}, {"times": 3}, {"times": [[{"x": 1}, {}]]}, "text"])
def test_notes_of_another_form_are_none(note):
    store.write_note(budget.TIMES, note)
    store.write_note(budget.ESTIMATES, note)
    list(budget.settled([Ended(RUN, seconds=1.0)]))
    assert budget._earlier() == []


def test_a_plan_fetches_no_data(capsys, monkeypatch):
    from dataclasses import replace

    away = replace(RUN, source="auto")
    plan = chapter.Plan("01_one", "smoke", {}, None, [away])
    monkeypatch.setattr(chapter, "plan", lambda name, profile: plan)
    run_kinds._is_here.cache_clear()
    budget.show("smoke")
    run_kinds._is_here.cache_clear()
    out = capsys.readouterr().out
    assert "Not here yet: the data of mnist." in out
    assert planning.network_of(away).image_size == 28


def test_results_trains_what_is_missing_and_stops(capsys, monkeypatch):
    monkeypatch.setenv(runs.EXECUTOR_VARIABLE, "serial")
    for new in (1, 0):
        assert cli.main(["results", "--profile", "smoke"]) == 0
        assert capsys.readouterr().out == f"All 1 runs of smoke are there; {new} of them are new.\n"
    assert runs.missing([RUN]) == []
