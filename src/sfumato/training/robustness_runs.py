"""Shifting: what networks predict when pictures get worse, or come from elsewhere.

Every test item of a run, under every corruption and severity; and all items of any other set. A picture is corrupted
once, by the inputs it stands among and the seed alone: all runs see the same.

Attacking: what the networks of runs predict of their test items under attack, step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, listing, show, unknown
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import described
from sfumato.training.attacks import ATTACKED_AT_ONCE, Attack, attacked
from sfumato.training.corruptions import CORRUPTIONS, SEVERITIES, Corruption, check_severity
from sfumato.training.item_join import Original, digest_of, join_items
from sfumato.training.networks import Network
from sfumato.training.random_streams import generator_of
from sfumato.training.run_folder import Run, normalised, shape_of
from sfumato.training.targets import HardTarget, MajorityTarget, SoftTarget
from sfumato.training.trained_runs import (
    CLEAN,
    Condition,
    PixelModel,
    check_fits,
    in_a_path,
    is_written,
    predictor_of,
    tested_rows,
    write,
)
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class Corrupted:
    """The test items, after a corruption; as they are without one."""

    corruption: Corruption | None = None
    severity: int = 0

    @property
    def name(self) -> str:
        return CLEAN if self.corruption is None else f"{self.corruption.name}/{self.severity}"


@dataclass(frozen=True)
class OtherDataset:
    """All items of another set."""

    name: str


Shift = Corrupted | OtherDataset


def corruptions_for(
    inputs: Inputs, kinds: Sequence[Corruption] | None = None, severities: Sequence[int] = SEVERITIES
) -> tuple[Corrupted, ...]:
    """Pictures as they are, then every kind at every severity; without `kinds`, all that fit the pictures."""
    is_colour = inputs.images is not None and shape_of(inputs.images)[0] == 3
    if kinds is None:
        kinds = [each() for each in CORRUPTIONS if is_colour or not each.needs_colour]
    grey = [each.name for each in kinds if each.needs_colour and not is_colour]
    if grey:
        raise BadSetting(
            f"found {listing(grey)} for grey images",
            expected="corruptions that leave grey images grey",
            fix=f"leave {listing(grey)} out",
            code="no-colour",
        )
    worse = [Corrupted(kind, check_severity(severity)) for kind in kinds for severity in severities]
    return tuple(dict.fromkeys([Corrupted(), *worse]))


@dataclass(frozen=True, eq=False)
class ShiftExperiment:
    """Runs, and the shifts they are to meet. What is written already is not done again."""

    runs: tuple[Run, ...]
    output: Path
    inputs: Inputs | None = None
    """What the runs learnt from and were tested on."""
    corrupted: tuple[Corrupted, ...] = ()
    extra: Mapping[str, Inputs] = field(default_factory=dict)
    """Other sets, by the name of their condition."""
    seed: int = 0
    device: str = "cpu"
    networks: Mapping[str, Network] = field(default_factory=dict)
    """Networks of your own, by the names they run under."""
    _known: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        assert self.inputs is not None or not self.corrupted, "there must be something to corrupt"
        _check_apart([shift.name for shift in self.shifts])
        for run in self.runs:
            for inputs in (*([self.inputs] if self.inputs else []), *self.extra.values()):
                check_fits(run, inputs)
            if self.inputs is not None and self.corrupted:
                tested_rows(run, self.inputs)

    @property
    def shifts(self) -> tuple[Shift, ...]:
        return (*self.corrupted, *(OtherDataset(name) for name in self.extra))

    def missing(self) -> list[Shift]:
        """What is still to be done, of at least one run."""
        return [shift for shift in self.shifts if self._runs_without(shift)]

    def carry_out(self, shift: Shift) -> None:
        """Predict under a shift, with every run that did not."""
        # Looked at again: another command may have done it by now.
        runs = self._runs_without(shift)
        if not runs:
            return
        seen = self._seen(shift)
        for run in runs:
            model = PixelModel.of(predictor_of(run, self.networks), self.device)
            few = seen if isinstance(shift, OtherDataset) else seen.take(tested_rows(run, seen))
            assert few.images is not None
            write(self.output, run, self._condition(shift), few.items, model.probs(few.images))

    def _seen(self, shift: Shift) -> Inputs:
        if isinstance(shift, OtherDataset):
            return self.extra[shift.name]
        assert self.inputs is not None
        assert self.inputs.images is not None
        if shift.corruption is None:
            return self.inputs
        rng = np.random.default_rng(generator_of(self.seed, "shift", shift.name).initial_seed())
        images = shift.corruption.apply(self.inputs.images, shift.severity, rng)
        return Inputs(self.inputs.items, images, path=self.inputs.path)

    def _runs_without(self, shift: Shift) -> list[Run]:
        condition = self._condition(shift)
        return [run for run in self.runs if not is_written(self.output, run, condition)]

    def _condition(self, shift: Shift) -> Condition:
        if isinstance(shift, OtherDataset):
            return Condition(shift.name, {"inputs": self._digest(shift.name, self.extra[shift.name])})
        assert self.inputs is not None
        under: dict[str, Any] = {"inputs": self._digest("", self.inputs)}
        if shift.corruption is not None:
            under |= {"corruption": shift.corruption.name, "severity": shift.severity, "seed": self.seed}
        return Condition(shift.name, under)

    def _digest(self, name: str, inputs: Inputs) -> str:
        """What a set is; found once, because all of it must be gone through."""
        if name not in self._known:
            assert inputs.images is not None
            self._known[name] = digest_of(inputs.items, inputs.images)
        return self._known[name]


def _check_apart(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        folder = in_a_path(name)
        if folder in seen or not folder.strip(".-"):
            raise BadSetting(
                f"found the condition {show(name)}{' a second time' if folder in seen else ''}",
                expected="conditions whose names differ in letters and digits",
                fix="give the set another name: --extra NAME=FILE",
                code="bad-setting",
            )
        seen.add(folder)


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
