"""Fuzzing of readers and routes (T6)."""

from __future__ import annotations

import importlib.util
import time

from fuzzing import finds_planted_fault, fuzz_trial
from trial import ROOT, Control, Measured, Resources, Trial, run_control_tests, run_tests

FUZZ_SECONDS = 120
N_CASES = 2_000
ROUTES = ROOT / "tests" / "security" / "test_schemathesis.py"


def _fuzz(_resources: Resources, until: float) -> Measured:
    begun = time.monotonic()
    report = fuzz_trial(FUZZ_SECONDS, until)
    n_seconds = round((time.monotonic() - begun) / len(report.found))
    return Measured(report, report.clean, min(n_seconds, FUZZ_SECONDS), FUZZ_SECONDS)


def _planted(_resources: Resources) -> Control:
    found = finds_planted_fault()
    return Control(f"a division by zero after two rare bytes: {'found' if found else 'not found'}", found)


def _no_atheris_reason() -> str | None:
    return None if importlib.util.find_spec("atheris") else "atheris is not installed (extra `fuzz`)"


def _routes(_resources: Resources, until: float) -> Measured:
    return run_tests(ROUTES, until, N_CASES, SFUMATO_CASES=str(N_CASES))


def _routes_control(_resources: Resources) -> Control:
    return run_control_tests(ROUTES)


TRIALS = (
    Trial(
        "T6",
        "fuzz",
        11,
        lambda _: f"Atheris on eight readers, {FUZZ_SECONDS} s each: only our own errors, no hangs, no memory growth",
        _fuzz,
        _planted,
        _no_atheris_reason,
    ),
    Trial(
        "T6",
        "routes",
        15,
        lambda _: f"every operation with {N_CASES:,} cases: only documented replies",
        _routes,
        _routes_control,
    ),
)
