"""Who is set aside: each rule on people made for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Annotations, SoftLabels
from sfumato.labeling.screening import CheckResults, Rule, Screening, read_excluded, screen
from sfumato.labeling.screening_rules import (
    RULE_SETS,
    Contradictions,
    FailedChecks,
    IdenticalRuns,
    RepeatsDisagree,
    TooFast,
    rule_set,
)
from sfumato.tables.errors import BadSetting, BadTable, UnknownName

CLASSES = ("cat", "dog", "fox")
RETEST = ("label", "repeat")


def table(rows: list[dict[str, Any]], kind: str = "choice") -> Annotations:
    filled = [{"purpose": "label", "trial": i, "seconds": 5.0, **row} for i, row in enumerate(rows)]
    columns = {name: [row[name] for row in filled] for name in ("item", "annotator", "purpose", "trial", "seconds")}
    payloads = [json.dumps(row["answer"]) for row in filled]
    return Annotations.from_arrow(
        pa.table({**columns, "kind": [f"{kind}/1"] * len(rows), "payload": payloads}), CLASSES
    )


def choose(who: str, item: str, name: str, **more: Any) -> dict[str, Any]:
    return {"annotator": who, "item": item, "answer": {"class": name}, **more}


def aside(rule: Rule, annotations: Annotations, gold: SoftLabels | None = None) -> dict[str, float | None]:
    """The value for everyone set aside."""
    result = screen(annotations, (rule,), gold=gold)
    values = result.findings[rule.name]
    names = result.annotators.to_pylist()
    return {name: float(values[names.index(name)]) for name in result.excluded_names()}


GOLD = SoftLabels.one_hot(["c1", "c2", "c3", "c4"], ["cat", "dog", "fox", "cat"], CLASSES)


def checks(who: str, *chosen: str) -> list[dict[str, Any]]:
    return [choose(who, f"c{i + 1}", name, purpose="check") for i, name in enumerate(chosen)]


def test_failed_checks() -> None:
    rows = checks("good", "cat", "dog", "fox", "cat") + checks("once", "cat", "dog", "fox", "dog")
    rows += [*checks("bad", "dog", "dog", "cat", "cat"), choose("unchecked", "x", "cat")]
    assert aside(FailedChecks(at_least=0.75), table(rows), GOLD) == {"bad": 0.5}
    assert aside(FailedChecks(at_least=1.0), table(rows), GOLD) == {"once": 0.75, "bad": 0.5}


def test_checks_need_gold() -> None:
    with pytest.raises(BadSetting, match="gold="):
        screen(table(checks("a", "cat")), (FailedChecks(),))


def test_checks_are_judged_by_their_study() -> None:
    rows = checks("good", "cat", "dog") + checks("bad", "fox", "dog") + checks("late", "fox")
    # The check that "late" met is not in the study any more: it counts for nothing.
    judged = CheckResults(np.array([True] * 4 + [False]), np.array([True, True, False, True, False]))
    found = screen(table(rows), (FailedChecks(),), checks=judged)
    assert found.excluded_names() == ["bad"]
    np.testing.assert_array_equal(found.findings["checks_passed"], [1.0, 0.5, np.nan])


def test_a_check_wants_the_gold_class_alone() -> None:
    marks = {"cat": "yes", "dog": "yes", "fox": "no"}
    rows = [{"annotator": "hedger", "item": "c1", "answer": marks, "purpose": "check"}]
    rows += [{"annotator": "clear", "item": "c1", "answer": {**marks, "dog": "no"}, "purpose": "check"}]
    assert aside(FailedChecks(1.0), table(rows, "plausible"), GOLD) == {"hedger": 0.0}


def test_repeats_that_disagree() -> None:
    rows = [choose("steady", "x", "cat"), choose("steady", "x", "cat", purpose="repeat")]
    rows += [choose("other", "x", "cat"), choose("other", "y", "dog")]
    rows += [choose("other", "x", "dog", purpose="repeat"), choose("other", "y", "fox", purpose="repeat")]
    assert aside(RepeatsDisagree(at_most=0.5), table(rows)) == {"other": 1.0}


def tokens(who: str, purpose: str, **placed: int) -> dict[str, Any]:
    return {"annotator": who, "item": "a", "purpose": purpose, "answer": {"tokens": placed, "others": False}}


def top_two(who: str, purpose: str, first: str, percent: float, second: str) -> dict[str, Any]:
    named = {"first": first, "first_percent": percent, "second": second, "second_percent": 50.0, "impossible": []}
    return {"annotator": who, "item": "a", "purpose": purpose, "answer": named}


def test_a_repeat_with_a_top_class_in_common_is_not_changed() -> None:
    rows = [tokens("kept", "label", cat=5, dog=5), tokens("kept", "repeat", cat=6, dog=4)]
    rows += [tokens("left", "label", cat=5, dog=5), tokens("left", "repeat", fox=6, dog=4)]
    assert aside(RepeatsDisagree(), table(rows, "tokens")) == {"left": 1.0}
    pairs = [top_two("kept", "label", "cat", 50.0, "dog"), top_two("kept", "repeat", "dog", 60.0, "cat")]
    assert aside(RepeatsDisagree(), table(pairs, "top_two")) == {}
    # Answers without classes have no most probable one.
    rated = [{"annotator": "a", "item": "i", "purpose": p, "answer": {"other": "j", "rating": 3}} for p in RETEST]
    assert np.isnan(screen(table(rated, "similarity"), (RepeatsDisagree(),)).findings["repeats_changed"]).all()


def test_a_rule_that_cannot_be_applied_has_no_data_only_if_it_need_not() -> None:
    rows = checks("good", "cat", "dog", "fox", "cat")
    with pytest.raises(BadSetting, match="no gold labels"):
        screen(table(rows), (FailedChecks(),))
    found = screen(table(rows), (FailedChecks(), IdenticalRuns()), must_apply=False)
    assert np.isnan(found.findings["checks_passed"]).all()
    assert found.findings["longest_run"].tolist() == [1.0]


def percents(
    who: str, item: str, first: str, percent: float | None, *impossible: str, second: str | None = None
) -> dict[str, Any]:
    answer = {
        "first": first,
        "first_percent": percent,
        "second": second,
        "second_percent": 10 if second else None,
        "impossible": list(impossible),
    }
    return {"annotator": who, "item": item, "answer": answer}


def test_contradictions_by_the_rules_of_cifar_10s() -> None:
    gold = SoftLabels.one_hot(["i1", "i2", "i3", "i4"], ["cat"] * 4, CLASSES)
    rows = [
        # three offences: set aside
        percents("three", "i1", "cat", 120), percents("three", "i2", "cat", 50, "cat"),
        percents("three", "i3", "cat", None), percents("three", "i4", "cat", 90),
        # one offence and right on all: kept
        percents("once", "i1", "cat", None), percents("once", "i2", "cat", 80), percents("once", "i3", "cat", 80),
        # one offence (own second impossible) and right on half: set aside
        percents("wrong", "i1", "cat", 70, "dog", second="dog"), percents("wrong", "i2", "dog", 80),
        # never an offence and never right: accuracy alone does not exclude
        percents("astray", "i1", "dog", 80), percents("astray", "i2", "dog", 80),
    ]  # fmt: skip
    assert aside(Contradictions(), table(rows, "top_two"), gold) == {"three": 3.0, "wrong": 1.0}
    assert aside(Contradictions(remove_at=1), table(rows, "top_two"), gold) == {"three": 3.0, "once": 1.0, "wrong": 1.0}


def test_too_fast_for_the_crowd_and_for_oneself() -> None:
    rows = [choose(who, f"i{k}", "cat", seconds=10.0 + k) for who in ("a", "b", "c") for k in range(10)]
    rows += [choose("quick", f"i{k}", "cat", seconds=2.0) for k in range(10)]
    rows += [choose("hasty", f"i{k}", "cat", seconds=0.5 if k < 3 else 12.0) for k in range(10)]
    assert set(aside(TooFast(), table(rows))) == {"quick", "hasty"}


def test_no_times_set_nobody_aside() -> None:
    assert aside(TooFast(), table([choose("a", "x", "cat", seconds=None)])) == {}


def test_long_identical_runs_in_the_order_given() -> None:
    rows = [choose("same", f"i{k}", "cat", trial=k) for k in range(12)]
    # In the file twelve cats stand in a row, in the order of trials they alternate with dogs.
    rows += [choose("mixed", f"i{k}", "cat", trial=2 * k) for k in range(12)]
    rows += [choose("mixed", f"j{k}", "dog", trial=2 * k + 1) for k in range(12)]
    assert aside(IdenticalRuns(at_most=10), table(rows)) == {"same": 12.0}


def test_fair_answers_have_runs_too() -> None:
    """A thousand tosses of a coin have a run of ten; nobody is set aside for that."""
    rng = np.random.default_rng(0)
    rows = [
        choose(f"p{i}", f"i{k}", ("cat", "dog")[toss], trial=k)
        for i in range(20)
        for k, toss in enumerate(rng.integers(0, 2, 1000))
    ]
    assert aside(IdenticalRuns(), table(rows)) == {}


def test_no_trials_are_no_order() -> None:
    rows = [choose("same", f"i{k}", "cat", trial=None) for k in range(30)]
    result = screen(table(rows), (IdenticalRuns(),))
    assert np.isnan(result.findings["longest_run"]).all()
    assert result.excluded_names() == []


def test_a_check_without_gold_is_an_error() -> None:
    rows = [*checks("a", "cat"), choose("a", "c9", "cat", purpose="check")]
    with pytest.raises(BadTable, match="found no gold label for 1 of the items") as caught:
        screen(table(rows), (FailedChecks(),), gold=GOLD)
    assert caught.value.where.item == "c9"
    capital = SoftLabels.one_hot(["c1"], ["Cat"], ("Cat", "dog", "fox"))
    with pytest.raises(UnknownName, match="did you mean 'cat'"):
        screen(table(checks("a", "cat")), (FailedChecks(),), gold=capital)


def test_set_aside_ids_are_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"annotator": pa.array([7, 8]), "set_aside": [True, False]}), tmp_path / "s.parquet")
    assert read_excluded(tmp_path / "s.parquet") == ["7"]


def test_pay_is_another_decision() -> None:
    rows = checks("bad", "dog", "cat", "cat", "dog") + checks("good", "cat", "dog", "fox", "cat")
    result = screen(table(rows), (FailedChecks(),), gold=GOLD)
    assert result.set_aside.tolist() == [True, False]
    assert result.pay.tolist() == [True, True]
    strict = screen(table(rows), (FailedChecks(),), gold=GOLD, unpaid=(FailedChecks(at_least=0.25),))
    assert strict.pay.tolist() == [False, True]


def test_nothing_is_deleted_and_reasons_are_listed(tmp_path: Path) -> None:
    rows = checks("bad", *["cat"] * 4) + [choose("bad", f"i{k}", "cat", trial=10 + k) for k in range(12)]
    rows += checks("good", "cat", "dog", "fox", "cat")
    annotations = table(rows)
    before = annotations.to_arrow()
    result = screen(annotations, (FailedChecks(), IdenticalRuns()), gold=GOLD)
    assert annotations.to_arrow().equals(before)
    assert result.reasons == ("checks_passed; longest_run", "")
    for name in ("screening.csv", "screening.parquet"):
        result.write(tmp_path / name)
        assert read_excluded(tmp_path / name) == ["bad"]
    assert len(annotations.without(["bad"])) == 4


def test_rule_sets_are_found_by_name() -> None:
    assert rule_set("cifar-10h") == (FailedChecks(0.75),)
    assert rule_set("soft-digits") == (FailedChecks(1.0),)
    with pytest.raises(UnknownName, match="did you mean 'cifar-10s'"):
        rule_set("cifar10s")
    assert set(RULE_SETS) == {"standard", "cifar-10h", "cifar-10s", "soft-digits", "paid"}


def test_screening_says_its_numbers() -> None:
    result = screen(table(checks("a", "cat", "dog")), (FailedChecks(),), gold=GOLD)
    assert isinstance(result, Screening)
    row = result.to_arrow().to_pylist()[0]
    assert row == {
        "annotator": "a",
        "n_answers": 2,
        "set_aside": False,
        "reasons": "",
        "signs": "",
        "pay": True,
        "checks_passed": 1.0,
    }
    assert np.issubdtype(result.n_answers.dtype, np.integer)
