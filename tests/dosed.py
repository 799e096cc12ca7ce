"""Runs at doses of gamma/sigma whose responses follow a power that is given."""

import made_shadows
import numpy as np
import planted

from bn_memorization import dose_attack, membership
from bn_memorization.control_claims import CONTROLS
from bn_memorization.dose import HELD
from bn_memorization.dose_exponents import evidence, exponents, selective
from bn_memorization.judging import judge
from bn_memorization.train import Run

EPOCHS, LR = 40, 0.05
DOSES = (0.5, 1.0, 2.0)
SPEED = 0.125  # of corrupted samples at a dose of 1 and the learning rate LR
LAYERS = np.array([1, 1, 2], np.int16)


def run(dose=None, seed=0, layer=None, held=True, power=2.0, by_rate=1.0, moved=0.0, lr=LR, **more):
    """Return a run whose corrupted samples are fitted at a speed ~ dose^power (lr / |w|^2)^by_rate.

    Clean samples are half as fast again at every dose. |w|^2 goes with dose^moved where weights are
    free. Without a dose there is no penalty, and gamma/sigma is 1.
    """
    change = {"lr": lr, "seed": seed, "epochs": EPOCHS} | more
    if dose is not None:
        change |= {"penalty": "log", "penalty_weight": 1.0, "penalty_target": dose}
        change |= {"penalty_layer": layer, "hold_weights": held}
    ratio = 1.0 if dose is None else dose
    squared = 1.0 if held or dose is None else ratio**moved
    speed = SPEED * ratio**power * (lr / LR / squared) ** by_rate
    return Run(planted.config(**change), arrays(change["epochs"], ratio, squared, speed, layer))


def arrays(epochs, ratio, squared, speed, layer):
    """Return a run's arrays; the curves are straight lines that get to the levels at 1/speed."""
    time = np.arange(epochs + 1)
    # A share above 1 is none, but it leaves the lines straight.
    corrupted, clean = 0.25 * speed * time, 0.9 * 1.5 * speed * time
    sigma = np.full((epochs + 1, len(LAYERS)), 2.0 * np.sqrt(squared))
    of = np.ones(len(LAYERS), bool) if layer is None else layer == LAYERS
    gamma = sigma * np.where(of, ratio, 1.0)
    gamma[:, 0] *= -1  # a negative gamma stretches as much
    gamma[0], sigma[0] = 7.0, 1.0  # before training they say nothing
    return {
        "accuracy": np.stack([corrupted, clean, clean], axis=1),
        "gamma": gamma.astype(np.float32),
        "sigma": sigma.astype(np.float32),
        "bn_layer": np.tile(LAYERS, (epochs + 1, 1)),
        "weight_norm": np.full(sigma.shape, 3 * np.sqrt(squared), np.float32),
        "norm_corrupted": np.full((epochs + 1, 5), ratio, np.float32),
        "norm_clean": np.full((epochs + 1, 4), ratio**0.5, np.float32),
    }


def series(seeds=3, held_power=2.0, free_power=2.0, moved=0.0, by_rate=1.0, doses=DOSES, **more):
    """Return the runs of all layers held and free, layer 1 alone, and of three learning rates."""
    runs = []
    for seed in range(seeds):
        # Seeds differ, or an interval has no width.
        jitter = 0.1 * (seed - (seeds - 1) / 2)
        both = {"seed": seed, "by_rate": by_rate, **more}
        for dose in doses:
            runs.append(run(dose, power=held_power + jitter, **both))
            free = free_power + jitter
            runs.append(run(dose, held=False, moved=moved, power=free, **both))
        for dose in (doses[0], doses[-1]):
            runs.append(run(dose, layer=1, power=0.0, **both))
        runs += [run(lr=lr, **both) for lr in (LR / 2, LR, 2 * LR)]
    return runs


def pools(shifts=((0.7, 0.5), (2.0, 3.0)), moments=1):
    """Return pools by dose whose members stand out by a shift each, {dose: shift} as pairs."""
    held = {"penalty": "log", "penalty_weight": 1.0, "hold_weights": True}
    return dose_attack.pools_by_dose(
        shadow
        for target, shift in shifts
        for shadow in made_shadows.shadows(
            (0.0, shift), moments=moments, penalty_target=target, **held
        )
    )


def verdicts(outcomes, by_dose):
    """Return the verdicts of the chapter's four controls."""
    found = evidence(exponents(outcomes, "corrupted", HELD))
    gap = membership.compare(dose_attack.as_arms(by_dose), dose_attack.HIGHER)
    return [
        judge(CONTROLS["dose_exponent"], found),
        judge(CONTROLS["dose_square"], found),
        judge(CONTROLS["dose_selective"], selective(outcomes, HELD)),
        judge(CONTROLS["dose_attack"], gap),
    ]
