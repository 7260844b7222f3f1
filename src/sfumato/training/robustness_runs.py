"""Robustness of trained runs: `ShiftExperiment` (corrupted or other images) and `AttackExperiment`.

Both predict the test items of each run again. Images are corrupted once per condition and seed: all runs see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from jaxtyping import Float

from sfumato.jobs import ProgressCallback, run_jobs
from sfumato.tables.errors import BadSetting, BadTable, listing, show, unknown
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.option_words import option
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import described
from sfumato.training.attacks import ATTACKED_AT_ONCE, Attack, attacked
from sfumato.training.corruptions import CORRUPTIONS, SEVERITIES, Corruption, check_severity
from sfumato.training.grid import path_name
from sfumato.training.item_join import Original, join_items
from sfumato.training.network_run import shape_of
from sfumato.training.networks.network import Network
from sfumato.training.run_folder import Run, normalized
from sfumato.training.seeds import rng_of
from sfumato.training.targets.hard import HardTarget, MajorityTarget
from sfumato.training.targets.soft import SoftTarget
from sfumato.training.trained_runs import (
    CLEAN,
    Condition,
    PixelModel,
    check_fits,
    is_written,
    predictor_of,
    test_rows,
    write,
)
from sfumato.training.training_loop import one_torch_thread, use_one_torch_thread
from sfumato.training.training_set import digest_of

Job = TypeVar("Job")


class RobustnessExperiment(Protocol[Job]):
    """Jobs that are independent of each other; `missing` lists those without results."""

    def missing(self) -> Sequence[Job]: ...

    def run(self, job: Job) -> None: ...


def run_missing(
    experiment: RobustnessExperiment[Job], *, processes: int = 0, on_progress: ProgressCallback | None = None
) -> int:
    """Run the missing jobs, each with one torch thread, and return how many there were; `processes` 0: one per core."""
    jobs = experiment.missing()
    with one_torch_thread():
        results = run_jobs(
            experiment.run, jobs, workers=processes, on_worker_start=use_one_torch_thread, on_progress=on_progress
        )
        for _ in results:
            pass
    return len(jobs)


@dataclass(frozen=True)
class Corrupted:
    """The test items after a corruption, or unchanged if it is None; or all items of another data set."""

    corruption: Corruption | None = None
    severity: int = 0
    dataset: str = ""
    """The name of another data set."""

    @property
    def name(self) -> str:
        unchanged = self.dataset or CLEAN
        return unchanged if self.corruption is None else f"{self.corruption.name}/{self.severity}"


def corruptions_for(
    inputs: Inputs, kinds: Sequence[Corruption] | None = None, severities: Sequence[int] = SEVERITIES
) -> tuple[Corrupted, ...]:
    """The unchanged images, then every kind at every severity; without `kinds`, all that apply to the images."""
    is_color = inputs.images is not None and shape_of(inputs.images)[0] == 3
    if kinds is None:
        kinds = [each() for each in CORRUPTIONS if is_color or not each.needs_color]
    unfit = [each.name for each in kinds if each.needs_color and not is_color]
    if unfit:
        found = f"{listing(unfit)} for gray images"
        raise BadSetting(found, "corruptions for gray images", f"omit {listing(unfit)}", "no-colour")
    corrupted = [Corrupted(kind, check_severity(severity)) for kind in kinds for severity in severities]
    return tuple(dict.fromkeys([Corrupted(), *corrupted]))


@dataclass(frozen=True, eq=False)
class ShiftExperiment:
    """Predictions of runs for shifted images. Predictions that are written are not computed again."""

    runs: tuple[Run, ...]
    output: Path
    inputs: Inputs | None = None
    """The inputs that the runs were trained and tested on."""
    corrupted: tuple[Corrupted, ...] = ()
    extra: Mapping[str, Inputs] = field(default_factory=dict)
    """Other data sets, by the name of their condition."""
    seed: int = 0
    device: str = "cpu"
    networks: Mapping[str, Network] = field(default_factory=dict)
    """Your own networks, by their names in the runs."""

    def __post_init__(self) -> None:
        assert self.inputs is not None or not self.corrupted, "there must be something to corrupt"
        _check_distinct([shift.name for shift in self.shifts])
        for run in self.runs:
            for inputs in (*([self.inputs] if self.inputs else []), *self.extra.values()):
                check_fits(run, inputs)
            if self.inputs is not None and self.corrupted:
                test_rows(run, self.inputs)

    @property
    def shifts(self) -> tuple[Corrupted, ...]:
        return (*self.corrupted, *(Corrupted(dataset=name) for name in self.extra))

    def missing(self) -> list[Corrupted]:
        """The shifts that at least one run has no predictions for."""
        return [shift for shift in self.shifts if self._runs_without(shift)]

    def run(self, shift: Corrupted) -> None:
        """Predict under a shift with every run that has no predictions for it."""
        # Checked again: another command may have written them meanwhile.
        runs = self._runs_without(shift)
        if not runs:
            return
        inputs = self._shifted(shift)
        for run in runs:
            model = PixelModel.of(predictor_of(run, self.networks), self.device)
            test = inputs if shift.dataset else inputs.take(test_rows(run, inputs))
            assert test.images is not None
            write(self.output, run, self._condition(shift), test.items, model.probs(test.images))

    def _shifted(self, shift: Corrupted) -> Inputs:
        if shift.dataset:
            return self.extra[shift.dataset]
        assert self.inputs is not None
        assert self.inputs.images is not None
        if shift.corruption is None:
            return self.inputs
        images = shift.corruption.apply(self.inputs.images, shift.severity, rng_of(self.seed, "shift", shift.name))
        return Inputs(self.inputs.items, images, path=self.inputs.path)

    def _runs_without(self, shift: Corrupted) -> list[Run]:
        condition = self._condition(shift)
        return [run for run in self.runs if not is_written(self.output, run, condition)]

    def _condition(self, shift: Corrupted) -> Condition:
        under: dict[str, Any] = {"inputs": self._digests[shift.dataset]}
        if shift.corruption is not None:
            under |= {"corruption": shift.corruption.name, "severity": shift.severity, "seed": self.seed}
        return Condition(shift.name, under)

    @cached_property
    def _digests(self) -> dict[str, str]:
        """A hash of each data set by its name; that of the inputs under an empty name."""
        sets = {**({"": self.inputs} if self.inputs else {}), **self.extra}
        return {name: _digest(inputs) for name, inputs in sets.items()}


def _digest(inputs: Inputs) -> str:
    assert inputs.images is not None
    return digest_of(inputs.items, inputs.images)


def _check_distinct(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        folder = path_name(name)
        if folder in seen or not folder.strip(".-"):
            found = f"the condition {show(name)}{' a second time' if folder in seen else ''}"
            expected = "conditions whose names differ in letters and digits"
            raise BadSetting(found, expected, "give the data set another name: --extra NAME=FILE")
        seen.add(folder)


TARGETS = (HardTarget, MajorityTarget, SoftTarget)
"""The labels whose loss an attack increases: the original class, people's first choice, or people's soft label."""


@dataclass(frozen=True, eq=False)
class AttackExperiment:
    """Predictions of runs for attacked images. Predictions that are written are not computed again.

    All runs of a fold start from the same random points: only the network differs.
    """

    runs: tuple[Run, ...]
    output: Path
    attack: Attack
    inputs: Inputs
    targets: str = "hard"
    people: SoftLabels | None = None
    original: Original | None = None
    """The original class of each item; by default the labels in the inputs."""
    seed: int = 0
    device: str = "cpu"
    at_once: int = ATTACKED_AT_ONCE
    networks: Mapping[str, Network] = field(default_factory=dict)
    """Your own networks, by their names in the runs."""
    _cache: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict, init=False, repr=False)
    """The label of every item, by the classes of the runs."""

    def __post_init__(self) -> None:
        if self.targets not in [each.name for each in TARGETS]:
            raise unknown("target", self.targets, [each.name for each in TARGETS])
        for run in self.runs:
            check_fits(run, self.inputs)
        is_hard = self.targets == HardTarget.name
        if (self.original is None and self.inputs.labels is None) if is_hard else self.people is None:
            expected = "the original label for every item" if is_hard else "people's label for every item"
            other = f"give --original or an npz with labels, or choose {option('targets', 'majority')}"
            fix = other if is_hard else "give --labels"
            raise BadSetting(f"no label source for the target {self.targets}", expected, fix, "missing-source")
        for run in self.runs:
            self._labels(run)

    def missing(self) -> list[int]:
        """The numbers of the runs that are not finished."""
        return [
            number
            for number, run in enumerate(self.runs)
            if not all(is_written(self.output, run, condition) for condition in self.conditions(run))
        ]

    def run(self, number: int) -> None:
        """Attack one run and write its predictions before the attack and after each step."""
        run = self.runs[number]
        test = self.inputs.take(test_rows(run, self.inputs))
        assert test.images is not None
        model = PixelModel.of(predictor_of(run, self.networks), self.device)
        rng = rng_of(self.seed, "attack")
        result = attacked(model, self.attack, test.images, self._labels(run), rng, at_once=self.at_once)
        for condition, probs in zip(self.conditions(run), [result.clean, *result.steps], strict=True):
            if not is_written(self.output, run, condition):
                write(self.output, run, condition, test.items, probs)

    def conditions(self, run: Run) -> list[Condition]:
        """The conditions of a run: unchanged images, then each step of the attack."""
        images = {"inputs": self._inputs_digest}
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
        return f"{name} eps={in_gray_levels(self.attack.eps)} targets={self.targets}{which}"

    def _labels(self, run: Run) -> Float[np.ndarray, "tested classes"]:
        """The labels that the attack moves away from, for the items the run predicted."""
        if run.classes not in self._cache:
            self._cache[run.classes] = self._labels_by_item(run.classes)
        labels = self._cache[run.classes]
        test_rows(run, self.inputs)
        assert run.predictions is not None
        items = run.predictions.items.to_pylist()
        missing = [item for item in items if item not in labels]
        if missing:
            first = f"item {show(missing[0])} ({len(missing):,} such items)"
            found, expected = f"no label for {first}, which {run.folder.name} predicted", "a label for every test item"
            where = None if self.people is None else self.people.path
            raise BadTable(found, expected, "give the labels of all test items", "missing-item", where)
        return np.stack([labels[item] for item in items])

    def _labels_by_item(self, classes: tuple[str, ...]) -> dict[str, Float[np.ndarray, "classes"]]:
        """The label of every item, from only the sources that the target needs."""
        if self.targets == HardTarget.name:
            training_set = join_items(self.inputs, original=self.original, classes=classes)
        else:
            inputs = replace(self.inputs, labels=None) if self.targets == SoftTarget.name else self.inputs
            training_set = join_items(inputs, people=self.people, classes=classes)
        target = next(each for each in TARGETS if each.name == self.targets)
        probs = normalized(target().labels(training_set, rng_of(self.seed, "labels")).mean())
        return dict(zip(training_set.items, probs, strict=True))

    @cached_property
    def _inputs_digest(self) -> str:
        return _digest(self.inputs)


def in_gray_levels(eps: float) -> str:
    """`4/255` if it is a whole number of gray levels, else the number itself."""
    levels = eps * 255
    return f"{round(levels)}/255" if abs(levels - round(levels)) < 1e-6 else f"{eps:g}"
