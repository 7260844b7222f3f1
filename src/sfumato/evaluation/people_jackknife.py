"""Single answers behind people's labels: how a score changes if one person, or one answer, is left out.

A label is the mean of the answers about an item. For a mean over items, leaving out an answer changes the value of one
item only, so that every answer is left out at once, and the changes of a person's answers add up. Other metrics are
computed again without groups of people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import ItemValues, LinearPart, Metric
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.two_way import effective_df

PEOPLE_GROUPS = 20
"""Groups of people that are left out in turn, for a metric that is not a mean over items."""
MOST_GROUPS = 2000
"""Random groups of answers, and of items: the squares of their sums are as good as those of single ones."""


@dataclass(frozen=True, eq=False)
class PeopleLabels:
    """People's labels, and the single answers they are the mean of; None if only the labels are known."""

    labels: SoftLabels
    answers: Beliefs | None = None

    @classmethod
    def of(cls, people: SoftLabels | Beliefs) -> PeopleLabels:
        """The labels as they are; of single answers, their mean."""
        if isinstance(people, SoftLabels):
            return cls(people)
        from sfumato.aggregation.belief_pools import Mean  # here, to keep chains of imports short

        return cls(Mean().aggregate(people).labels, people)

    def attach(self, matched: Sequence[MatchedLabels]) -> list[MatchedLabels]:
        """The same with the answers about the items, which are the same for all of `matched`."""
        if self.answers is None:
            return list(matched)
        answers = JackknifeAnswers.of(self.answers, matched[0].items, matched[0].classes)
        return [replace(each, answers=answers) for each in matched]


@dataclass(frozen=True, eq=False)
class JackknifeAnswers:
    """The answers about some items. Equal votes about an item are one case: without either, its label is the same."""

    case: Int[np.ndarray, "answers"]
    person: Int[np.ndarray, "answers"]
    n_people: int
    row: Int[np.ndarray, "cases"]
    """The row of the item of each case."""
    said: Float[np.ndarray, "cases classes"]
    n_items: int

    @classmethod
    def of(cls, votes: Beliefs, items: pa.StringArray, classes: tuple[str, ...]) -> JackknifeAnswers:
        """Those in `votes` about `items`, with the classes in this order."""
        if set(votes.classes) != set(classes):
            raise BadTable("other classes in people's answers", "those of the predictions", "use the same names")
        at = pc.index_in(votes.item.names, value_set=items).fill_null(-1).to_numpy().astype(np.int64)
        coded = votes.coded()
        kept = np.flatnonzero(at[coded.item] >= 0)
        row, person = at[coded.item[kept]], np.unique(coded.annotator[kept], return_inverse=True)[1]
        order = [votes.classes.index(name) for name in classes]
        n_people = int(person.max()) + 1 if len(person) else 0
        if coded.hard is None:
            assert coded.soft is not None
            said = coded.soft[kept][:, order]
            return cls(np.arange(len(kept)), person, n_people, row, said, len(items))
        place = np.argsort(order)
        cells, case = np.unique(row * len(classes) + place[coded.hard[kept]], return_inverse=True)
        said = np.eye(len(classes))[cells % len(classes)]
        return cls(case, person, n_people, cells // len(classes), said, len(items))

    def take(self, rows: Int[np.ndarray, "some"]) -> JackknifeAnswers:
        """Only the answers about the items in these rows."""
        new = np.full(self.n_items, -1)
        new[rows] = np.arange(len(rows))
        kept_cases = np.flatnonzero(new[self.row] >= 0)
        number = np.full(len(self.row), -1)
        number[kept_cases] = np.arange(len(kept_cases))
        kept = number[self.case] >= 0
        people, person = np.unique(self.person[kept], return_inverse=True)
        return JackknifeAnswers(
            number[self.case[kept]], person, len(people), new[self.row[kept_cases]], self.said[kept_cases], len(rows)
        )

    @cached_property
    def times(self) -> Float[np.ndarray, "cases"]:
        """The number of answers of each case."""
        return np.bincount(self.case, minlength=len(self.row)).astype(np.float64)

    @cached_property
    def per_item(self) -> Float[np.ndarray, "items"]:
        return np.bincount(self.row, weights=self.times, minlength=self.n_items)

    @cached_property
    def sums(self) -> Float[np.ndarray, "items classes"]:
        """The sum of the answers about each item."""
        return self._sums(self.times)

    def _sums(self, times: Float[np.ndarray, "cases"]) -> Float[np.ndarray, "items classes"]:
        return np.stack(
            [np.bincount(self.row, weights=times * said, minlength=self.n_items) for said in self.said.T], axis=1
        )

    @cached_property
    def is_alone(self) -> np.ndarray:
        """Whether the answer of a case is the only one about its item."""
        return np.asarray(self.per_item[self.row] < 2)

    @cached_property
    def without(self) -> Float[np.ndarray, "cases classes"]:
        """The label of the item of each case without one such answer; as it is, if there is no other answer."""
        rest = np.where(self.is_alone, 1.0, self.per_item[self.row] - 1)[:, None]
        labels = np.where(self.is_alone[:, None], self.sums[self.row], (self.sums[self.row] - self.said) / rest)
        labels = np.maximum(labels, 0.0)
        return np.asarray(labels / labels.sum(axis=1, keepdims=True))

    @cached_property
    def group(self) -> Int[np.ndarray, "answers"]:
        """A random group of each answer."""
        return random_groups(len(self.case))

    @cached_property
    def person_group(self) -> Int[np.ndarray, "people"]:
        """A random group of each person, of at most `PEOPLE_GROUPS`."""
        return random_groups(self.n_people, PEOPLE_GROUPS)

    @property
    def people_df(self) -> float:
        """Degrees of freedom of a variance over people: their effective number, given how many answers each gave,
        minus 1."""
        return effective_df(np.bincount(self.person, minlength=self.n_people).astype(np.float64))


def random_groups(n: int, most: int = MOST_GROUPS) -> Int[np.ndarray, "n"]:
    """The group of each of `n`: its own, or a random one of `most`; always the same."""
    return np.arange(n) if n <= most else np.random.default_rng(0).permutation(n) % most


@dataclass(frozen=True, eq=False)
class PeopleContributions:
    """The change of a value if each person, or a group of people, is left out; and, if known, each answer (in random
    groups)."""

    people: Float[np.ndarray, "people"]
    answers: Float[np.ndarray, "groups"] | None
    df: float


class LeftOutPeople:
    """Computes the changes of one run's metrics if people are left out; arrays that metrics share are computed once."""

    def __init__(self, matched: MatchedLabels) -> None:
        assert matched.answers is not None
        self.matched, self.answers = matched, matched.answers

    @cached_property
    def _cases(self) -> MatchedLabels:
        """One row per case, with the label of its item without the answer."""
        rows = self.answers.row
        n_answers = np.maximum(self.answers.per_item[rows] - 1, 1).astype(np.int32)
        part = replace(self.matched, answers=None).take(rows)
        return replace(part, people=self.answers.without, n_annotators=n_answers)

    @cached_property
    def _groups(self) -> list[MatchedLabels]:
        """The labels without each group of people; items that only they answered about are left out."""
        answers, found = self.answers, []
        group = answers.person_group[answers.person]
        for k in range(int(answers.person_group.max()) + 1):
            times = np.bincount(answers.case[group != k], minlength=len(answers.row)).astype(np.float64)
            sums = answers._sums(times)
            rows = np.flatnonzero(sums.sum(axis=1) > 0)
            labels = sums[rows] / sums[rows].sum(axis=1, keepdims=True)
            part = replace(self.matched, answers=None).take(rows)
            n_answers = np.rint(sums[rows].sum(axis=1)).astype(np.int32)
            found.append(replace(part, people=labels, n_annotators=n_answers))
        return found

    def changes(self, metric: Metric, linear: LinearPart) -> PeopleContributions | None:
        """The changes of a metric; None if it is undefined without some people."""
        if self.answers.n_people < 2:
            return None
        if linear.per_item is not None:
            found = metric.estimate(self._cases, plain(len(self._cases))).linear
            if found is not None and found.per_item is not None:
                return self._of_mean(linear.figure, linear.per_item, found.per_item)
        figures = [value_of(metric, part) for part in self._groups]
        changes = linear.figure - np.array(figures)
        df = min(len(figures) - 1.0, self.answers.people_df)
        return PeopleContributions(changes, None, df) if np.isfinite(changes).all() else None

    def _of_mean(self, figure: float, whole: ItemValues, cases: ItemValues) -> PeopleContributions | None:
        answers, row = self.answers, self.answers.row
        # The share of the item in the deviation of the mean, with its label and without one answer.
        of_item = np.where(whole.weights > 0, whole.weights * (whole.values - figure), 0.0)
        kept = np.where(answers.is_alone, 0.0, cases.weights)
        without = np.where(kept > 0, kept * (cases.values - figure), 0.0)
        changes = ((of_item[row] - without) / whole.weights.sum())[answers.case]
        if not np.isfinite(changes).all():
            return None
        return PeopleContributions(
            np.bincount(answers.person, weights=changes, minlength=answers.n_people),
            np.bincount(answers.group, weights=changes, minlength=min(len(changes), MOST_GROUPS)),
            answers.people_df,
        )


def plain(n_items: int) -> Bootstrap:
    """All items once, without draws: for values without an interval."""
    return Bootstrap(np.arange(n_items), n_items, np.ones((1, n_items), np.uint16), 0.95)


def value_of(metric: Metric, matched: MatchedLabels) -> float:
    """The value without its interval; a metric may have a method `value` that computes it faster."""
    alone: Callable[[MatchedLabels], float] | None = getattr(metric, "value", None)
    return metric.estimate(matched, plain(len(matched))).value if alone is None else alone(matched)
