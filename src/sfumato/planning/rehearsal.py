"""Rehearsal of a plan with simulated people, in memory, compared with its expected error and cost; and the simulated
crowds. Called by `sfumato plan rehearse`."""

# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from sfumato.elicitation.kinds import kind_named
from sfumato.elicitation.simulated_annotator import Annotator, PresentedQuestion, Truth
from sfumato.labeling.default_labeler import beliefs_of_payloads
from sfumato.planning.allocation import Allocation, Stopping
from sfumato.planning.answer_simulation import drawn_classes
from sfumato.planning.answer_value import AcquisitionIndex, ItemPosteriors, UniformIndex, index_named
from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.planning.precision import divergence, wrong_class
from sfumato.planning.recorded_answers import bayes
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Question, Study
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import at_least

JUDGES = 200
"""Simulated people outside the study whose answers are the crowd's distribution of an item."""


@dataclass(frozen=True, eq=False)
class SimulatedAnswers:
    """Answers of one simulated person as shares of a vote, and the seconds of each."""

    votes: Float[np.ndarray, "asked classes"]
    seconds: Float[np.ndarray, "asked"]


@dataclass(frozen=True, eq=False)
class DrawnCrowd:
    """People who answer by the items' own distributions, as a plan assumes.

    Items are numbered in the order of the plan. People only choose a class; for richer forms use `SimulatedCrowd`.
    """

    probs: Float[np.ndarray, "items classes"]
    n_people: int
    seconds: float

    def answer(
        self, person: int, items: Int[np.ndarray, "asked"], kind: str, rng: np.random.Generator
    ) -> SimulatedAnswers:
        """The answers of a person about these items, with this form."""
        if kind != "choice":
            raise BadSetting(
                f"a plan with answers of kind {kind}",
                "a plan with choices only",
                "rehearse with --study: its simulated people can answer any form",
                "wrong-kind",
            )
        chosen = drawn_classes(self.probs[items], rng)
        return SimulatedAnswers(np.eye(self.probs.shape[1])[chosen], np.full(len(items), self.seconds))

    def distribution(
        self, items: Int[np.ndarray, "scored"], rng: np.random.Generator
    ) -> Float[np.ndarray, "scored classes"]:
        """The distribution of the whole crowd for each of these items: the reference of labels."""
        return np.asarray(self.probs[items])


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """Simulated annotators with individual skill, bias, speed and attention, who answer the study's form.

    Their answers are labeled with the usual labeler of the kind. The crowd's distribution of an item is what 200 others
    like them would choose: unskilled people agree less than the truth, and labels cannot know more than they say.
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

    def distribution(
        self, items: Int[np.ndarray, "scored"], rng: np.random.Generator
    ) -> Float[np.ndarray, "scored classes"]:
        asked = (np.full(len(self.judges), i) for i in items)
        votes = [self._answers(self.judges, each, "choice", rng).votes.mean(axis=0) for each in asked]
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
            answers = person.answer(self.truth.shown(stimulus), PresentedQuestion(form, stimulus, study), rng)
            raw.append(answers.raw)
            seconds.append(answers.seconds)
        return SimulatedAnswers(beliefs_of_payloads(form, raw, tuple(study.class_names)), np.array(seconds))


Crowd = DrawnCrowd | SimulatedCrowd


SCORED = 300
"""The largest number of items for which a simulated crowd is asked."""
GROWTH = 0.3


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal: the error and its standard error over items, and the cost."""

    value: float
    spread: float
    n_scored: int
    answers: int
    money: float
    hours: float
    people: int
    seconds: float
    """Mean seconds per answer of the simulated people; money and hours use the plan's seconds."""
    finished: float
    """The share of items that reached their own rule: lead, error threshold, or number of answers."""
    ran_out: bool
    """Whether there were too few people for the planned answers."""

    def verdict(self, plan: Plan) -> str:
        """Whether the result is as planned, in a sentence."""
        if self.ran_out:
            return f"too few people: {self.people:,} gave {self.answers:,} of the {plan.cost.answers:,} planned answers"
        low, high = self.value - 1.96 * self.spread, self.value + 1.96 * self.spread
        # An assumed prior has no interval: a factor of 1.5 is used.
        first = plan.expected.low if plan.expected.low is not None else plan.expected.value / 1.5
        last = plan.expected.high if plan.expected.high is not None else plan.expected.value * 1.5
        if low > last:
            times = self.value / max(plan.expected.value, 1e-12)
            said = f"the error is {times:.2g} times as large as expected: do not use the plan for such people"
        elif high < first:
            said = "the error is smaller than expected: fewer answers may be enough"
        else:
            said = "the error is as expected"
        dearer = self.answers / plan.cost.answers
        if dearer > 1.1:
            said += f"; it needed {dearer:.2g} times the answers"
        elif dearer < 0.9:
            said += f"; it needed {dearer:.0%} of the answers"
        if plan.budget is not None and plan.budget.unit == plan.cost.currency and self.money > plan.budget.amount:
            said += f"; it exceeds the budget by {self.money - plan.budget.amount:,.2f} {plan.cost.currency}"
        return said


def rehearse(plan: Plan, crowd: Crowd, *, n_items: int, batch_size: int = 25, rng: np.random.Generator) -> Rehearsal:
    """People arrive one after the other and answer one batch each, assigned as in the plan, until it stops.

    Deeper items are asked about with the deeper form first, which counts as its number of votes. Labels are then made
    as the plan assumes (`bayes`, or plain shares) and compared with the crowd's distribution.
    """
    at_least("batch_size", batch_size, 1)
    if n_items != plan.n_items:
        raise BadSetting(
            f"{n_items:,} items, and a plan for {plan.n_items:,}",
            "the items of the plan",
            "give the study that the plan was made for",
            "wrong-items",
        )
    simulated = _SimulatedStudy(plan, crowd, batch_size, rng)
    simulated.collect_deeper(n_items)
    simulated.collect_usual()
    scored = np.sort(rng.permutation(n_items)[: SCORED if isinstance(crowd, SimulatedCrowd) else n_items])
    errors = _errors(plan, simulated.counts, scored, crowd, rng)
    n_answers = simulated.n_usual + simulated.n_deeper
    deeper = plan.question.deeper
    seconds = simulated.n_usual * plan.question.seconds + simulated.n_deeper * (deeper.seconds if deeper else 0.0)
    hours = seconds / 3600
    paid = plan.cost.hours and plan.cost.money / plan.cost.hours
    return Rehearsal(
        value=float(errors.mean()),
        spread=float(errors.std() / np.sqrt(len(errors))),
        n_scored=len(errors),
        answers=n_answers,
        money=hours * paid,
        hours=hours,
        people=simulated.n_people_used,
        seconds=float(np.mean(simulated.seconds)) if simulated.seconds else 0.0,
        finished=simulated.finished,
        ran_out=simulated.ran_out,
    )


class _SimulatedStudy:
    """The simulated study: people so far, and their answers."""

    def __init__(self, plan: Plan, crowd: Crowd, batch_size: int, rng: np.random.Generator) -> None:
        self.plan, self.crowd, self.batch_size, self.rng = plan, crowd, batch_size, rng
        self.counts = np.zeros((plan.n_items, len(plan.classes)))
        self.n_people_used = self.n_usual = self.n_deeper = 0
        self.seconds: list[float] = []
        self.ran_out = False
        self.finished = 0.0

    def collect_deeper(self, n_items: int) -> None:
        """One answer in the deeper form about each deeper item."""
        form = self.plan.question.deeper
        if form is None or not self.plan.deeper_items:
            return
        # Drawn crowds have no item ids: any items will do.
        numbers = np.arange(min(len(self.plan.deeper_items), n_items))
        if self.plan.items != "all":
            numbers = np.flatnonzero(np.isin(self.plan.items, self.plan.deeper_items))
        for first in range(0, len(numbers), self.batch_size):
            chosen = numbers[first : first + self.batch_size]
            votes = self._next_person(chosen, form.kind)
            if votes is None:
                return
            self.counts[chosen] += form.votes * votes
            self.n_deeper += len(chosen)

    def collect_usual(self) -> None:
        """Collect batches until the plan is fulfilled."""
        answers = self.plan.answers
        if not isinstance(answers, PlanAdaptive):
            self._collect(UniformIndex(), answers.each * self.plan.n_items, Stopping(most=answers.each))
            self.finished = float((self.counts.sum(axis=1) >= answers.each - 1e-9).mean())
            return
        if answers.fewest:
            self._collect(UniformIndex(), answers.fewest * self.plan.n_items, Stopping(most=answers.fewest))
        index = index_named(answers.index, {"lead": answers.lead} if answers.index == "lead" else None)
        # A lead or a threshold ends each item; without either the planned number of answers is the limit.
        by_rule = answers.lead is not None or answers.threshold is not None
        most = answers.most if by_rule else answers.on_average
        rule = Stopping.by(index, answers.threshold, answers.lead)
        state = self._collect(index, round(most * self.plan.n_items), replace(rule, most=answers.most))
        if not by_rule:
            self.finished = float((self.counts.sum(axis=1) >= answers.fewest - 1e-9).mean())
            return
        self.finished = float(rule.reached(ItemPosteriors(state.counts, state.prior)).mean())

    def _collect(self, index: AcquisitionIndex, n_answers: int, stopping: Stopping) -> Allocation:
        state = Allocation.of(self.counts, index, stopping=stopping)
        while (missing := n_answers - self.n_usual) > 0 and not self.ran_out:
            if index.uses_prior and state.is_stale(GROWTH):
                state = state.refit()
            chosen = state.top_items(min(self.batch_size, missing), self.rng)
            votes = self._next_person(chosen, self.plan.question.kind) if len(chosen) else None
            if votes is None:
                break
            state = state.with_answers(chosen, votes)
            self.counts = state.counts
            self.n_usual += len(chosen)
        return state

    def _next_person(self, items: Int[np.ndarray, "asked"], kind: str) -> Float[np.ndarray, "asked classes"] | None:
        """The answers of the next person; None if nobody is left."""
        if self.n_people_used >= self.crowd.n_people:
            self.ran_out = True
            return None
        answers = self.crowd.answer(self.n_people_used, items, kind, self.rng)
        self.n_people_used += 1
        self.seconds.extend(answers.seconds.tolist())
        return answers.votes


def _errors(
    plan: Plan,
    counts: Float[np.ndarray, "items classes"],
    scored: np.ndarray,
    crowd: Crowd,
    rng: np.random.Generator,
) -> Float[np.ndarray, "scored"]:
    """The error of each item, by the measure of the plan."""
    said = crowd.distribution(scored, rng)
    # The crowd's distribution is itself a sample of 200 people: its sampling error is subtracted.
    n_said = JUDGES if isinstance(crowd, SimulatedCrowd) else np.inf
    measure = plan.expected.measure
    if measure == "wrong_class":
        return wrong_class(counts[scored], said)
    if measure == "l2":
        shares = counts[scored] / np.maximum(counts[scored].sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(((shares - said) ** 2).sum(axis=1) - (1 - (said**2).sum(axis=1)) / (n_said - 1))
    errors = divergence(said, bayes(counts)[scored]) - ((said > 0).sum(axis=1) - 1) / (2 * n_said)
    if measure.startswith("share_beyond_"):
        return np.asarray((errors > float(measure.split("_")[2])).astype(np.float64))
    return np.asarray(errors)
