"""Recruitment platforms whose APIs fail, repeat rows and return them out of order (T20)."""

from __future__ import annotations

import time

from platform_trial import platform_trial, summed
from trial import Control, Measured, Resources, Trial

PLATFORMS = ("prolific", "mturk")
N_PEOPLE, N_CONTROL_PEOPLE = 48, 8


def _platforms(resources: Resources, until: float) -> Measured:
    """The platforms in turn, one seed each."""
    reports = []
    for seed in range(resources.sizes.n_seeds):
        if reports and time.monotonic() > until:
            break
        reports.append(platform_trial(PLATFORMS[seed % 2], n_people=N_PEOPLE, seed=seed))
    total = summed(reports)
    return Measured(total, total.passed, len(reports), resources.sizes.n_seeds)


def _no_keys(_resources: Resources) -> Control:
    report = platform_trial("prolific", n_people=N_CONTROL_PEOPLE, keys=False)
    return Control(
        f"retries without keys: {report.paid_twice} payments to {N_CONTROL_PEOPLE} people made twice",
        report.paid_twice > 0,
    )


TRIALS = (
    Trial(
        "T20",
        "platforms",
        2,
        lambda sizes: (
            f"{sizes.n_seeds} seeds, {N_PEOPLE} people: each check and payment once, exactly the planted "
            "mismatches listed"
        ),
        _platforms,
        _no_keys,
    ),
)
