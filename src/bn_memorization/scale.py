"""Faults and large numbers of runs, told from measurements: Markdown for a page of the book."""

from bn_memorization import measured

SIZES = (1_000, 1_000_000)
SAME = {True: "the same", False: "other"}


def made(name: str) -> str:
    """Return a sentence on how a measurement was made."""
    found = measured.read(name)["made"]
    versions = ", ".join(f"{package} {which}" for package, which in found["versions"].items())
    return (
        f"Measured on {found['day']} on {found['system']} with {found['cores']} cores, which other "
        f"work shared (load average {found['load']}), with {versions}."
    )


def faults() -> str:
    """Return a table of the faults: how often each was tried, and what became of the runs."""
    head = ("fault", "tried", "lost", "repeated", "half-written", "results", "made again")
    numbers = ("tried", "lost", "retrained", "half_written")
    rows = [
        [
            f"**{trial['fault']}**: {trial['means']}",
            *(f"{trial[name]:,}" for name in numbers),
            SAME[trial["same"]],
            f"{trial['again']:,}",
        ]
        for trial in measured.read("faults")["trials"]
    ]
    return f"{table(head, rows)}\n\n{made('faults')}"


def faults_summary() -> str:
    """Return what the faults did, in a sentence or two."""
    trials = measured.read("faults")["trials"]
    tried = sum(trial["tried"] for trial in trials)
    lost = sum(trial["lost"] + trial["retrained"] + trial["half_written"] for trial in trials)
    changed = [trial["fault"] for trial in trials if not trial["same"]]
    told = f"{len(trials)} kinds of fault were let happen {tried:,} times."
    if not lost and not changed:
        return (
            f"{told} No finished run was lost or trained again, nothing half-written was left, and "
            "the results were those of an undisturbed computation, bit for bit."
        )
    worse = f" Results changed after: {', '.join(changed)}." if changed else ""
    return f"{told} {lost:,} finished runs were lost, trained again or left half-written.{worse}"


def sizes() -> str:
    """Return a table of what many runs come to, from what one was measured to cost."""
    found = measured.read("scheduler")
    run = found["run"]
    rows = [
        ("files, two a record", lambda n: f"{2 * n:,}"),
        ("disk", lambda n: size(n * run["disk_bytes"])),
        ("out to workers, calls", lambda n: size(n * run["call_bytes"])),
        ("back from workers, results", lambda n: size(n * run["answer_bytes"])),
        ("scheduler and driver, a task", lambda n: duration(n * found["tasks"]["seconds_a_task"])),
        ("driver, writing records", lambda n: duration(n * run["write_seconds"])),
        ("driver, asking what is there", lambda n: duration(n * run["find_seconds"])),
        ("reading all records", lambda n: duration(n * run["read_seconds"])),
        ("training, on one core", lambda n: duration(n * run["training_seconds"])),
    ]
    head = ("what it takes", *(f"{n:,} runs" for n in SIZES))
    body = table(head, [(what, *(of(n) for n in SIZES)) for what, of in rows])
    return f"{body}\n\n{made('scheduler')}"


def sizes_summary() -> str:
    """Return what limits how many workers one driver keeps busy, and how the figures were had."""
    found = measured.read("scheduler")
    run, tasks = found["run"], found["tasks"]
    busy = tasks["seconds_a_task"] + run["write_seconds"]
    workers = run["training_seconds"] / busy
    return (
        f"One run is the mean of the {run['records']:,} run records that come "
        f"with the code: {size(run['disk_bytes'])} on disk and {run['training_seconds']:.0f} s of "
        f"training on one core. A task's own cost is that of {tasks['count']:,} calls that do "
        f"nothing, sent through Dask as runs are: {1000 * tasks['seconds_a_task']:.1f} ms each. At "
        f"most {tasks['ahead']:,} calls are with the scheduler at a time, however many runs are "
        f"wanted; its process grew by {size(max(tasks['grown_bytes'], 0))} over all of them. The "
        f"driver is busy for {1000 * busy:.0f} ms a run, so it keeps up with about "
        f"{workers:,.0f} such workers."
    )


def overhead() -> str:
    """Return a sentence on what Dask adds to runs of some seconds."""
    found = measured.read("scheduler")["overhead"]
    return (
        f"{found['runs']} runs that take {found['run_seconds']:g} s each and no processor, on "
        f"{found['workers']} workers, took {found['seconds']:.1f} s through Dask where "
        f"{found['ideal_seconds']:g} s are the least possible: "
        f"{100 * (found['seconds'] / found['ideal_seconds'] - 1):.1f} % more."
    )


def table(head: tuple[str, ...], rows: list) -> str:
    """Return a Markdown table; cells hold no vertical bars."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def size(count: float) -> str:
    """Return a number of bytes in the unit that leaves up to four digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def duration(seconds: float) -> str:
    """Return a time in the unit that a person would say it in."""
    for unit, factor in (("s", 60), ("min", 60), ("hours", 24), ("days", 365.25)):
        if seconds < factor:
            return f"{_short(seconds)} {unit}"
        seconds /= factor
    return f"{_short(seconds)} years"


def _short(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"  # two digits, and no exponent
