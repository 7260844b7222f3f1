"""The passes of the aggregators: compiled code for many answers, SciPy for few."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.pass_engine import Pass, Sums

NOTHING = np.empty(0)
NO_GOLD = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class VotePass:
    """Every item's distribution is the shares of its votes; gold items have their class.

    Counts are confusion matrices (`by_class`), or the number of right answers per annotator and class.
    """

    by_class: bool

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        n_classes = answers.n_classes
        counts = np.zeros((answers.n_keys if counted and self.by_class else 0, n_classes))
        right = np.zeros(answers.n_keys if counted and not self.by_class else 0)
        shares = np.zeros(n_classes)
        if answers.compiled:
            from sfumato.aggregation import kernels

            pooled = np.zeros((n_classes if counted and self.by_class else 0, n_classes))
            kernels.vote_pass(_inputs(answers), first, last, n_classes, counts, right, shares, posterior, pooled)
            return Sums(0.0, counts if self.by_class else right, shares, None, pooled if len(pooled) else None)
        said = np.arange(answers.n_keys) % n_classes
        votes = np.zeros((answers.n_items, n_classes))
        np.add.at(votes, (answers.item, said[answers.key]), answers.weights())
        said = votes / votes.sum(axis=1, keepdims=True)
        p = said.copy()
        _fix(p, answers)
        sums = _summed(answers, p, posterior, 0.0, counted, self.by_class)
        return replace(sums, pooled=said.T @ p) if counted and self.by_class else sums


@dataclass(frozen=True, eq=False)
class ConfusionPass:
    """Bayes' rule with a confusion matrix per annotator: row `annotator * K + answer` of `log_confusion`."""

    log_confusion: Float[np.ndarray, "keys classes"]
    log_share: Float[np.ndarray, "classes"]

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        if answers.compiled:
            from sfumato.aggregation import kernels

            counts = np.zeros(self.log_confusion.shape if counted else (0, answers.n_classes))
            shares = np.zeros(answers.n_classes)
            total = kernels.confusion_pass(
                _inputs(answers), first, last, self.log_confusion, self.log_share, counts, shares, posterior
            )
            return Sums(total, counts, shares)
        p = self.log_share + answers.matrix @ self.log_confusion
        total = normalize(p, answers)
        return _summed(answers, p, posterior, total, counted, by_class=True)


@dataclass(frozen=True, eq=False)
class OwnClassPass:
    """Bayes' rule where an answer changes only its own class: `gain` for it, `base` for all, per key."""

    gain: Float[np.ndarray, "keys"]
    base: Float[np.ndarray, "keys"]
    log_share: Float[np.ndarray, "classes"]

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        if answers.compiled:
            from sfumato.aggregation import kernels

            right = np.zeros(answers.n_keys if counted else 0)
            shares = np.zeros(answers.n_classes)
            total = kernels.own_class_pass(
                _inputs(answers), first, last, self.gain, self.base, self.log_share, right, shares, posterior
            )
            return Sums(total, right, shares)
        weight = answers.weights()
        p = np.tile(self.log_share, (answers.n_items, 1))
        np.add.at(p, (answers.item, answers.key % answers.n_classes), weight * self.gain[answers.key])
        total = normalize(p, answers) + float(weight @ self.base[answers.key])
        return _summed(answers, p, posterior, total, counted, by_class=False)


@dataclass(frozen=True, eq=False)
class BeliefPass:
    """Every item's distribution is the mean of its beliefs; the first pass of EM on soft answers."""

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        counts = np.zeros((answers.n_keys if counted else 0, answers.n_classes))
        shares = np.zeros(answers.n_classes)
        pooled = np.zeros((answers.n_classes, answers.n_classes)) if counted else None
        for start, stop in answers.part(first, last).blocks(numbers_per_row=answers.n_classes ** (2 if counted else 1)):
            block = answers.part(first + start, first + stop)
            q, item = block.probs(), block.item
            weight = block.weights()
            p = np.zeros((block.n_items, block.n_classes))
            np.add.at(p, item, q * weight[:, None])
            p /= p.sum(axis=1, keepdims=True)
            said = p.copy()
            _fix(p, block)
            if pooled is not None:
                pooled += said.T @ p
            shares += p.sum(axis=0)
            if len(posterior):
                posterior[start:stop] = p
            if counted:
                of_annotator = counts.reshape(answers.n_annotators, answers.n_classes, answers.n_classes)
                np.add.at(of_annotator, block.annotator, (q * weight[:, None])[:, :, None] * p[item][:, None, :])
        return Sums(0.0, counts, shares, None, pooled)


@dataclass(frozen=True, eq=False)
class VirtualEvidencePass:
    """Bayes' rule with a confusion matrix per annotator; belief q is evidence `sum_l q(l) confusion[l, c]` for c."""

    confusion: Float[np.ndarray, "keys classes"]
    log_share: Float[np.ndarray, "classes"]

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        assert answers.soft is not None
        counts = np.zeros(self.confusion.shape if counted else (0, answers.n_classes))
        shares = np.zeros(answers.n_classes)
        if answers.compiled:
            from sfumato.aggregation import kernels

            given = (answers.starts, answers.annotator, answers.soft, *_weight_and_gold(answers))
            total = kernels.virtual_evidence_pass(
                given, first, last, self.confusion, self.log_share, counts, shares, posterior
            )
            return Sums(total, counts, shares)
        of_annotator = self.confusion.reshape(answers.n_annotators, answers.n_classes, answers.n_classes)
        total = 0.0
        for start, stop in answers.blocks(numbers_per_row=answers.n_classes**2):
            block = answers.part(start, stop)
            assert block.soft is not None
            read = block.soft[:, :, None] * of_annotator[block.annotator]
            evidence = np.maximum(read.sum(axis=1), 1e-300)
            weight = block.weights()[:, None]
            p = np.tile(self.log_share, (block.n_items, 1))
            np.add.at(p, block.item, weight * np.log(evidence))
            total += normalize(p, block)
            shares += p.sum(axis=0)
            if len(posterior):
                posterior[start:stop] = p
            if counted:
                expected = read * (weight * p[block.item] / evidence)[:, None, :]
                np.add.at(counts.reshape(of_annotator.shape), block.annotator, expected)
        return Sums(total, counts, shares)


def posterior_of(work: Pass, answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
    """Every item's distribution after one pass."""
    parts = answers.engine.open(answers)
    try:
        posterior = parts.run(work, kept=True, counted=False).posterior
    finally:
        parts.close()
    assert posterior is not None
    return posterior


def mean_of(answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
    """Every item's mean belief."""
    return posterior_of(VotePass(by_class=False) if answers.soft is None else BeliefPass(), answers)


def normalize(log_p: Float[np.ndarray, "items classes"], answers: AnswerMatrix) -> float:
    """Turn log-probabilities into probabilities, in place, gold items fixed; returns the sum of the log-sums."""
    known = NO_GOLD if answers.gold is None else np.flatnonzero(answers.gold >= 0)
    of_known = 0.0 if answers.gold is None else float(log_p[known, answers.gold[known]].sum())
    top = log_p.max(axis=1, keepdims=True)
    log_p -= top
    np.exp(log_p, out=log_p)
    sums = log_p.sum(axis=1, keepdims=True)
    log_p /= sums
    of_item = (top + np.log(sums))[:, 0]
    of_item[known] = 0.0
    _fix(log_p, answers)
    return float(of_item.sum()) + of_known


def tempered(log_p: Float[np.ndarray, "rows classes"], temperature: float) -> Float[np.ndarray, "rows classes"]:
    """`p^(1/temperature)`, normalized: above 1 flatter, below 1 sharper."""
    p = np.exp((log_p - log_p.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _inputs(answers: AnswerMatrix) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first arguments of the kernels over votes."""
    assert answers.soft is None
    return answers.starts, answers.key, *_weight_and_gold(answers)


def _weight_and_gold(answers: AnswerMatrix) -> tuple[np.ndarray, np.ndarray]:
    weight = NOTHING if answers.weight is None else answers.weight
    return weight, NO_GOLD if answers.gold is None else answers.gold


def _fix(p: Float[np.ndarray, "items classes"], answers: AnswerMatrix) -> None:
    if answers.gold is not None:
        known = np.flatnonzero(answers.gold >= 0)
        p[known] = 0.0
        p[known, answers.gold[known]] = 1.0


def _summed(
    answers: AnswerMatrix, p: np.ndarray, posterior: np.ndarray, log_likelihood: float, counted: bool, by_class: bool
) -> Sums:
    if len(posterior):
        posterior[:] = p
    counts: np.ndarray = NOTHING
    if counted and by_class:
        counts = np.asarray(answers.matrix.T @ p)
    elif counted:
        chosen = p[answers.item, answers.key % answers.n_classes] * answers.weights()
        counts = np.bincount(answers.key, chosen, minlength=answers.n_keys)
    return Sums(log_likelihood, counts, p.sum(axis=0))
