"""Settings that train a deep plain network, where those that both arms share do not.

Only `lr` and `epochs` are searched, with one seed and no look at corrupted samples: what comes out
says whether the plain arm can be trained, not how large a gap is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from bn_memorization.config import TrainConfig
from bn_memorization.experiments import corruptions
from bn_memorization.memorization import final_accuracy, has_learned
from bn_memorization.models import PLAIN
from bn_memorization.report import NO_BREAK, cell, name
from bn_memorization.train import Run

WHERE = ("dataset", "arch")
NO_DEEP = "No network but LeNet was asked for, so no other settings were searched."


def plan(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return chapter 1's runs, and those of the search. Raises BadInput as `corruptions` does."""
    return [*corruptions(parameters), *search(parameters)]


def search(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return plain runs at every rate in `plain_lr`, of `plain_epochs` passes.

    For each data set and each network other than LeNet, from the first seed of its first setting.
    """
    first: dict[tuple, TrainConfig] = {}
    for config in corruptions(parameters):
        if config.norm == PLAIN and config.arch != "lenet":
            first.setdefault(_place(config), config)
    return [
        replace(config, lr=lr, epochs=parameters["plain_epochs"])
        for config in first.values()
        for lr in sorted(parameters["plain_lr"])
    ]


def tried(shared: Iterable[Run], searched: Sequence[Run]) -> dict[tuple, list[Run]]:
    """Return {(dataset, arch): runs}: those of `shared` with the same seed and setting, searched.

    The runs of `shared` are both arms; the plain ones come last of them.
    """
    shared = sorted(shared, key=lambda run: run.config.norm == PLAIN)
    found: dict[tuple, list[Run]] = {}
    for run in searched:
        same = {"lr": run.config.lr, "epochs": run.config.epochs, "norm": PLAIN}
        alike = [s for s in shared if replace(s.config, **same) == run.config]
        found.setdefault(_place(run.config), alike).append(run)
    return found


def best(runs: Iterable[Run]) -> Run:
    """Return the plain run that fits most clean samples at its end; the first of equal ones."""
    return max((r for r in runs if r.config.norm == PLAIN), key=final_accuracy("clean"))


def table(by_place: Mapping[tuple, Sequence[Run]]) -> pd.DataFrame:
    """Return what was tried for readers, a row a run; the plain arm's best is marked."""
    rows = []
    for place, runs in by_place.items():
        chosen = best(runs)
        for run in runs:
            config = run.config
            rows.append(
                {
                    "network": ", ".join(map(name, place)),
                    "arm": name(config.norm),
                    "learning rate": f"{config.lr:g}",
                    "epochs": config.epochs,
                    **{
                        name(subset): cell(subset, final_accuracy(subset)(run))
                        for subset in ("clean", "corrupted", "test")
                    },
                    "best plain": "best" if run is chosen else "",
                }
            )
    return pd.DataFrame(rows)


def sentence(by_place: Mapping[tuple, Sequence[Run]]) -> str:
    """Return, for each network, the plain arm's best settings, and whether they train it."""
    if not by_place:
        return NO_DEEP
    return " ".join(_told(place, runs) for place, runs in by_place.items())


def _told(place: tuple, runs: Sequence[Run]) -> str:
    run = best(runs)
    word = "has" if has_learned([run]) else "has not"
    clean, corrupted = (_percent(final_accuracy(s)(run)) for s in ("clean", "corrupted"))
    return (
        f"{', '.join(map(name, place))}: of what was tried, learning rate {run.config.lr:g} over "
        f"{run.config.epochs} epochs is best for the plain network, which {word} learned its clean "
        f"samples there: it fits {clean} of them, and {corrupted} of the corrupted ones."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{NO_BREAK}%"


def _place(config: TrainConfig) -> tuple:
    return tuple(getattr(config, part) for part in WHERE)
