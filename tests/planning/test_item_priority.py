"""Item priorities compared with simulated answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion
from sfumato.planning.allocation import Form
from sfumato.planning.answer_value import AcquisitionIndex, ItemPosteriors, KLIndex, L2Index, NotUnanimousIndex
from sfumato.planning.item_priority import rank_items, rank_items_by_map
from sfumato.planning.pilot_answers import dirichlet
from sfumato.tables.errors import SfumatoError

COUNTS = np.array([[3.0, 1.0, 0.0], [8.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 4.0, 3.0]])
PRIOR = dirichlet([0.6, 0.5, 0.4])
ITEMS = ("a", "b", "c", "d")


@pytest.mark.parametrize(("index", "tolerance"), [(L2Index(), 0.03), (KLIndex(), 0.08)])
@pytest.mark.parametrize("votes", [1, 4])
def test_the_worth_is_what_answers_take_away(index: AcquisitionIndex, tolerance: float, votes: int) -> None:
    """Dirichlet posteriors: draw p, draw so many votes, and see what is left. Exact by l2, near by kl."""
    table = rank_items(ITEMS, COUNTS, {"form": Form(float(votes), 2.0)}, index=index, prior=PRIOR)
    rng = np.random.default_rng(0)
    for i, counts in enumerate(COUNTS):
        probs = rng.dirichlet(PRIOR.alpha[0] + counts, 20_000)
        after = counts + rng.multinomial(votes, probs)
        known = ItemPosteriors(after.astype(float), PRIOR)
        left = (known.l2_risk if index.name == "l2" else known.kl_risk).mean()
        assert 2 * table.worth[i, 0] == pytest.approx(table.risk[i] - left, rel=tolerance)


def test_form_and_rank() -> None:
    # Four votes for the time of three: worth it where much was said already, not where the first vote says most.
    forms = {"choice": Form(1.0, 1.0), "sliders": Form(4.0, 3.0)}
    table = rank_items(ITEMS, COUNTS, forms, index=L2Index(), prior=PRIOR)
    by_hand = [
        [risk * w / (mass + w) / s for w, s in ((1, 1), (4, 3))]
        for risk, mass in zip(table.risk, 1.5 + COUNTS.sum(axis=1), strict=True)
    ]
    assert table.worth == pytest.approx(np.array(by_hand))
    assert [table.forms[k] for k in table.form] == ["choice", "sliders", "choice", "sliders"]
    best = np.max(by_hand, axis=1)
    assert np.argsort(table.rank).tolist() == np.argsort(-best).tolist()
    assert table.rank[2] == 1  # nothing was said of it yet
    assert set(table.items_for("sliders")) == {ITEMS[i] for i in range(4) if by_hand[i][1] > by_hand[i][0]}


def test_the_table_and_the_forced_form() -> None:
    table = rank_items(ITEMS, COUNTS, {"choice": Form(1.0, 1.0), "top_two": Form(1.1, 30.0)}, prior=PRIOR)
    assert table.items_for("top_two") == ()
    forced = table.with_deeper_form(2)
    assert len(forced.items_for("top_two")) == 2
    worth = dict(zip(ITEMS, table.worth[:, 1], strict=True))
    assert set(forced.items_for("top_two")) == set(sorted(ITEMS, key=lambda item: -worth[item])[:2])
    frame = forced.to_polars()
    assert frame.columns == ["item", "risk", "worth_a_second:choice", "worth_a_second:top_two", "form", "rank"]
    assert sorted(frame["rank"].to_list()) == [1, 2, 3, 4]
    with pytest.raises(SfumatoError, match="at most 4"):
        table.with_deeper_form(5)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"forms": {}}, "bad-setting"),
        ({"items": ("a",)}, "wrong-shape"),
        ({"counts": np.ones((4, 1))}, "one-class"),
        ({"index": NotUnanimousIndex()}, "no-risk"),
    ],
)
def test_bad_input(settings: dict[str, object], code: str) -> None:
    usual = {"items": ITEMS, "counts": COUNTS, "forms": {"choice": Form(1.0, 1.0)}}
    with pytest.raises(SfumatoError) as caught:
        rank_items(**{**usual, **settings})  # type: ignore[arg-type]
    assert caught.value.code == code


def a_map() -> DataMap:
    """Eight items: two of each class in each of ambiguous and easy."""
    region = [REGIONS.index(MapRegion.AMBIGUOUS)] * 4 + [REGIONS.index(MapRegion.EASY)] * 4
    n = len(region)
    return DataMap(
        pa.array([str(i) for i in range(n)]),
        np.linspace(0.1, 0.9, n),
        np.linspace(0.4, 0.0, n),
        np.ones(n, np.int64),
        np.full(n, 2),
        np.zeros(n),
        np.array(region),
    )


def test_by_how_a_model_learnt_them() -> None:
    labels = {str(i): "cat" if i % 2 else "dog" for i in range(8)}
    quota = {MapRegion.AMBIGUOUS: None, MapRegion.EASY: 1}
    found = rank_items_by_map(
        a_map(), labels, quota, plain="choice", richer="top_two", rng=np.random.default_rng(0)
    ).to_polars()
    assert len(found) == 6  # all four ambiguous ones, and one easy item per class
    assert set(zip(found["region"], found["form"], strict=True)) == {("ambiguous", "top_two"), ("easy", "choice")}
    assert sorted(found.filter(found["region"] == "easy")["label"].to_list()) == ["cat", "dog"]
    assert found.sort("rank")["item"].to_list()[:4] == ["0", "1", "2", "3"]  # those that wavered most
    with pytest.raises(SfumatoError) as caught:
        rank_items_by_map(
            a_map(), labels, {MapRegion.HARD: None}, plain="choice", richer="top_two", rng=np.random.default_rng(0)
        )
    assert "4 easy, 4 ambiguous, 0 hard" in caught.value.found
