"""Defects that a review found, each kept from coming back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato import Beliefs
from sfumato.aggregation import (
    AggregationInputs,
    Bayes,
    LocalEngine,
    Mace,
    Mean,
    ReliabilityPool,
    Spectral,
    intervals,
    update,
)
from sfumato.cli import group
from sfumato.tables.errors import BadSetting
from sfumato.tables.string_dictionary import coded_texts

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")


def crowd(n_people: int, n_items: int = 100, first: int = 0) -> Beliefs:
    """Votes on items of all degrees of doubt, the same ones for all voters."""
    shares = np.random.default_rng(0).dirichlet(np.full(4, 0.3), n_items)
    rows = [
        (f"i{i}", f"a{person}", str(np.random.default_rng([1, person, i]).choice(4, p=shares[i])))
        for person in range(first, first + n_people)
        for i in range(n_items)
    ]
    item, annotator, label = zip(*rows, strict=True)
    return Beliefs.from_votes(item=item, annotator=annotator, label=label, classes=["0", "1", "2", "3"])


def test_bayes_from_one_vote_an_item_is_not_held_to_its_one_component() -> None:
    updated = update(Bayes().aggregate(crowd(1)), crowd(6, first=1))
    at_once = Bayes().aggregate(crowd(7))
    np.testing.assert_allclose(updated.labels.probs, at_once.labels.probs, rtol=0, atol=1e-3)


def test_who_answers_twice_is_not_compared_with_themselves() -> None:
    """One person guesses and repeats every guess; agreeing with oneself is no reason to be trusted."""
    rng = np.random.default_rng(3)
    rows = [(f"i{i}", "guesses", str(rng.integers(2))) for i in range(60)] * 2
    rows += [(f"i{i}", f"looks-{j}", str(i % 2 ^ int(rng.random() < 0.1))) for i in range(60) for j in range(2)]
    item, annotator, label = zip(*rows, strict=True)
    beliefs = Beliefs.from_votes(item=item, annotator=annotator, label=label)
    for averaged in (False, True):
        quality = ReliabilityPool().aggregate(beliefs, AggregationInputs(average_repeats=averaged)).annotators
        weight = dict(zip(quality.annotators.to_pylist(), quality.measures["weight"], strict=True))
        assert weight["guesses"] < 0.8 * min(weight["looks-0"], weight["looks-1"])


def test_the_fractions_of_a_belief_are_no_pair_of_people() -> None:
    """Nobody met anybody, so everybody has the skill that is taken for ordinary: 0.5, an accuracy of 0.75."""
    probs = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    beliefs = Beliefs.from_probs(item=["a", "b", "c"], annotator=["x", "y", "x"], probs=probs, classes=["0", "1"])
    np.testing.assert_allclose(Spectral().aggregate(beliefs).annotators.measures["accuracy"], 0.75, atol=1e-9)


def test_mace_with_priors_near_nothing() -> None:
    for method in (Mace(habit_prior=1e-10), Mace(known_prior=1e-300)):
        assert np.isfinite(method.aggregate(crowd(3, 10)).labels.probs).all()


def test_intervals_under_weights_whose_squares_are_no_numbers() -> None:
    plain = intervals(Mean().aggregate(crowd(3, 10), AggregationInputs(weights={"a0": 2.0, "a1": 1.0, "a2": 1.0})))
    for scale in (1e200, 1e-200):
        weights = {"a0": 2 * scale, "a1": scale, "a2": scale}
        found = intervals(Mean().aggregate(crowd(3, 10), AggregationInputs(weights=weights)))
        np.testing.assert_allclose(found.low, plain.low, rtol=1e-9)
        np.testing.assert_allclose(found.high, plain.high, rtol=1e-9)


def test_ids_beyond_two_gib_into_a_column() -> None:
    begin, n = 2**31 + 10, 300_000
    # Never touched but at its end, so the two GiB before are not real memory.
    text = np.zeros(begin + 2 * n, np.uint8)
    text[begin:] = ord("a") + np.arange(2 * n) // 2 % 3
    ends = pa.py_buffer(begin + 2 * np.arange(n + 1))
    coded = coded_texts(pa.LargeStringArray.from_buffers(n, ends, pa.py_buffer(text)))
    assert coded.dictionary.to_pylist() == ["aa", "bb", "cc"]
    assert (coded.indices.to_numpy() == np.arange(n) % 3).all()


def test_a_negative_number_of_workers_is_refused() -> None:
    with pytest.raises(BadSetting, match="found workers = -1"):
        LocalEngine(-1)


@pytest.mark.parametrize("option", ["--gold", "--weights", "--annotations", "--calibrate-on"])
def test_no_output_takes_the_place_of_an_input(option: str, tmp_path: Path) -> None:
    crowd(2, 5).write(tmp_path / "beliefs.csv")
    beside = tmp_path / "beside.csv"
    beside.write_text("precious")
    arguments = ["aggregate", str(tmp_path / "beliefs.csv"), option, str(beside), "-o", str(beside)]
    result = CliRunner().invoke(group, arguments)
    assert isinstance(result.exception, BadSetting)
    assert beside.read_text() == "precious"


def test_a_bad_level_is_told_before_anything_is_written(tmp_path: Path) -> None:
    crowd(2, 5).write(tmp_path / "beliefs.csv")
    arguments = ["aggregate", str(tmp_path / "beliefs.csv"), "-o", str(tmp_path / "labels.csv")]
    result = CliRunner().invoke(group, [*arguments, "--intervals", str(tmp_path / "intervals.csv"), "--level", "1.5"])
    assert isinstance(result.exception, BadSetting)
    assert not (tmp_path / "labels.csv").exists()
