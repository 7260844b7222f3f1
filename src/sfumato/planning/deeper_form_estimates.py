"""Estimates of what the deeper form would have said for every answer, from the answers for which it opened.

The form opens when a participant is unsure or people disagree, so its plain mean describes uncertain answers. Every
answer has a known probability of opening (`sfumato.elicitation.deeper_form_rule`); weighting by its inverse removes
this bias. The choice before it is assumed not to change the answers in the form. Called by `sfumato study depth`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import RecordTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels


def horvitz_thompson(
    values: Float[np.ndarray, "included columns"],
    probability: Float[np.ndarray, "included"],
    group: Int[np.ndarray, "included"],
    n_asked: Int[np.ndarray, "groups"],
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group: each included value counts `1 / probability` times out of `n_asked`.

    Unbiased if every probability is correct and above 0; a mean of distributions need not sum to 1. `1/N * sum_i y_i /
    p_i` (Horvitz & Thompson 1952, Journal of the American Statistical Association 47).
    """
    sums = _sums(values / probability[:, None], group, len(n_asked))
    return np.asarray(sums / np.maximum(n_asked, 1)[:, None])


def hajek(
    values: Float[np.ndarray, "included columns"],
    probability: Float[np.ndarray, "included"],
    group: Int[np.ndarray, "included"],
    n_groups: int,
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group, divided by the estimated instead of the known number; NaN if nothing was included.

    A weighted mean: distributions stay distributions, and the variance is usually smaller. The bias falls with the
    number included. `sum_i (y_i / p_i) / sum_i (1 / p_i)` (Hajek 1971, in Godambe & Sprott, Foundations of Statistical
    Inference, 236).
    """
    weights = 1 / probability
    total = np.bincount(group, weights, n_groups)
    sums = _sums(values * weights[:, None], group, n_groups)
    return np.asarray(sums / np.where(total > 0, total, np.nan)[:, None])


def difference(
    guessed: Float[np.ndarray, "answers columns"],
    values: Float[np.ndarray, "answers columns"],
    probability: Float[np.ndarray, "answers"],
    is_included: Int[np.ndarray, "answers"],
    group: Int[np.ndarray, "answers"],
    n_groups: int,
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group of guessed values, corrected by the differences of the included values from their
    guesses.

    Unbiased for any guess; a better guess gives a smaller variance. `values` count where `is_included`. `1/N * sum_i
    (g_i + I_i (y_i - g_i) / p_i)` (Sarndal, Swensson & Wretman 1992, Model Assisted Survey Sampling, ch. 6).
    """
    put_right = np.where(is_included[:, None] > 0, (values - guessed) / probability[:, None], 0.0)
    n_asked = np.bincount(group, minlength=n_groups)
    return np.asarray(_sums(guessed + put_right, group, n_groups) / np.maximum(n_asked, 1)[:, None])


def effective_number(probability: Float[np.ndarray, "included"]) -> float:
    """The number of equally weighted answers with the same information: `(sum w)^2 / sum w^2` (Kish 1965, Survey
    Sampling)."""
    weights = 1 / probability
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def _sums(
    values: Float[np.ndarray, "rows columns"], group: Int[np.ndarray, "rows"], n_groups: int
) -> Float[np.ndarray, "groups columns"]:
    sums = np.zeros((n_groups, values.shape[1]))
    np.add.at(sums, group, values)
    return sums


DOUBT = "own doubt"
"""The entropy of one annotator's belief about one item, in nats."""
FIRST = "choice"
"""The kind that comes before the deeper form."""


@dataclass(frozen=True)
class DeeperEstimate:
    """A mean over all answers of what the deeper form would say: the plain mean where it opened, and weighted; the
    interval is of the Hajek estimate, for other items."""

    quantity: str
    n_answers: int
    n_deeper: int
    naive: float
    horvitz_thompson: float
    hajek: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(RecordTable):
    """One row per quantity: the share of every class, and the uncertainty within annotators."""

    record = DeeperEstimate
    rows: tuple[DeeperEstimate, ...]


@dataclass(frozen=True, eq=False)
class DeeperFormEstimates:
    """What the deeper form says of the whole study and of each item.

    By item, NaN where it never opened: `naive`, `horvitz_thompson`, `hajek`; and `assisted` for every item: the mean of
    the form after each choice, corrected by the answers where it opened.
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    n_answers: Int[np.ndarray, "items"]
    n_deeper: Int[np.ndarray, "items"]
    naive: Float[np.ndarray, "items classes"]
    horvitz_thompson: Float[np.ndarray, "items classes"]
    hajek: Float[np.ndarray, "items classes"]
    assisted: Float[np.ndarray, "items classes"]
    estimates: Estimates
    reasons: Mapping[str, int]
    """How often it opened, and why."""
    n_effective: float
    """The effective number of deeper answers."""

    def labels(self) -> SoftLabels:
        """The `assisted` estimates as soft labels: negative values are set to 0, and rows sum to 1."""
        kept = np.clip(self.assisted, 0, None)
        return SoftLabels.from_numpy(
            list(self.items), kept / kept.sum(axis=1, keepdims=True), self.classes, n_annotators=self.n_answers
        )


def estimate_deeper_form(
    annotations: Annotations, records: pa.Table, *, rng: np.random.Generator, level: float = 0.95, resamples: int = 1000
) -> DeeperFormEstimates:
    """What the deeper form would have said, from an export and its records (`sfumato export --records`)."""
    answers = _read_answers(annotations, records)
    n_items, rich = len(answers.items), answers.is_deeper
    group, probs, probability = answers.item[rich], answers.probs[rich], answers.probability[rich]
    n_answers = np.bincount(answers.item, minlength=n_items)
    n_deeper = np.bincount(group, minlength=n_items)
    never = np.where(n_deeper > 0, 1.0, np.nan)[:, None]
    return DeeperFormEstimates(
        answers.items,
        answers.classes,
        n_answers,
        n_deeper,
        hajek(probs, np.ones(len(probs)), group, n_items),
        horvitz_thompson(probs, probability, group, n_answers) * never,
        hajek(probs, probability, group, n_items),
        difference(answers.guesses(), answers.probs, answers.probability, rich, answers.item, n_items),
        Estimates(_estimates(answers, n_answers, rng, level, resamples)),
        answers.reasons,
        effective_number(probability),
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """Every answer for a label: its item, the class chosen (-1: not sure), and the answer in the deeper form if it
    opened."""

    items: tuple[str, ...]
    classes: tuple[str, ...]
    item: Int[np.ndarray, "answers"]
    first: Int[np.ndarray, "answers"]
    probability: Float[np.ndarray, "answers"]
    is_deeper: Bool[np.ndarray, "answers"]
    probs: Float[np.ndarray, "answers classes"]
    reasons: Mapping[str, int]

    def guesses(self) -> Float[np.ndarray, "answers classes"]:
        """The mean of the form after such a choice; the choice itself if it never opened after one. Answers "not sure"
        always open the form and need no guess."""
        rich = self.is_deeper & (self.first >= 0)
        after = hajek(self.probs[rich], self.probability[rich], self.first[rich], len(self.classes))
        usual = np.where(np.isnan(after), np.eye(len(self.classes)), after)
        return np.where(self.first[:, None] >= 0, usual[self.first], self.probs)


def _read_answers(annotations: Annotations, records: pa.Table) -> _Answers:
    labels = annotations.for_purposes("label")
    of_answer = {
        (row["item"], row["annotator"]): row
        for row in records.select(["item", "annotator", "purpose", "deeper", "deeper_probability", "first"]).to_pylist()
        if row["purpose"] == "label"
    }
    pairs = _pairs(labels)
    missing = [pair for pair in pairs if pair not in of_answer]
    if missing:
        raise _cannot(labels, f"{len(missing):,} answers without a record", "export both files at once")
    kinds = [name.split("/")[0] for name in labels.kind.names.to_pylist()]
    rows = [of_answer[pair] for pair in pairs]
    was_drawn = np.array([row["deeper"] is not None for row in rows], bool)
    # If [deeper] was removed from the study file in between, only the choice was answered.
    is_deeper = was_drawn & np.array([kinds[code] != FIRST for code in labels.kind.codes], bool)
    probability = np.array([row["deeper_probability"] or 0.0 for row in rows])
    never = int((probability <= 0).sum())
    if not is_deeper.any():
        raise _cannot(labels, f"{len(rows):,} answers, and none in the deeper form", "wait for more answers")
    if never:
        found = f"{never:,} of {len(rows):,} answers for which the deeper form could never open"
        raise _cannot(labels, found, "set share in [deeper] above 0: otherwise no estimate is possible")
    beliefs = _beliefs(labels.take(is_deeper))
    classes = tuple(labels.classes)
    texts = labels.payload.to_pylist()
    probs, first = np.zeros((len(rows), len(classes))), np.full(len(rows), -1)
    kept = is_deeper | ~was_drawn
    for i, (pair, row) in enumerate(zip(pairs, rows, strict=True)):
        if is_deeper[i]:
            choice, belief = row["first"], beliefs.get(pair)
            kept[i] = belief is not None
            probs[i] = 0.0 if belief is None else belief
        else:
            choice = texts[i]
        if choice is not None:
            first[i] = classes.index(json.loads(choice)["class"])
    names, place = np.unique([pair[0] for pair in pairs], return_inverse=True)
    reasons = Counter(row["deeper"] for row in rows if row["deeper"] is not None)
    return _Answers(
        tuple(names.tolist()), classes, place[kept], first[kept], probability[kept], is_deeper[kept], probs[kept],
        dict(reasons.most_common()),
    )  # fmt: skip


def _beliefs(rich: Annotations) -> dict[tuple[str, str], np.ndarray]:
    """The distribution of each answer in the deeper form over the study's classes, by item and annotator."""
    beliefs = label_by_default(rich, rich.classes)
    within = beliefs.probs[:, : len(rich.classes)]
    return {pair: row / row.sum() for pair, row in zip(_pairs(beliefs), within, strict=True) if row.sum() > 0}


def _pairs(table: Annotations | Beliefs) -> list[tuple[str, str]]:
    """The item and the annotator of every row."""
    return list(zip(table.item.text().to_pylist(), table.annotator.text().to_pylist(), strict=True))


def _estimates(
    answers: _Answers, n_answers: Int[np.ndarray, "items"], rng: np.random.Generator, level: float, resamples: int
) -> tuple[DeeperEstimate, ...]:
    rich = answers.is_deeper
    probs, group = answers.probs[rich], answers.item[rich]
    weights = 1 / answers.probability[rich]
    doubt = -(probs * np.log(np.where(probs > 0, probs, 1))).sum(axis=1, keepdims=True)
    values = np.concatenate([doubt, probs], axis=1)
    n_items = len(answers.items)
    sums, mass = _sums(values * weights[:, None], group, n_items), np.bincount(group, weights, n_items)
    drawn = rng.multinomial(n_items, np.full(n_items, 1 / n_items), resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        again = (drawn @ sums) / (drawn @ mass)[:, None]
    low, high = np.nanquantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    plain, weighted = values.mean(axis=0), sums.sum(axis=0) / mass.sum()
    total = sums.sum(axis=0) / n_answers.sum()
    return tuple(
        DeeperEstimate(
            name, int(n_answers.sum()), len(values), float(plain[q]), float(total[q]), float(weighted[q]),
            float(low[q]), float(high[q]),
        )
        for q, name in enumerate((DOUBT, *answers.classes))
    )  # fmt: skip


def _cannot(annotations: Annotations, found: str, fix: str) -> BadTable:
    return BadTable(
        found,
        "answers of a study with [deeper], each with the probability that it opened",
        fix,
        "no-probabilities",
        annotations.path,
    )
