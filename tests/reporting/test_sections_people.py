"""Sections about people: their numbers are those that can be reckoned from the answers by other means."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import replace
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from people_evidence import evidence_of

from sfumato import Beliefs
from sfumato.labeling.agreement import agreement
from sfumato.reporting import Chart, Facts, Prose, ReportTable, Section
from sfumato.reporting.report import PEOPLE_SECTIONS
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreement_section
from sfumato.reporting.sections.collection import collection_section
from sfumato.reporting.sections.screening import screening_section
from sfumato.reporting.sections.uncertainty import uncertainty_section
from sfumato.study.study import Recruiting


def words(section: Section | None) -> str:
    """All that a section says outside of charts and tables."""
    assert section is not None
    said: list[str] = []
    for block in section.blocks:
        if isinstance(block, Prose):
            said += block.paragraphs
        elif isinstance(block, Facts):
            said += [f"{fact.label}: {fact.value} {fact.note}" for fact in block.facts]
        elif isinstance(block, Chart | ReportTable):
            said.append(block.caption)
    return "\n".join(said)


def block(section: Section | None, name: str) -> Chart | ReportTable:
    assert section is not None
    return next(each for each in section.blocks if isinstance(each, Chart | ReportTable) and each.name == name)


def first_answers(beliefs: Beliefs, *, without: tuple[str, ...] = ()) -> dict[str, dict[str, int]]:
    """The class everybody put first about every item, first answers only, by loops."""
    found: dict[str, dict[str, int]] = {}
    items, people = beliefs.item.names.to_pylist(), beliefs.annotator.names.to_pylist()
    for i, j, probs in zip(beliefs.item.codes, beliefs.annotator.codes, beliefs.probs, strict=True):
        if people[j] not in without:
            found.setdefault(items[i], {}).setdefault(people[j], int(np.argmax(probs)))
    return found


def test_without_data_there_is_no_section() -> None:
    assert [section(ReportInputs()) for section in PEOPLE_SECTIONS] == [None] * len(PEOPLE_SECTIONS)


def test_collection_counts_and_times() -> None:
    evidence = evidence_of()
    assert evidence.annotations is not None
    section = collection_section(evidence)
    said, seconds = words(section), evidence.annotations.seconds.tolist()
    assert "items: 40" in said
    assert "annotators: 9 median 45 answers per annotator" in said
    assert "answers: 405" in said
    assert f"per answer: {statistics.median(seconds):.1f} s" in said
    assert "“What is in the <b>picture</b>?” (question type `choice`, their own view)" in said
    drawn = block(section, "seconds")
    assert isinstance(drawn, Chart)
    assert sum(drawn.columns["n"]) == sum(each <= np.quantile(seconds, 0.99) for each in seconds)
    forms = block(section, "forms")
    assert isinstance(forms, ReportTable)
    assert forms.columns[2].values == (360, 45)


def test_collection_states_the_cost() -> None:
    evidence = evidence_of()
    assert evidence.annotations is not None
    said = words(collection_section(evidence))
    # 360 answers for labels are 18 batches of 20 items, at 1.50 each with their repeats; 10 minutes were announced.
    assert "estimated cost: EUR 27.00 18.0 batches" in said
    assert "EUR 9.00 per hour" in said
    wage = 3600 * 1.5 * 18 / sum(evidence.annotations.seconds.tolist())
    assert f"EUR {wage:,.2f} (" in said
    assert evidence.study is not None
    assert "cost" not in words(collection_section(replace(evidence, study=replace(evidence.study, pay=None))))


@pytest.mark.parametrize(
    ("batch_size", "fee", "cost"),
    [
        # Nine people with 40 labels each: a whole batch each, and the 45 repeats add nothing.
        (40, 0.0, "EUR 13.50 9.0 batches at EUR 1.50, with their checks and repeats; without fees"),
        # 40 of two batches of 30, which may have been finished or not: 9 x 40 / 30 to 9 x 2 batches, and the fee.
        (30, 0.5, "EUR 27.00 to 40.50 12.0 to 18.0 batches at EUR 1.50, with their checks and repeats; batches that"),
    ],
)
def test_cost_counts_batches_as_they_are_paid(batch_size: int, fee: float, cost: str) -> None:
    evidence = evidence_of()
    assert evidence.study is not None
    people = replace(evidence.study.people, batch_size=batch_size)
    study = replace(evidence.study, people=people, recruiting=Recruiting("prolific", "CODE", settings={"fee": fee}))
    said = words(collection_section(replace(evidence, study=study)))
    assert f"estimated cost: {cost}" in said
    assert ("with a fee of 50%" in said) == (fee > 0)


def test_the_session_is_drawn_by_the_place_of_answers() -> None:
    evidence = evidence_of()
    drawn = block(collection_section(evidence), "session")
    assert isinstance(drawn, Chart)
    assert evidence.annotations is not None
    trial, seconds = evidence.annotations.trial.to_numpy(), evidence.annotations.seconds
    assert sum(drawn.columns["answers"]) == 405
    n_first = drawn.columns["answers"][0]
    first = sorted(zip(trial, seconds, strict=True), key=lambda row: row[0])[:n_first]
    assert drawn.columns["seconds"][0] == pytest.approx(statistics.median(each for _, each in first))


def test_exclusions_are_counted_per_rule() -> None:
    evidence = evidence_of()
    section = screening_section(evidence)
    rules = block(section, "rules")
    assert isinstance(rules, ReportTable)
    assert [column.values for column in rules.columns[1:2]] == [(2, 1)]
    assert rules.columns[3].values == ("`checks_passed`", "`median_seconds`")
    assert "more than one applies to 1." in rules.caption
    assert "excluded: 2" in words(section)
    assert "answers excluded: 90" in words(section)


def test_the_effect_of_exclusions_is_stated() -> None:
    evidence = evidence_of(n_people=5, sure=0.1)
    assert evidence.beliefs is not None
    kept = first_answers(evidence.beliefs, without=("person 0", "person 1"))
    everybody = first_answers(evidence.beliefs)
    n_changed = 0
    for item in everybody:
        one, other = (Counter(each[item].values()) for each in (everybody, kept))
        n_changed += not {k for k in one if one[k] == max(one.values())} & {
            k for k in other if other[k] == max(other.values())
        }
    assert n_changed > 0
    listed = block(screening_section(evidence), "kept")
    assert isinstance(listed, ReportTable)
    assert f"would change for {n_changed} of 40 items" in listed.caption
    row = listed.columns[4].values.index("`alpha-nominal`")
    for column, people in ((1, kept), (2, everybody)):
        assert listed.columns[column].values[row].startswith(f"{alpha(people):.3f} (")


def test_no_exclusion_is_stated() -> None:
    evidence = evidence_of()
    assert evidence.screening is not None
    nobody = replace(evidence.screening, set_aside=(False,) * 9, reasons=((),) * 9)
    assert "the answers of all 9 are used" in words(screening_section(replace(evidence, screening=nobody)))


def alpha(answers: dict[str, dict[str, int]]) -> float:
    people = sorted({who for each in answers.values() for who in each})
    table = [[answers[item].get(who, np.nan) for item in answers] for who in people]
    return float(krippendorff.alpha(np.array(table), level_of_measurement="nominal"))


def test_agreement_is_that_of_pairs_of_people() -> None:
    evidence = replace(evidence_of(), screening=None)
    assert evidence.beliefs is not None
    answers = first_answers(evidence.beliefs)
    pairs = [np.mean([a == b for a, b in combinations(each.values(), 2)]) for each in answers.values()]
    section = agreement_section(evidence)
    said = re.search(r"chose the same class in (\d+)% \(", words(section))
    assert said
    assert int(said[1]) == round(100 * np.mean(pairs))
    assert f"Krippendorff's alpha is {alpha(answers):.3f} (" in words(section)
    ours = agreement(evidence.beliefs)
    widths = {column.title: column.values for column in block(section, "agreement-precision").columns}
    assert widths["another crowd"] == pytest.approx((ours.high - ours.low) / 2)
    assert widths["twice the annotators"] == pytest.approx(ours.half_twice_annotators)
    assert widths["annotators"] == tuple(f"{share:.0%}" for share in ours.share_annotators)
    drawn = block(section, "agreement-by-class")
    assert isinstance(drawn, Chart)
    majority = [Counter(each.values()).most_common() for each in answers.values()]
    # The first of tied classes, as in the labels.
    first = [min(k for k, n in each if n == each[0][1]) for each in majority]
    for name, value in zip(drawn.columns["class"], drawn.columns["agreement"], strict=True):
        own = [pair for pair, k in zip(pairs, first, strict=True) if evidence.beliefs.classes[k] == name]
        assert value == pytest.approx(np.mean(own))


def test_retest_compares_people_with_themselves() -> None:
    evidence = replace(evidence_of(), screening=None)
    assert evidence.beliefs is not None
    assert evidence.annotations is not None
    chosen: dict[tuple[int, int], list[int]] = {}
    for i, j, probs in zip(
        evidence.beliefs.item.codes, evidence.beliefs.annotator.codes, evidence.beliefs.probs, strict=True
    ):
        chosen.setdefault((int(i), int(j)), []).append(int(np.argmax(probs)))
    same = [each[0] == each[1] for each in chosen.values() if len(each) == 2]
    assert len(same) == 45
    assert re.search(
        rf"the same class in {100 * np.mean(same):.1f}% \(.*\) of 45 repeated", words(agreement_section(evidence))
    )
    once = evidence.beliefs.take(np.arange(360))
    assert "have no repeated answers" in words(agreement_section(ReportInputs(beliefs=once)))
    # Beliefs without the repeats, which the answers have: the answers are used.
    both = words(agreement_section(ReportInputs(beliefs=once, annotations=evidence.annotations)))
    assert f"chose the same class in {100 * np.mean(same):.1f}%" in both
    assert "No annotator saw" not in both
    labels = evidence.annotations.for_purposes("label")
    assert "No annotator saw an item twice" in words(agreement_section(ReportInputs(beliefs=once, annotations=labels)))


def test_who_answers_alone_agrees_with_nobody() -> None:
    alone = Beliefs.from_votes(item=["a", "b"], annotator=["x", "y"], label=["cat", "dog"])
    assert agreement_section(ReportInputs(beliefs=alone)) is None


def test_where_all_say_the_same_nothing_is_expected_by_chance() -> None:
    alike = Beliefs.from_votes(item=list("aabb"), annotator=list("xyxy"), label=["cat"] * 4, classes=["cat", "dog"])
    section = agreement_section(ReportInputs(beliefs=alike))
    assert "every answer names the same class" in words(section)
    listed = block(section, "agreement")
    assert isinstance(listed, ReportTable)
    assert listed.columns[1].values[0] is None
    assert "nan" not in words(uncertainty_section(ReportInputs(beliefs=alike)))


def test_uncertainty_has_two_parts() -> None:
    evidence = replace(evidence_of(), screening=None)
    assert evidence.beliefs is not None
    answers: dict[tuple[int, int], list[np.ndarray]] = {}
    beliefs = evidence.beliefs
    for i, who, probs in zip(beliefs.item.codes, beliefs.annotator.codes, beliefs.probs, strict=True):
        answers.setdefault((int(i), int(who)), []).append(probs)
    by_item: dict[int, list[np.ndarray]] = {}
    for (i, _), own in answers.items():
        by_item.setdefault(i, []).append(np.mean(own, axis=0))
    total = np.array([np.mean([1 - p @ q for p, q in combinations(each, 2)]) for each in by_item.values()])
    unsure = {key: np.mean([1 - p @ p for p in own]) for key, own in answers.items()}
    within = np.array([np.mean([each for (k, _), each in unsure.items() if k == i]) for i in by_item])
    section = uncertainty_section(evidence)
    said = words(section)
    for name, values in (
        ("two people differ", total),
        ("within annotators", within),
        ("between annotators", total - within),
    ):
        found = re.search(rf"{name}: ([\d.]+)%", said)
        assert found is not None, name
        assert float(found[1]) == pytest.approx(100 * values.mean(), abs=0.51), name
    assert "Intervals are over people and items." in said
    assert f"For {int((within > total - within).sum())} of 40 items the part within annotators is larger" in said
    drawn = block(section, "doubt-parts")
    assert isinstance(drawn, Chart)
    assert drawn.columns["within"] == pytest.approx(within, abs=1e-5)
    parts = block(section, "doubt-by-class")
    assert isinstance(parts, Chart)
    weighted = np.array(parts.columns["dissent"]) @ np.array(parts.columns["items"])
    assert weighted == pytest.approx(total.sum())


def test_hard_votes_have_no_uncertainty_within_annotators() -> None:
    section = uncertainty_section(evidence_of(soft=False))
    assert "named one class without a confidence" in words(section)
    assert section is not None
    assert [each.name for each in section.blocks if isinstance(each, Chart)] == ["doubt-by-class"]


def test_many_items_are_sampled() -> None:
    rng = np.random.default_rng(0)
    beliefs = Beliefs.from_numpy(
        [str(i) for i in range(2000) for _ in range(2)],
        ["a", "b"] * 2000,
        rng.dirichlet([1, 1, 1], 4000),
        ["x", "y", "z"],
    )
    drawn = block(uncertainty_section(ReportInputs(beliefs=beliefs)), "doubt-parts")
    assert isinstance(drawn, Chart)
    assert drawn.n_rows == 1500
    assert "1,500 of 2,000 items are shown, at random" in drawn.caption
