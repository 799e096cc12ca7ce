"""What `benchmarks/stacked.py` measured, for the page on speed."""

from bn_memorization import measured, speed
from bn_memorization.report import MINUS

ROW = "stacked"
NETWORKS = 32
TARGET = 10  # times faster, on a GPU
TOLERANCE = 1e-5
PLACES = {"cuda": "a GPU", "cpu": "one thread of a CPU"}
NOT_MEASURED = "not measured on a GPU"


def told(line: dict) -> str:
    """Return a line as one line of text."""
    return f"{line['networks']} LeNets as one stack on {PLACES[line['where']]}: {_ratio(line)}"


def table() -> str:
    """Return how many times longer networks take one after another, as a Markdown table."""
    rows = measured.read(speed.NAME)["rows"]
    lines = rows.get(ROW, {"lines": [{"where": "cuda", "networks": NETWORKS}]})["lines"]
    head = ("networks", "on", "as one stack", "one after another", "ratio", "differ by")
    cells = [head, ("---",) * len(head)]
    for line in lines:
        error = f"{line['error']:.0e}".replace("-", MINUS) if "error" in line else ""
        place = PLACES[line["where"]]
        cells.append(
            (f"{line['networks']}", place, *_seconds(line), _ratio(line), error),
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _seconds(line: dict) -> tuple[str, str]:
    if "seconds" not in line:
        return "", ""
    return f"{line['seconds']:,.1f} s", f"{line['other_seconds']:,.1f} s"


def _ratio(line: dict) -> str:
    found = line.get("ratio", line.get("times"))
    if found is None:
        return NOT_MEASURED
    return f"{found:.1f} ({line['low']:.1f} to {line['high']:.1f}, n = {line['n']})"
