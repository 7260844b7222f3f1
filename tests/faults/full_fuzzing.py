"""Readers and routes under inputs of all sorts (T6)."""

from __future__ import annotations

import importlib.util
import time

from fuzzing import finds_the_planted_fault, fuzz_trial
from trial import ROOT, Bench, Control, Measured, Trial, found_by_tests, tried_by_tests

FUZZ_SECONDS = 120
N_CASES = 2_000
ROUTES = ROOT / "tests" / "security" / "test_schemathesis.py"


def _fuzzed(_bench: Bench, until: float) -> Measured:
    begun = time.monotonic()
    report = fuzz_trial(FUZZ_SECONDS, until)
    n_seconds = round((time.monotonic() - begun) / len(report.found))
    return Measured(report, report.clean, min(n_seconds, FUZZ_SECONDS), FUZZ_SECONDS)


def _planted(_bench: Bench) -> Control:
    found = finds_the_planted_fault()
    return Control(f"1 // 0 behind a rare pair of bytes: {'found' if found else 'not found'}", found)


def _no_atheris() -> str | None:
    return None if importlib.util.find_spec("atheris") else "atheris is not installed: the extra `fuzz`"


def _routes(_bench: Bench, until: float) -> Measured:
    return tried_by_tests(ROUTES, until, N_CASES, SFUMATO_CASES=str(N_CASES))


def _broken_routes(_bench: Bench) -> Control:
    return found_by_tests(ROUTES)


TRIALS = (
    Trial(
        "T6",
        "fuzz",
        11,
        lambda _: f"Atheris on five readers, {FUZZ_SECONDS} s each: only errors of ours escape, none hangs or swells",
        _fuzzed,
        _planted,
        _no_atheris,
    ),
    Trial(
        "T6",
        "routes",
        15,
        lambda _: f"every operation under {N_CASES:,} cases: nothing undocumented",
        _routes,
        _broken_routes,
    ),
)
