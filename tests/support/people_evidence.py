"""A small study with all inputs of a report: answers with times, repeats, excluded people, labels, pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.labeling.screening import Screened
from sfumato.reporting.report_inputs import Origin, ReportInputs
from sfumato.study.study import Framing, ItemSource, Pay, People, Question, Study, StudyClass
from sfumato.tables.model_inputs import Inputs

CLASSES = ("cat", "dog", "emu", "fox")


def evidence_of(
    *,
    classes: Sequence[str] = CLASSES,
    items: Sequence[str] | None = None,
    n_people: int = 9,
    soft: bool = True,
    sure: float = 0.45,
    seed: int = 0,
    texts: bool = False,
) -> ReportInputs:
    """Everybody answers every item, and the first five again; two people are excluded."""
    rng = np.random.default_rng(seed)
    items = [f"item {i}" for i in range(40)] if items is None else list(items)
    k, n = len(classes), len(items)
    truth = rng.integers(0, k, n)
    who = [f"person {j}" for j in range(n_people)]
    rows = [(i, j, "label") for j in range(n_people) for i in range(n)]
    rows += [(i, j, "repeat") for j in range(n_people) for i in range(min(5, n))]
    mass = rng.dirichlet(np.full(k, 0.4), len(rows)) * (1 - sure)
    mass[np.arange(len(rows)), [truth[i] for i, _, _ in rows]] += sure
    chosen = mass.argmax(axis=1)
    names = [items[i] for i, _, _ in rows]
    people = [who[j] for _, j, _ in rows]
    beliefs = Beliefs.from_numpy(names, people, mass if soft else chosen, classes)
    answers = pa.table(
        {
            "item": names,
            "annotator": people,
            "kind": ["choice/1"] * len(rows),
            "payload": [json.dumps({"class": classes[c]}) for c in chosen],
            "trial": [row % n for row in range(len(rows))],
            "purpose": [purpose for _, _, purpose in rows],
            "seconds": rng.gamma(3, 2, len(rows)),
        }
    )
    given = mass if soft else np.eye(k)[chosen]
    mean = np.stack([np.mean([given[r] for r, row in enumerate(rows) if row[0] == i], axis=0) for i in range(n)])
    sharp = mean**4 / (mean**4).sum(axis=1, keepdims=True)
    reasons = [("checks_passed",), ("checks_passed", "median_seconds"), *[()] * (n_people - 2)]
    pictures = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    pictures[-1] = pictures[0]
    words = tuple(f"The text of {item}, at some length." for item in items)
    return ReportInputs(
        study=_study(classes),
        annotations=Annotations.from_arrow(answers, classes),
        screening=Screened(tuple(who), tuple(bool(each) for each in reasons), tuple(reasons)),
        beliefs=beliefs,
        labels={
            "mean": SoftLabels.from_numpy(items, mean, classes, n_people),
            "sharp": SoftLabels.from_numpy(items, sharp, classes, n_people),
        },
        original=SoftLabels.one_hot(items, [classes[(t + (i % 7 == 0)) % k] for i, t in enumerate(truth)], classes),
        inputs=Inputs(tuple(items), texts=words) if texts else Inputs(tuple(items), pictures),
        origins={"beliefs": Origin("beliefs.parquet", "ab" * 32)},
    )


def _study(classes: Sequence[str]) -> Study:
    return Study(
        name="animals",
        title="Animals",
        classes=tuple(StudyClass(name) for name in classes),
        items=ItemSource(folder=Path("nowhere")),
        question=Question("choice", Framing.OWN, "What is in the <b>picture</b>?"),
        people=People(answers_per_item=9, batch_size=20, repeats=5),
        pay=Pay(1.5, "EUR", 10),
    )
