"""Crowds to rehearse a plan with: people who answer by the items' own distributions, or simulated ones with a form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.elicitation.kinds import kind_named
from sfumato.elicitation.simulated_annotator import Annotator, PresentedQuestion, Truth
from sfumato.labeling.default_labeler import label_by_default
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Question, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadSetting

JUDGES = 200
"""People outside the study who are asked about an item to find out what the crowd says of it."""


@dataclass(frozen=True, eq=False)
class SimulatedAnswers:
    """Answers of one person, as shares of a vote, and the seconds that each took."""

    votes: Float[np.ndarray, "asked classes"]
    seconds: Float[np.ndarray, "asked"]


@runtime_checkable
class CrowdSource(Protocol):
    """Who answers. Items are numbers, in the order of the plan's."""

    @property
    def n_people(self) -> int: ...

    def answer(
        self, person: int, items: Int[np.ndarray, "asked"], kind: str, rng: np.random.Generator
    ) -> SimulatedAnswers:
        """What a person answers about each of these items, asked in this form."""
        ...

    def says(self, items: Int[np.ndarray, "judged"], rng: np.random.Generator) -> Float[np.ndarray, "judged classes"]:
        """How the whole crowd judges each of these items: what labels are held against."""
        ...


@dataclass(frozen=True, eq=False)
class DrawnCrowd:
    """People who answer by the items' own distributions, as a plan assumes them: a rehearsal of the plan alone.

    They can only choose a class: what they would say in a richer form is for `SimulatedCrowd`.
    """

    probs: Float[np.ndarray, "items classes"]
    n_people: int
    seconds: float

    def answer(
        self,
        person: int,  # noqa: ARG002
        items: Int[np.ndarray, "asked"],
        kind: str,
        rng: np.random.Generator,
    ) -> SimulatedAnswers:
        if kind != "choice":
            raise BadSetting(
                f"found answers of kind {kind} to rehearse with people who only choose",
                expected="a plan of choices alone",
                fix="rehearse with --study: simulated people fill in any form",
                code="wrong-kind",
            )
        edges = np.cumsum(self.probs[items], axis=1)
        edges[:, -1] = np.inf
        chosen = (rng.random(len(items))[:, None] >= edges).sum(axis=1)
        return SimulatedAnswers(np.eye(self.probs.shape[1])[chosen], np.full(len(items), self.seconds))

    def says(self, items: Int[np.ndarray, "judged"], rng: np.random.Generator) -> Float[np.ndarray, "judged classes"]:  # noqa: ARG002
        return np.asarray(self.probs[items])


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """Simulated annotators, each of their own skill, leanings, speed and attention, who fill in the study's form.

    Their answers are labelled as the kind usually is. What the crowd says of an item is what 200 others like them would
    choose: people who see badly agree less than the truth would have it, and labels can know no more than they say.
    """

    study: Study
    items: tuple[str, ...]
    truth: Truth
    people: tuple[Annotator, ...]
    judges: tuple[Annotator, ...]

    @property
    def n_people(self) -> int:
        return len(self.people)

    def answer(
        self, person: int, items: Int[np.ndarray, "asked"], kind: str, rng: np.random.Generator
    ) -> SimulatedAnswers:
        return self._answers([self.people[person]] * len(items), items, kind, rng)

    def says(self, items: Int[np.ndarray, "judged"], rng: np.random.Generator) -> Float[np.ndarray, "judged classes"]:
        votes = [
            self._answers(self.judges, np.full(len(self.judges), i), "choice", rng).votes.mean(axis=0) for i in items
        ]
        return np.asarray(votes).reshape(len(items), len(self.study.class_names))

    def _answers(
        self, people: Sequence[Annotator], items: Int[np.ndarray, "asked"], kind: str, rng: np.random.Generator
    ) -> SimulatedAnswers:
        own = kind == self.study.question.kind
        question = self.study.question if own else Question(kind, self.study.question.framing)
        study = replace(self.study, question=question)
        form = kind_named(kind)(**question.settings)
        raw, seconds = [], []
        for person, i in zip(people, items, strict=True):
            stimulus = Stimulus(self.items[i])
            given = person.answer(self.truth.shown(stimulus), PresentedQuestion(form, stimulus, study), rng)
            raw.append(given.raw)
            seconds.append(given.seconds)
        return SimulatedAnswers(_votes(raw, f"{kind}/{form.version}", study.class_names), np.array(seconds))


def _votes(raw: Sequence[dict[str, object]], kind: str, classes: Sequence[str]) -> Float[np.ndarray, "asked classes"]:
    """Answers as distributions, by the kind's usual labeler, in the order of the classes."""
    if kind.startswith("choice/"):
        place = {name: k for k, name in enumerate(classes)}
        return np.asarray(np.eye(len(classes))[[place[str(answer["class"])] for answer in raw]])
    table = pa.table(
        {
            "item": [str(row) for row in range(len(raw))],
            "annotator": ["someone"] * len(raw),
            "kind": [kind] * len(raw),
            "payload": [json.dumps(answer, ensure_ascii=False) for answer in raw],
        }
    )
    beliefs = label_by_default(Annotations.from_arrow(table, classes), classes)
    coded = beliefs.coded()
    # Answers that no labeler can use leave nothing behind.
    votes = np.zeros((len(raw), len(classes)))
    columns = [list(beliefs.classes).index(name) for name in classes]
    names = beliefs.item.names.to_pylist()
    rows = [int(names[code]) for code in beliefs.item.codes]
    votes[rows] = coded.probs()[:, columns]
    return votes
