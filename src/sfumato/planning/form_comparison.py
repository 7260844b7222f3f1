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
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.table import RecordTable

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
    drawn = rng.integers(0, len(common), (resamples, len(common)))
    scores: list[FormScore] = []
    for n_answers in range(1, most + 1):
        found = [_item_figures(form, f, common, means, n_answers, rng) for f, form in enumerate(forms)]
        for m, measure in enumerate((TOTAL_VARIATION, KL)):
            whole = [_Figures.of(each, m, np.arange(len(common))[None]) for each in found]
            draws = [_Figures.of(each, m, drawn) for each in found]
            for form, own, own_draws in zip(forms, whole, draws, strict=True):
                scores.append(_score(form, measure, n_answers, len(common), own, own_draws, whole[0], draws[0], level))
    return FormScores(tuple(scores))


@dataclass(frozen=True, eq=False)
class _Form:
    """The answers in one form: beliefs and seconds, and the rows of each item."""

    name: str
    probs: Float[np.ndarray, "answers classes"]
    seconds: Float[np.ndarray, "answers"]
    rows: Mapping[str, Int[np.ndarray, "of_item"]]
    n_annotators: int


def _forms(annotations: Annotations, arms: Mapping[str, str] | None) -> list[_Form]:
    labels = annotations.take(_is(annotations, "label"))
    people = labels.annotator.names.take(pa.array(labels.annotator.codes)).to_pylist()
    kinds = labels.kind.names.take(pa.array(labels.kind.codes)).to_pylist()
    form_of = kinds if arms is None else [arms.get(person, "") for person in people]
    names = list(dict.fromkeys(form_of)) if arms is None else list(dict.fromkeys(arms.values()))
    found = []
    for name in names:
        own = labels.take(np.array([each == name for each in form_of], bool))
        if len(own):
            found.append(_form(name, own))
    return found


def _form(name: str, own: Annotations) -> _Form:
    beliefs = label_by_default(own, own.classes)
    # The labeler omits answers without information; seconds are those of the remaining answers.
    answered = zip(_texts(own.item), _texts(own.annotator), strict=True)
    key = dict(zip(answered, own.seconds.tolist(), strict=True))
    n_classes = len(own.classes) or beliefs.probs.shape[1]
    # "None of these" is not a class: the rest of an answer counts; an answer without a rest does not.
    mass = beliefs.probs[:, :n_classes].sum(axis=1)
    beliefs, mass = beliefs.take(mass > 0), mass[mass > 0]
    items, people = _texts(beliefs.item), _texts(beliefs.annotator)
    seconds = np.array([key[pair] for pair in zip(items, people, strict=True)])
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)
    return _Form(
        name,
        np.asarray(beliefs.probs[:, :n_classes] / mass[:, None], np.float64),
        seconds,
        {item: np.array(each, np.int64) for item, each in rows.items()},
        len(set(people)),
    )


@dataclass(frozen=True, eq=False)
class _ItemFigures:
    """Per item: the divergence of a uniform label and of the answers, by measure, and their seconds."""

    nothing: Float[np.ndarray, "measures items"]
    divergence: Float[np.ndarray, "measures items"]
    seconds: Float[np.ndarray, "items"]


def _item_figures(
    form: _Form,
    place: int,
    common: Sequence[str],
    means: Float[np.ndarray, "forms items classes"],
    n_answers: int,
    rng: np.random.Generator,
) -> _ItemFigures:
    nothing, divergence = np.zeros((2, len(common))), np.zeros((2, len(common)))
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
    return _ItemFigures(nothing, divergence, seconds)


def _groups(n: int, size: int, rng: np.random.Generator) -> Int[np.ndarray, "groups size"]:
    """Every answer by itself; larger groups are drawn at random."""
    if size == 1:
        return np.arange(n)[:, None]
    return np.array([rng.choice(n, size, replace=False) for _ in range(SUBSETS)])


@dataclass(frozen=True, eq=False)
class _Figures:
    """Means over drawn items: divergence, seconds, and the reduction per second."""

    divergence: Float[np.ndarray, "draws"]
    seconds: Float[np.ndarray, "draws"]
    per_second: Float[np.ndarray, "draws"]

    @classmethod
    def of(cls, found: _ItemFigures, measure: int, drawn: Int[np.ndarray, "draws items"]) -> _Figures:
        divergence = found.divergence[measure][drawn].mean(axis=1)
        seconds = np.nanmean(found.seconds[drawn], axis=1)
        return cls(divergence, seconds, (found.nothing[measure][drawn].mean(axis=1) - divergence) / seconds)


def _score(
    form: _Form,
    measure: str,
    n_answers: int,
    n_items: int,
    own: _Figures,
    draws: _Figures,
    first: _Figures,
    first_draws: _Figures,
    level: float,
) -> FormScore:
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(draws.divergence, tails)
    rate_low, rate_high = np.quantile(draws.per_second, tails)
    more_low, more_high = np.quantile(draws.per_second - first_draws.per_second, tails)
    return FormScore(
        form.name, measure, n_answers, n_items, form.n_annotators, float(own.seconds[0]),
        float(own.divergence[0]), float(low), float(high),
        float(own.per_second[0]), float(rate_low), float(rate_high),
        float(own.per_second[0] - first.per_second[0]), float(more_low), float(more_high),
    )  # fmt: skip


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


def _is(annotations: Annotations, purpose: str) -> np.ndarray:
    names = annotations.purpose.names.to_pylist()
    return np.asarray(np.array([name == purpose for name in names], bool)[annotations.purpose.codes])


def _texts(column: object) -> list[str]:
    names, codes = column.names, column.codes  # type: ignore[attr-defined]
    return pc.take(names, pa.array(codes)).to_pylist()  # type: ignore[no-any-return]
