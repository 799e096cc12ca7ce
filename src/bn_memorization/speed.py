"""What `benchmarks/speed.py` measured, for the page on speed."""

from collections.abc import Iterator

from bn_memorization import measured
from bn_memorization.report import MINUS, NO_BREAK
from bn_memorization.scale import size

NAME = "speed"
STEP = "step"  # the row of a training step's parts
LIMITS = {
    "product": "{:.0%} of a matrix product's rate",
    "passes": "{:.0%} of a matrix product's rate, by the passes' operations",
    "copy": "{:.1%} of a copy's rate",
    "result": "{:.0%} of the result's own size",
    "pass": "{:.0%} of the layers' outputs for one chunk",
    "processes": "{:.0%} of that many times one",
    "imports": "{:.0%} is Python and its imports",
}


def lines() -> Iterator[dict]:
    """Return every line that compares two works, in the order in which they were measured."""
    for row in measured.read(NAME)["rows"].values():
        yield from (line for line in row["lines"] if "ratio" in line)


def reached(line: dict) -> bool:
    """Say whether a line's ratio is at least its target, and its results equal where compared."""
    equal = line.get("error", 0.0) <= line.get("tolerance", 0.0)
    return line["ratio"] >= line["target"] and equal


def told(line: dict) -> str:
    """Return a line as one line of text."""
    return (
        f"{line['what']}, against {line['against']}: {_amount(line, '')} against "
        f"{_amount(line, 'other_')}, {_ratio(line)}, to reach {line['target']:.2g}"
    )


def summary() -> str:
    """Return how many ratios are reached, which are not, and where that was measured."""
    found = list(lines())
    missed = [line for line in found if not reached(line)]
    rows = measured.read(NAME)["rows"].values()
    where = sorted({f"{row['processor']}, {row['cores']} cores" for row in rows})
    loads = [row["load"] for row in rows]
    text = (
        f"{len(found) - len(missed)} of {len(found)} are reached. Measured on {'; '.join(where)}, "
        f"with one thread, at a load of {min(loads)} to {max(loads)} before each row."
    )
    if missed:
        names = "; ".join(f"{line['what']} against {line['against']}" for line in missed)
        text += f" Not reached: {names}."
    gpu = any(row["gpu"] for row in rows)
    return text + ("" if gpu else " Nothing was measured on a GPU.")


def table() -> str:
    """Return all lines as a Markdown table."""
    head = ("work", "against", "here", "there", "ratio", "to reach", "of the limit", "differ by")
    rows = [head, ("---",) * len(head)]
    for line in lines():
        limit = LIMITS[line["limit"]].format(line["of_limit"]) if "limit" in line else ""
        error = _error(line["error"]) if "error" in line else ""
        rows.append(
            (
                line["what"],
                line["against"],
                _amount(line, "").replace(" ", NO_BREAK),
                _amount(line, "other_").replace(" ", NO_BREAK),
                _ratio(line),
                f"{line['target']:.2g}",
                limit,
                error,
            )
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def bounds() -> str:
    """Return how much faster than B backward passes batch mode could be, and how exact all are."""
    found = [line for line in lines() if "possible" in line]
    if not found:
        return "Norms in batch mode were not measured."
    possible = {line["what"].split(", ")[1]: line["possible"] for line in found}
    each = ", ".join(f"{ratio:.1f} for {network}" for network, ratio in possible.items())
    best = min(found, key=lambda line: line["error"])
    return (
        "If all operations of the backward passes ran at the rate of a matrix product and nothing "
        f"else took time, they would be faster by a factor of {each}. Nearest to float64 is "
        f"{best['what'].split(', ')[-1]}, with a difference of at most {_error(best['error'])} "
        f"where the passes have {_error(best['error_there'])}."
    )


def told_part(line: dict) -> str:
    """Return a part of a training step as one line of text."""
    return f"{line['part']}: {_time(line['seconds'])}, {line['share']:.0%}"


def step_table() -> str:
    """Return where the time of a training step goes, as a Markdown table."""
    rows = measured.read(NAME)["rows"]
    if STEP not in rows:
        return f"Not measured here: `make bench ROWS={STEP}`."
    body = [
        f"| {line['part']} | {_time(line['seconds'])} | {line['share']:.0%} |"
        for line in rows[STEP]["lines"]
    ]
    return "\n".join(["| part | time a step | share |", "| --- | --- | --- |", *body])


def _error(value: float) -> str:
    return f"{value:.0e}".replace("-", MINUS)


def _amount(line: dict, whose: str) -> str:
    if "bytes" in line:
        return size(line[whose + "bytes"]).replace(" ", NO_BREAK)
    return _time(line[f"{whose}seconds"])


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:,.1f}{NO_BREAK}s"
    return f"{1000 * seconds:.1f}{NO_BREAK}ms"


def _ratio(line: dict) -> str:
    if "low" not in line:
        return f"{line['ratio']:.2f}"
    digits = 1 if line["ratio"] < 100 else 0
    return (
        f"{line['ratio']:,.{digits}f} ({line['low']:,.{digits}f} to {line['high']:,.{digits}f}, "
        f"n = {line['n']})"
    )
