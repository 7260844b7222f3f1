"""Shifting: what networks predict when pictures get worse, or come from elsewhere.

Every test item of a run, under every corruption and severity; and all items of any other set. A picture is corrupted
once, by the inputs it stands among and the seed alone: all runs see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tables.errors import BadSetting, listing, show
from sfumato.tables.inputs import Inputs
from sfumato.training.conditions import CLEAN, Condition, in_a_path, is_written, write
from sfumato.training.corruptions import CORRUPTIONS, SEVERITIES, Corruption, check_severity
from sfumato.training.item_join import digest_of
from sfumato.training.networks import Network
from sfumato.training.pixel_model import PixelModel
from sfumato.training.random_streams import generator_of
from sfumato.training.ready_runs import check_fits, predictor_of, tested_rows
from sfumato.training.runs import Run, shape_of


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
