"""Birds on a pond: eighteen photographs, fourteen simulated people, one of whom does not look.

Nobody was asked: the answers are drawn from the views written down here, with a fixed seed, and shaped like the answers
of a real top-two study.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.annotations import Annotations
from sfumato.soft_labels import SoftLabels

CLASSES = ("duck", "goose", "swan", "heron", "coot")
N_PEOPLE = 14
CARELESS = "p13"


@dataclass(frozen=True)
class Photo:
    """A photograph: what it shows, its class, and the views people take of it, each held by a share of them."""

    item: str
    shows: str
    truth: str
    views: tuple[tuple[float, tuple[float, ...]], ...]


def _all(*belief: float) -> tuple[tuple[float, tuple[float, ...]], ...]:
    return ((1.0, belief),)


PHOTOS = (
    Photo("photo-01", "a mallard, side on, in the sun", "duck", _all(0.98, 0.01, 0.00, 0.00, 0.01)),
    Photo("photo-02", "a swan with cygnets", "swan", _all(0.00, 0.01, 0.99, 0.00, 0.00)),
    Photo("photo-03", "a heron on a post", "heron", _all(0.00, 0.00, 0.01, 0.99, 0.00)),
    Photo("photo-04", "a coot on its nest", "coot", _all(0.03, 0.00, 0.00, 0.00, 0.97)),
    Photo("photo-05", "geese in a row on the bank", "goose", _all(0.02, 0.96, 0.02, 0.00, 0.00)),
    Photo("photo-06", "a duck far out, against the light", "duck", _all(0.70, 0.12, 0.00, 0.00, 0.18)),
    Photo("photo-07", "something dark between reeds", "coot", _all(0.36, 0.08, 0.00, 0.14, 0.42)),
    Photo("photo-08", "a young swan, still grey", "swan",
          ((0.5, (0.02, 0.95, 0.03, 0.00, 0.00)), (0.5, (0.01, 0.04, 0.95, 0.00, 0.00)))),
    Photo("photo-09", "a white farmyard goose", "goose",
          ((0.6, (0.00, 0.93, 0.07, 0.00, 0.00)), (0.4, (0.02, 0.06, 0.92, 0.00, 0.00)))),
    Photo("photo-10", "a heron in flight, far away", "heron", _all(0.02, 0.16, 0.12, 0.70, 0.00)),
    Photo("photo-11", "a back under water, no head", "duck", _all(0.45, 0.25, 0.20, 0.00, 0.10)),
    Photo("photo-12", "a moorhen, which is none of these", "coot",
          ((0.75, (0.05, 0.00, 0.00, 0.00, 0.95)), (0.25, (0.90, 0.00, 0.00, 0.00, 0.10)))),
    Photo("photo-13", "ducklings", "duck", _all(0.90, 0.07, 0.02, 0.00, 0.01)),
    Photo("photo-14", "fog", "swan", _all(0.22, 0.22, 0.24, 0.17, 0.15)),
    Photo("photo-15", "a Canada goose swimming", "goose", _all(0.12, 0.86, 0.02, 0.00, 0.00)),
    Photo("photo-16", "a coot diving", "coot", _all(0.28, 0.00, 0.00, 0.00, 0.72)),
)  # fmt: skip
CHECKS = (
    Photo("check-1", "a swan, full frame", "swan", _all(0.00, 0.00, 1.00, 0.00, 0.00)),
    Photo("check-2", "a heron, full frame", "heron", _all(0.00, 0.00, 0.00, 1.00, 0.00)),
)
REPEATED = ("photo-06", "photo-10")


def write_study(folder: Path) -> None:
    """The study's export, `answers.csv`, and the classes of its pictures, `gold.csv`."""
    pictures = [*PHOTOS, *CHECKS]
    _answers(np.random.default_rng(2026)).write(folder / "answers.csv")
    gold = SoftLabels.one_hot([photo.item for photo in pictures], [photo.truth for photo in pictures], CLASSES)
    gold.write(folder / "gold.csv")


def _answers(rng: np.random.Generator) -> Annotations:
    rows: list[dict[str, object]] = []
    for person in (f"p{i:02d}" for i in range(1, N_PEOPLE + 1)):
        shown = [(photo, "label") for photo in PHOTOS] + [(photo, "check") for photo in CHECKS]
        order = [shown[i] for i in rng.permutation(len(shown))]
        order += [(photo, "repeat") for photo in PHOTOS if photo.item in REPEATED]
        views = {photo.item: _view(photo, rng) for photo, _ in shown}
        for trial, (photo, purpose) in enumerate(order):
            careless = person == CARELESS
            payload = _careless() if careless else _payload(views[photo.item], rng)
            pace = 1.2 if careless else 6 + 10 * (1 - float(views[photo.item].max()))
            rows.append(
                {
                    "item": photo.item,
                    "annotator": person,
                    "kind": "top_two/1",
                    "payload": json.dumps(payload),
                    "trial": trial,
                    "purpose": purpose,
                    "seconds": round(float(pace * rng.lognormal(0, 0.25)), 2),
                }
            )
    return Annotations.from_arrow(pa.Table.from_pylist(rows), CLASSES)


def _view(photo: Photo, rng: np.random.Generator) -> np.ndarray:
    """One person's belief: one of the views, with a little of their own."""
    which = rng.choice(len(photo.views), p=[share for share, _ in photo.views])
    view = np.array(photo.views[which][1])
    own = np.where(view > 0, rng.gamma(40 * view + 0.5), 0)
    return np.asarray(own / own.sum())


def _payload(belief: np.ndarray, rng: np.random.Generator) -> dict[str, object]:
    """What a person with this belief fills in: percents to the nearest five, small chances called impossible."""
    told = belief + rng.normal(0, 0.01, len(belief))
    first, second = np.argsort(-told)[:2]
    percents = [int(5 * round(20 * float(np.clip(told[k], 0.05, 1)))) for k in (first, second)]
    has_second = told[second] > 0.06
    named = {CLASSES[first], CLASSES[second] if has_second else None}
    return {
        "first": CLASSES[first],
        "first_percent": percents[0],
        "second": CLASSES[second] if has_second else None,
        "second_percent": percents[1] if has_second else None,
        "impossible": [name for k, name in enumerate(CLASSES) if told[k] < 0.03 and name not in named],
    }


def _careless() -> dict[str, object]:
    return {"first": "duck", "first_percent": 100, "second": None, "second_percent": None, "impossible": []}
