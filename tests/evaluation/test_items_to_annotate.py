"""Selecting: quotas filled, and what is said where they cannot be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion
from sfumato.evaluation.items_to_annotate import assign_splits, select
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning

N = 300
LABELS = {f"i{i}": "cat" if i % 3 else "dog" for i in range(N)}
"""200 cats and 100 dogs."""


def drawn() -> DataMap:
    """Of every twelve items, seven are easy, three ambiguous, two hard."""
    region = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2])[np.arange(N) % 12]
    values = np.full(N, 0.1)
    counts = np.full(N, 3)
    return DataMap(pa.array([f"i{i}" for i in range(N)]), values, values, counts, counts, values, region)


def test_quotas_are_filled_and_the_rest_taken_whole() -> None:
    chosen = select(drawn(), LABELS, {MapRegion.EASY: 20, MapRegion.HARD: None}, rng=np.random.default_rng(0))
    counts = Counter(zip(chosen.labels, chosen.regions, strict=True))
    hard = [i for i in range(N) if i % 12 in (10, 11)]
    n_dogs = sum(i % 3 == 0 for i in hard)
    assert counts == {
        ("cat", "easy"): 20, ("dog", "easy"): 20, ("cat", "hard"): len(hard) - n_dogs,
    } | ({("dog", "hard"): n_dogs} if n_dogs else {})  # fmt: skip
    assert len(set(chosen.items)) == len(chosen)
    table = drawn()
    place = {item: k for k, item in enumerate(table.items.to_pylist())}
    for item, label, region in zip(chosen.items, chosen.labels, chosen.regions, strict=True):
        assert LABELS[item] == label
        assert REGIONS[table.region[place[item]]] is region


def test_the_same_state_draws_the_same() -> None:
    quota = {MapRegion.EASY: 10, MapRegion.AMBIGUOUS: 5}
    one, same, other = (select(drawn(), LABELS, quota, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.items == same.items
    assert one.items != other.items


def test_a_quota_beyond_what_is_there() -> None:
    quota = {MapRegion.EASY: 10, MapRegion.AMBIGUOUS: 40}
    with pytest.raises(BadTable, match=r"found 25 of 40 ambiguous dog; expected as many") as caught:
        select(drawn(), LABELS, quota, rng=np.random.default_rng(0))
    assert caught.value.code == "quota"
    with pytest.warns(SfumatoWarning, match="25 of 40 ambiguous dog"):
        chosen = select(drawn(), LABELS, quota, rng=np.random.default_rng(0), fill=True)
    assert Counter(zip(chosen.labels, chosen.regions, strict=True))["dog", "ambiguous"] == 25
    with pytest.raises(BadTable, match="no class for 300 items"):
        select(drawn(), {}, quota, rng=np.random.default_rng(0))
    with pytest.raises(BadSetting, match="quota of easy"):
        select(drawn(), LABELS, {MapRegion.EASY: -1}, rng=np.random.default_rng(0))


def test_splits_have_the_same_difficulty() -> None:
    chosen = select(drawn(), LABELS, dict.fromkeys(REGIONS), rng=np.random.default_rng(0))
    dealt = assign_splits(chosen, {"train": 0.7, "validation": 0.15, "test": 0.15}, rng=np.random.default_rng(0))
    assert Counter(dealt.splits) == {"train": 210, "validation": 45, "test": 45}
    whole = Counter(zip(chosen.labels, chosen.regions, strict=True))
    own = Counter(zip(dealt.labels, dealt.regions, dealt.splits, strict=True))
    for (label, region), n in whole.items():
        assert abs(own[label, region, "train"] - 0.7 * n) < 2
    assert dealt.to_polars().columns == ["item", "label", "region", "split"]
    with pytest.raises(BadSetting, match="sum to 1"):
        assign_splits(chosen, {"train": 0.7, "test": 0.2}, rng=np.random.default_rng(0))
