"""Ways to ask: what each kind of question and each assignment would cost, and how near it would come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.planning.adaptive_value import AdaptiveCurve
from sfumato.planning.costs import CostModel
from sfumato.planning.criterion import Criterion, ExpectedError, VoteCurve
from sfumato.planning.plan_parts import Budget, Cost, Fewest, PlanAdaptive
from sfumato.planning.worth import PLAIN, VoteEquivalent
from sfumato.tables.errors import BadSetting

ANSWERS = "answers"
"""The unit of a budget that counts answers, not money."""
SURE = 1.64
"""Standard errors by which asking adaptively must be better before it is chosen: it is the less simple way."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to ask about `n_items` items: with which form, allotted how, and the error to expect."""

    worth: VoteEquivalent
    answers: Fewest | PlanAdaptive
    n_items: int
    reading: ExpectedError
    spread: float = 0.0
    """How uncertain the simulated gain of an adaptive way is, relative to itself."""
    gain: float = 1.0
    """The error over that of as many answers for every item."""

    @property
    def kind(self) -> str:
        return self.worth.kind

    @property
    def each(self) -> float:
        return self.answers.on_average

    @property
    def n_answers(self) -> int:
        return max(round(self.each * self.n_items), 1)

    @property
    def votes(self) -> float:
        """Plain votes an item that the answers are worth."""
        return self.worth.votes(self.each)

    @property
    def is_shown_better(self) -> bool:
        """Whether being adaptive gained more than chance may make of it."""
        return self.gain + SURE * self.spread < 1


@dataclass(frozen=True, eq=False)
class PlanTerms:
    """What all ways have in common: the error that counts and how it falls, prices, and how many items there are."""

    criterion: Criterion
    curve: VoteCurve
    costs: CostModel
    worths: tuple[VoteEquivalent, ...]
    n_items: int
    most: int
    fewest: int
    audit: float
    adapted: AdaptiveCurve | None = None

    def uniform(self, worth: VoteEquivalent, each: int, n_items: int | None = None) -> Candidate:
        """As many answers for every item."""
        return Candidate(worth, Fewest(each=each), n_items or self.n_items, self.curve.at(worth.votes(float(each))))

    def adaptive(self, on_average: float) -> Candidate | None:
        """Plain votes allotted by what was answered, so many an item on average; None where that was not simulated."""
        found = self.adapted
        if found is None or not found.on_average[0] <= on_average <= found.on_average[-1] + 1e-9:
            return None
        at = np.log(on_average), np.log(found.on_average)
        ratio, spread = float(np.interp(*at, found.ratio)), float(np.interp(*at, found.spread))
        most = int(np.ceil(np.interp(*at, found.most)))
        lead = found.lead[np.argmin(np.abs(found.on_average - on_average))] if found.lead.any() else None
        answers = PlanAdaptive(
            index="lead" if lead is not None else self.criterion.index.name if self.criterion.index else "uniform",
            fewest=min(self.fewest, int(on_average)),
            most=max(most, int(np.ceil(on_average))),
            target=None,
            lead=None if lead is None else int(lead),
            audit=self.audit,
            # Rounded down: what is planned must not cost more than there is.
            on_average=float(np.floor(on_average * 100 + 1e-6) / 100),
        )
        worth = next(worth for worth in self.worths if worth.kind == PLAIN)
        reading = self.curve.at(on_average).times(ratio, spread)
        return Candidate(worth, answers, self.n_items, reading, spread, ratio)

    def adaptive_averages(self, up_to: float) -> list[float]:
        """Numbers of answers an item, on average, at which an adaptive way can be had: those of each lead, else any."""
        if self.adapted is None:
            return []
        there = self.adapted.on_average
        if not self.adapted.lead.any():
            last = min(float(there[-1]), up_to)
            there = (
                np.append(np.arange(np.ceil(there[0] * 10), last * 10) / 10, last) if last >= there[0] else there[:0]
            )
        return [float(each) for each in there if each <= up_to + 1e-9]

    def an_answer(self, kind: str) -> float:
        return self.costs.money(kind)

    def money(self, way: Candidate) -> float:
        return way.n_answers * self.costs.money(way.kind)

    def hours(self, way: Candidate) -> float:
        return way.n_answers * self.costs.seconds(way.kind) / 3600

    def cost(self, way: Candidate) -> Cost:
        """What a way takes; everybody answers one batch, and about an item once."""
        most = way.answers.most if isinstance(way.answers, PlanAdaptive) else way.answers.each
        return Cost(
            money=self.money(way),
            currency=self.costs.currency,
            answers=way.n_answers,
            hours=self.hours(way),
            people=max(-(-way.n_answers // self.costs.batch_size), most),
            an_answer=self.an_answer(way.kind),
        )

    def affordable(self, kind: str, budget: Budget) -> int:
        """How many answers of a kind a budget buys; 0 where not one."""
        if budget.unit == ANSWERS:
            return int(budget.amount)
        try:
            return self.costs.affordable(kind, budget.amount)
        except BadSetting as error:
            if error.code != "budget-too-small":
                raise
            return 0

    def with_items(self, n_items: int) -> PlanTerms:
        """The same for fewer items, or more."""
        return replace(self, n_items=n_items)
