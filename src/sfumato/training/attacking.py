"""Attacking: what the networks of runs predict of their test items under attack, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, show, unknown
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import described
from sfumato.training.attacks import ATTACKED_AT_ONCE, Attack, attacked
from sfumato.training.conditions import CLEAN, Condition, is_written, write
from sfumato.training.item_join import Original, digest_of, join_items
from sfumato.training.networks import Network
from sfumato.training.pixel_model import PixelModel
from sfumato.training.random_streams import generator_of
from sfumato.training.ready_runs import check_fits, predictor_of, tested_rows
from sfumato.training.runs import Run, normalised
from sfumato.training.targets import HardTarget, MajorityTarget, SoftTarget
from sfumato.training.training_set import TrainingSet

TARGETS = (HardTarget, MajorityTarget, SoftTarget)
"""What networks can be led away from: the original class, people's first choice, or all that people see."""


@dataclass(frozen=True, eq=False)
class AttackExperiment:
    """Runs, and the attack they are to meet. What is written already is not done again.

    All runs of a fold begin where the same luck puts them: what differs is the network.
    """

    runs: tuple[Run, ...]
    output: Path
    attack: Attack
    inputs: Inputs
    targets: str = "hard"
    people: SoftLabels | None = None
    original: Original | None = None
    """The class each item came with; else as the inputs say."""
    seed: int = 0
    device: str = "cpu"
    at_once: int = ATTACKED_AT_ONCE
    networks: Mapping[str, Network] = field(default_factory=dict)
    """Networks of your own, by the names they run under."""
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.targets not in [each.name for each in TARGETS]:
            raise unknown("target", self.targets, [each.name for each in TARGETS])
        for run in self.runs:
            check_fits(run, self.inputs)
        self._check_sources()
        for run in self.runs:
            self._labels(run)

    def missing(self) -> list[int]:
        """The numbers of the runs that are not done."""
        return [
            number
            for number, run in enumerate(self.runs)
            if not all(is_written(self.output, run, condition) for condition in self.conditions(run))
        ]

    def carry_out(self, number: int) -> None:
        """Attack one run; its predictions after each step, and before."""
        run = self.runs[number]
        few = self.inputs.take(tested_rows(run, self.inputs))
        assert few.images is not None
        model = PixelModel.of(predictor_of(run, self.networks), self.device)
        rng = np.random.default_rng(generator_of(self.seed, "attack").initial_seed())
        result = attacked(model, self.attack, few.images, self._labels(run), rng, at_once=self.at_once)
        for condition, probs in zip(self.conditions(run), [result.clean, *result.steps], strict=True):
            if not is_written(self.output, run, condition):
                write(self.output, run, condition, few.items, probs)

    def conditions(self, run: Run) -> list[Condition]:
        """What a run is to meet: nothing, then each step."""
        images = {"inputs": self._once("inputs", self._digest)}
        under = {
            **images,
            "attack": described(self.attack),
            "targets": self.targets,
            "labels": digest_of(self._labels(run)),
            "seed": self.seed,
        }
        return [
            Condition(CLEAN, images),
            *(Condition(self.name_of(step), {**under, "step": step}) for step in range(1, self.attack.n_steps + 1)),
        ]

    def name_of(self, step: int) -> str:
        """`fgsm eps=4/255 targets=hard`, `pgd eps=4/255 targets=hard step 07`."""
        norm = getattr(self.attack, "norm", "linf")
        name = self.attack.name if norm == "linf" else f"{self.attack.name}-{norm}"
        width = len(str(self.attack.n_steps))
        which = f" step {step:0{width}}" if self.attack.n_steps > 1 else ""
        return f"{name} eps={in_grey_levels(self.attack.eps)} targets={self.targets}{which}"

    def _labels(self, run: Run) -> Float[np.ndarray, "tested classes"]:
        """What the run is led away from, of the items it predicted."""
        lesson = self._lesson(run.classes)
        row = self._once(("rows", run.classes), lambda: {item: i for i, item in enumerate(lesson.items)})
        tested_rows(run, self.inputs)
        assert run.predictions is not None
        items = run.predictions.items.to_pylist()
        missing = [item for item in items if item not in row]
        if missing:
            raise BadTable(
                f"found no label for item {show(missing[0])} ({len(missing):,} such items), "
                f"which {run.folder.name} predicted",
                expected="a label for every test item",
                fix="give the labels of all test items",
                code="missing-item",
                where=ErrorLocation(str(self.people.path) if self.people is not None and self.people.path else None),
            )
        probs: Float[np.ndarray, "items classes"] = self._once(("labels", run.classes), lambda: self._targets(lesson))
        return probs[[row[item] for item in items]]

    def _targets(self, lesson: TrainingSet) -> Float[np.ndarray, "items classes"]:
        target = next(each for each in TARGETS if each.name == self.targets)
        luck = np.random.default_rng(generator_of(self.seed, "labels").initial_seed())
        return normalised(target().labels(lesson, luck).mean())

    def _lesson(self, classes: tuple[str, ...]) -> TrainingSet:
        """The items, with the labels that the targets need and no others."""

        def brought_together() -> TrainingSet:
            if self.targets == HardTarget.name:
                return join_items(self.inputs, original=self.original, classes=classes).lesson
            seen = replace(self.inputs, labels=None) if self.targets == SoftTarget.name else self.inputs
            return join_items(seen, people=self.people, classes=classes).lesson

        lesson: TrainingSet = self._once(("lesson", classes), brought_together)
        return lesson

    def _check_sources(self) -> None:
        is_hard = self.targets == HardTarget.name
        if (self.original is None and self.inputs.labels is None) if is_hard else self.people is None:
            raise BadSetting(
                f"found no source for the targets {self.targets}",
                expected="the original label of every item" if is_hard else "people's label of every item",
                fix="give --original or an npz with labels, or choose --targets majority"
                if is_hard
                else "give --labels",
                code="missing-source",
            )

    def _digest(self) -> str:
        assert self.inputs.images is not None
        return digest_of(self.inputs.items, self.inputs.images)

    def _once(self, key: Any, found: Any) -> Any:
        if key not in self._known:
            self._known[key] = found()
        return self._known[key]


def in_grey_levels(eps: float) -> str:
    """`4/255` where it is a whole number of them, else the number itself."""
    levels = eps * 255
    return f"{round(levels)}/255" if abs(levels - round(levels)) < 1e-6 else f"{eps:g}"
