"""Posteriors made honest: one temperature, from items whose class is known or from annotators held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from sfumato.aggregation.aggregation import Aggregation
from sfumato.aggregation.dawid_skene import Confusions, DawidSkene
from sfumato.aggregation.mixture_pool import tempered
from sfumato.tables.errors import BadSetting, BadTable, listing
from sfumato.tables.soft_labels import Estimand, SoftLabels

LEAST, MOST = np.log(0.05), np.log(50.0)


def calibrate(aggregation: Aggregation, gold: SoftLabels | None = None) -> Aggregation:
    """The aggregation with its posteriors raised to one power, `p^(1/T)`, so that they are as sure as they are right.

    People who see the same hard item err together, which methods that take errors for independent do not know: their
    posteriors are too sure, and T comes out above 1. With `gold` (items whose class is known, not given to the
    aggregation itself) T is the one under which those classes are most probable. Without, and for `dawid-skene` alone,
    it is the one from 1 up under which the posterior that everybody else's answers give best predicts each annotator's
    answers. Gold is the better judge: people held out can share the others' errors, and predicting what they say is not
    being right; that is why they are never a reason to be surer.
    """
    if aggregation.estimand is not Estimand.TRUTH:
        raise BadSetting(
            f"an aggregation by {aggregation.by.name}, which estimates {aggregation.estimand.value}",
            f"one that estimates {Estimand.TRUTH.value}",
            "calibrate dawid-skene or one of its kind; doubt that people have is not to be tempered away",
            "mixed-targets",
        )
    log_p = np.log(np.maximum(aggregation.labels.probs, 1e-300))
    temperature = _on_gold(aggregation, gold, log_p) if gold is not None else _on_held_out(aggregation)
    probs = tempered(log_p, temperature)
    where = "gold items" if gold is not None else "held-out annotators"
    return replace(
        aggregation,
        labels=replace(aggregation.labels, probs=probs),
        temperature=temperature,
        notes=(*aggregation.notes, f"calibrated on {where}: temperature {temperature:.2f}"),
    )


def _on_gold(aggregation: Aggregation, gold: SoftLabels, log_p: Float[np.ndarray, "items classes"]) -> float:
    labels = aggregation.labels
    strange = [name for name in gold.classes if name not in labels.classes]
    if strange:
        raise BadTable(
            f"gold labels of {listing(strange)}",
            f"classes that can be chosen: {listing(labels.classes)}",
            "name the classes of the gold labels as those of the beliefs",
            "bad-classes",
        )
    row = pc.index_in(labels.items, value_set=gold.items)
    known = row.is_valid().to_numpy(zero_copy_only=False)
    fixed = aggregation.answers.gold
    if fixed is not None:
        known &= fixed < 0
    if not known.any():
        raise BadTable(
            "no gold label to calibrate on" + ("" if fixed is None else " that was not already fixed"),
            "the class of some items that the aggregation had to find out",
            "keep some gold labels back for calibration",
            "missing-gold",
        )
    class_of = np.array([labels.classes.index(name) for name in gold.classes])
    truth = class_of[gold.probs.argmax(axis=1)][row.to_numpy(zero_copy_only=False)[known].astype(np.int64)]
    log_known = log_p[known]

    def loss(log_temperature: float) -> float:
        p = tempered(log_known, np.exp(log_temperature))
        return -float(np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-12)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(LEAST, MOST), method="bounded").x))


def _on_held_out(aggregation: Aggregation) -> float:
    model, answers, by = aggregation.model, aggregation.answers, aggregation.by
    if not (isinstance(model, Confusions) and isinstance(by, DawidSkene)):
        raise BadSetting(
            f"no gold labels to calibrate {aggregation.by.name} on",
            "gold labels, or an aggregation by dawid-skene, which knows what each annotator would say",
            "give gold labels",
            "missing-gold",
        )
    log_p = np.log(np.maximum(aggregation.labels.probs, 1e-300))
    of_annotator = model.rows.reshape(-1, answers.n_classes, answers.n_classes)
    without, said, counts = [], [], []
    for first, last in answers.blocks(numbers_a_row=answers.n_classes**2):
        block = answers.part(first, last)
        compared = block.n_annotators_of[block.item] > 1
        weight = block.weights(0, block.n_items)
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
        raise BadTable(
            "no item that two people answered",
            "items that several people answered, to hold one of them out",
            "calibrate on gold labels",
            "missing-gold",
        )

    def loss(log_temperature: float) -> float:
        p = (tempered(others, np.exp(log_temperature)) * likelihood).sum(axis=1)
        return -float(count @ np.log(np.maximum(p, 1e-300)))

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, MOST), method="bounded").x))
