"""A small set that everything can be worked out of by hand, as files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.reporting.share.datasheet import DatasheetSources
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.estimand import Estimand
from sfumato.tables.scores import Score, Scores
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("cat", "dog|wolf", "<never>")
STUDY = """
title = "Cats and dogs"
classes = ["cat", "dog|wolf", "<never>"]

[items]
npz = "inputs.npz"

[question]
kind = "choice"
prompt = "What do *you* see?"

[pages]
instructions = '''
Look at the picture.
<!-- end: asked -->
Say what you see.
'''
consent = "I take part of my own will."

[people]
batch_size = 10

[pay]
amount = 2.0
currency = "EUR"
minutes = 10
"""


@dataclass(frozen=True)
class Folder:
    """The files of the set, by what they are given as."""

    path: Path

    def __getattr__(self, option: str) -> Path:
        names = {"inputs": "inputs.npz", "study": "study.toml", "screening": "screening.csv", "scores": "scores.csv"}
        return self.path / names.get(option, f"{option}.parquet")

    def sources(self, *options: str) -> DatasheetSources:
        return DatasheetSources.read(self.labels, **{option: getattr(self, option) for option in options})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Two items: on one three people split two to one, about the other they agree; a third person was set aside."""
    place = tmp_path / "set"
    place.mkdir()
    files = Folder(place)
    votes = [
        ("1", "ann", "cat"),
        ("1", "ben", "cat"),
        ("1", "eve", "dog|wolf"),
        ("2", "ann", "cat"),
        ("2", "ben", "cat"),
    ]
    beliefs = Beliefs.from_votes(
        item=[v[0] for v in votes], annotator=[v[1] for v in votes], label=[v[2] for v in votes], classes=CLASSES
    )
    beliefs.write(files.beliefs)
    labels = SoftLabels.from_numpy(["1", "2"], [[2 / 3, 1 / 3, 0], [1, 0, 0]], CLASSES, [3, 2])
    replace(labels, estimand=Estimand.JUDGMENT).write(files.labels)
    asked = [*votes, ("2", "zed", "dog|wolf")]
    day = 86_400_000
    answers = pa.table(
        {
            "item": [v[0] for v in asked],
            "annotator": [v[1] for v in asked],
            "kind": ["choice/1"] * 6,
            "payload": [f'{{"class": "{v[2]}"}}' for v in asked],
            "purpose": ["label"] * 5 + ["check"],
            "submitted_at": pa.array([20_000 * day + k * day for k in range(6)], pa.timestamp("ms", "UTC")),
            "seconds": [6.0, 6.0, 6.0, 6.0, 6.0, None],
        }
    )
    Annotations.from_arrow(answers, CLASSES).write(files.annotations)
    image = np.random.default_rng(0).integers(0, 256, (1, 8, 8), dtype=np.uint8)
    np.savez(files.inputs, images=np.concatenate([image, image]), items=np.array(["1", "2"]))
    files.study.write_text(STUDY)
    files.screening.write_text(
        "annotator,set_aside,reasons\nann,false,\nben,false,\neve,false,\nzed,true,checks; too-fast\n"
    )
    scores = [Score("accuracy", "all", 0.75, 0.5, 1.0, 2, float("nan"), "items")]
    Scores.of(scores).write(files.scores)
    return files
