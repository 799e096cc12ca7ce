"""Membership inference against a dose of gamma/sigma: pools by dose, and what is told of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from bn_memorization import report
from bn_memorization.judging import Evidence
from bn_memorization.matched_attack import at_equal_loss
from bn_memorization.membership import DECIDES, Pool, compare, pools
from bn_memorization.models import PLAIN
from bn_memorization.shadows import Shadow

HIGHER = "higher dose"


def pools_by_dose(shadows: Iterable[Shadow]) -> dict[float, list[Pool]]:
    """Return the pools of each dose, a pool a setting, doses ascending."""
    groups: dict[float, list[Shadow]] = {}
    for shadow in shadows:
        groups.setdefault(shadow.config.penalty_target, []).append(shadow)
    return {dose: pools(groups[dose]) for dose in sorted(groups)}


def as_arms(by_dose: Mapping[float, Sequence[Pool]]) -> list[Pool]:
    """Return the pools of the highest dose as HIGHER, beside those of the lowest as the other arm.

    So `membership.compare` and `matched_attack.at_equal_loss` take a gap between doses as one
    between norms: highest minus lowest.
    """
    doses = sorted(by_dose)
    high = [replace(pool, norm=HIGHER) for pool in by_dose[doses[-1]]]
    return high + [replace(pool, norm=PLAIN) for pool in by_dose[doses[0]]]


def steps(by_dose: Mapping[float, Sequence[Pool]]) -> dict[tuple[float, float], list[Evidence]]:
    """Return the gap in AUC of each setting between each dose and the next, by these two doses."""
    return {
        (low, high): compare(as_arms({low: by_dose[low], high: by_dose[high]}), HIGHER)
        for low, high in pairwise(sorted(by_dose))
    }


def attack(by_dose: Mapping[float, Sequence[Pool]]) -> pd.DataFrame:
    """Return how well members are told, a line a setting and dose: means over pairs of models.

    The gap is that to the dose before, within pairs, with its 95 % t interval.
    """
    gaps = {
        (high, report.setting(item.where)): _gap(item)
        for (_, high), items in steps(by_dose).items()
        for item in items
    }
    rows = []
    for dose, of_dose in by_dose.items():
        for pool in of_dose:
            rows.append(
                {
                    "setting": report.setting(pool.where),
                    "dose set": f"{dose:g}",
                    "AUC, all": f"{pool.aucs(DECIDES).mean():.3f}",
                    "AUC minus that of the dose before": gaps.get(
                        (dose, report.setting(pool.where)), "lowest dose"
                    ),
                    "AUC, clean": f"{pool.aucs(DECIDES, ~pool.outlier).mean():.3f}",
                    "training loss": _loss(pool),
                    "test accuracy": _accuracy(pool),
                    "n": len(pool.keep) // 2,
                }
            )
    return pd.DataFrame(rows)


def path(by_dose: Mapping[float, Sequence[Pool]]) -> str:
    """Return sentences on the AUC from dose to dose, and how far the models of each had trained."""
    gaps = [
        f"{report.span(items, 'AUC')} from {low:g} to {high:g}"
        for (low, high), items in steps(by_dose).items()
    ]
    trained = [
        f"{dose:g}: {_over(of_dose, _loss)}, {_over(of_dose, _accuracy)}"
        for dose, of_dose in by_dose.items()
    ]
    return (
        f"From each dose to the next it changes by {', '.join(gaps)}; training loss and test "
        f"accuracy at each are {'; '.join(trained)}."
    )


def _loss(pool: Pool) -> str:
    return f"{pool.train_loss[-1].mean():.3f}"


def _accuracy(pool: Pool) -> str:
    return report.cell("", float(pool.test_accuracy[-1].mean()))


def _over(pools: Sequence[Pool], told: Callable[[Pool], str]) -> str:
    """Return what is told of each pool, from the least to the most where settings differ."""
    found = sorted({told(pool) for pool in pools}, key=lambda text: float(text.split()[0]))
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def at_equal(by_dose: Mapping[float, Sequence[Pool]]) -> str:
    """Return a sentence on the gap in AUC between doses at equal loss on clean members."""
    arms = as_arms(by_dose)
    gaps = [
        f"{report.setting(one.straight.where)}: {_gap(one.straight)} on straight lines, "
        f"{_gap(one.log)} on lines against its log (loss {one.loss:.3f})"
        for one in at_equal_loss(arms, arms[0].norm)
    ]
    return f"AUC at equal loss on clean members, highest dose minus lowest: {'; '.join(gaps)}."


def _gap(item: Evidence) -> str:
    ends = report.between(item.low, item.high, "AUC")
    return f"{report.number(item.estimate, 'AUC')} ({ends}; n = {item.n})"
