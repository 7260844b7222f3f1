"""What every labeler must do. A labeler is tested by standing in `LABELERS`; each contract rejects a wrong one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato import Annotations, Beliefs
from sfumato.labeling import LABELERS, ClassSimilarity, Labeler, OneHot, TopTwoClamp, labeler_from_name
from sfumato.tables.errors import BadTable, InvalidAnswer, SfumatoError
from sfumato.tables.payloads import PAYLOAD_KINDS

Answers = Callable[[str, int, int], Annotations]
SIMILARITY = ClassSimilarity(("cat", "dog", "fox", "owl", "eel"), np.random.default_rng(1).random((5, 5)))


def made(labeler: Any) -> Labeler:
    """The labeler with its default settings, and a similarity where it needs one."""
    needs_similarity = "similarity" in labeler.__dataclass_fields__
    return labeler(similarity=SIMILARITY) if needs_similarity else labeler()


MADE = [made(labeler) for labeler in LABELERS]
PAIRS = [(labeler, kind) for labeler in MADE for kind in labeler.kinds]
over_pairs = pytest.mark.parametrize(("labeler", "kind"), PAIRS, ids=lambda v: v if isinstance(v, str) else v.name)


# The contracts: each takes a labeler and a way to get answers, and fails for a labeler that breaks it.


def gives_one_distribution_an_answer(labeler: Labeler, answers: Annotations) -> None:
    beliefs = labeler.label(answers, ())
    assert len(beliefs) == len(answers)
    probs = beliefs.probs
    assert np.isfinite(probs).all()
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


def keeps_people_and_items(labeler: Labeler, answers: Annotations) -> None:
    beliefs = labeler.label(answers, ())
    assert beliefs.item.text().to_pylist() == answers.item.text().to_pylist()
    assert beliefs.annotator.text().to_pylist() == answers.annotator.text().to_pylist()


def reads_each_answer_by_itself(labeler: Labeler, answers: Annotations) -> None:
    """Rows in another order, or fewer of them, get the same distributions."""
    everything = labeler.label(answers, ()).probs
    kept = np.zeros(len(answers), dtype=bool)
    kept[1::3] = True
    assert np.array_equal(labeler.label(answers.take(kept), ()).probs, everything[kept])
    backwards = Annotations.from_arrow(answers.to_arrow().take(np.arange(len(answers))[::-1]), answers.classes)
    assert np.array_equal(labeler.label(backwards, ()).probs, everything[::-1])


def matches_classes_by_name(labeler: Labeler, answers: Annotations) -> None:
    """The order of the classes is the order of the columns, and nothing else."""
    order = ("owl", "cat", "eel", "fox", "dog")
    one, other = labeler.label(answers, ()), labeler.label(answers, order)
    columns = [other.classes.index(name) for name in one.classes]
    np.testing.assert_allclose(other.probs[:, columns], one.probs, atol=1e-12)


def changes_no_argument(labeler: Labeler, answers: Annotations) -> None:
    before = answers.to_arrow()
    labeler.label(answers, ())
    assert answers.to_arrow().equals(before)


CONTRACTS = (
    gives_one_distribution_an_answer,
    keeps_people_and_items,
    reads_each_answer_by_itself,
    matches_classes_by_name,
    changes_no_argument,
)


@over_pairs
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[..., None], labeler: Labeler, kind: str, answers: Answers) -> None:
    contract(labeler, answers(kind, 200, 0))


# A wrong labeler for each contract.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"
    kinds: ClassVar[tuple[str, ...]] = ("choice",)

    def right(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        return OneHot().label(annotations, classes)


class DropsAnswers(_Wrong):
    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        return self.right(annotations, classes).take(np.arange(len(annotations) - 1))


class MixesUpPeople(_Wrong):
    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        right = self.right(annotations, classes)
        return Beliefs(right.item, right.item, right.classes, hard=right.hard)


class LooksAtNeighbours(_Wrong):
    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        right = self.right(annotations, classes)
        assert right.hard is not None
        return Beliefs(right.item, right.annotator, right.classes, hard=np.roll(right.hard, 1))


class GoesByPosition(_Wrong):
    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        right = self.right(annotations, classes)
        return Beliefs(right.item, right.annotator, right.classes, hard=np.zeros(len(right), np.int16))


class ChangesItsArgument(_Wrong):
    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        object.__setattr__(annotations, "seconds", np.zeros(len(annotations)))
        return self.right(annotations, classes)


@pytest.mark.parametrize(
    ("contract", "wrong"),
    list(
        zip(
            CONTRACTS,
            (DropsAnswers(), MixesUpPeople(), LooksAtNeighbours(), GoesByPosition(), ChangesItsArgument()),
            strict=True,
        )
    ),
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_labeler(contract: Callable[..., None], wrong: Any, answers: Answers) -> None:
    with pytest.raises(AssertionError):
        contract(wrong, answers("choice", 200, 0))


# Contracts about bad input.


@over_pairs
def test_unknown_class_is_named(labeler: Labeler, kind: str, answers: Answers) -> None:
    table = answers(kind, 50, 1).to_arrow()
    at = table.column_names.index("payload")
    payloads = [text.replace('"cat"', '"cta"') for text in table.column("payload").to_pylist()]
    broken = Annotations.from_arrow(
        table.set_column(at, "payload", pa.array(payloads)), ("cat", "dog", "fox", "owl", "eel")
    )
    with pytest.raises(InvalidAnswer, match="did you mean 'cat'") as caught:
        labeler.label(broken, ())
    assert caught.value.code == "unknown-class"
    assert caught.value.where.item is not None
    assert caught.value.where.annotator is not None


@over_pairs
@pytest.mark.parametrize("payload", ['{"nonsense": 1}', '{"class": 3}', '{"first": null}'])
def test_a_payload_of_another_shape_is_refused(labeler: Labeler, kind: str, payload: str) -> None:
    table = pa.table({"item": ["i"], "annotator": ["a"], "kind": [f"{kind}/1"], "payload": [payload]})
    with pytest.raises(InvalidAnswer):
        labeler.label(Annotations.from_arrow(table, ("cat", "dog")), ())


@over_pairs
def test_a_doubled_key_is_refused(labeler: Labeler, kind: str, answers: Answers) -> None:
    table = answers(kind, 1, 2).to_arrow()
    text = table.column("payload")[0].as_py()
    key, value = next(iter(json.loads(text).items()))
    doubled = text[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
    at = table.column_names.index("payload")
    broken = Annotations.from_arrow(
        table.set_column(at, "payload", pa.array([doubled])), ("cat", "dog", "fox", "owl", "eel")
    )
    with pytest.raises(InvalidAnswer, match="doubled key"):
        labeler.label(broken, ())


@pytest.mark.parametrize("labeler", MADE, ids=lambda labeler: labeler.name)
def test_other_kinds_are_refused(labeler: Labeler, answers: Answers) -> None:
    for kind in ("choice", "top_two", "plausible", "sliders", "tokens", "typicality", "mixture"):
        if kind not in labeler.kinds:
            with pytest.raises(BadTable) as caught:
                labeler.label(answers(kind, 5, 0), ())
            assert caught.value.code == "wrong-kind"


@pytest.mark.parametrize("labeler", MADE, ids=lambda labeler: labeler.name)
def test_no_answers_are_no_beliefs(labeler: Labeler, answers: Answers) -> None:
    table = answers(labeler.kinds[0], 3, 0)
    assert len(labeler.label(table.take(np.zeros(3, dtype=bool)), ())) == 0


def test_names_are_distinct_and_found() -> None:
    names = [labeler.name for labeler in LABELERS]
    assert len(set(names)) == len(names)
    for labeler in MADE:
        assert {kind.name for kind in PAYLOAD_KINDS} >= set(labeler.kinds)
        settings_given = {"similarity": SIMILARITY} if "similarity" in type(labeler).__dataclass_fields__ else {}
        assert labeler_from_name(labeler.name, settings_given) == labeler


@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0, 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_top_two_clamp_on_any_answer(seed: int, gamma: float, answers: Answers) -> None:
    """Never mass on an excluded class, never negative mass."""
    table = answers("top_two", 30, seed)
    probs = TopTwoClamp(gamma=gamma).label(table, ()).probs
    for row, text in zip(probs, table.payload.to_pylist(), strict=True):
        answer = json.loads(text)
        excluded = set(answer["impossible"]) - {answer["first"], answer["second"]}
        assert all(row[table.classes.index(name)] == 0 for name in excluded)
        assert row.min() >= 0


@given(
    name=st.sampled_from([labeler.name for labeler in LABELERS]),
    settings_given=st.dictionaries(st.sampled_from(["gamma", "unsure", "k"]), st.floats(-2, 3), max_size=2),
)
@settings(max_examples=80, deadline=None)
def test_any_setting_is_taken_or_refused_with_a_reason(name: str, settings_given: dict[str, float]) -> None:
    refused = None
    try:
        labeler_from_name(name, settings_given)
    except SfumatoError as error:
        refused = error
    assert refused is None or (refused.code == "bad-setting" and refused.fix)
