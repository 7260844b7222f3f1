"""Signs of scripts and of several accounts of one person: each rule on people made for it, and on published crowds."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations
from sfumato.labeling.answer_records import read_records
from sfumato.labeling.cheat_rules import CopiedAnswers, RegularTimes, UnrelatedAnswers, permutation_score
from sfumato.labeling.record_rules import ImpossibleTimes, NoInput, SameDevice, SharedNetwork
from sfumato.labeling.screening import AnswerRecords, Rule, screen
from sfumato.tables.errors import BadTable

CLASSES = ("cat", "dog", "fox")


def votes(rows: list[tuple[str, str, str]], seconds: list[float] | None = None) -> Annotations:
    items, people, chosen = zip(*rows, strict=True)
    columns = {
        "item": items,
        "annotator": people,
        "kind": ["choice/1"] * len(rows),
        "payload": [json.dumps({"class": name}) for name in chosen],
        "trial": range(len(rows)),
        "seconds": seconds or [5.0] * len(rows),
    }
    return Annotations.from_arrow(pa.table({name: list(column) for name, column in columns.items()}))


def crowd(n_people: int, n_items: int, rng: np.random.Generator, accuracy: float = 0.8) -> list[tuple[str, str, str]]:
    """Independent people: right with the same probability, otherwise any class."""
    truth = rng.integers(3, size=n_items)
    rows = []
    for person, item in itertools.product(range(n_people), range(n_items)):
        code = truth[item] if rng.random() < accuracy else rng.integers(3)
        rows.append((f"i{item}", f"p{person}", CLASSES[code]))
    return rows


def excluded(rule: Rule, annotations: Annotations, records: AnswerRecords | None = None) -> set[str]:
    return set(screen(annotations, (rule,), records=records).excluded_names())


# --- unrelated answers ---


def test_the_permutation_score_is_that_of_all_permutations() -> None:
    rng = np.random.default_rng(3)
    own, others = np.eye(3)[rng.integers(3, size=6)], rng.dirichlet(np.ones(3), 6)
    sums = [sum(own[i] @ others[j] for i, j in enumerate(order)) for order in itertools.permutations(range(6))]
    by_hand = (sum(own[i] @ others[i] for i in range(6)) - np.mean(sums)) / np.std(sums)
    assert permutation_score(own, others) == pytest.approx(by_hand)


def test_answers_that_do_not_depend_on_the_item_are_unrelated() -> None:
    rng = np.random.default_rng(0)
    rows = crowd(12, 60, rng)
    rows += [(f"i{item}", "random", CLASSES[rng.integers(3)]) for item in range(60)]
    rows += [(f"i{item}", "constant", "cat") for item in range(60)]
    # A person who is right less often is no cheat.
    worse = [(item, "weak", name) for item, who, name in rows if who == "p0"]
    rows += [(item, who, CLASSES[rng.integers(3)] if rng.random() < 0.25 else name) for item, who, name in worse]
    found = screen(votes(rows), (UnrelatedAnswers(),))
    assert set(found.excluded_names()) == {"random", "constant"}
    assert found.findings["crowd_fit"][found.annotators.to_pylist().index("constant")] == 0


def test_with_few_people_nobody_is_typical() -> None:
    found = screen(votes(crowd(3, 30, np.random.default_rng(0))), (UnrelatedAnswers(),))
    assert np.isnan(found.findings["crowd_fit"]).all()


# --- copied answers ---


def test_two_accounts_of_one_source_are_found() -> None:
    rows = crowd(12, 80, np.random.default_rng(1))
    rows += [(item, "again", name) for item, who, name in rows if who == "p3"]
    assert excluded(CopiedAnswers(), votes(rows)) == {"p3", "again"}


def test_independent_people_are_not_copies() -> None:
    """Also where all are nearly always right, so that many give the same answers."""
    for seed, accuracy in itertools.product(range(5), (0.5, 0.9, 0.99)):
        assert not excluded(CopiedAnswers(), votes(crowd(15, 60, np.random.default_rng(seed), accuracy)))


def test_less_evidence_is_enough_within_one_network() -> None:
    rows = crowd(40, 14, np.random.default_rng(2), 0.6)
    rows += [(item, "again", name) for item, who, name in rows if who == "p0"]
    table = votes(rows)
    n_people = len(table.annotator.names)
    network = np.where(np.isin(table.annotator.names.to_pylist(), ["p0", "again"]), 0, np.arange(1, n_people + 1))
    unknown = np.full(len(table), -1)
    records = AnswerRecords(np.full(len(table), np.nan), unknown, network, network, network)
    assert not excluded(CopiedAnswers(), table)
    assert excluded(CopiedAnswers(), table, records) == {"p0", "again"}


# --- times and records ---


def test_times_without_spread_are_no_persons() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"i{item}", who, "cat") for who in ("robot", "human", "short") for item in range(20 if who != "short" else 5)
    ]
    seconds = [5 + 0.01 * rng.random() for _ in range(20)] + list(rng.lognormal(1.6, 0.4, 20)) + [5.0] * 5
    assert excluded(RegularTimes(), votes(rows, seconds)) == {"robot"}


def recorded(tmp_path: Path, table: Annotations, **columns: Any) -> AnswerRecords:
    """Records of every answer, written and read."""
    names = table.annotator.names.to_pylist()
    n = len(table)
    usual = {
        "annotator": [names[code] for code in table.annotator.codes],
        "trial": table.trial.to_pylist(),
        "claimed_seconds": table.seconds.tolist(),
        "n_inputs": [1] * n,
        "network": [f"net-{code}" for code in table.annotator.codes],
        "pointer": ["mouse"] * n,
        "width": [1000.0] * n,
        "height": [700.0] * n,
        "pixel_ratio": [1.0] * n,
    }
    file = tmp_path / "records.parquet"
    pa.parquet.write_table(pa.table(usual | columns), file)
    return read_records(file, table)


def test_claims_beyond_the_clock_of_the_server(tmp_path: Path) -> None:
    table = votes([(f"i{item}", who, "cat") for who in ("liar", "honest") for item in range(5)], [0.1] * 5 + [6.0] * 5)
    records = recorded(tmp_path, table, claimed_seconds=[130.0] * 5 + [6.0] * 5)
    assert excluded(ImpossibleTimes(), table, records) == {"liar"}
    assert np.isnan(screen(table, (ImpossibleTimes(),)).findings["impossible_times"]).all()


def test_answers_without_any_input(tmp_path: Path) -> None:
    table = votes([(f"i{item}", who, "cat") for who in ("script", "human") for item in range(5)])
    records = recorded(tmp_path, table, n_inputs=[0] * 5 + [0, 2, 3, 1, 1])
    assert excluded(NoInput(), table, records) == {"script"}


def test_one_device_under_two_names(tmp_path: Path) -> None:
    """With windows that nobody else has; the third person of the household has another one."""
    people = ("one", "two", "family", *(f"p{n}" for n in range(20)))
    table = votes([("i0", who, "cat") for who in people])
    network = ["x", "x", "x", *(f"net-{n}" for n in range(20))]
    width = [1000.0, 1000.0, 390.0, *(500.0 + n for n in range(20))]
    records = recorded(tmp_path, table, network=network, width=width)
    assert excluded(SameDevice(), table, records) == {"one", "two"}
    assert signs(SharedNetwork(at_most=1), table, records) == {"one", "two", "family"}
    assert not signs(SharedNetwork(), table, records)


def signs(rule: Rule, annotations: Annotations, records: AnswerRecords) -> set[str]:
    """The annotators with a sign; nobody is excluded."""
    found = screen(annotations, (rule,), records=records)
    assert not found.excluded_names()
    return {name for name, each in zip(found.annotators.to_pylist(), found.signs, strict=True) if each}


def test_a_window_that_many_have_is_only_a_sign(tmp_path: Path) -> None:
    people = ("one", "two", *(f"p{n}" for n in range(20)))
    table = votes([("i0", who, "cat") for who in people])
    network = ["x", "x", *(f"net-{n}" for n in range(20))]
    # A common phone: a fifth of the others have it too.
    width = [390.0, 390.0, *(390.0 if n < 4 else 500.0 + n for n in range(20))]
    assert signs(SameDevice(), table, recorded(tmp_path, table, network=network, width=width)) == {"one", "two"}


@pytest.mark.parametrize("n_students", [7, 30, 75])
def test_people_who_merely_share_a_network_are_not_excluded(tmp_path: Path, n_students: int) -> None:
    """A computer room of a university: one address and the same screens, which nobody else has."""
    others = 100 - n_students
    table = votes([("i0", f"p{n}", "cat") for n in range(100)])
    network = ["campus"] * n_students + [f"net-{n}" for n in range(others)]
    width = [1680.0] * n_students + [500.0 + n for n in range(others)]
    records = recorded(tmp_path, table, network=network, width=width)
    students = {f"p{n}" for n in range(n_students)}
    assert signs(SameDevice(), table, records) == students
    assert signs(SharedNetwork(), table, records) == students


@pytest.mark.parametrize(("n_shared", "n_others"), [(3, 0), (20, 0), (19, 2), (80, 20)])
def test_an_address_that_nearly_all_have_is_not_used(tmp_path: Path, n_shared: int, n_others: int) -> None:
    """That of a proxy which does not report addresses: two people with a common window were excluded as one."""
    n = n_shared + n_others
    table = votes([("i0", f"p{each}", "cat") for each in range(n)])
    network = ["proxy"] * n_shared + [f"net-{each}" for each in range(n_others)]
    records = recorded(tmp_path, table, network=network)
    assert records.n_of_one_address == n_shared
    assert not signs(SameDevice(), table, records)
    assert not signs(SharedNetwork(), table, records)


def test_erased_records_are_not_known(tmp_path: Path) -> None:
    table = votes([(f"i{item}", who, "cat") for who in ("erased", "script") for item in range(5)])
    columns = {name: [None] * 5 + [value] * 5 for name, value in (("claimed_seconds", 130.0), ("n_inputs", 0))}
    windows = {name: [None] * 5 + [1.0] * 5 for name in ("width", "height", "pixel_ratio")}
    network, pointer = [None] * 5 + ["x"] * 5, [None] * 5 + ["mouse"] * 5
    records = recorded(tmp_path, table, network=network, pointer=pointer, **columns, **windows)
    assert records.n_matched == 10
    assert excluded(NoInput(), table, records) == excluded(ImpossibleTimes(), table, records) == {"script"}
    # With nothing left, the records are still those of these answers.
    empty = recorded(tmp_path, table, **{name: pa.nulls(10, pa.float64()) for name in columns})
    found = screen(table, (NoInput(), ImpossibleTimes()), records=empty)
    assert not found.excluded_names()
    assert all(np.isnan(values).all() for values in found.findings.values())


def test_records_of_another_study_are_refused(tmp_path: Path) -> None:
    table = votes([("i0", "a", "cat")])
    with pytest.raises(BadTable) as caught:
        recorded(tmp_path, table, annotator=["somebody else"])
    assert caught.value.code == "other-records"


# --- published crowds ---


def published_votes(path: Path, item: str, annotator: str, label: str) -> tuple[Annotations, list[dict[str, str]]]:
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    return votes([(row[item], row[annotator], row[label]) for row in rows]), rows


def test_in_a_published_crowd_those_at_chance_are_found(published: Path) -> None:
    table, rows = published_votes(published / "crowd" / "rte.csv.gz", "item", "worker", "label")
    right: dict[str, list[bool]] = {}
    for row in rows:
        right.setdefault(row["worker"], []).append(row["label"] == row["truth"])
    found = excluded(UnrelatedAnswers(), table)
    assert 3 <= len(found) <= 10
    assert all(np.mean(right[name]) < 0.65 for name in found)
    assert not excluded(CopiedAnswers(), table)


def test_hardly_any_of_cifar_10hs_annotators_is_excluded(published: Path) -> None:
    file = published / "cifar10h" / "annotator-level-9500-9999.csv.gz"
    table, _ = published_votes(file, "image_index", "annotator_id", "chosen_label")
    found = screen(table, (UnrelatedAnswers(), CopiedAnswers()))
    assert len(found.excluded_names()) / len(found) < 0.01


def test_no_annotator_of_cifar_10s_is_excluded(with_repeats: Annotations) -> None:
    assert not screen(with_repeats, (UnrelatedAnswers(), CopiedAnswers(), RegularTimes())).excluded_names()
