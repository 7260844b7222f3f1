"""Readers and routes under inputs of all sorts (T6)."""

from __future__ import annotations

import importlib.util
import time

from fuzzing import fuzz_trial, schemathesis_trial
from trial import Bench, Measured, Trial

FUZZ_SECONDS = 120
N_CASES = 2_000


def _fuzzed(_bench: Bench, until: float) -> Measured:
    begun = time.monotonic()
    report = fuzz_trial(FUZZ_SECONDS, until)
    n_seconds = round((time.monotonic() - begun) / len(report.found))
    return Measured(report, report.clean, min(n_seconds, FUZZ_SECONDS), FUZZ_SECONDS)


def _no_atheris() -> str | None:
    return None if importlib.util.find_spec("atheris") else "atheris is not installed: the extra `fuzz`"


def _routes(_bench: Bench, until: float) -> Measured:
    clean, said = schemathesis_trial(N_CASES, until)
    return Measured(said, clean)


TRIALS = (
    Trial(
        "T6",
        "fuzz",
        11,
        lambda _: f"Atheris on five readers, {FUZZ_SECONDS} s each: only errors of ours escape, none hangs or swells",
        _fuzzed,
        None,
        _no_atheris,
    ),
    Trial("T6", "routes", 15, lambda _: f"every operation under {N_CASES:,} cases: nothing undocumented", _routes),
)
