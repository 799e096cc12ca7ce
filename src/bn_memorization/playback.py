"""Training played back: which corrupted samples each arm has fitted, epoch by epoch. All pure."""

from collections.abc import Sequence
from dataclasses import replace

from bn_memorization import live, memorization
from bn_memorization.config import SETTING
from bn_memorization.data import Dataset
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.train import Run

SHOWN = 48  # images; all are counted


def arms(runs: Sequence[Run], norm: str) -> tuple[Run, Run]:
    """Return the first run with `norm` at its highest noise rate, and its plain twin.

    Of the kind of corruption that comes first. Raises ValueError for a run without its twin.
    """
    treated = memorization.examples(runs, norm)[0]
    twin = replace(treated.config, norm=PLAIN)
    found = [run for run in runs if run.config == twin]
    if not found:
        raise ValueError(f"There is no plain run beside {treated.config.describe()}.")
    return treated, found[0]


def picture(pair: tuple[Run, Run], data: Dataset) -> dict:
    """Return the data of the picture; `data` is what both runs were trained on."""
    treated = pair[0]
    sheet = memorization.corrupted_samples(treated, data, SHOWN)
    titles = [title.replace("\n", " ") for title in sheet.titles]
    where = {key: getattr(treated.config, key) for key in SETTING}
    return {
        "setting": setting(where),
        "epochs": treated.config.epochs,
        "samples": int(treated.arrays["fitted"].shape[1]),
        "titles": titles,
        "sprite": live.sprite(list(sheet.images)),
        "arms": [_arm(run, len(titles)) for run in pair],
    }


def _arm(run: Run, shown: int) -> dict:
    """Return, for each epoch, how many samples are fitted and which of those shown, as 0 and 1."""
    fitted = run.arrays["fitted"]
    return {
        "name": name(run.config.norm),
        "count": fitted.sum(axis=1).tolist(),
        "fitted": ["".join("01"[bit] for bit in row.astype(int)) for row in fitted[:, :shown]],
    }
