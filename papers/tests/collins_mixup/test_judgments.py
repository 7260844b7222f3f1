"""What is counted from H-Mix comes out as it was established, and changes when the data does."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.errors import BadFile
from sfumato_papers.collins_mixup.categories import figure_5_1, section_5_1_2
from sfumato_papers.collins_mixup.coefficients import figure_4_2, figure_4_3, figure_4_4, figure_4_5
from sfumato_papers.collins_mixup.hmix import all_collections, thesis_collection
from sfumato_papers.collins_mixup.logistic import curves_of_class_pairs
from sfumato_papers.collins_mixup.midpoints import perceived_midpoints, section_4_2_1
from sfumato_papers.finding import Finding
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.published_data import PublishedData
from sfumato_papers.verdict import Verdict

Row = dict[str, str]
Changed = Callable[[Callable[[list[Row]], list[Row]]], Rerun]
THESIS, ALL = "the thesis' collection", "all of H-Mix"


def value(part: Part, row: str, column: str) -> float:
    (found,) = [
        each.ours
        for each in part.findings
        if isinstance(each, Finding) and (each.row, each.column) == (row, column) and each.ours is not None
    ]
    return found.value


def verdicts(part: Part) -> dict[tuple[str, str], Verdict]:
    return {
        (each.row, getattr(each, "column", "")): judged.verdict
        for each, judged in zip(part.findings, part.judged, strict=True)
    }


def rows_of(published: Path) -> list[Row]:
    with gzip.open(published / "hmix" / "infer_mixing_factor.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def test_the_collection_of_the_thesis(rerun: Rerun) -> None:
    part = section_4_2_1(rerun)
    with_figure = {key: verdict for key, verdict in verdicts(part).items() if verdict != Verdict.NO_VERDICT}
    assert set(with_figure.values()) == {Verdict.REPRODUCED}
    assert len(with_figure) == 11
    assert [value(part, row, ALL) for row in ("participants", "stimuli", "judgments")] == [81, 2070, 4950]


def test_medians_by_hand(published: Path, rerun: Rerun) -> None:
    part = figure_4_2(rerun)
    for at in ("0.1", "0.25", "0.5", "0.75", "0.9"):
        said = [1 - float(r["response_mixing_pct_raw"]) / 100 for r in rows_of(published) if r["true_mixing"] == at]
        assert value(part, f"median at λ_f = {at}", ALL) == pytest.approx(np.median(said), abs=1e-6)
        assert value(part, f"mean at λ_f = {at}", ALL) == pytest.approx(np.mean(said), abs=1e-6)
    assert verdicts(part)["on aggregate", ""] == Verdict.REPRODUCED
    (chart,) = part.charts
    assert set(chart.columns["series"]) >= {"as mixup assumes", "logistic fit, all of H-Mix"}


def test_people_who_say_the_opposite_are_not_close_to_the_coefficient(changed: Changed) -> None:
    def turned(rows: list[Row]) -> list[Row]:
        return [row | {"response_mixing_pct_raw": f"{100 - float(row['response_mixing_pct_raw']):g}"} for row in rows]

    rerun = changed(turned)
    assert verdicts(figure_4_2(rerun))["on aggregate", ""] == Verdict.NOT_REPRODUCED
    assert Verdict.REPRODUCED not in verdicts(figure_4_3(rerun)).values()


def test_people_who_say_what_went_in_deviate_nowhere(changed: Changed) -> None:
    def exact(rows: list[Row]) -> list[Row]:
        return [row | {"response_mixing_pct_raw": f"{100 - 100 * float(row['true_mixing']):g}"} for row in rows]

    rerun = changed(exact)
    assert verdicts(figure_4_2(rerun))["image by image", ""] == Verdict.NOT_REPRODUCED
    part = figure_4_4(rerun)
    assert verdicts(part)["by pair of classes", ""] == Verdict.NOT_REPRODUCED
    assert value(part, "any pair: furthest mean from λ_f", ALL) == pytest.approx(0, abs=1e-6)


def test_one_participant_less(changed: Changed) -> None:
    part = section_4_2_1(changed(lambda rows: [row for row in rows if row["annotator"] != "20"]))
    assert verdicts(part)["participants", THESIS] == Verdict.NOT_REPRODUCED
    assert value(part, "participants", THESIS) == 32


def test_the_images_shown(rerun: Rerun) -> None:
    part = figure_4_3(rerun)
    assert set(verdicts(part).values()) == {Verdict.REPRODUCED}
    assert len(part.findings) == 6


def test_confidence_by_hand(published: Path, rerun: Rerun) -> None:
    with np.load(published / "cifar10h" / "counts.npz") as file:
        p = file["counts"] / file["counts"].sum(axis=1, keepdims=True)
    doubt = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=1)
    rows = rows_of(published)
    pairs = np.array([(doubt[int(row["index1"])], doubt[int(row["index2"])]) for row in rows])
    confidence = np.array([float(row["confidence_pct"]) for row in rows]) / 100
    part = figure_4_5(rerun)
    for name, chosen in (("both high", (pairs >= 0.5).all(axis=1)), ("both low", (pairs <= 0.1).all(axis=1))):
        assert value(part, f"judgments, {name}", ALL) == chosen.sum()
        assert value(part, f"mean confidence, {name}", ALL) == pytest.approx(confidence[chosen].mean(), abs=1e-6)
    of_statements = {key: each for key, each in verdicts(part).items() if key[1] == ""}
    assert len(of_statements) == 3
    assert set(of_statements.values()) == {Verdict.REPRODUCED}


def test_confidence_that_does_not_depend_on_the_image(changed: Changed) -> None:
    part = figure_4_5(changed(lambda rows: [row | {"confidence_pct": "70"} for row in rows]))
    assert verdicts(part)["confidence", ""] == Verdict.NOT_REPRODUCED


def test_intervals_are_over_annotators(rerun: Rerun) -> None:
    """A judgment's row is its annotator's: the mean confidence of one person, found both ways."""
    from sfumato_papers.collins_mixup.coefficients import _annotator_of_rows

    thesis = thesis_collection(rerun)
    who = _annotator_of_rows(thesis)
    counts = np.bincount(who)
    assert sorted(set(counts.tolist())) == [59, 60]
    assert np.bincount(thesis.annotations.annotator.codes).tolist() == counts.tolist()
    assert len(all_collections(rerun).judgments.share) == 4950


def test_ten_classes(published: Path, rerun: Rerun) -> None:
    part = section_5_1_2(rerun)
    told = verdicts(part)
    assert told["mass on classes that were not mixed", "soft labels"] == Verdict.REPRODUCED
    assert told["Pearson r of mass on the endpoints and coefficient", "soft labels"] == Verdict.REPRODUCED
    assert told["± of it", "soft labels"] == Verdict.NOT_REPRODUCED
    assert value(part, "± of it", "soft labels") == pytest.approx(5.56, abs=0.01)
    with gzip.open(published / "hmix" / "hmix_individ_soft_labels.json.gz", "rt") as file:
        labels = json.load(file)
    drawn = figure_5_1(rerun)
    halves = [np.mean(v, axis=0) for k, v in labels.items() if k.startswith("mixed_0.5_Horse_") and "_Ship_" in k]
    expected = 1 - np.mean(halves, axis=0)[[7, 8]].sum()
    assert value(drawn, "mass on classes other than horse and ship", "people") == pytest.approx(expected)


def test_the_pooled_curve(rerun: Rerun) -> None:
    part = curves_of_class_pairs(rerun)
    everyone = "all 81 participants"
    assert round(value(part, "k, all pairs together", everyone), 2) == 4.59
    assert round(value(part, "x0, all pairs together", everyone), 3) == 0.522
    assert [round(value(part, row, everyone), 2) for row in ("τ(0)", "τ(1)")] == [0.08, 0.90]
    assert part.charts[0].n_rows == 45


def test_midpoints_by_hand(published: Path, rerun: Rerun) -> None:
    part = perceived_midpoints(rerun)
    for task, name, column in (
        ("Construct", "construct_midpoint.csv.gz", "final_value"),
        ("Select-Shuffled", "select_shuffled_midpoint.csv.gz", "selected_mixing"),
    ):
        with gzip.open(published / "hmix" / name, "rt", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["task"].startswith("rerun")]
        chosen = np.array([float(row[column]) for row in rows])
        # Everybody answered as often, so that the mean of means is the mean.
        assert value(part, "mean coefficient of the image chosen", task) == pytest.approx(chosen.mean())
        assert value(part, "chose another image than 0.5", task) == pytest.approx(np.mean(np.abs(chosen - 0.5) > 0.05))
        assert value(part, "participants", task) == len({row["annotator"] for row in rows})


def test_data_that_is_not_there(tmp_path: Path) -> None:
    rerun = Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs")
    with pytest.raises(BadFile, match=r"found no hmix"):
        figure_4_2(rerun)
    (tmp_path / "hmix").mkdir()
    with pytest.raises(BadFile, match=r"found no hmix/construct_midpoint"):
        perceived_midpoints(rerun)
