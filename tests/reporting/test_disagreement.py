"""No sentence of a report about disagreement contradicts a direct count of votes, and no figure leaves its bounds."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from sfumato import Beliefs, Counts, SoftLabels
from sfumato.reporting import Chart, Facts, Points, Prose, ReportTable, Section
from sfumato.reporting.gallery import Gallery
from sfumato.reporting.phrases import NOT_IDENTIFIABLE
from sfumato.reporting.report import Report
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.estimand import Estimand

CLASSES = ("cat", "dog", "emu")
NUMBER = r"[−-]?[\d,]*\.?\d+"
INTERVAL = re.compile(rf"({NUMBER})(%?)(?: nats)? \(({NUMBER})%? to ({NUMBER})%?\)")
ENDS = re.compile(rf"({NUMBER})(%?) to ({NUMBER})%?")
NAMED = ("agreement-by-class", "doubt-by-class", "entropy", "label-intervals")


@dataclass(frozen=True)
class Votes:
    """The class of every annotator about every item, as plain numbers."""

    of_item: tuple[tuple[int, ...], ...]

    def beliefs(self, *, soft: bool) -> Beliefs:
        rows = [(f"i{i}", f"a{j}", c) for i, own in enumerate(self.of_item) for j, c in enumerate(own)]
        items, people, chosen = zip(*rows, strict=True)
        probs = np.eye(3)[list(chosen)]
        values = 0.7 * probs + 0.1 if soft else np.array(chosen)
        return Beliefs.from_numpy(list(items), list(people), values, CLASSES)

    def counts(self) -> Counts:
        counts = [[own.count(c) for c in range(3)] for own in self.of_item]
        return Counts.from_numpy([f"i{i}" for i in range(len(self.of_item))], counts, CLASSES)

    def shares(self) -> np.ndarray:
        return np.array([[own.count(c) / len(own) for c in range(3)] for own in self.of_item])

    @property
    def several(self) -> list[tuple[int, ...]]:
        return [own for own in self.of_item if len(own) > 1]


def labels_of(votes: Votes, how: str) -> dict[str, SoftLabels]:
    """Labels as aggregators make them: shares, smoothed, collapsed to one class, or none at all."""
    shares = votes.shares()
    made = {
        "mean": (shares, Estimand.JUDGMENT),
        "smoothed": (0.8 * shares + 0.2 / 3, Estimand.JUDGMENT),
        "barely smoothed": ((1 - 1e-5) * shares + 1e-5 / 3, None),
        "one-hot": (np.eye(3)[shares.argmax(axis=1)], Estimand.TRUTH),
        "truth": (0.98 * np.eye(3)[shares.argmax(axis=1)] + 0.02 / 3, Estimand.TRUTH),
    }
    if how == "none":
        return {}
    probs, estimand = made[how]
    names, n = [f"i{i}" for i in range(len(shares))], [len(own) for own in votes.of_item]
    return {"labels": SoftLabels.from_numpy(names, probs, CLASSES, n, estimand=estimand)}


def texts_of(section: Section) -> list[str]:
    """Everything that a section says."""
    said: list[str] = []
    for block in section.blocks:
        if isinstance(block, Prose):
            said += block.paragraphs
        elif isinstance(block, Points):
            said += block.points
        elif isinstance(block, Facts):
            said += [f"{fact.label}: {fact.value} {fact.note}" for fact in block.facts]
        elif isinstance(block, Chart | ReportTable | Gallery):
            said += [block.title, block.caption]
        if isinstance(block, ReportTable) and block.name not in ("files", "versions"):
            said += [str(cell) for column in block.columns for cell in column.values if isinstance(cell, str)]
    return said


STUDIES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1, max_size=6)
UNANIMOUS = Votes(((0, 0, 0), (1, 1, 1), (0, 0, 0), (2, 2, 2)))
UNIFORM = Votes(((0, 1, 2), (0, 1, 2), (0, 1, 2)))
MOSTLY_ONE = Votes(((0,), (1,), (2,), (0,), (0, 0, 1), (1, 1), (2, 1, 2)))
HOW = ("none", "mean", "smoothed", "barely smoothed", "one-hot", "truth")


def said_of(evidence: ReportInputs) -> tuple[list[str], list[Section]]:
    sections = [each for each in Report(evidence).page().sections if each.title != "Sources"]
    return [text.replace("\u00a0", " ") for section in sections for text in texts_of(section)], sections


@given(STUDIES.map(tuple).map(Votes), st.sampled_from(HOW), st.sampled_from(["votes", "beliefs", "counts"]))
@example(UNANIMOUS, "smoothed", "votes")
@example(UNANIMOUS, "barely smoothed", "counts")
@example(UNIFORM, "one-hot", "beliefs")
@example(Votes(((0, 0, 1, 0),)), "smoothed", "votes")
@example(MOSTLY_ONE, "none", "counts")
@example(MOSTLY_ONE, "mean", "votes")
@settings(max_examples=20, deadline=None)
def test_what_is_said_about_people_is_a_count_of_their_votes(votes: Votes, how: str, source: str) -> None:
    labels = labels_of(votes, how)
    if source == "counts":
        evidence = ReportInputs(counts=votes.counts(), labels=labels)
    else:
        evidence = ReportInputs(beliefs=votes.beliefs(soft=source == "beliefs"), labels=labels)
    said, sections = said_of(evidence)
    whole = "\n".join(said)
    n, n_disputed = len(votes.several), sum(len(set(own)) > 1 for own in votes.several)
    claims = re.findall(r"disagree about ([\d,]+) of ([\d,]+) items?", whole)
    assert claims == ([(str(n_disputed), str(n))] if n else [])
    facts = re.findall(rf"unanimous items: ({NUMBER})%", whole)
    assert facts == ([f"{100 * (n - n_disputed) / n:.1f}"] if n else [])
    if n:
        pairs = [np.mean([a == b for a, b in permutations(own, 2)]) for own in votes.several]
        same = re.search(rf"chose the same class in ({NUMBER})%", whole)
        assert same is not None
        assert float(same[1]) == pytest.approx(100 * np.mean(pairs), abs=0.51)
        most = re.search(rf"majority class has ({NUMBER})% .*of the votes", whole)
        assert most is not None
        shares = [max(Counter(own).values()) / len(own) for own in votes.several]
        assert float(most[1]) == pytest.approx(100 * np.mean(shares), abs=0.51)
    check_confusions(votes, whole)
    if source != "beliefs":
        check_entropies(votes, how, sections)
    for card in (card for section in sections for b in section.blocks if isinstance(b, Gallery) for card in b.cards):
        own = votes.of_item[int(card.item[1:])]
        for bar in card.bars:
            assert bar.words == f"{own.count(CLASSES.index(bar.name))} of {len(own)}"
    check_bounds(said, sections)


@given(STUDIES.map(tuple).map(Votes), st.sampled_from(HOW[1:]))
@example(UNANIMOUS, "smoothed")
@example(UNANIMOUS, "mean")
@settings(max_examples=10, deadline=None)
def test_labels_alone_say_nothing_about_what_people_did(votes: Votes, how: str) -> None:
    said, sections = said_of(ReportInputs(labels=labels_of(votes, how)))
    whole = "\n".join(said)
    assert not re.search(
        r"disagree about|unanimous|chose|majority|of the votes|confusion|labeled as", whole, re.IGNORECASE
    )
    assert not any(re.search(r"\d of \d", bar.words) for s in sections for b in s.blocks if isinstance(b, Gallery)
                   for card in b.cards for bar in card.bars)  # fmt: skip
    check_bounds(said, sections)


def check_entropies(votes: Votes, how: str, sections: list[Section]) -> None:
    """Uncertainty of votes is a mean over the items with two votes or more, and it is said if there are others."""
    entropies = [scipy_entropy(list(Counter(own).values())) for own in votes.several]
    dissents = [np.mean([one != other for one, other in combinations(own, 2)]) for own in votes.several]
    said = {section.title: "\n".join(texts_of(section)) for section in sections}
    names = ["Uncertainty", "Labels"] if how in ("none", "mean") else ["Uncertainty"]
    for title in names if votes.several else ():
        name, values, per_unit, digits = (
            ("two people differ", dissents, 100, 0.51)
            if title == "Uncertainty"
            else ("mean entropy of the labels, nats", entropies, 1, 0.00051)
        )
        found = re.search(rf"{name}: ({NUMBER})", said[title])
        assert found is not None
        assert float(found[1]) == pytest.approx(per_unit * np.mean(values), abs=digits)
        assert ("at least two annotators" in said[title]) == (len(votes.several) < len(votes.of_item))
    by_class = [b for s in sections for b in s.blocks if isinstance(b, Chart) and b.name == "doubt-by-class"]
    for chart in by_class:
        assert sum(chart.columns["items"]) == len(votes.several)
        assert np.dot(chart.columns["dissent"], chart.columns["items"]) == pytest.approx(sum(dissents))


def check_confusions(votes: Votes, whole: str) -> None:
    """The largest confusion is that of the votes by most frequent class, whatever the labels are."""
    of_class: dict[int, list[list[float]]] = {}
    for own in votes.several:
        shares = [own.count(c) / len(own) for c in range(3)]
        of_class.setdefault(shares.index(max(shares)), []).append(shares)
    found = {(i, j): np.mean([row[j] for row in rows]) for i, rows in of_class.items() for j in range(3) if i != j}
    largest = max(found.values(), default=0)
    said = re.findall(rf"largest confusion is (\w+) labeled as (\w+), ({NUMBER})%", whole)
    assert len(said) == (largest > 0)
    for one, other, share in said:
        assert float(share) == pytest.approx(100 * largest, abs=0.51)
        assert found[CLASSES.index(one), CLASSES.index(other)] == pytest.approx(largest)
    assert ("There are no confusions" in whole) == (bool(votes.several) and largest == 0)


def check_bounds(said: list[str], sections: list[Section]) -> None:
    """Shares are within 0% and 100%, entropies within 0 and ln 3; values are within their intervals."""
    assert not [text for text in said if "nan" in text.lower().split() or "(nan" in text]
    for text in said:
        for value, percent, low, high in INTERVAL.findall(text):
            ends = [float(each.replace(",", "").replace("−", "-")) for each in (low, value, high)]
            most = 100 if percent else np.log(3) + 0.005 if "nats" in text else 1
            least = -1 if "alpha" in text else 0
            assert least <= ends[0] <= ends[1] <= ends[2] <= most, text
        for low, percent, high in ENDS.findall(text):
            ends = [float(each.replace(",", "").replace("−", "-")) for each in (low, high)]
            assert percent == "" or 0 <= ends[0] <= ends[1] <= 100, text
    charts = [block for section in sections for block in section.blocks if isinstance(block, Chart)]
    for chart in charts:
        if chart.name in NAMED:
            columns = [v for k, v in chart.columns.items() if k in ("low", "high", "agreement", "nats")]
            numbers = [float(each) for column in columns for each in column if each is not None]
            assert all(0 <= each <= np.log(3) + 1e-9 or np.isnan(each) for each in numbers), chart.name
    # With one vote per item there is nothing to draw, and the report says so.
    assert charts or NOT_IDENTIFIABLE in "\n".join(said)
