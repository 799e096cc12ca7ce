"""Time the code against what a user would take instead: `make bench`, or `make bench ROWS="norms"`.

Every line is of works timed in turns in one process, the median of at least five. What was
measured stays in published/measured/speed.json, row by row, and the book shows it.
"""

import sys
import time

import torch

from benchmarks import attack, batch_norms, measure, norms, pages, scaling, stacked, steps, training
from bn_memorization import exponents, measured, speed, stack_speed
from bn_memorization.errors import BadInput, Failure, check_choice

ROWS = {
    "pages": pages.run,
    "norms": norms.run,
    "batch_norms": batch_norms.run,
    "attack": attack.run,
    "training": training.run,
    speed.STEP: steps.run,
    exponents.ROW: scaling.run,
    stack_speed.ROW: stacked.run,
}
TOLD = {
    speed.STEP: speed.told_part,
    exponents.ROW: exponents.told,
    stack_speed.ROW: stack_speed.told,
}


def main(names: list[str]) -> None:
    """Measure the rows of these names, all without one, and keep each as soon as it is there.

    A row that cannot be measured keeps none of the others back. Raises BadInput for another name,
    and Failure at the end where a row could not be measured.
    """
    for name in names:
        check_choice("row", name, ROWS)
    torch.set_num_threads(1)
    left, failed = list(names or ROWS), []
    for name in names or list(ROWS):
        print(f"\n{name} (left after a stop: make bench ROWS={' '.join(left)!r})", flush=True)
        try:
            keep(name)
        except Failure as error:
            failed.append(f"{name}: {error}")
        left.remove(name)
    if failed:
        raise Failure("\n".join(failed))


def keep(name: str) -> None:
    """Measure one row and write it, printing each line as soon as it is there."""
    before, start = measure.circumstances(), time.perf_counter()
    lines = []
    for line in ROWS[name]():
        lines.append(line)
        print(TOLD.get(name, speed.told)(line), flush=True)
    row = {**before, "took": round(time.perf_counter() - start), "lines": lines}
    rows = _kept() | {name: row}
    measured.write(speed.NAME, {"rows": {key: rows[key] for key in ROWS if key in rows}})


def _kept() -> dict:
    try:
        return measured.read(speed.NAME)["rows"]
    except Failure:
        return {}


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (BadInput, Failure) as error:
        print(error, file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)
