"""Which part of batch normalization: other norms and batch sizes, arm against arm.

All functions are pure and take finished runs; arms are paired by seed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bn_memorization.config import SETTING
from bn_memorization.control_gates import learned
from bn_memorization.controls import Moments, at_clean_loss, at_end, read, sizes
from bn_memorization.judging import Evidence
from bn_memorization.matched_attack import auc_path
from bn_memorization.membership import Pool
from bn_memorization.memorization import final_accuracy, has_learned
from bn_memorization.models import PLAIN
from bn_memorization.stats import Gap, paired_gap
from bn_memorization.train import Run

# Which two norms each control compares: the first minus the second.
COMPARED = {
    "norm_statistics": ("batch", "batch_cut"),
    "norm_gamma": ("batch", "batch_fixed_gamma"),
    "norm_other": ("group", PLAIN),
}
# In the place of a gap that there is not: a norm with itself, and one that has no meaning.
ITSELF, UNLEARNED = "itself", "not learned"


def arms(
    runs: Iterable[Run], first: str, second: str
) -> list[tuple[dict[str, object], list[tuple[Run, Run]]]]:
    """Return (setting, pairs of runs of both norms in order of seed) of each setting.

    Raises ValueError when a seed lacks one of the two.
    """
    cells: dict[tuple, dict[str, dict[int, Run]]] = {}
    for run in runs:
        cell = cells.setdefault(tuple(getattr(run.config, key) for key in SETTING), {})
        cell.setdefault(run.config.norm, {})[run.config.seed] = run
    found = []
    for key, norms in cells.items():
        one, other = norms.get(first, {}), norms.get(second, {})
        if one.keys() != other.keys():
            raise ValueError(f"{key}: seeds {sorted(one)} of {first}, {sorted(other)} of {second}.")
        pairs = [(one[seed], other[seed]) for seed in sorted(one)]
        found.append((dict(zip(SETTING, key, strict=True)), pairs))
    return found


def gap(pairs: Sequence[tuple[Run, Run]], moments: Callable[[Run, Run], Moments]) -> Gap:
    """Return the paired gap in accuracy on corrupted samples, first minus second, at moments."""
    values = []
    for pair in pairs:
        places = zip(pair, moments(*pair), strict=True)
        values.append([read(run.curve("accuracy", "corrupted"), at) for run, at in places])
    return paired_gap(*np.transpose(values))


def against(runs: Iterable[Run], first: str, second: str) -> list[Evidence]:
    """Return the gap in final accuracy on corrupted samples, first norm minus second.

    A setting in which one of them has not learned the clean samples has no interval
    (`control_gates.learned`): such a network is no measure of what it memorizes.
    """
    return [decided(where, pairs) for where, pairs in arms(runs, first, second)]


def decided(where: dict[str, object], pairs: Sequence[tuple[Run, Run]]) -> Evidence:
    """Return the evidence of one setting, as `against` describes it."""
    where = where | {"sizes": sizes(pairs[0][0])}
    return learned(Evidence.from_gap(where, gap(pairs, at_end)), zip(*pairs, strict=True))


def by_batch_size(runs: Iterable[Run], norm: str) -> list[Evidence]:
    """Return the gap of `norm` to plain at each size of batches, as `against` gives it."""
    sizes: dict[int, list[Run]] = {}
    for run in runs:
        sizes.setdefault(run.config.batch_size, []).append(run)
    return [
        replace(item, where={**item.where, "batch_size": f"batches of {size}"})
        for size in sorted(sizes)
        for item in against(sizes[size], norm, PLAIN)
    ]


def median_ratio(run: Run) -> float:
    """Return the median of |gamma|/sigma over all channels at the end, NaN without BN."""
    gamma, sigma = run.arrays["gamma"][-1], run.arrays["sigma"][-1]
    return float(np.median(np.abs(gamma) / sigma)) if gamma.size else float("nan")


def _read(pairs: Sequence[tuple[Run, Run]], moments: Callable[[Run, Run], Moments]) -> Gap | str:
    both = all(has_learned(runs) for runs in zip(*pairs, strict=True))
    return gap(pairs, moments) if both else UNLEARNED


def standings(runs: Sequence[Run], pools: Iterable[Pool], treated: str) -> pd.DataFrame:
    """Return where each norm stands after the last epoch, a row a setting and norm.

    Means over seeds: columns corrupted, clean, test (accuracies), clean_loss and ratio (the median
    of |gamma|/sigma, NaN without BN); auc, that of the deciding attack on the pools at the same
    epoch; n. Then the gaps in accuracy on corrupted samples, each a `stats.Gap`, or ITSELF between
    a norm and itself, or UNLEARNED where one of the two has not learned the clean samples: to_plain
    and bn_minus (`treated` minus it), at the end and, as to_plain_equal and bn_minus_equal, at
    equal clean loss.
    """
    epochs = runs[0].config.epochs
    attacked = {
        (*pool.where.values(), pool.norm): float(auc_path(pool)[pool.looks.index(epochs)].mean())
        for pool in pools
    }
    rows = []
    for norm in dict.fromkeys(run.config.norm for run in runs):
        to_plain, from_treated = arms(runs, norm, PLAIN), arms(runs, treated, norm)
        for (where, pairs), (_, others) in zip(to_plain, from_treated, strict=True):
            own = [run for run, _ in pairs]
            row = where | {"norm": norm, "n": len(own)}
            for subset in ("corrupted", "clean", "test"):
                row[subset] = float(np.mean([final_accuracy(subset)(run) for run in own]))
            row["clean_loss"] = float(np.mean([run.curve("loss", "clean")[-1] for run in own]))
            row["ratio"] = float(np.mean([median_ratio(run) for run in own]))
            row["auc"] = attacked[(*where.values(), norm)]
            both = {"to_plain": (pairs, PLAIN), "bn_minus": (others, treated)}
            for key, (of, other) in both.items():
                row[key] = ITSELF if norm == other else _read(of, at_end)
                row[f"{key}_equal"] = ITSELF if norm == other else _read(of, at_clean_loss)
            rows.append(row)
    return pd.DataFrame(rows)
