"""How time and memory grow with size: powers fitted to what `benchmarks/scaling.py` measured."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from scipy import stats

from bn_memorization import figures_bench, measured, speed
from bn_memorization.report import MINUS

ROW = "scaling"
QUANTITIES = {"seconds": "time", "bytes": "peak memory"}
STEEP = 1.1  # more than in proportion, whatever the clock's noise
PAGE = 4096  # bytes; a growth of nothing counts as one page, so that it has a logarithm
ALT = (
    "Time and peak memory of the attack, of per-sample norms and of a training step against the "
    "number of models, samples and blocks, on logarithmic axes. The exponents stand in the table."
)


@dataclass(frozen=True)
class Power:
    """A quantity grows as size to the power `exponent`; low and high bound its 95 % interval."""

    exponent: float
    low: float
    high: float

    def __str__(self) -> str:
        text = f"{self.exponent:.2f} ({self.low:.2f} to {self.high:.2f})"
        return text.replace("-", MINUS)


def fit(sizes: Sequence[float], values: Sequence[float]) -> Power:
    """Return the power by least squares on logarithms; t interval of the slope, so >= 3 sizes."""
    found = stats.linregress(np.log(sizes), np.log(values))
    half = stats.t.ppf(0.975, len(sizes) - 2) * found.stderr
    return Power(*(float(value) for value in (found.slope, found.slope - half, found.slope + half)))


def curves() -> list[dict]:
    """Return every curve that was measured, as `benchmarks/scaling.py` wrote it."""
    return measured.read(speed.NAME)["rows"].get(ROW, {"lines": []})["lines"]


def powers(curve: dict) -> dict[str, Power]:
    """Return the powers with which a curve's time and peak memory grow."""
    return {
        quantity: fit(curve["at"], np.maximum(curve[quantity], PAGE * (quantity == "bytes")))
        for quantity in QUANTITIES
    }


def told(curve: dict) -> str:
    """Return a curve as one line of text."""
    found = powers(curve)
    grown = ", ".join(f"{name} {found[quantity]}" for quantity, name in QUANTITIES.items())
    return f"{curve['what']}, {curve['varied']} {curve['at']}, exponents: {grown}"


def section() -> str:
    """Return what was found, the drawing and the table, as Markdown."""
    found = curves()
    if not found:
        return f"Not measured here: `make bench ROWS={ROW}`."
    return "\n\n".join((summary(found), picture(found), table(found)))


def summary(found: Sequence[dict]) -> str:
    """Return what takes more than in proportion, and how the exponents were had."""
    grown = [
        (powers(curve)[quantity], f"{name} of {curve['what']} with {curve['varied']}")
        for curve in found
        for quantity, name in QUANTITIES.items()
    ]
    steep = [f"{told} ({power.exponent:.1f})" for power, told in grown if power.low > STEEP]
    sizes = min(len(curve["at"]) for curve in found)
    fewest = min(curve["n"] for curve in found)
    return (
        f"With an exponent above {STEEP} grow: {'; '.join(steep) or 'none of these'}. An exponent "
        f"of 1 is growth in proportion. Each is the slope of a line through the logarithms of "
        f"{sizes} sizes, with its 95 % interval; a time is a median of {fewest}, and memory is "
        "what a process of its own grew by."
    )


def picture(found: Sequence[dict]) -> str:
    """Return all curves as a drawing that can stand in a page."""
    drawing = io.StringIO()
    figure = figures_bench.curves(found, QUANTITIES)
    with figures_bench.same_bytes():
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    text = drawing.getvalue()
    svg = text[text.index("<svg") :].replace("\n", " ")
    return (
        f'```{{raw}} html\n<div class="first-picture" role="img" '
        f'aria-label="{escape(ALT)}">{svg}</div>\n```'
    )


def table(found: Sequence[dict]) -> str:
    """Return the exponents of all curves as a Markdown table."""
    head = ("work", "grows with", "from", "to", "exponent of time", "exponent of peak memory")
    rows = [head, ("---",) * len(head)]
    for curve in found:
        grown = powers(curve)
        ends = (f"{curve['at'][0]:,}", f"{curve['at'][-1]:,}")
        cells = (str(grown[quantity]) for quantity in QUANTITIES)
        rows.append((curve["what"], curve["varied"], *ends, *cells))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
