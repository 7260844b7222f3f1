"""Camps of annotators: found where they are, not found where people only differ, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sfumato_command import sfumato

import sfumato as sf
from sfumato.labeling.camps import camps
from sfumato.labeling.shared_deviations import SharedAnswers
from sfumato.tables.errors import SfumatoError, SfumatoWarning

CLASSES = ("cat", "dog", "fox")


def crowd(world: str, seed: int, *, per_item: int = 12, soft: bool = False) -> sf.Beliefs:
    """36 annotators of 60 items: most people give the usual class. Annotators 24 to 35 say fox instead on
    the first 20 items (`camps`), prefer a class of their own (`preference`), or answer at random (`random`)."""
    rng = np.random.default_rng(seed)
    n, n_items = 36, 60
    item = np.repeat(np.arange(n_items), per_item)
    who = np.concatenate([rng.choice(n, per_item, False) for _ in range(n_items)])
    usual, few = rng.integers(0, 2, n_items)[item], who >= 24
    utility = 2.6 * np.eye(3)[usual]
    if world == "camps":
        utility[few & (item < 20)] = 2.6 * np.eye(3)[2]
    if world == "preference":
        utility += rng.normal(0, 0.7, (n, 3))[who]
    if world == "random":
        utility[few] = 0
    seen = utility + rng.gumbel(size=utility.shape)
    answer = np.exp(seen) / np.exp(seen).sum(axis=1, keepdims=True) if soft else seen.argmax(axis=1)
    names = [f"i{each:02}" for each in item], [f"a{each:02}" for each in who]
    return sf.Beliefs.from_numpy(*names, answer, CLASSES)


@pytest.mark.parametrize("soft", [False, True])
def test_camps_are_found_with_members_items_and_classes(soft: bool) -> None:
    found = sf.camps(crowd("camps", 3, soft=soft))
    assert found.found
    assert found.p_value == 0.01
    of = dict(zip(found.members.annotator, found.members.camp, strict=True))
    right = [of[f"a{each:02}"] == ("2" if each >= 24 else "1") for each in range(36) if of[f"a{each:02}"] != "unclear"]
    assert np.mean(right) >= 0.9
    assert len(right) == 36 - found.n_unclear >= 30
    most = found.items.item[:10]
    assert sum(int(name[1:]) < 20 for name in most) >= 9
    assert 12 <= found.n_divided <= 28
    assert {each.camp_2 for each in found.class_pairs()[:2]} == {"fox"}
    assert found.sentence().startswith(
        f"two camps: {found.share:.0%} of annotators answer differently on about {found.n_divided} items, p = 0.01"
    )


def test_annotators_whose_camp_is_unclear_are_in_none() -> None:
    """The only answer of one more annotator is about an item without other answers, which does not show the camp."""
    votes = crowd("camps", 3)
    items, people = votes.item.text().to_pylist(), votes.annotator.text().to_pylist()
    assert votes.hard is not None
    more = sf.Beliefs.from_numpy([*items, "alone"], [*people, "new"], np.append(votes.hard, 0), CLASSES)
    found = sf.camps(more)
    of = dict(zip(found.members.annotator, found.members.camp, strict=True))
    assert of["new"] == "unclear"
    assert found.n_unclear == sum(each == "unclear" for each in found.members.camp) >= 1
    assert found.share == sum(each == "2" for each in found.members.camp) / 37
    assert f"{found.n_unclear} of 37 annotators are unclear" in found.sentence()
    unclear = np.array([each == "unclear" for each in found.members.camp]) & (found.members.n_answers > 0)
    between = (found.members.probability_2 > 1 / 3) & (found.members.probability_2 < 2 / 3)
    assert unclear.tolist() == (between & (found.members.n_answers > 0)).tolist()


def test_not_finding_camps_does_not_claim_that_there_are_none() -> None:
    votes = crowd("alike", 1)
    sentence = sf.camps(votes).sentence()
    assert sentence.startswith("no evidence of camps, p = ")
    assert sentence.endswith("which does not exclude small ones")
    few = np.array([int(name[1:]) < 5 for name in votes.item.text().to_pylist()])
    assert (
        sf.camps(votes.take(np.flatnonzero(few))).sentence().endswith(": 5 items, and fewer than 20 rarely show them")
    )


def test_one_answer_per_item_cannot_be_tested() -> None:
    votes = sf.Beliefs.from_numpy(["x", "y"], ["a", "b"], np.array([0, 1]), CLASSES)
    assert sf.camps(votes).sentence() == "camps cannot be tested: no item has answers of two people"


@pytest.mark.parametrize("world", ["alike", "preference", "random"])
def test_people_who_differ_alone_are_no_camp(world: str) -> None:
    p = [camps(crowd(world, seed), rng=np.random.default_rng(seed)).p_value for seed in range(8)]
    # Each is at most 0.05 with probability 0.05: three of eight would be by chance once in 170 times.
    assert sum(value <= 0.05 for value in p) <= 2
    assert not camps(crowd(world, int(np.argmax(p))), rng=np.random.default_rng(int(np.argmax(p)))).found


def test_few_answers_per_item_are_not_tested() -> None:
    found = sf.camps(crowd("camps", 3, per_item=6))
    assert not found.found
    assert np.isnan(found.p_value)
    assert found.sentence().startswith("camps were not tested: 6.0 answers per item")


def test_counts_have_no_camps() -> None:
    counts = sf.Counts.from_numpy(["x", "y"], [[9, 3, 0], [1, 9, 2]], CLASSES)
    with pytest.raises(SfumatoError, match="annotators"):
        sf.camps(counts)


def test_repeated_answers_count_once() -> None:
    """The first answer counts, so that answering again changes nothing."""
    once = crowd("camps", 3)
    names = once.item.text().to_pylist(), once.annotator.text().to_pylist()
    assert once.hard is not None
    twice = sf.Beliefs.from_numpy(names[0] * 2, names[1] * 2, np.concatenate([once.hard, (once.hard + 1) % 3]), CLASSES)
    assert sf.camps(twice).members.to_arrow().equals(sf.camps(once).members.to_arrow())


def test_deviations_have_mean_0_for_every_item() -> None:
    answers = SharedAnswers.of(crowd("random", 1).coded())
    apart = answers.deviations()
    means = answers.sums(apart.in_mean[:, None] * apart.apart)
    np.testing.assert_allclose(means, 0, atol=1e-12)


def test_a_pool_that_ignores_the_smaller_camp_warns() -> None:
    votes = crowd("camps", 3)
    with pytest.warns(SfumatoWarning, match="two camps: .* mixture-pool lowers the influence of the smaller one"):
        sf.aggregate(votes, by="mixture-pool:weight=0.8")
    # The reliability pool does not lower anybody's weight here, and does not warn; nor does a small weight.
    sf.aggregate(votes, by="reliability-pool")
    sf.aggregate(votes, by="mixture-pool:weight=0.2")


def test_the_command_prints_and_writes_camps(tmp_path: Path) -> None:
    crowd("camps", 3).write(tmp_path / "b.parquet")
    shown = sfumato(
        "agreement", "b.parquet", "--camps", "--members", "m.csv", "--divided", "d.csv", cwd=tmp_path
    ).stdout  # fmt: skip
    found = sf.camps(sf.Beliefs.read(tmp_path / "b.parquet"))
    assert found.sentence() in " ".join(shown.split())
    assert "camp 1 mostly answers cat, camp 2 fox" in shown
    assert pl.read_csv(tmp_path / "m.csv").columns == ["annotator", "camp", "probability_2", "n_answers"]
    assert pl.read_csv(tmp_path / "d.csv")["item"].to_list() == list(found.items.item)


def test_exchanges_keep_the_answers_to_an_item_and_the_habits_of_people() -> None:
    answers = SharedAnswers.of(crowd("preference", 2, per_item=20).coded())
    rng = np.random.default_rng(1)
    # Everybody tends to the same degree to every class, or annotator 0 strongly to fox.
    even = np.zeros_like(answers.belief)
    tilt = even + np.where(answers.annotator[:, None] == 0, [0, 0, 9.0], 0)
    fox = {}
    for name, each in (("even", even), ("tilted", tilt)):
        held = np.arange(len(answers.item))
        for _ in range(10):
            held = answers.exchanged(each, held, rng)
        assert np.array_equal(np.sort(held), np.arange(len(held)))
        assert np.array_equal(answers.item[held], answers.item)
        assert (held != np.arange(len(held))).mean() > 0.5
        fox[name] = answers.belief[held][answers.annotator == 0, 2].mean()
    has_fox = (answers.totals[answers.item[answers.annotator == 0], 2] > 0).mean()
    assert fox["tilted"] == pytest.approx(has_fox, abs=0.1)
    assert fox["even"] < 0.6 * fox["tilted"]


def test_many_answers_per_item_find_camps_without_false_alarms() -> None:
    """From 15 answers per item on, the test exchanges answers."""
    assert camps(crowd("camps", 3, per_item=24), rng=np.random.default_rng(1)).found
    found = [camps(crowd("alike", each, per_item=24), rng=np.random.default_rng(each)).found for each in range(8)]
    assert sum(found) <= 1
