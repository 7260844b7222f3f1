"""Answers of simulated annotators to the checks of a study: in the region of the check, unless the person is careless.

A check says what its item shows. So its region changes what simulated annotators see there, and a person who usually
pays attention gives an answer that passes, as the server judges it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from jaxtyping import Float

from sfumato.elicitation.kind import Kind
from sfumato.elicitation.simulated_annotator import Annotator, PresentedQuestion, Response
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Region, Study

if TYPE_CHECKING:
    from sfumato.labeling.attention_checks import RegionCheckJudge

CARELESS_BELOW = 0.5
"""A person who pays attention in a smaller share of trials is careless and may fail a check."""
TRIES = 4
"""Answers drawn per belief: the answers of some question types contain noise."""

Belief = Float[np.ndarray, "classes"]


class CheckResponder:
    """Draws the answers to the checks of one study."""

    def __init__(self, study: Study, kinds: Sequence[Kind]) -> None:
        self._study, self._kinds = study, kinds
        self._regions: Mapping[str, Region] = {each.item: each.region for each in study.checks}
        self._judge: RegionCheckJudge | None = None
        if study.checks:
            # Needs Arrow, which studies without checks do not.
            from sfumato.labeling.attention_checks import RegionCheckJudge

            self._judge = RegionCheckJudge(study)

    def answer(
        self,
        annotator: Annotator,
        truths: Sequence[Belief],
        question: int,
        stimulus: Stimulus,
        rng: np.random.Generator,
    ) -> Response:
        """The annotator's answer; about a check, one that passes unless they are careless or no answer can pass."""
        asked = PresentedQuestion(self._kinds[question], stimulus, self._study)
        region = self._regions.get(stimulus.item)
        if region is None:
            return annotator.answer(truths, asked, rng)
        beliefs = list(beliefs_toward(region, truths[0], self._study.class_names))
        own = annotator.answer([beliefs[0]], asked, rng)
        if annotator.attention < CARELESS_BELOW or self._passes(region, question, own.raw, stimulus):
            return own
        for belief in beliefs:
            for _ in range(TRIES):
                raw = asked.kind.simulate([belief.tolist()], stimulus, self._study, rng)
                if self._passes(region, question, raw, stimulus):
                    return replace(own, raw=raw, doubt=1 - float(belief.max()))
        return own

    def _passes(self, region: Region, question: int, raw: object, stimulus: Stimulus) -> bool:
        assert self._judge is not None, "a study with checks"
        payload = self._kinds[question].parse(raw, stimulus, self._study)
        return self._judge.passes(region, question, msgspec.to_builtins(payload))


def beliefs_toward(region: Region, truth: Belief, classes: Sequence[str]) -> Iterator[Belief]:
    """Beliefs in a region, or near it, the most natural first: the truth moved into the region, the distribution that
    the region names, and each class alone, the most probable first."""
    near = np.array([region.near.get(name, 0.0) for name in classes])
    allowed = np.array([name not in region.none_on for name in classes])
    moved = np.where(allowed, near if region.near else truth, 0.0)
    if not moved.sum():
        moved = allowed + 1e-12
    moved = moved / moved.sum()
    wanted = allowed & np.array([name in region.classes for name in classes])
    if wanted.any() and moved[wanted].sum() < region.at_least:
        # Halfway between the least share and all of it, so that rounded answers are in the region, too.
        inside = np.where(wanted, moved if moved[wanted].sum() else 1.0, 0.0)
        outside = np.where(wanted, 0.0, moved)
        share = (1 + region.at_least) / 2
        moved = share * inside / inside.sum() + (1 - share) * outside / outside.sum()
    yield moved
    if region.near:
        yield near / near.sum()
    for number in np.argsort(-np.asarray(truth), kind="stable"):
        yield np.eye(len(classes))[number]
