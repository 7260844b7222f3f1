"""Sections about labels: their numbers are those that can be reckoned from the labels by other means."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from people_evidence import CLASSES, evidence_of
from PIL import Image
from scipy.stats import entropy as scipy_entropy

from sfumato import Counts, SoftLabels
from sfumato.reporting import Chart, Facts, Prose, ReportTable, Section
from sfumato.reporting.gallery import LARGEST, Gallery, smaller, thumbnails
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.confusion import class_map, confusion_section
from sfumato.reporting.sections.duplicates import MAX_COMPARED, duplicates_section
from sfumato.reporting.sections.label_changes import changed_majority, label_changes_section
from sfumato.reporting.sections.labels import labels_section
from sfumato.reporting.sections.uncertainty import uncertainty_section
from sfumato.study.study import ItemSource
from sfumato.tables.model_inputs import Inputs


def words(section: Section | None) -> str:
    assert section is not None
    said: list[str] = []
    for block in section.blocks:
        if isinstance(block, Prose):
            said += block.paragraphs
        elif isinstance(block, Facts):
            said += [f"{fact.label}: {fact.value} {fact.note}" for fact in block.facts]
    return "\n".join(said)


def listing(section: Section | None, name: str) -> ReportTable:
    assert section is not None
    return next(each for each in section.blocks if isinstance(each, ReportTable) and each.name == name)


def chart(section: Section | None, name: str) -> Chart:
    assert section is not None
    return next(each for each in section.blocks if isinstance(each, Chart) and each.name == name)


def gallery(section: Section | None, name: str) -> Gallery:
    assert section is not None
    return next(each for each in section.blocks if isinstance(each, Gallery) and each.name == name)


def test_the_shares_in_doubt_are_counted() -> None:
    evidence = evidence_of()
    labels = evidence.labels["mean"]
    values = [float(scipy_entropy(row)) for row in labels.probs]
    section = labels_section(evidence)
    above = listing(section, "entropy-above")
    for at, n in zip(above.columns[0].values, above.columns[1].values, strict=True):
        assert n == sum(value > at for value in values)
    assert f"mean entropy of the labels, nats: {np.mean(values):.3f}" in words(section)
    assert sum(chart(section, "entropy").columns["n"]) == 40
    assert "Each label is based on 9 annotators." in words(section)


def test_the_most_disputed_come_with_what_was_said() -> None:
    evidence = evidence_of()
    labels, beliefs = evidence.labels["mean"], evidence.judged
    assert beliefs is not None
    order = sorted(range(40), key=lambda row: -scipy_entropy(labels.probs[row]))[:12]
    shown = gallery(labels_section(evidence), "disputed")
    assert [each.item for each in shown.cards] == [labels.items[row].as_py() for row in order]
    assert shown.data["p:cat"] == pytest.approx(labels.probs[order, 0])
    first: dict[str, str] = {}
    for i, j, probs in zip(beliefs.item.codes, beliefs.annotator.codes, beliefs.probs, strict=True):
        if beliefs.item.names[int(i)].as_py() == shown.cards[0].item:
            first.setdefault(beliefs.annotator.names[int(j)].as_py(), CLASSES[int(np.argmax(probs))])
    assert len(first) == 7  # two of nine were set aside
    counts = Counter(first.values())
    for bar in shown.cards[0].bars:
        assert bar.words == f"{counts[bar.name]} of 7"
        assert bar.share == labels.probs[order[0], CLASSES.index(bar.name)]
    assert [bar.name for bar in shown.cards[0].bars if bar.marked] == [_original(evidence, shown.cards[0].item)]


def _original(evidence: ReportInputs, item: str) -> str:
    assert evidence.original is not None
    row = evidence.original.items.to_pylist().index(item)
    return evidence.original.classes[int(evidence.original.probs[row].argmax())]


def test_pictures_are_those_of_the_items() -> None:
    evidence = evidence_of()
    assert evidence.inputs is not None
    assert evidence.inputs.images is not None
    shown = gallery(labels_section(evidence), "disputed").cards[3]
    kind, _, data = shown.thumbnail.picture.partition(",")
    assert kind == "data:image/png;base64"
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
    row = evidence.inputs.items.index(shown.item)
    assert (pixels == evidence.inputs.images[row]).all()
    assert shown.thumbnail.crisp


def test_grey_and_large_pictures_are_shown_too() -> None:
    rng = np.random.default_rng(0)
    gray = Inputs(("a",), rng.integers(0, 256, (1, 28, 28), dtype=np.uint8))
    data = base64.b64decode(thumbnails(["a"], gray)[0].picture.partition(",")[2])
    assert gray.images is not None
    assert (np.asarray(Image.open(io.BytesIO(data))) == gray.images[0]).all()
    large = np.repeat(np.repeat(rng.integers(0, 256, (70, 50, 3), dtype=np.uint8), 3, axis=0), 3, axis=1)
    assert (smaller(large) == large[::3, ::3]).all()
    assert max(smaller(np.zeros((1000, 3), np.uint8)).shape) <= LARGEST
    assert thumbnails(["nobody"], gray)[0].picture == ""


def test_texts_are_shown_as_texts_and_folders_as_pictures(tmp_path: Path) -> None:
    shown = gallery(labels_section(evidence_of(texts=True)), "disputed").cards[0]
    assert shown.thumbnail.text == f"The text of {shown.item}, at some length."
    evidence = evidence_of()
    assert evidence.study is not None
    colors = np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    for i in range(40):
        Image.fromarray(colors + i).save(tmp_path / f"item {i}.png")
    study = replace(evidence.study, items=ItemSource(folder=tmp_path))
    shown = gallery(labels_section(replace(evidence, inputs=None, study=study)), "disputed").cards[0]
    data = base64.b64decode(shown.thumbnail.picture.partition(",")[2])
    number = int(shown.item.removeprefix("item "))
    assert (np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) == colors + number).all()


def test_votes_are_counted_from_counts_and_never_from_shares() -> None:
    labels = SoftLabels.from_numpy(["a", "b"], [[2 / 3, 1 / 3], [0.5, 0.5]], ["x", "y"], [3, 2])
    shown = gallery(labels_section(ReportInputs(labels={"labels": labels})), "disputed").cards
    assert [[bar.words for bar in each.bars] for each in shown] == [["50%", "50%"], ["67%", "33%"]]
    counts = Counts.from_numpy(["a", "b"], [[2, 1], [1, 1]], ["x", "y"])
    shown = gallery(labels_section(ReportInputs(labels={"labels": labels}, counts=counts)), "disputed").cards
    assert [[bar.words for bar in each.bars] for each in shown] == [["1 of 2", "1 of 2"], ["2 of 3", "1 of 3"]]


def test_one_vote_is_not_taken_for_certainty() -> None:
    votes = [[1, 0]] * 150 + [[9, 1]] * 48 + [[10, 0]] * 2
    counts = Counts.from_numpy([str(i) for i in range(200)], votes, ["x", "y"])
    nats = 48 / 50 * scipy_entropy([9, 1])
    for evidence in (ReportInputs(counts=counts), ReportInputs(labels={"labels": counts.labels()})):
        section = labels_section(evidence)
        said = words(section)
        assert "items: 200" in said
        assert re.search(
            rf"mean entropy of the labels, nats: {nats:.3f} .*of the 50 items with at least two annotators", said
        )
        assert "The median is 0.325" in chart(section, "entropy").caption
        assert sum(chart(section, "entropy").columns["n"]) == 50
        assert listing(section, "entropy-above").columns[2].values[0].startswith("96%")
    said = words(labels_section(ReportInputs(counts=counts)))
    assert re.search(r"unanimous items: 4.0% .*of the 50 items with at least two annotators", said)
    said = words(uncertainty_section(ReportInputs(counts=counts)))
    # 9 of 45 pairs of 9 and 1 votes differ.
    assert f"two people differ: {100 * 48 / 50 * 9 / 45:.1f}%" in said
    assert "the 50 of 200 items with at least two annotators" in said


def test_labels_without_doubt_have_nothing_disputed() -> None:
    section = labels_section(ReportInputs(labels={"labels": SoftLabels.one_hot(["a", "b"], ["x", "y"], ["x", "y"])}))
    assert section is not None
    assert not any(isinstance(each, Gallery) for each in section.blocks)
    assert "labels with one class: 100.0%" in words(section)
    assert "unanimous" not in words(section)
    assert "Every label has only the class" in words(confusion_section(ReportInputs(labels={"l": _sure()})))


def _sure() -> SoftLabels:
    return SoftLabels.one_hot(["a", "b"], ["x", "y"], ["x", "y"])


def test_intervals_are_those_of_the_first_class() -> None:
    table = {"item": ("a", "a", "b", "b"), "value": (0.3, 0.7, 0.6, 0.4), "low": (0.1, 0.5, 0.3, 0.1),
             "high": (0.5, 0.9, 0.9, 0.7), "level": (0.9,) * 4, "kind": ("made up",) * 4}  # fmt: skip
    drawn = chart(labels_section(replace(evidence_of(), columns={"intervals": table})), "label-intervals")
    assert "90% interval (made up) of the most probable class, for 2 items. The median is 0.50" in drawn.caption


def check_confusion(evidence: ReportInputs, shares: dict[str, np.ndarray]) -> None:
    """The matrix and the pairs are the mean of these shares by original class."""
    rows: dict[str, list[np.ndarray]] = {name: [] for name in CLASSES}
    for item, probs in shares.items():
        rows[_original(evidence, item)].append(probs)
    expected = {(a, b): np.mean([p[CLASSES.index(b)] for p in rows[a]]) for a in CLASSES for b in CLASSES}
    drawn = chart(confusion_section(evidence), "confusion").columns
    for a, b, share in zip(drawn["true"], drawn["named"], drawn["share"], strict=True):
        assert share == pytest.approx(expected[a, b])
    pairs = listing(confusion_section(evidence), "confused-pairs")
    worst = max((key for key in expected if key[0] != key[1]), key=lambda key: expected[key])
    assert (pairs.columns[0].values[0], pairs.columns[1].values[0]) == worst


def test_confusion_is_the_mean_share_of_votes_of_each_class() -> None:
    evidence = evidence_of()
    beliefs = evidence.judged
    assert beliefs is not None
    first: dict[str, dict[str, int]] = {}
    names, people = beliefs.item.names.to_pylist(), beliefs.annotator.names.to_pylist()
    for i, j, probs in zip(beliefs.item.codes, beliefs.annotator.codes, beliefs.probs, strict=True):
        first.setdefault(names[i], {}).setdefault(people[j], int(np.argmax(probs)))
    check_confusion(
        evidence, {item: np.eye(len(CLASSES))[list(own.values())].mean(axis=0) for item, own in first.items()}
    )
    section = confusion_section(evidence)
    assert section is not None
    assert section.title == "Confusions between classes"


def test_without_votes_the_labels_are_described_as_labels() -> None:
    evidence = evidence_of()
    alone = ReportInputs(labels=evidence.labels, original=evidence.original)
    labels = evidence.labels["mean"]
    check_confusion(alone, dict(zip(labels.items.to_pylist(), labels.probs, strict=True)))
    section = confusion_section(alone)
    assert section is not None
    assert section.title == "Classes within labels"
    assert "what people confuse is unknown" in words(section)
    assert "labeled as" not in chart(section, "confusion").caption
    assert "labeled as" not in [column.title for column in listing(section, "confused-pairs").columns]


def test_one_vote_shows_confusion_only_against_an_original_label() -> None:
    counts = Counts.from_numpy(["a", "b"], [[1, 0], [0, 1]], ["x", "y"])
    assert confusion_section(ReportInputs(counts=counts)) is None
    original = SoftLabels.one_hot(["a", "b"], ["x", "x"], ["x", "y"])
    assert (
        "x labeled as y, 50%"
        in chart(confusion_section(ReportInputs(counts=counts, original=original)), "confusion").caption
    )


def test_the_map_puts_alike_classes_together() -> None:
    rng = np.random.default_rng(0)
    probs = np.full((400, 4), 0.01)
    for row in probs:
        pair = rng.choice([[0, 1], [2, 3]])
        row[pair] += rng.dirichlet([1, 1]) * 0.96
    made = class_map(probs)
    apart = np.linalg.norm(made.places[:, None] - made.places[None], axis=2)
    assert max(apart[0, 1], apart[2, 3]) < apart[:2, 2:].min()
    assert made.fit <= 1
    order = [2, 0, 3, 1]
    other = class_map(probs[:, order])
    again = np.linalg.norm(other.places[:, None] - other.places[None], axis=2)
    assert again == pytest.approx(apart[np.ix_(order, order)], abs=1e-9)


def test_moved_items_are_counted_and_ties_are_not() -> None:
    labels = SoftLabels.from_numpy(list("abcd"), [[0.6, 0.4], [0.5, 0.5], [0.1, 0.9], [0.8, 0.2]], ["x", "y"])
    original = SoftLabels.one_hot(list("cbad"), ["x", "y", "y", "x"], ["x", "y"])
    found = changed_majority(labels, original)
    assert [labels.items[int(row)].as_py() for row in found.rows] == ["c", "a"]
    assert (found.was, found.now) == (("x", "y"), ("y", "x"))
    assert found.margin == pytest.approx([0.8, 0.2])
    assert (found.n_items, found.n_tied) == (4, 1)
    section = label_changes_section(ReportInputs(labels={"labels": labels}, original=original))
    assert "For 2 of 4 items, 50% (15% to 85%)" in words(section)
    assert gallery(section, "striking").cards[0].note == "original: x"


def test_the_moved_items_of_cifar_10h(cifar_10h: SoftLabels, published: Path) -> None:
    with np.load(published / "cifar10-test" / "images.npz") as file:
        came_with = file["labels"]
    with np.load(published / "cifar10h" / "counts.npz") as file:
        counts = next(file[name] for name in file.files if file[name].shape == (10_000, 10))
    votes = counts[np.arange(10_000), came_with]
    original = SoftLabels.one_hot(
        [str(i) for i in range(10_000)], [cifar_10h.classes[k] for k in came_with], cifar_10h.classes
    )
    found = changed_majority(cifar_10h, original)
    assert len(found.rows) == int((votes < counts.max(axis=1)).sum())
    assert {int(cifar_10h.items[int(row)].as_py()) for row in found.rows} == set(
        np.flatnonzero(votes < counts.max(axis=1))
    )


def test_aggregations_stand_side_by_side() -> None:
    one = SoftLabels.from_numpy(list("abc"), [[0.6, 0.4], [0.5, 0.5], [0.1, 0.9]], ["x", "y"])
    other = SoftLabels.from_numpy(list("cab"), [[0.4, 0.6], [0.9, 0.1], [1.0, 0.0]], ["y", "x"])
    section = label_changes_section(ReportInputs(labels={"one": one, "other": other}))
    table = listing(section, "aggregations")
    # a: x against y; b: a tie; c: y against x. Half of the mass lies elsewhere in each.
    assert table.columns[2].values == (2,)
    assert table.columns[4].values[0].startswith("0.500")
    assert set(listing(section, "aggregations-apart").columns[0].values) == {"a", "c"}
    assert label_changes_section(ReportInputs(labels={"one": one})) is None


def test_duplicates_are_found_within_labelled_items() -> None:
    evidence = evidence_of()
    section = duplicates_section(evidence)
    assert "2 of 40 items, 5% (1% to 17%), have a duplicate" in words(section)
    shown = gallery(section, "duplicate-pairs").cards
    assert [each.item for each in shown] == ["item 0 = item 39"]
    assert shown[0].thumbnail == shown[0].second
    few = SoftLabels.one_hot(["item 0", "item 1"], ["cat", "dog"], CLASSES)
    assert "no exact or near duplicates among 2 items" in words(
        duplicates_section(replace(evidence, labels={"labels": few}))
    )


def test_leaks_between_splits_are_told() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (6, 8, 8), dtype=np.uint8)
    train = Inputs(("1", "2", "3"), pictures[:3])
    test = Inputs(("1", "2"), np.stack([pictures[5], pictures[2]]))
    section = duplicates_section(ReportInputs(splits={"train": train, "test": test}))
    assert "1 item of test with a duplicate in train" in words(section)
    assert gallery(section, "duplicate-pairs").cards[0].item == "train: 3 = test: 2"
    table = listing(section, "duplicates")
    assert [column.values for column in table.columns[1:]] == [(3, 2), (0, 1), (1, 0)]
    assert "There is no leakage between splits." in words(
        duplicates_section(ReportInputs(splits={"train": train, "test": Inputs(("9",), pictures[4:5])}))
    )


def test_splits_that_cannot_be_compared_are_said_to_be_so() -> None:
    splits = {"train": Inputs(("1",), np.zeros((1, 8, 8), np.uint8)), "test": Inputs(("2",), texts=("a",))}
    assert "The splits cannot be compared: found texts in test" in words(
        duplicates_section(ReportInputs(splits=splits))
    )


def test_of_many_pictures_near_pairs_are_taken_from_their_file() -> None:
    n = MAX_COMPARED + 1
    pictures = np.random.default_rng(0).integers(0, 256, (n, 4, 4), dtype=np.uint8)
    evidence = ReportInputs(inputs=Inputs(tuple(map(str, range(n))), pictures))
    assert "Near duplicates were not searched" in words(duplicates_section(evidence))
    table = {
        "item_a": ("7",),
        "item_b": ("9",),
        "split_a": ("x",),
        "split_b": ("x",),
        "kind": ("near",),
        "distance": (0.03,),
    }
    section = duplicates_section(replace(evidence, columns={"duplicates": table}))
    assert "`sfumato duplicates` found these pairs: 1 near." in words(section)
    assert gallery(section, "duplicate-pairs").cards[0].note == "near, distance 0.030"
