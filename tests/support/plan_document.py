"""A plan file with every field."""

from __future__ import annotations

from typing import Any

DOCUMENT: dict[str, Any] = {
    "sfumato_plan": 1,
    "goal": "distribution",
    "classes": ["cat", "dog"],
    "question": {"kind": "choice", "deeper": {"kind": "top_two", "votes": 1.07, "seconds": 57.3}, "seconds": 2.3},
    "items": ["17", "18"],
    "n_items": 2,
    "deeper_items": ["18"],
    "answers": {"assignment": "fewest", "each": 7},
    "expected": {"measure": "kl", "value": 0.1, "low": 0.05, "high": 0.2, "from": "pilot of 500 items"},
    "cost": {"money": 1, "currency": "USD", "answers": 14, "hours": 0.1, "people": 7, "an_answer": 0.07},
    "budget": {"amount": 500, "unit": "USD"},
    "curve": [{"answers": 1, "value": 0.4, "low": None, "high": None, "money": 0.2}],
    "alternatives": [
        {
            "what": "fewer", "kind": "choice", "assignment": "fewest", "each": 3, "n_items": 2, "value": 0.2,
            "low": None, "high": None, "money": 0.4, "why_not": "twice the error",
        }
    ],
    "would_change": ["a larger pilot"],
    "assumptions": [{"what": "seconds of a choice", "value": "2.3", "source": "measured in the pilot"}],
    "made": {
        "version": "0.1.0", "at": "2026-01-02T03:04:05Z", "command": "sfumato plan", "seed": 0,
        "pilot": {"file": "h.parquet", "sha256": "0" * 64},
    },
}  # fmt: skip
ADAPTIVE = {
    "assignment": "adaptive", "index": "kl", "fewest": 2, "most": 25, "target": 0.02, "lead": None, "audit": 0.05,
    "on_average": 6.8,
}  # fmt: skip
