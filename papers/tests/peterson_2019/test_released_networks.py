"""Networks of others: their figures by another calculation, and what changes when their predictions do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.peterson_2019 import released_networks
from sfumato_papers.peterson_2019.protocol import ENSEMBLE, FILE, RELEASED, released
from sfumato_papers.verdict import Verdict


def by_row(part: Part) -> dict[str, Verdict]:
    return {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}


def test_crossentropies_as_by_hand(rerun: Rerun) -> None:
    """With plain NumPy on the released arrays."""
    with np.load(rerun.data.path(*FILE)) as file, np.load(rerun.data.path("cifar10h", "counts.npz")) as votes:
        probs = {name: file[key].astype(np.float64) for name, key in RELEASED.items()}
        shares = votes["counts"] / votes["counts"].sum(axis=1, keepdims=True)
        label = votes["labels"].astype(int)
    probs[ENSEMBLE] = sum(probs.values()) / 3
    part = released_networks.section_6_3(rerun)
    found = {(each.row, each.column): each.ours.value for each in part.findings if isinstance(each, Finding)}
    for name, each in probs.items():
        logs = np.log(each / each.sum(axis=1, keepdims=True))
        row = f"{name}: Trained CIFAR10"
        assert found[row, "c10H"] == pytest.approx(-(shares * logs).sum() / 10_000, rel=1e-9)
        assert found[row, "c10"] == pytest.approx(-logs[np.arange(10_000), label].mean(), rel=1e-9)
    verdicts = by_row(part)
    assert verdicts["Pretrained"] is verdicts["Ensemble"] is verdicts["No substitute"] is Verdict.SAME_DIRECTION
    assert verdicts["Recency"] is Verdict.NEEDS_DATA


def with_predictions(rerun: Rerun, found: dict[str, SoftLabels]) -> Rerun:
    """The same data, with other predictions in the place of the released ones."""
    other = Rerun(rerun.data, rerun.scale, rerun.runs)
    other.known[released,] = found
    return other


def test_networks_that_are_as_people_are_need_no_people(rerun: Rerun) -> None:
    people = rerun.data.cifar_10h
    probs = 0.999 * people.probs + 0.001 / 10
    own = {
        name: replace(people, probs=probs, n_annotators=None, estimand=Estimand.PREDICTION)
        for name in (*RELEASED, ENSEMBLE)
    }
    part = released_networks.section_6_3(with_predictions(rerun, own))
    verdicts = by_row(part)
    assert verdicts["Ensemble"] is Verdict.NOT_REPRODUCED
    assert verdicts["No substitute"] is Verdict.NOT_REPRODUCED
    first = released_networks.figure_1(with_predictions(rerun, own))
    assert all(
        judged.verdict is Verdict.NOT_REPRODUCED
        for each, judged in zip(first.findings, first.judged, strict=True)
        if isinstance(each, Statement) and not each.needs
    )


def test_figure_1_is_about_images_with_the_same_first_guess(rerun: Rerun) -> None:
    part = released_networks.figure_1(rerun)
    found = {(each.row, each.column): each.ours.value for each in part.findings if isinstance(each, Finding)}
    people, predicted = rerun.data.cifar_10h.probs, released(rerun)["DenseNet"].probs
    first = people == people.max(axis=1, keepdims=True)
    clear = first.sum(axis=1) == 1
    same = clear & (predicted.argmax(axis=1) == people.argmax(axis=1))
    away = np.abs(predicted - people)[same].sum(axis=1).mean() / 2
    assert found["DenseNet", "distance from people there"] == pytest.approx(away, rel=1e-9)
    assert by_row(part)["DenseNet: systematic difference"] is Verdict.SAME_DIRECTION
    assert part.charts[0].n_rows == released_networks.SHOWN
