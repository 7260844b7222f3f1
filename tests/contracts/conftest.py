"""Answers of every kind, as random as people are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations

CLASSES = ("cat", "dog", "fox", "owl", "eel")


def _choice(rng: np.random.Generator) -> Any:
    return {"class": str(rng.choice(CLASSES))}


def _top_two(rng: np.random.Generator) -> Any:
    second = str(rng.choice(CLASSES)) if rng.random() < 0.7 else None
    return {
        "first": str(rng.choice(CLASSES)),
        "first_percent": int(rng.integers(0, 101)),
        "second": second,
        "second_percent": int(rng.integers(0, 101)) if second and rng.random() < 0.9 else None,
        "impossible": [name for name in CLASSES if rng.random() < 0.5],
    }


def _plausible(rng: np.random.Generator) -> Any:
    return {name: str(rng.choice(["yes", "no", "unsure"])) for name in CLASSES}


def _sliders(rng: np.random.Generator) -> Any:
    return {name: round(float(rng.random()), 3) for name in CLASSES}


def _tokens(rng: np.random.Generator) -> Any:
    placed = rng.multinomial(10, rng.dirichlet(np.ones(len(CLASSES))))
    return {
        "tokens": {c: int(n) for c, n in zip(CLASSES, placed, strict=True) if n},
        "others": bool(rng.random() < 0.5),
    }


def _typicality(rng: np.random.Generator) -> Any:
    return {"class": str(rng.choice(CLASSES)), "typicality": round(float(rng.random()), 3)}


def _mixture(rng: np.random.Generator) -> Any:
    pair = rng.choice(CLASSES, 2, replace=False)
    return {
        "classes": [str(c) for c in pair],
        "share": round(float(rng.random()), 2),
        "confidence": round(float(rng.random()), 2),
    }


PAYLOADS: dict[str, Callable[[np.random.Generator], Any]] = {
    "choice": _choice,
    "top_two": _top_two,
    "plausible": _plausible,
    "sliders": _sliders,
    "tokens": _tokens,
    "typicality": _typicality,
    "mixture": _mixture,
}


def random_answers(kind: str, n: int, seed: int) -> Annotations:
    """`n` answers of `kind` by nine people about twenty items."""
    rng = np.random.default_rng(seed)
    return Annotations.from_arrow(
        pa.table(
            {
                "item": pa.array([f"item-{i % 20}" for i in range(n)]),
                "annotator": pa.array([f"person-{i % 9}" for i in range(n)]),
                "kind": pa.array([f"{kind}/1"] * n),
                "payload": pa.array([json.dumps(PAYLOADS[kind](rng)) for _ in range(n)]),
            }
        ),
        CLASSES,
    )


@pytest.fixture
def answers() -> Callable[[str, int, int], Annotations]:
    return random_answers
