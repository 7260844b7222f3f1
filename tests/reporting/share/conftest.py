"""An odd set: ids and classes that lesser writers lose, rows without people, a class that nobody ever gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.reporting.share import Release, Splits
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.estimand import Estimand
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels

ITEMS = (
    "007", "7", "1e5", "9007199254740993", "Ünïcode 漢字 🦢", "=1+1", "'=quoted", "a,b", 'say "x"', " spaces ", "-3",
    "line\nbreak", "nan", "NULL", "True", "`code` | <b>bar</b>",
)  # fmt: skip
CLASSES = ("cat, black", 'say "dog"', "=ship", "never")


def odd_labels() -> SoftLabels:
    rng = np.random.default_rng(7)
    probs = np.zeros((len(ITEMS), len(CLASSES)))
    probs[:, :3] = rng.dirichlet([0.4, 0.4, 0.4], len(ITEMS))
    probs[3, :3] = 1 / 3  # three classes that tie
    probs[4, :3] = [0, 1, 0]
    labels = SoftLabels.from_numpy(ITEMS, probs, CLASSES, np.arange(len(ITEMS)) % 4)
    return replace(labels, estimand=Estimand.JUDGMENT)


def odd_beliefs() -> Beliefs:
    rng = np.random.default_rng(8)
    items = [item for item in ITEMS for _ in range(3)]
    people = ["00", "0", "é"] * len(ITEMS)
    return Beliefs.from_probs(item=items, annotator=people, probs=rng.dirichlet([1] * 4, len(items)), classes=CLASSES)


def odd_annotations() -> Annotations:
    import pyarrow as pa

    answers = {
        "item": list(ITEMS),
        "annotator": ["00"] * len(ITEMS),
        "kind": ["choice/1"] * len(ITEMS),
        "payload": ['{"class": "=ship"}'] * len(ITEMS),
        "seconds": [float(i) for i in range(len(ITEMS))],
        "submitted_at": pa.array([1_700_000_000_000 + i for i in range(len(ITEMS))], pa.timestamp("ms", "UTC")),
    }
    return Annotations.from_arrow(pa.table(answers), CLASSES)


def pictures(*, colours: int | None) -> Inputs:
    """Pictures of the items in another order, and one of an item that has no label."""
    shape = (len(ITEMS) + 1, 5, 3, *((colours,) if colours else ()))
    images = np.random.default_rng(9).integers(0, 256, shape, dtype=np.uint8)
    return Inputs((*reversed(ITEMS), "not labelled"), images)


def texts() -> Inputs:
    return Inputs(ITEMS, texts=tuple(f'=text, "{i}"\nof many\tlines é' for i in range(len(ITEMS))))


def splits() -> Splits:
    return Splits.of({item: ("train", "test", "held_out")[row % 3] for row, item in enumerate(ITEMS)})


def release(inputs: Inputs | None = None, *, split: bool = False, beside: bool = False) -> Release:
    return Release.of(
        odd_labels(),
        inputs=inputs,
        splits=splits() if split else None,
        beliefs=odd_beliefs() if beside else None,
        annotations=odd_annotations() if beside else None,
        title='Odd: "set" <1>',
        licence="cc-by-4.0",
    )


@pytest.fixture
def labels() -> SoftLabels:
    return odd_labels()


@pytest.fixture
def grey() -> Release:
    return release(pictures(colours=None), split=True, beside=True)


@pytest.fixture
def colour() -> Release:
    return release(pictures(colours=3))


@pytest.fixture
def written_texts() -> Release:
    return release(texts(), beside=True)


@pytest.fixture
def bare() -> Release:
    return release()


@pytest.fixture
def odd_splits() -> Splits:
    return splits()


@pytest.fixture
def odd_pictures() -> Inputs:
    return pictures(colours=None)
