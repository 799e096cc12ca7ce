"""Time the code against what a user would take instead: `make bench`, or `make bench ROWS="norms"`.

Every line is of works timed in turns in one process, the median of at least five. What was
measured stays in published/measured/speed.json, row by row, and the book shows it.
"""

import sys

from benchmarks import attack, batch_norms, measure, norms, training
from bn_memorization import measured
from bn_memorization.errors import BadInput, Failure, check_choice
from bn_memorization.speed import NAME, told

ROWS = {
    "norms": norms.run,
    "batch_norms": batch_norms.run,
    "attack": attack.run,
    "training": training.run,
}


def main(names: list[str]) -> None:
    """Measure the rows of these names, all without one, and keep each as soon as it is there."""
    for name in names:
        check_choice("row", name, ROWS)
    for name in names or ROWS:
        print(f"{name} ...", flush=True)
        before = measure.circumstances()
        row = {**before, "lines": ROWS[name]()}
        print("\n".join(told(line) for line in row["lines"]), flush=True)
        rows = _kept() | {name: row}
        measured.write(NAME, {"rows": {key: rows[key] for key in ROWS if key in rows}})


def _kept() -> dict:
    try:
        return measured.read(NAME)["rows"]
    except Failure:
        return {}


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BadInput as error:
        sys.exit(f"{error}")
