"""Plausible, sliders, typicality, similarity and triplet: what they refuse, what they ask, what people would answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from sfumato.elicitation.kind import nearest_on_scale, on_scale
from sfumato.elicitation.kinds.plausible import PlausibleKind
from sfumato.elicitation.kinds.similarity import SimilarityKind
from sfumato.elicitation.kinds.sliders import SlidersKind
from sfumato.elicitation.kinds.triplet import TripletKind, _numbered_pair
from sfumato.elicitation.kinds.typicality import TypicalityKind
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, ItemSource, Study, StudyClass
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, InvalidAnswer

STUDY = Study("pets", "Pets", tuple(map(StudyClass, ("cat", "dog", "ship"))), ItemSource(folder=Path("pets")))
ONE = Stimulus("x")
OF_CAT = Stimulus("x", context={"class": "cat"})
PAIR = Stimulus("x", ("y",))
THREE = Stimulus("x", ("y", "z"))
NAN = float("nan")


def items(n: int) -> list[Item]:
    return [Item(f"i{i}") for i in range(n)]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("kind", "stimulus", "raw", "field"),
        [
            (PlausibleKind(), ONE, None, "answer"),
            (PlausibleKind(), ONE, ["yes", "no", "no"], "answer"),
            (PlausibleKind(), ONE, {}, "cat"),
            (PlausibleKind(), ONE, {"cat": "yes", "ship": "no"}, "dog"),
            (PlausibleKind(), ONE, {"cat": "yes", "dog": "no", "ship": "no", "cow": "no"}, "cow"),
            (PlausibleKind(), ONE, {"cat": "yes", "dog": "perhaps", "ship": "no"}, "dog"),
            (PlausibleKind(), ONE, {"cat": "yes", "dog": None, "ship": "no"}, "dog"),
            (PlausibleKind(), ONE, {"cat": "yes", "dog": ["no"], "ship": "no"}, "dog"),
            (PlausibleKind(), ONE, {"cat": "Yes", "dog": "no", "ship": "no"}, "cat"),
            (SlidersKind(), ONE, "0.5", "answer"),
            (SlidersKind(), ONE, {"cat": 0.5}, "dog"),
            (SlidersKind(), ONE, {"cat": 0.5, "dog": 0, "ship": 0, "cow": 0}, "cow"),
            (SlidersKind(), ONE, {"cat": 1.05, "dog": 0, "ship": 0}, "cat"),
            (SlidersKind(), ONE, {"cat": 1, "dog": -0.05, "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": 0.33, "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": "0.5", "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": True, "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": None, "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": NAN, "ship": 0}, "dog"),
            (SlidersKind(), ONE, {"cat": 1, "dog": 10**400, "ship": 0}, "dog"),
            (TypicalityKind(), OF_CAT, [], "answer"),
            (TypicalityKind(), OF_CAT, {}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": 0.9, "class": "dog"}, "class"),
            (TypicalityKind(), OF_CAT, {"typicality": 1.1}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": -0.1}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": 0.55}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": "0.5"}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": None}, "typicality"),
            (TypicalityKind(), OF_CAT, {"typicality": NAN}, "typicality"),
            (SimilarityKind(), PAIR, 5, "answer"),
            (SimilarityKind(), PAIR, {}, "rating"),
            (SimilarityKind(), PAIR, {"rating": 7}, "rating"),
            (SimilarityKind(), PAIR, {"rating": -1}, "rating"),
            (SimilarityKind(), PAIR, {"rating": 2.5}, "rating"),
            (SimilarityKind(), PAIR, {"rating": "5"}, "rating"),
            (SimilarityKind(), PAIR, {"rating": True}, "rating"),
            (SimilarityKind(), PAIR, {"rating": 5, "other": "z"}, "other"),
            (TripletKind(), THREE, "a", "answer"),
            (TripletKind(), THREE, {}, "closer"),
            (TripletKind(), THREE, {"closer": "c"}, "closer"),
            (TripletKind(), THREE, {"closer": None}, "closer"),
            (TripletKind(), THREE, {"closer": "a", "a": "y"}, "a"),
        ],
        ids=str,
    )
    def test_the_field_is_named(self, kind: Any, stimulus: Stimulus, raw: Any, field: str) -> None:
        with pytest.raises(InvalidAnswer) as caught:
            kind.parse(raw, stimulus, STUDY)
        assert caught.value.where.column == field
        assert caught.value.found
        assert caught.value.expected


class TestWhatIsTaken:
    @pytest.mark.parametrize(
        ("kind", "stimulus", "raw", "payload"),
        [
            (
                PlausibleKind(),
                ONE,
                {"ship": "no", "dog": "unsure", "cat": "yes"},
                '{"cat":"yes","dog":"unsure","ship":"no"}',
            ),
            (PlausibleKind(), ONE, {"cat": "no", "dog": "no", "ship": "no"}, '{"cat":"no","dog":"no","ship":"no"}'),
            (SlidersKind(), ONE, {"dog": 0.35, "cat": 1, "ship": 0}, '{"cat":1.0,"dog":0.35,"ship":0.0}'),
            (SlidersKind(step=1), ONE, {"dog": 0.29, "cat": 0.57, "ship": 0}, '{"cat":0.57,"dog":0.29,"ship":0.0}'),
            (SlidersKind(), ONE, {"cat": 0, "dog": 0, "ship": 0}, '{"cat":0.0,"dog":0.0,"ship":0.0}'),
            (TypicalityKind(), OF_CAT, {"typicality": 0.9}, '{"class":"cat","typicality":0.9}'),
            (
                TypicalityKind(steps=7),
                OF_CAT,
                {"typicality": 1 / 6},
                '{"class":"cat","typicality":0.16666666666666666}',
            ),
            (SimilarityKind(), PAIR, {"rating": 5}, '{"other":"y","rating":5}'),
            (TripletKind(), THREE, {"closer": "b"}, '{"a":"y","b":"z","closer":"b"}'),
        ],
        ids=str,
    )
    def test_it_becomes_the_payload_that_tables_hold(
        self, kind: Any, stimulus: Stimulus, raw: Any, payload: str
    ) -> None:
        written = msgspec.json.encode(kind.parse(raw, stimulus, STUDY)).decode()
        assert written == payload
        stored = next(each for each in payloads.PAYLOAD_KINDS if each.name == kind.name)
        assert payloads.decode([written], stored)
        assert stored.payload is kind.payload


class TestSettings:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: SlidersKind(step=0),
            lambda: SlidersKind(step=3),
            lambda: SlidersKind(step=True),
            lambda: SlidersKind(step=2.5),  # type: ignore[arg-type]
            lambda: TypicalityKind(steps=1),
            lambda: TypicalityKind(steps=12),
            lambda: SimilarityKind(pairs=0),
            lambda: SimilarityKind(pairs="all"),  # type: ignore[arg-type]
            lambda: TripletKind(triplets=-1),
        ],
    )
    def test_out_of_range_is_refused(self, make: Any) -> None:
        with pytest.raises(BadSetting):
            make()

    @pytest.mark.parametrize(
        "kind", [PlausibleKind(), SlidersKind(), TypicalityKind(), SimilarityKind(), TripletKind()]
    )
    def test_the_third_person_is_asked_for_other_people(self, kind: Any) -> None:
        assert kind.prompt(Framing.OTHERS).startswith("Imagine that 100 people")
        assert "100" not in kind.prompt(Framing.OWN)

    def test_scales_give_the_numbers_people_read(self) -> None:
        assert [nearest_on_scale(i / 20 + 0.01, 20) for i in (0, 7, 17, 20, 30)] == [0, 0.35, 0.85, 1, 1]
        assert nearest_on_scale(-0.2, 10) == 0
        assert all(on_scale(percent / 100, 100) for percent in range(101))
        assert not on_scale(0.995, 100)
        assert not on_scale(float("inf"), 10)


class TestTypicalityStimuli:
    def test_each_item_is_asked_about_with_its_class(self) -> None:
        asked = TypicalityKind().stimuli([Item("1", given="cat"), Item("2", given="ship")], STUDY)
        assert asked == [Stimulus("1", context={"class": "cat"}), Stimulus("2", context={"class": "ship"})]

    def test_items_without_a_class_are_counted_and_named(self) -> None:
        with pytest.raises(BadSetting, match=r"2 of 3 items: 2, 3.*column class"):
            TypicalityKind().stimuli([Item("1", given="cat"), Item("2"), Item("3")], STUDY)

    def test_a_class_that_is_none_of_the_study_is_named(self) -> None:
        with pytest.raises(BadSetting, match=r"'1'.*'cow'.*cat, dog, ship"):
            TypicalityKind().stimuli([Item("1", given="cow")], STUDY)


class TestSimilarityStimuli:
    @pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 11, 63])
    def test_few_items_are_all_compared_once(self, n: int) -> None:
        pairs = [frozenset(each.shown) for each in SimilarityKind().stimuli(items(n), STUDY)]
        assert len(pairs) == len(set(pairs)) == n * (n - 1) // 2
        assert all(len(pair) == 2 for pair in pairs)

    def test_of_many_items_two_thousand_pairs_are_drawn(self) -> None:
        assert len(SimilarityKind().stimuli(items(64), STUDY)) == 2_000
        assert len(SimilarityKind().stimuli(items(20_000), STUDY)) == 2_000

    @pytest.mark.parametrize(("n", "pairs"), [(10, 7), (10, 31), (11, 40), (100, 333), (300, 2_000), (50, 1_225)])
    def test_every_item_comes_about_equally_often_on_either_side(self, n: int, pairs: int) -> None:
        drawn = SimilarityKind(pairs=pairs).stimuli(items(n), STUDY)
        assert len({frozenset(each.shown) for each in drawn}) == len(drawn) == pairs
        shown = Counter(name for each in drawn for name in each.shown)
        first = Counter(each.item for each in drawn)
        counts = [shown[item.id] for item in items(n)]
        assert max(counts) - min(counts) <= 3
        assert max(first.values()) - min(first[item.id] for item in items(n)) <= 2

    def test_there_are_never_more_than_there_are(self) -> None:
        assert len(SimilarityKind(pairs=500).stimuli(items(5), STUDY)) == 10

    def test_the_same_study_draws_the_same_and_another_study_others(self) -> None:
        other = Study("others", "Pets", STUDY.classes, STUDY.items)
        kind = SimilarityKind(pairs=20)
        assert kind.stimuli(items(30), STUDY) == kind.stimuli(items(30), STUDY)
        assert kind.stimuli(items(30), STUDY) != kind.stimuli(items(30), other)

    def test_pairs_of_the_column_other_are_taken_as_they_are(self) -> None:
        given = [Item("1", columns={"other": "3"}), Item("2", columns={"other": "1"}), Item("3", columns={"other": ""})]
        assert SimilarityKind().stimuli(given, STUDY) == [Stimulus("1", ("3",)), Stimulus("2", ("1",))]

    @pytest.mark.parametrize("other", ["4", "1"])
    def test_an_unknown_other_and_oneself_are_refused(self, other: str) -> None:
        with pytest.raises(BadSetting, match=f"other = '{other}' for the item '1'"):
            SimilarityKind().stimuli([Item("1", columns={"other": other}), Item("2")], STUDY)

    def test_one_item_cannot_be_compared(self) -> None:
        with pytest.raises(BadSetting, match="at least 2"):
            SimilarityKind().stimuli(items(1), STUDY)


class TestTripletStimuli:
    @pytest.mark.parametrize("n", [3, 4, 5, 8])
    def test_few_items_are_all_asked_about(self, n: int) -> None:
        drawn = TripletKind().stimuli(items(n), STUDY)
        assert len(drawn) == n * (n - 1) * (n - 2) // 2
        assert len({(each.item, frozenset(each.others)) for each in drawn}) == len(drawn)
        assert all(len(set(each.shown)) == 3 for each in drawn)

    @pytest.mark.parametrize(("n", "triplets"), [(30, 1_000), (300, 1_000), (1_000, 999), (20_000, 50)])
    def test_every_item_comes_about_equally_often_in_each_place(self, n: int, triplets: int) -> None:
        drawn = TripletKind(triplets=triplets).stimuli(items(n), STUDY)
        assert len({(each.item, frozenset(each.others)) for each in drawn}) == len(drawn) == triplets
        for place in range(3):
            shown = Counter(each.shown[place] for each in drawn)
            assert max(shown.values()) - min(shown[item.id] for item in items(n)) <= 1

    def test_pairs_are_numbered_each_once(self) -> None:
        assert [_numbered_pair(i) for i in range(6)] == [(1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4)]
        assert len({_numbered_pair(i) for i in range(4950)}) == 4950
        assert _numbered_pair(10**12)[1] > _numbered_pair(10**12)[0]

    def test_the_columns_a_and_b_are_taken_as_they_are(self) -> None:
        given = [Item("1", columns={"a": "2", "b": "3"}), Item("2"), Item("3")]
        assert TripletKind().stimuli(given, STUDY) == [Stimulus("1", ("2", "3"))]

    @pytest.mark.parametrize(("a", "b", "column"), [("2", "", "b"), ("2", "2", "a"), ("2", "9", "b"), ("1", "2", "a")])
    def test_companions_that_cannot_be_are_refused(self, a: str, b: str, column: str) -> None:
        with pytest.raises(BadSetting, match=f"found {column} = "):
            TripletKind().stimuli([Item("1", columns={"a": a, "b": b}), Item("2"), Item("3")], STUDY)

    def test_two_items_are_too_few(self) -> None:
        with pytest.raises(BadSetting, match="at least 3"):
            TripletKind().stimuli(items(2), STUDY)


CAT, DOG, TORN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0)


def many(kind: Any, beliefs: list[Any], stimulus: Stimulus, n: int = 400) -> list[dict[str, Any]]:
    """What `n` people with these beliefs would send; each answer is plain JSON that `parse` takes."""
    rng = np.random.default_rng(1)
    sent = [kind.simulate(beliefs, stimulus, STUDY, rng) for _ in range(n)]
    for raw in sent:
        assert json.loads(json.dumps(raw)) == raw
        kind.parse(raw, stimulus, STUDY)
    return sent


class TestSimulated:
    def test_plausible_follows_what_is_nearly_as_probable_as_the_most_probable(self) -> None:
        assert all(raw == {"cat": "yes", "dog": "no", "ship": "no"} for raw in many(PlausibleKind(), [CAT], ONE))
        assert all(raw["cat"] == raw["dog"] == "yes" for raw in many(PlausibleKind(), [TORN], ONE))
        marks = Counter(raw["dog"] for raw in many(PlausibleKind(), [(0.8, 0.18, 0.02)], ONE))
        # 0.18 / 0.8 lies between a tenth and a half, by more than three times the unsteadiness.
        assert marks["unsure"] > 390

    def test_sliders_are_relative_to_the_best(self) -> None:
        sent = many(SlidersKind(), [np.array([0.6, 0.3, 0.1])], ONE)
        means = [np.mean([raw[name] for raw in sent]) for name in STUDY.class_names]
        # The best is clipped at 1: half of a normal with deviation 0.05 is 0.02 below it on average.
        np.testing.assert_allclose(means, [0.98, 0.5, 1 / 6], atol=0.01)
        assert all(raw["dog"] == raw["ship"] == 0 for raw in many(SlidersKind(), [CAT], ONE))

    def test_typicality_refers_to_the_shown_class(self) -> None:
        assert np.mean([raw["typicality"] for raw in many(TypicalityKind(), [CAT], OF_CAT)]) > 0.95
        assert np.mean([raw["typicality"] for raw in many(TypicalityKind(), [DOG], OF_CAT)]) < 0.05
        half = [raw["typicality"] for raw in many(TypicalityKind(), [(0.3, 0.6, 0.1)], OF_CAT)]
        assert abs(np.mean(half) - 0.5) < 0.01

    def test_similarity_falls_with_the_distance_of_beliefs(self) -> None:
        means = [
            np.mean([raw["rating"] for raw in many(SimilarityKind(), [CAT, other], PAIR)]) for other in (CAT, TORN, DOG)
        ]
        assert means[0] > 5.6
        assert abs(means[1] - 3) < 0.1
        assert means[2] < 0.4

    def test_triplets_go_to_the_nearer_one_and_ties_either_way(self) -> None:
        def shares(*beliefs: Any) -> float:
            return float(np.mean([raw["closer"] == "a" for raw in many(TripletKind(), list(beliefs), THREE)]))

        assert shares(CAT, CAT, DOG) == 1
        assert shares(CAT, DOG, TORN) == 0
        assert 0.42 < shares(CAT, TORN, TORN) < 0.58
        # A difference of 0.1: 1 / (1 + e^-2) = 0.88.
        assert abs(shares(CAT, (0.6, 0.4, 0.0), (0.5, 0.5, 0.0)) - 0.88) < 0.05
