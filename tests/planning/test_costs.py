"""Times and costs: against hand calculation, simulated sessions and the published times."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from math import exp
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.importers.hmix import HMixImporter
from sfumato.planning.answer_times import measured_times, seconds_of
from sfumato.planning.costs import DEFAULT_TIMES, CostModel, KindTime
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import SfumatoError


def sessions(seconds: np.ndarray, kind: str = "choice/1", payload: str = '{"class": "a"}') -> Annotations:
    """Answers of people x trials that took so long, about items numbered by trial."""
    n_people, n_trials = seconds.shape
    return Annotations.from_arrow(
        pa.table(
            {
                "item": [f"i{t}" for t in range(n_trials)] * n_people,
                "annotator": [f"p{p}" for p in range(n_people) for _ in range(n_trials)],
                "kind": [kind] * seconds.size,
                "payload": [payload] * seconds.size,
                "trial": list(range(n_trials)) * n_people,
                "seconds": seconds.ravel(),
            }
        ),
        ["a", "b"],
    )


def test_the_mean_of_a_session_by_hand() -> None:
    time = KindTime(10, "", first_ratio=3, learned_after=2, per_nat=0.5)
    extra = [20, 20 * exp(-1 / 2), 20 * exp(-1)]
    assert np.isclose(time.mean_seconds(1), 30)
    assert np.isclose(time.mean_seconds(3), 10 + sum(extra) / 3)
    assert np.isclose(time.mean_seconds(3, nats_above_mean=0.4), (10 + sum(extra) / 3) * 1.2)
    assert time.mean_seconds(3, nats_above_mean=-5) == 0


def test_money_by_hand() -> None:
    costs = CostModel({"choice": KindTime(2, "")}, overhead=1.5, wage=12, fee=0.25)
    assert np.isclose(costs.seconds("choice"), 3)
    assert np.isclose(costs.money("choice", 1000), 1000 * 3 / 3600 * 12 * 1.25)  # 12.5
    assert costs.affordable("choice", 12.5) == 1000
    assert costs.affordable("choice", 12.4999) == 999
    assert np.isclose(costs.with_kind("sliders", 20, "asked").money("sliders"), 10 * costs.money("choice"))
    assert costs.with_times({"choice": KindTime(4, "")}).seconds("choice") == 6
    assert costs.seconds("choice") == 3


def test_batches_make_learning_dearer() -> None:
    assert CostModel(batch_size=5).seconds("top_two") > CostModel(batch_size=100).seconds("top_two")


def test_a_cost_model_survives_a_process_pool_and_cannot_be_changed() -> None:
    costs = CostModel(wage=15)
    assert pickle.loads(pickle.dumps(costs)) == costs  # noqa: S301
    with pytest.raises(TypeError):
        costs.times["choice"] = KindTime(1, "")  # type: ignore[index]


@pytest.mark.parametrize(
    "settings",
    [{"overhead": 0.9}, {"wage": -1}, {"fee": -0.1}, {"wage": float("nan")}, {"batch_size": 0}, {"fee": float("inf")}],
)
def test_costs_that_cannot_be(settings: dict) -> None:
    with pytest.raises(SfumatoError, match=next(iter(settings))):
        CostModel(**settings)


@pytest.mark.parametrize(
    "settings", [{"seconds": -1}, {"first_ratio": 0}, {"learned_after": 0}, {"per_nat": float("inf")}]
)
def test_times_that_cannot_be(settings: dict) -> None:
    with pytest.raises(SfumatoError, match=next(iter(settings))):
        KindTime(**{"seconds": 1, "source": "", **settings})


def test_an_unknown_kind_lists_those_known() -> None:
    with pytest.raises(SfumatoError, match=r"choice, top_two, plausible.*did you mean 'top_two'") as caught:
        CostModel().seconds("toptwo")
    assert caught.value.code == "unknown-kind"


def test_a_budget_for_less_than_one_answer_says_what_one_costs() -> None:
    with pytest.raises(SfumatoError, match=r"0\.2547 per answer of kind top_two.*plan for 0\.2547") as caught:
        CostModel().affordable("top_two", 0.2)
    assert caught.value.code == "budget-too-small"
    with pytest.raises(SfumatoError, match="cost nothing"):
        CostModel(wage=0).affordable("top_two", 1)


def test_every_default_time_says_where_it_comes_from() -> None:
    assert set(DEFAULT_TIMES) == {
        "choice", "top_two", "plausible", "sliders", "tokens", "typicality", "similarity", "triplet", "mixture",
    }  # fmt: skip
    assert all(time.is_assumed and time.source.startswith("not your data: ") for time in DEFAULT_TIMES.values())
    assumed = {kind for kind, time in DEFAULT_TIMES.items() if "assumed, " in time.source}
    assert assumed == {"sliders", "tokens", "typicality", "similarity", "triplet"}


def test_learning_is_found_again() -> None:
    rng = np.random.default_rng(0)
    shape = 8 * (1 + 1.5 * np.exp(-np.arange(30) / 4))
    time = measured_times(sessions(shape * rng.gamma(20, 1 / 20, (60, 30))))["choice"]
    assert np.isclose(time.seconds, 8, rtol=0.03)
    assert np.isclose(time.first_ratio, 2.5, rtol=0.06)
    assert np.isclose(time.learned_after, 4, rtol=0.15)


def test_few_answers_have_a_mean_and_no_curve() -> None:
    time = measured_times(sessions(np.array([[9.0, 1.0, 2.0]])))["choice"]
    assert (time.seconds, time.first_ratio, time.per_nat) == (4.0, 1.0, 0.0)


def test_a_page_left_open_is_not_counted_and_a_slow_answer_is() -> None:
    seconds = np.array([[2.0, 2.0, 2.0, 90.0, 5000.0]])
    time = measured_times(sessions(seconds))["choice"]
    assert np.isclose(time.seconds, 24)
    assert "1 pages left open" in time.source


def test_doubt_takes_longer_by_so_much_a_nat() -> None:
    rng = np.random.default_rng(1)
    n_items, each = 120, 40
    p = rng.uniform(0, 1, n_items)
    chosen = rng.random((n_items, each)) < p[:, None]
    share = chosen.mean(axis=1)
    nats = -sum(q * np.log(np.maximum(q, 1e-300)) for q in (share, 1 - share))
    mean = 10 * (1 + 0.6 * (nats - nats.mean()))
    table = Annotations.from_arrow(
        pa.table(
            {
                "item": np.repeat([f"i{i}" for i in range(n_items)], each),
                "annotator": [f"p{j}" for j in range(each)] * n_items,
                "kind": ["choice/1"] * (n_items * each),
                "payload": [json.dumps({"class": "ab"[int(c)]}) for c in chosen.ravel()],
                "seconds": np.repeat(mean, each),
            }
        ),
        ["a", "b"],
    )
    assert np.isclose(measured_times(table)["choice"].per_nat, 0.6, rtol=1e-6)


def test_when_answers_began_and_ended_is_a_time_too() -> None:
    frame = sessions(np.array([[np.nan, np.nan, 4.0]])).to_arrow().to_pylist()
    begun = datetime(2024, 1, 1, tzinfo=UTC)
    for i, row in enumerate(frame):
        row |= {"started_at": begun, "submitted_at": begun + timedelta(seconds=10 * i)}
    table = Annotations.from_arrow(pa.Table.from_pylist(frame), ["a", "b"])
    assert seconds_of(table).tolist() == [0, 10, 4]
    assert np.isclose(measured_times(table)["choice"].seconds, 14 / 3)
    assert np.isnan(seconds_of(sessions(np.full((1, 2), np.nan)))).all()


def test_without_times_it_says_what_to_do() -> None:
    with pytest.raises(SfumatoError, match=r"without a time.*give the mean time") as caught:
        measured_times(sessions(np.full((2, 3), np.nan)))
    assert caught.value.code == "no-times"


def test_the_defaults_are_those_of_the_published_answers(first_pass: Annotations, published: Path) -> None:
    found = measured_times(first_pass)["top_two"]
    usual = DEFAULT_TIMES["top_two"]
    assert np.isclose(first_pass.seconds.mean(), 44.4, atol=0.05)
    assert np.isclose(found.mean_seconds(25), 44.38, atol=0.01)
    assert np.isclose(usual.mean_seconds(25), 44.38, atol=0.1)
    assert np.allclose([found.seconds, found.first_ratio, found.learned_after], [39.2, 2.1, 2.5], rtol=0.02)
    mixture = HMixImporter().read(published / "hmix").table
    assert isinstance(mixture, Annotations)
    assert np.isclose(measured_times(mixture)["mixture"].seconds, DEFAULT_TIMES["mixture"].seconds, rtol=0.01)


def test_assumed_times_grow_with_classes_and_with_words() -> None:
    ten, hundred = (CostModel().for_task(k) for k in (10, 100))
    assert ten.time("sliders").seconds == 30
    assert hundred.time("sliders").seconds == 300  # one slider per class
    assert hundred.time("choice").seconds == pytest.approx(3.3 + 90 * 0.1)
    assert "for 100 classes, assumed" in hundred.time("sliders").source
    texts = CostModel().for_task(10, words=119)
    assert texts.time("choice").seconds == pytest.approx(3.3 + 30)  # half a minute at 238 words per minute
    assert texts.time("triplet").seconds == pytest.approx(3.3 + 90)  # three texts
    two = CostModel().for_task(2)
    assert two.time("sliders").seconds == 6
    assert two.time("choice").seconds == pytest.approx(2.5)


def test_measured_times_stay_as_they_are() -> None:
    own = CostModel().with_kind("sliders", 12.0).for_task(100, words=500)
    assert own.time("sliders").seconds == 12
