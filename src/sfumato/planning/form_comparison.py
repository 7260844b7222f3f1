"""Comparison of question forms: how close one answer in each form is to the pooled label, and how many seconds it
takes. Called by `sfumato study compare`.

A study with arms asks about the same items with several forms; each participant gets one form at random. The pooled
label of an item is the mean over forms of their mean beliefs, without the answers being scored: no answer is compared
with itself, and no form counts more because more people used it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadTable, listing

TOTAL_VARIATION, KL = "total variation", "KL divergence"
FLOOR = 0.001
"""The share of a label that is spread evenly over the classes before a logarithm is taken."""
SUBSETS = 20
"""Groups of answers drawn per item when several are pooled."""
MOST = 8
"""The largest number of answers per item that are pooled."""


@dataclass(frozen=True)
class FormScore:
    """The quality of `n_answers` answers per item in one form: the divergence of their mean from the pooled label, the
    seconds they take, and the reduction per second of the divergence of a uniform label.

    `more` is the difference of `per_second` from the first form (not a ratio: a single vote may be further away than a
    uniform label). Intervals are for other items, and the same people.
    """

    form: str
    measure: str
    n_answers: int
    n_items: int
    n_annotators: int
    seconds: float
    divergence: float
    low: float
    high: float
    per_second: float
    per_second_low: float
    per_second_high: float
    more: float
    more_low: float
    more_high: float


@dataclass(frozen=True, eq=False, repr=False)
class FormScores(RecordTable):
    """One row per form, measure and number of answers."""

    record = FormScore
    scores: tuple[FormScore, ...]


def compare_forms(
    annotations: Annotations,
    arms: Mapping[str, str] | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 1000,
) -> FormScores:
    """Every form of the table against the others, on the items with two answers or more in all of them.

    `arms` gives the form of each annotator by name; without it, forms are the kinds of question. Only answers for a
    label count.
    """
    forms = _forms(annotations, arms)
    asked_twice = [{item for item, rows in form.rows.items() if len(rows) > 1} for form in forms]
    common = sorted(set.intersection(*asked_twice)) if forms else []
    if len(forms) < 2 or not common:
        raise BadTable(
            f"{len(forms)} form{'s' * (len(forms) != 1)} ({listing([form.name for form in forms])}) and "
            f"{len(common)} items with two answers or more in each",
            "several forms with the same items, each item answered by two people or more per form",
            "wait for more answers, or compare a study with [[arms]]",
            "nothing-to-compare",
            annotations.path,
        )
    most = min(MOST, *(len(form.rows[item]) - 1 for form in forms for item in common))
    means = np.array([[form.probs[form.rows[item]].mean(axis=0) for item in common] for form in forms])
    # The first row is the items themselves, the others are resamples of them.
    drawn = np.concatenate([np.arange(len(common))[None], rng.integers(0, len(common), (resamples, len(common)))])
    scores: list[FormScore] = []
    for n_answers in range(1, most + 1):
        found = [_item_figures(form, f, common, means, n_answers, rng) for f, form in enumerate(forms)]
        for m, measure in enumerate((TOTAL_VARIATION, KL)):
            figures = [each.over(drawn, m) for each in found]
            for form, own in zip(forms, figures, strict=True):
                more = own.per_second - figures[0].per_second
                scores.append(
                    FormScore(
                        form.name, measure, n_answers, len(common), form.n_annotators, float(own.seconds[0]),
                        *_interval(own.divergence, level), *_interval(own.per_second, level), *_interval(more, level),
                    )
                )  # fmt: skip
    return FormScores(tuple(scores))


def _interval(values: Float[np.ndarray, "draws"], level: float) -> tuple[float, float, float]:
    """The first value, and the interval of the resampled others."""
    low, high = np.quantile(values[1:], [(1 - level) / 2, (1 + level) / 2])
    return float(values[0]), float(low), float(high)


@dataclass(frozen=True, eq=False)
class _Form:
    """The answers in one form: beliefs and seconds, and the rows of each item."""

    name: str
    probs: Float[np.ndarray, "answers classes"]
    seconds: Float[np.ndarray, "answers"]
    rows: Mapping[str, Int[np.ndarray, "of_item"]]
    n_annotators: int


def _forms(annotations: Annotations, arms: Mapping[str, str] | None) -> list[_Form]:
    labels = annotations.for_purposes("label")
    if arms is None:
        form_of = labels.kind.text().to_pylist()
    else:
        form_of = [arms.get(person, "") for person in labels.annotator.text().to_pylist()]
    names = dict.fromkeys(form_of if arms is None else arms.values())
    tables = {name: labels.take(np.array([each == name for each in form_of], bool)) for name in names}
    return [_form(name, own) for name, own in tables.items() if len(own)]


def _form(name: str, own: Annotations) -> _Form:
    beliefs = label_by_default(own, own.classes)
    # The labeler omits answers without information; seconds are those of the remaining answers.
    answered = zip(own.item.text().to_pylist(), own.annotator.text().to_pylist(), strict=True)
    seconds_of = dict(zip(answered, own.seconds.tolist(), strict=True))
    n_classes = len(own.classes) or beliefs.probs.shape[1]
    # "None of these" is not a class: the rest of an answer counts; an answer without a rest does not.
    mass = beliefs.probs[:, :n_classes].sum(axis=1)
    beliefs, mass = beliefs.take(mass > 0), mass[mass > 0]
    items, people = beliefs.item.text().to_pylist(), beliefs.annotator.text().to_pylist()
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)
    return _Form(
        name,
        np.asarray(beliefs.probs[:, :n_classes] / mass[:, None], np.float64),
        np.array([seconds_of[pair] for pair in zip(items, people, strict=True)]),
        {item: np.array(each, np.int64) for item, each in rows.items()},
        len(set(people)),
    )


@dataclass(frozen=True, eq=False)
class _Figures:
    """Per item, or per draw of items: the divergence, its reduction from that of a uniform label, and the seconds."""

    divergence: Float[np.ndarray, "measures items"]
    nothing: Float[np.ndarray, "measures items"]
    seconds: Float[np.ndarray, "items"]

    @property
    def per_second(self) -> Float[np.ndarray, "items"]:
        return np.asarray((self.nothing - self.divergence) / self.seconds)

    def over(self, drawn: Int[np.ndarray, "draws items"], measure: int) -> _Figures:
        """The means over drawn items, by one measure."""
        divergence, nothing = (each[measure][drawn].mean(axis=1) for each in (self.divergence, self.nothing))
        return _Figures(divergence, nothing, np.nanmean(self.seconds[drawn], axis=1))


def _item_figures(
    form: _Form,
    place: int,
    common: Sequence[str],
    means: Float[np.ndarray, "forms items classes"],
    n_answers: int,
    rng: np.random.Generator,
) -> _Figures:
    divergence, nothing = np.zeros((2, 2, len(common)))
    seconds = np.zeros(len(common))
    others = [f for f in range(len(means)) if f != place]
    for i, item in enumerate(common):
        rows = form.rows[item]
        groups = _groups(len(rows), n_answers, rng)
        own = form.probs[rows]
        inside = own[groups].mean(axis=1)
        left = (own.sum(axis=0) - own[groups].sum(axis=1)) / (len(rows) - n_answers)
        pooled = (left + means[others, i].sum(axis=0)) / len(means)
        even = np.full_like(inside, 1 / inside.shape[1])
        for m, measured in enumerate((_total_variation, _kl)):
            nothing[m, i] = measured(pooled, even).mean()
            divergence[m, i] = measured(pooled, inside).mean()
        seconds[i] = n_answers * np.nanmean(form.seconds[rows]) if np.isfinite(form.seconds[rows]).any() else np.nan
    return _Figures(divergence, nothing, seconds)


def _groups(n: int, size: int, rng: np.random.Generator) -> Int[np.ndarray, "groups size"]:
    """Every answer by itself; larger groups are drawn at random."""
    if size == 1:
        return np.arange(n)[:, None]
    return np.array([rng.choice(n, size, replace=False) for _ in range(SUBSETS)])


def _total_variation(
    pooled: Float[np.ndarray, "groups classes"], label: Float[np.ndarray, "groups classes"]
) -> Float[np.ndarray, "groups"]:
    return np.asarray(np.abs(pooled - label).sum(axis=1) / 2)


def _kl(
    pooled: Float[np.ndarray, "groups classes"], label: Float[np.ndarray, "groups classes"]
) -> Float[np.ndarray, "groups"]:
    label = (1 - FLOOR) * label + FLOOR / label.shape[1]
    at = np.where(pooled > 0, pooled, 1)
    return np.asarray((pooled * np.log(at / label)).sum(axis=1))
