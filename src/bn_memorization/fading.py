"""How a network fades when the penalty's gradient does not flow through sigma."""

from collections.abc import Iterable, Mapping

import pandas as pd
from torch import nn

from bn_memorization import train
from bn_memorization.ratios import gamma_sigma
from bn_memorization.sample import Sample


def watch(trainings: Mapping[str, Iterable[nn.Module]], sample: Sample) -> pd.DataFrame:
    """Return what becomes of networks in training: a row a network and pass over the images.

    `trainings` maps a name to an iterable that gives the network after each pass. Columns: sigma
    (the name), pass, test accuracy, and the medians over all BN channels of |gamma|, of the running
    sigma and of their ratio.
    """
    rows = []
    for name, training in trainings.items():
        for number, model in enumerate(training, 1):
            _, correct = train.measure(model, {"test": sample.subsets["test"]})["test"]
            channels = gamma_sigma(model).abs().median()
            rows.append(
                {"sigma": name, "pass": number, "test accuracy": float(correct.mean())}
                | {f"median {part}": channels[part] for part in ("gamma", "sigma", "ratio")}
            )
    return pd.DataFrame(rows)


def sentence(watched: pd.DataFrame, profile: str) -> str:
    """Return a sentence on how trainings went and ended, from the table of `watch`."""
    parts = []
    for name, rows in watched.groupby("sigma", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        parts.append(
            f"with sigma {name} test accuracy ends at {100 * last['test accuracy']:.1f} %, and the "
            f"median ratio goes from {first['median ratio']:.2g} to {last['median ratio']:.2g}, "
            f"gamma from {first['median gamma']:.2g} to {last['median gamma']:.2g} and sigma from "
            f"{first['median sigma']:.2g} to {last['median sigma']:.2g}"
        )
    return f"From the first pass to the last ({profile}), {'; '.join(parts)}."
