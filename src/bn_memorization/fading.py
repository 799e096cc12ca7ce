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
    """Return a sentence on how two trainings ended, from the table of `watch`."""
    ends = [
        f"with sigma {row['sigma']} test accuracy is {100 * row['test accuracy']:.1f} % and the "
        f"median gamma {row['median gamma']:.2g}"
        for row in watched.groupby("sigma", sort=False).tail(1).to_dict("records")
    ]
    return f"After the last pass ({profile}), {'; '.join(ends)}."
