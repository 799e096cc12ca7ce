"""The plan of a profile before it is paid for, and what became of earlier plans."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from bn_memorization import (
    chapter,
    executors,
    fingerprint,
    machine,
    planning,
    runs,
    stopwatch,
    store,
)
from bn_memorization.planning import Network, Times
from bn_memorization.run_kinds import Config, absent_data
from bn_memorization.runs import Ended

TIMES, ESTIMATES = "calibration", "estimates"  # notes beside the records
KEPT = 20  # estimates that are remembered


def show(profile: str) -> None:
    """Print what runs of a profile are there and missing, and the hours that the latter would take.

    Times are measured on this device, for a minute at most, and kept for `settled`. No
    data are fetched: runs on data that are not here count as missing. Raises BadInput as the
    chapters' plans do.
    """
    chapters = {name: chapter.plan(name, profile).configs for name in fingerprint.chapters()}
    wanted = dict.fromkeys(config for configs in chapters.values() for config in configs)
    absent = {config: names for config in wanted if (names := absent_data(config))}
    todo = [*runs.missing([c for c in wanted if c not in absent]), *absent]
    where = machine.device()
    if todo:
        print(f"Measuring steps of training on this device ({where}) for up to a minute ...")
    times = stopwatch.measure(map(planning.network_of, todo), where)
    found = planning.lines(chapters, set(wanted) - set(todo), times)
    workers = executors.available_cores() if where == "cpu" else 1
    print("\n".join(planning.told(found, workers)))
    if absent:
        names = sorted(set().union(*absent.values()))
        print(f"Not here yet: the data of {', '.join(names)}. make data has them.")
    if times:
        pairs = [[asdict(network), asdict(its)] for network, its in times.items()]
        store.write_note(TIMES, {"device": where, "times": pairs})
    for line in _earlier():
        print(line)


def train(profile: str) -> None:
    """Train what is missing for all chapters of a profile, and stop.

    Raises BadInput as the chapters' plans do, and Failure as `runs.run_all` does.
    """
    configs = [c for name in fingerprint.chapters() for c in chapter.plan(name, profile).configs]
    wanted = list(dict.fromkeys(configs))
    todo = runs.missing(wanted)
    ended = list(settled(runs.train_missing(todo, len(wanted))))
    failed = {run.config: run.error for run in ended if run.error}
    if failed:
        raise runs.failure(failed, len(todo)) from next(iter(failed.values()))
    print(f"All {len(wanted)} runs of {profile} are there; {len(ended)} of them are new.")


def settled(ended: Iterable[Ended]) -> Iterable[Ended]:
    """Pass runs on as they end; after the last, keep what they were estimated at and took."""
    seconds: dict[Config, float] = {}
    try:
        for run in ended:
            if run.seconds:
                seconds[run.config] = run.seconds
            yield run
    finally:
        _keep(seconds)


def _keep(seconds: Mapping[Config, float]) -> None:
    times = _times()
    known = {c: s for c, s in seconds.items() if planning.network_of(c) in times}
    if not known:
        return
    estimated = sum(planning.seconds(c, times[planning.network_of(c)]) for c in known)
    line = {"runs": len(known), "estimated": estimated, "actual": sum(known.values())}
    earlier = store.read_note(ESTIMATES)
    kept = earlier if isinstance(earlier, list) else []
    store.write_note(ESTIMATES, [*kept, line][-KEPT:])


def _times() -> dict[Network, Times]:
    note = store.read_note(TIMES)
    try:
        return {Network(**network): Times(**its) for network, its in note["times"]}
    except (KeyError, TypeError, ValueError):  # there is none, or of another version
        return {}


def _earlier() -> list[str]:
    note = store.read_note(ESTIMATES)
    try:
        return [
            f"Earlier, {line['runs']} runs were estimated at {line['estimated'] / 3600:.2f} hours "
            f"and took {line['actual'] / 3600:.2f}."
            for line in note
        ]
    except (KeyError, TypeError):
        return []
