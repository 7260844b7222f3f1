"""CIFAR-10S as published (Collins, Bhatt and Weller 2022): labels elementwise, and every figure the data gives."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.importers import Cifar10HImporter, Cifar10SImporter
from sfumato.labeling import SelectTopTwo, TopOneClamp, TopOneUniform, TopTwoClamp, TopTwoUniform
from sfumato.labeling.screening import screen
from sfumato.labeling.screening_rules import Contradictions
from sfumato.tables.doubt import entropy
from sfumato.tables.payloads import TopTwoPayload, decode, payload_kind

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def answers_of(annotations: Annotations) -> list[TopTwoPayload]:
    return decode(annotations.payload.to_pylist(), payload_kind("top_two/1"))


def by_item(items: list[str], rows: np.ndarray) -> dict[str, list[tuple[float, ...]]]:
    """Labels per item, sorted: the released files list annotators in different orders."""
    result = defaultdict(list)
    for item, row in zip(items, rows, strict=True):
        result[item].append(tuple(row.tolist()))
    return {item: sorted(labels) for item, labels in result.items()}


def mean_label(beliefs: Beliefs) -> np.ndarray:
    sums = np.zeros((len(beliefs.item.names), len(beliefs.classes)))
    np.add.at(sums, beliefs.item.codes, beliefs.probs)
    return sums / sums.sum(axis=1, keepdims=True)


def released(answer: TopTwoPayload, *, top: int, clamp: bool, gamma: float = 0.1) -> np.ndarray:
    """The released construction for one answer, written down step by step as a second opinion."""
    k = len(CLASSES)
    p = np.zeros(k)
    p[CLASSES.index(answer.first)] = answer.first_percent or 100
    if top == 2 and answer.second is not None and answer.second_percent is not None:
        p[CLASSES.index(answer.second)] = answer.second_percent
    p /= 100
    total = p.sum()
    n_possible = k - len(answer.impossible)
    if total < 1:
        spread, shrink = 1 - total, 1.0
    else:
        p /= total
        free = n_possible - np.count_nonzero(p > 0)
        spread, shrink = (gamma, 1 - gamma) if clamp and free != 0 else (0.0, 1.0)
    zero = [c for c in range(k) if p[c] == 0]
    if clamp:
        free = n_possible - np.count_nonzero(p > 0)
        if free != 0:
            p *= shrink
            for c in zero:
                if CLASSES[c] not in answer.impossible:
                    p[c] = spread / free
    else:
        for c in zero:
            p[c] = spread / len(zero)
    return p / p.sum()


def test_all_released_labels_exactly(published: Path, as_released: Annotations) -> None:
    archive = np.load(published / "cifar10s" / "t2clamp_redist10.npz")
    theirs = by_item([str(i) for i in archive["image_index"]], archive["soft_labels"])
    ours = TopTwoClamp(as_released=True).label(as_released)
    # The release is stored as float32: the comparison is exact in that type.
    assert by_item(ours.item.text().to_pylist(), ours.probs.astype(np.float32)) == theirs
    assert len(ours) == 6723


@pytest.mark.parametrize(
    ("labeler", "top", "clamp"),
    [
        (TopTwoClamp(as_released=True), 2, True),
        (TopTwoUniform(as_released=True), 2, False),
        (TopOneClamp(as_released=True), 1, True),
        (TopOneUniform(as_released=True), 1, False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_all_four_varieties(as_released: Annotations, labeler: TopTwoClamp, top: int, clamp: bool) -> None:
    theirs = np.array([released(answer, top=top, clamp=clamp) for answer in answers_of(as_released)])
    np.testing.assert_allclose(labeler.label(as_released).probs, theirs, rtol=0, atol=1e-15)


def test_select_top_two_has_halves(as_released: Annotations) -> None:
    probs = SelectTopTwo().label(as_released).probs
    for answer, row in zip(answers_of(as_released), probs, strict=True):
        named = {answer.first} | ({answer.second} if answer.second else set())
        assert {CLASSES[k] for k in np.flatnonzero(row)} == named
        assert set(row[row > 0].tolist()) == {1 / len(named)}


def test_how_our_rule_differs(first_pass: Annotations) -> None:
    """The numbers in docs/label.md."""
    ours, theirs = TopTwoClamp().label(first_pass).probs, TopTwoClamp(as_released=True).label(first_pass).probs
    distance = np.abs(ours - theirs).sum(axis=1) / 2
    assert int((distance > 1e-9).sum()) == 39
    assert int((distance > 0.1).sum()) == 13
    differs = {}
    for labeler in (TopTwoUniform, TopOneClamp, TopOneUniform, SelectTopTwo):
        pair = [labeler(as_released=flag).label(first_pass).probs for flag in (False, True)]
        differs[labeler.name] = int((np.abs(pair[0] - pair[1]).sum(axis=1) > 1e-9).sum())
    assert differs == {"top-two-uniform": 17, "top-one-clamp": 20, "top-one-uniform": 0, "select-top-two": 0}


def test_no_mass_on_an_excluded_class(first_pass: Annotations) -> None:
    probs = TopTwoClamp().label(first_pass).probs
    for answer, row in zip(answers_of(first_pass), probs, strict=True):
        excluded = set(answer.impossible) - {answer.first, answer.second}
        assert all(row[CLASSES.index(name)] == 0 for name in excluded)


def test_the_same_class_named_twice_adds_nothing() -> None:
    table = Annotations.from_arrow(
        _one('{"first": "deer", "first_percent": 75, "second": "deer", "second_percent": 25, "impossible": []}'),
        CLASSES,
    )
    assert TopTwoClamp().label(table).probs[0, 4] == 0.75
    assert TopTwoClamp(as_released=True).label(table).probs[0, 4] == 0.25


def _one(payload: str) -> object:
    import pyarrow as pa

    return pa.table({"item": ["1"], "annotator": ["a"], "kind": ["top_two/1"], "payload": [payload]})


def test_edge_cases_among_first_pass_answers(first_pass: Annotations) -> None:
    answers = answers_of(first_pass)
    assert len(answers) == 6200
    no_second = [a for a in answers if a.second is None]
    named = [a for a in answers if a.second is not None]
    assert len(no_second) == 2854
    assert sum(a.second_percent is None for a in named) == 9
    assert sum(a.second_percent == 0 for a in named) == 3
    assert sum(a.second == a.first for a in named) == 139
    assert sum(bool({a.first, a.second} & set(a.impossible)) for a in answers) == 38
    assert sum(len(a.impossible) == 10 for a in answers) == 5
    assert sum((a.second_percent or 0) > (a.first_percent or 100) for a in named) == 34
    sums = [(a.first_percent or 100) + ((a.second_percent or 0) if a.second is not None else 0) for a in answers]
    assert (sum(s > 100 for s in sums), sum(s == 100 for s in sums), sum(s < 100 for s in sums)) == (630, 3907, 1663)
    holding_mass = [{a.first} | ({a.second} if a.second_percent else set()) - {None} for a in answers]
    n_free = [10 - len(set(a.impossible) | held) for a, held in zip(answers, holding_mass, strict=True)]
    assert sum(s < 100 and n == 0 for s, n in zip(sums, n_free, strict=True)) == 439
    assert sum(s >= 100 and n != 0 for s, n in zip(sums, n_free, strict=True)) == 1448


def test_second_percents_typed_beside_no_alternative(published: Path) -> None:
    """1,002 of them in the first pass; one is no number ("p" and three backslashes), the importer keeps the others."""
    imported = Cifar10SImporter().read(published / "cifar10s")
    assert isinstance(imported.table, Annotations)
    typed = [a for a in answers_of(imported.table) if a.second is None and a.second_percent is not None]
    assert len(typed) == 1001


def test_who_and_how_many(first_pass: Annotations, with_repeats: Annotations, as_released: Annotations) -> None:
    assert (len(first_pass.annotator.names), len(first_pass.item.names), len(first_pass)) == (248, 1000, 6200)
    per_item = np.bincount(np.bincount(first_pass.item.codes))
    assert (per_item[6], per_item[7], per_item.sum()) == (800, 200, 1000)
    assert (len(with_repeats), len(as_released)) == (6696, 6723)


def test_entropy_of_the_chosen_images(first_pass: Annotations, cifar_10h: SoftLabels) -> None:
    doubt = entropy(cifar_10h.probs)[cifar_10h.rows_of(first_pass.item.names)]
    assert (int((doubt >= 0.25).sum()), int((doubt <= 0.1).sum())) == (886, 114)


def test_accuracy_of_named_classes(published: Path, first_pass: Annotations) -> None:
    original = Cifar10SImporter().read(published / "cifar10s").original
    assert original is not None
    truth = [CLASSES[k] for k in original.probs.argmax(axis=1)[original.rows_of(first_pass.item.text())]]
    answers = answers_of(first_pass)
    first = np.mean([a.first == t for a, t in zip(answers, truth, strict=True)])
    either = np.mean([t in (a.first, a.second) for a, t in zip(answers, truth, strict=True)])
    assert (round(100 * first, 2), round(100 * either, 2)) == (84.35, 91.97)


def test_seconds_a_page(first_pass: Annotations, as_released: Annotations) -> None:
    assert round(float(np.median(as_released.seconds)), 2) == 31.96
    assert round(float(np.median(first_pass.seconds)), 2) == 32.38


def test_repeats(with_repeats: Annotations) -> None:
    answers = answers_of(with_repeats)
    key = list(zip(with_repeats.item.text().to_pylist(), with_repeats.annotator.text().to_pylist(), strict=True))
    purpose = with_repeats.purpose.text().to_pylist()
    first = {k: a for k, a, p in zip(key, answers, purpose, strict=True) if p == "label"}
    pairs = [(k[1], first[k], a) for k, a, p in zip(key, answers, purpose, strict=True) if p == "repeat"]
    changed = [who for who, before, after in pairs if before.first != after.first]
    assert (len(changed), len(pairs)) == (34, 496)
    assert round(100 * len(set(changed)) / 248, 1) == 13.3
    moved = [abs((b.first_percent or 100) - (a.first_percent or 100)) for _, b, a in pairs if b.first == a.first]
    assert round(float(np.mean(moved)), 2) == pytest.approx(6.07, abs=0.011)


@pytest.mark.parametrize(("which", "expected"), [("as_released", 0.624), ("first_pass", 0.629)])
def test_entropy_correlation_does_not_reproduce(
    which: str, expected: float, cifar_10h: SoftLabels, request: pytest.FixtureRequest
) -> None:
    """Published: 0.596."""
    beliefs = TopTwoClamp(as_released=True).label(request.getfixturevalue(which))
    people = cifar_10h.probs[cifar_10h.rows_of(beliefs.item.names)]
    correlation = np.corrcoef(entropy(mean_label(beliefs)), entropy(people))[0, 1]
    assert round(float(correlation), 3) == expected


def test_wasserstein_does_not_reproduce(as_released: Annotations, cifar_10h: SoftLabels) -> None:
    """Published: 0.028, by a call that is blind to which class is which; the total variation says more."""
    beliefs = TopTwoClamp(as_released=True).label(as_released)
    ours, people = mean_label(beliefs), cifar_10h.probs[cifar_10h.rows_of(beliefs.item.names)]
    distances = [wasserstein_distance(a, b) for a, b in zip(ours, people, strict=True)]
    assert round(float(np.mean(distances)), 4) == 0.0270
    assert round(float(np.abs(ours - people).sum(axis=1).mean() / 2), 3) == 0.160


def test_cifar_10h_beside_it(published: Path, first_pass: Annotations, cifar_10h: SoftLabels) -> None:
    assert round(100 * float(((cifar_10h.probs > 0).sum(axis=1) <= 2).mean()), 2) == 77.15
    original = Cifar10HImporter().read(published / "cifar10h").original
    assert original is not None
    counts = np.load(published / "cifar10h" / "counts.npz")
    right = counts["counts"][np.arange(10_000), counts["labels"]].astype(int)
    assert round(100 * right.sum() / 511_000, 2) == 95.24
    rows = cifar_10h.rows_of(first_pass.item.names)
    assert round(100 * right[rows].sum() / counts["counts"][rows].sum(), 2) == 84.46


def test_all_annotators_comply_with_the_exclusion_rules(published: Path, as_released: Annotations) -> None:
    original = Cifar10SImporter().read(published / "cifar10s").original
    result = screen(as_released, (Contradictions(),), gold=original)
    assert len(result) == 248
    assert result.excluded_names() == []


def test_payload_types_hold_the_published_answers(as_released: Annotations) -> None:
    """Written and read again, every payload says the same."""
    for text, answer in zip(as_released.payload.to_pylist(), answers_of(as_released), strict=True):
        assert msgspec.json.decode(msgspec.json.encode(answer)) == msgspec.json.decode(text)
