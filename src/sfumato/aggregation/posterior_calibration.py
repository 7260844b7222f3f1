"""Calibration of posteriors by one temperature, fitted on gold labels or on held-out annotators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation
from sfumato.aggregation.aggregation_options import gold_classes
from sfumato.aggregation.dawid_skene import Confusions, DawidSkene
from sfumato.aggregation.passes import tempered
from sfumato.tables.errors import BadSetting, BadTable
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels

LEAST, MOST = np.log(0.05), np.log(50.0)


def calibrate(aggregation: Aggregation, gold: SoftLabels | None = None) -> Aggregation:
    """The aggregation with calibrated posteriors, `p^(1/T)`, normalized, where p is the posterior at temperature 1.

    Annotators make the same errors on hard items, but the methods assume independent errors: their posteriors are
    overconfident, and T is above 1. With `gold` (known classes of items, not used by the aggregation) T maximizes the
    probability of those classes. Without, and only for `dawid-skene`, T is the one with which the posterior of the
    other annotators best predicts each annotator's answers. Gold labels are better: held-out annotators share errors
    with the others, and predicting answers is not being right, so they never lower the temperature.
    """
    if aggregation.estimand is not Estimand.TRUTH:
        found = f"an aggregation by {aggregation.by.name}, which estimates {aggregation.estimand.meaning}"
        fix = "calibrate dawid-skene or one of its kind; doubt that people have is not to be tempered away"
        raise BadSetting(found, f"one that estimates {Estimand.TRUTH.meaning}", fix, "wrong-estimand")
    log_p = _before_temperature(aggregation)
    temperature = _on_gold(aggregation, gold, log_p) if gold is not None else _on_held_out(aggregation)
    probs = tempered(log_p, temperature)
    where = "gold items" if gold is not None else "held-out annotators"
    return replace(
        aggregation,
        labels=replace(aggregation.labels, probs=probs, made_by=f"{aggregation.by.name}, calibrated"),
        temperature=temperature,
        notes=(*aggregation.notes, f"calibrated on {where}: temperature {temperature:.2f}"),
    )


def _before_temperature(aggregation: Aggregation) -> Float[np.ndarray, "items classes"]:
    """The logarithm of the posterior at temperature 1, up to a constant."""
    return np.asarray(aggregation.temperature * np.log(np.maximum(aggregation.labels.probs, 1e-300)))


def _on_gold(aggregation: Aggregation, gold: SoftLabels, log_p: Float[np.ndarray, "items classes"]) -> float:
    from scipy.optimize import minimize_scalar

    labels, fixed = aggregation.labels, aggregation.answers.gold
    classes = gold_classes(gold, labels.items, labels.classes)
    known = (classes >= 0) if fixed is None else (classes >= 0) & (fixed < 0)
    if not known.any():
        found = "no gold label to calibrate on" + ("" if fixed is None else " that was not already fixed")
        expected = "the class of some items that the aggregation estimates"
        raise BadTable(found, expected, "reserve some gold labels for calibration", "missing-gold")
    truth = classes[known]
    log_known = log_p[known]

    def loss(log_temperature: float) -> float:
        p = tempered(log_known, np.exp(log_temperature))
        return -float(np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-12)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(LEAST, MOST), method="bounded").x))


def _on_held_out(aggregation: Aggregation) -> float:
    from scipy.optimize import minimize_scalar

    model, answers, by = aggregation.model, aggregation.answers, aggregation.by
    if not (isinstance(model, Confusions) and isinstance(by, DawidSkene)):
        found = f"no gold labels to calibrate {aggregation.by.name} on"
        expected = "gold labels, or an aggregation by dawid-skene, which predicts the answers of each annotator"
        raise BadSetting(found, expected, "give gold labels", "missing-gold")
    log_p = _before_temperature(aggregation)
    of_annotator = model.rows.reshape(-1, answers.n_classes, answers.n_classes)
    without, said, counts = [], [], []
    for first, last in answers.blocks(numbers_per_row=answers.n_classes**2):
        block = answers.part(first, last)
        compared = block.n_annotators_of[block.item] > 1
        weight = block.weights()
        if block.soft is None:
            read = model.rows[block.key]
            log_read = np.log(read)
        else:
            read = np.einsum("rl,rlc->rc", block.soft, of_annotator[block.annotator])
            log_read = np.log(np.maximum(read, 1e-300))
            if by.evidence == "fractional":
                log_read = np.einsum("rl,rlc->rc", block.soft, np.log(of_annotator)[block.annotator])
        without.append((log_p[first:last][block.item] - block.of_author(weight[:, None] * log_read))[compared])
        said.append(read[compared])
        counts.append(weight[compared])
    others, likelihood, count = (np.concatenate(part) for part in (without, said, counts))
    if not len(count):
        expected = "items that several people answered, so that one can be held out"
        raise BadTable("no item that two people answered", expected, "calibrate on gold labels", "missing-gold")

    def loss(log_temperature: float) -> float:
        p = (tempered(others, np.exp(log_temperature)) * likelihood).sum(axis=1)
        return -float(count @ np.log(np.maximum(p, 1e-300)))

    least = max(0.0, float(np.log(aggregation.temperature)))
    return float(np.exp(minimize_scalar(loss, bounds=(least, MOST), method="bounded").x))
