"""Features beside people's judgments: by hand, against loops, and what the published ratings say."""

from __future__ import annotations

import gzip
import json
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, spearmanr

from sfumato import Annotations
from sfumato.evaluation.rank_correlation import average_ranks, rank_correlation, shared_variance
from sfumato.evaluation.representation import Features, FeatureSimilarity, SamplingUnit, alike, represent
from sfumato.evaluation.similarity_judgments import (
    implied_triplets,
    leave_one_out,
    ratings_of,
    split_half,
    triplet_disagreement,
    triplets_of,
)
from sfumato.tables.errors import BadTable, InvalidAnswer, SfumatoWarning


def annotations(rows: list[tuple[str, str, str, dict[str, object]]]) -> Annotations:
    """Rows of item, annotator, kind and payload."""
    names = ("item", "annotator", "kind", "payload")
    columns = {name: [json.dumps(row[k]) if k == 3 else row[k] for row in rows] for k, name in enumerate(names)}
    return Annotations.from_arrow(pl.DataFrame(columns))


def rated(said: list[tuple[str, str, str, float]]) -> Annotations:
    return annotations([(x, who, "similarity/1", {"other": y, "rating": r}) for x, y, who, r in said])


def asked(said: list[tuple[str, str, str, str, str]]) -> Annotations:
    return annotations([(x, who, "triplet/1", {"a": a, "b": b, "closer": c}) for x, a, b, c, who in said])


FOUR = Features(tuple("abcd"), np.array([[1.0, 0], [0.9, 0.1], [0, 1], [-1, 0.2]]))


def everybody(n_items: int = 12, n_people: int = 6, noise: float = 1.0, seed: int = 0) -> tuple[Features, Annotations]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_items, 4))
    said = []
    for i, j in combinations(range(n_items), 2):
        near = -np.linalg.norm(values[i] - values[j])
        for p in range(n_people):
            said.append((f"i{i}", f"i{j}", f"p{p}", float(np.clip(np.round(6 + near + noise * rng.normal()), 0, 6))))
    return Features(tuple(f"i{i}" for i in range(n_items)), values), rated(said)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [1.0, 1.0, 0.0, 1.0, 7.0, 7.0], [5.0], [], [1.0, np.nan, 0.0]])
def test_ranks_are_those_of_scipy(values: list[float]) -> None:
    np.testing.assert_array_equal(average_ranks(np.array(values)), rankdata(values))


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (FeatureSimilarity.COSINE, [0.9 / np.hypot(0.9, 0.1), 0, -1 / np.hypot(1, 0.2)]),
        (FeatureSimilarity.EUCLIDEAN, [-np.hypot(0.1, 0.1), -np.sqrt(2), -np.hypot(2, 0.2)]),
        (FeatureSimilarity.DOT, [0.9, 0, -1]),
    ],
)
def test_alike_by_hand(by: FeatureSimilarity, expected: list[float]) -> None:
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    np.testing.assert_allclose(alike(FOUR.values, pairs, by), expected, atol=1e-15)


def test_pairs_are_the_same_either_way_round() -> None:
    ratings = ratings_of(rated([("a", "b", "p", 6), ("b", "a", "q", 4), ("a", "c", "p", 1)]))
    assert ratings.items == ("a", "b", "c")
    assert ratings.pairs.tolist() == [[0, 1], [0, 2]]
    assert ratings.means().tolist() == [5, 1]
    assert ratings.n_annotators == 2


def test_rho_is_that_of_mean_ratings() -> None:
    features, said = everybody()
    scores = represent(features, said, by=FeatureSimilarity.EUCLIDEAN)
    ratings = ratings_of(said)
    model = [
        -np.linalg.norm(features.values[int(ratings.items[i][1:])] - features.values[int(ratings.items[j][1:])])
        for i, j in ratings.pairs
    ]
    assert abs(scores.value_of("similarity_spearman") - spearmanr(model, ratings.means()).statistic) < 1e-10
    row = scores.rows()[0]
    assert row.low < row.value < row.high
    assert 0.8 < row.floor < 1
    assert row.covers == "95% linearised over items"
    people = represent(features, said, by=FeatureSimilarity.EUCLIDEAN, over=SamplingUnit.ANNOTATORS).rows()[0]
    assert people.value == row.value
    assert people.low < people.value < people.high
    assert people.covers == "95% jackknife over annotators"


def test_implied_triplets_are_all_there_are() -> None:
    features, said = everybody(7)
    ratings = ratings_of(said)
    mean = {frozenset(pair): m for pair, m in zip(ratings.pairs.tolist(), ratings.means(), strict=True)}
    truth = {(x, a, b) for x, a, b in permutations(range(7), 3) if mean[frozenset((x, a))] > mean[frozenset((x, b))]}
    found = [tuple(row) for row in implied_triplets(ratings).members.tolist()]
    assert len(found) == len(set(found))
    assert set(found) == truth
    place = features.rows_of(ratings.items)
    far = lambda i, j: np.linalg.norm(features.values[place[i]] - features.values[place[j]])  # noqa: E731
    wrong = np.mean([far(x, a) > far(x, b) for x, a, b in truth])
    scores = represent(features, said, by=FeatureSimilarity.EUCLIDEAN)
    assert abs(scores.value_of("implied_triplet_error") - wrong) < 1e-12


def test_triplets_by_hand() -> None:
    # By cosine a is closest to b, then c, then d: the second answer is turned round, of the third they cannot tell.
    said = asked(
        [("a", "b", "c", "a", "p"), ("a", "c", "d", "b", "p"), ("c", "a", "e", "a", "p"), ("a", "b", "d", "a", "q")]
    )
    features = Features(tuple("abcde"), np.array([[1.0, 0], [0.9, 0.1], [0, 1], [-1, 0.2], [2, 0]]))
    scores = represent(features, said)
    assert scores.value_of("triplet_error") == (0 + 1 + 0.5 + 0) / 4
    assert np.isnan(scores.rows()[0].floor)  # nobody was asked the same


def test_people_against_each_other_on_triplets() -> None:
    same = [("x", "a", "b", "a", "p"), ("x", "b", "a", "b", "q"), ("x", "a", "b", "b", "r")]
    # p and q say a, r says b. Others of p: one each way, a half; so for q; both others of r differ: (.5 + .5 + 1) / 3.
    assert abs(triplet_disagreement(triplets_of(asked(same))) - 2 / 3) < 1e-12
    assert np.isnan(triplet_disagreement(triplets_of(asked(same[:1]))))


def test_shared_variance_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 3):
        members = np.array([rng.choice(6, size, replace=False) for _ in range(25)])
        pull = rng.normal(size=25)
        shared = sum(pull[p] * pull[q] for p in range(25) for q in range(25) if set(members[p]) & set(members[q]))
        assert abs(shared_variance(pull, members) - shared) < 1e-10


def test_ceilings_by_hand() -> None:
    said = [("a", "b", "p", 1), ("a", "c", "p", 2), ("b", "c", "p", 3), ("a", "d", "p", 4)]
    said += [("a", "b", "q", 1), ("a", "c", "q", 3), ("b", "c", "q", 2), ("a", "d", "q", 4)]
    ratings = ratings_of(rated(said))
    # One against the other: 1 - 6 (1 + 1) / (4 (16 - 1)) = .8; of twice the people, 1.6 / 1.8.
    assert abs(leave_one_out(ratings) - 0.8) < 1e-12
    assert abs(split_half(ratings, rng=np.random.default_rng(0)) - 1.6 / 1.8) < 1e-12
    assert np.isnan(split_half(ratings_of(rated(said[:4])), rng=np.random.default_rng(0)))


def test_intervals_over_items_cover() -> None:
    rng = np.random.default_rng(1)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        i, j = np.triu_indices(n, 1)
        one = rng.normal(size=(n, 3))
        other = one + 0.8 * rng.normal(size=(n, 3))
        far = [np.linalg.norm(v[i] - v[j], axis=1) for v in (one, other)]
        return far[0], far[1], np.stack([i, j], axis=1)

    x, y, _ = draw(500)
    truth = spearmanr(x, y).statistic
    hits, alone = 0, 0
    for _ in range(300):
        x, y, members = draw(20)
        with_items = rank_correlation(x, y, members=members).interval
        hits += with_items.low <= truth <= with_items.high
        as_if_apart = rank_correlation(x, y).interval
        alone += as_if_apart.low <= truth <= as_if_apart.high
    assert 0.90 <= hits / 300 <= 0.99
    # Taken for independent, 190 pairs of 20 items look far too sure.
    assert alone / 300 < 0.85


def test_features_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", features=FOUR.values.astype(np.float32), items=np.array(list("abcd")))
    read = Features.read(tmp_path / "f.npz")
    assert read.items == FOUR.items
    np.testing.assert_allclose(read.values, FOUR.values, atol=1e-7)
    np.savez(tmp_path / "g.npz", features=FOUR.values)
    assert Features.read(tmp_path / "g.npz").items == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"values": np.ones((2, 2))}, "no-images"),
        ({"texts": np.array(["a"])}, "bad-features"),
        ({"features": np.ones(3)}, "bad-features"),
        ({"features": np.array([[1.0, np.nan]])}, "bad-number"),
        ({"features": np.ones((2, 2)), "items": np.array(["a", "a"])}, "doubled-item"),
        ({"features": np.ones((2, 2)), "items": np.array(["a"])}, "wrong-shape"),
        ({"features": np.ones((1, 2)), "items": np.array([0.5])}, "bad-items"),
    ],
)
def test_files_that_hold_no_features(tmp_path: Path, arrays: dict[str, np.ndarray], code: str) -> None:
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(BadTable) as caught:
        Features.read(tmp_path / "f.npz")
    assert caught.value.code == code


def test_judgments_that_say_nothing() -> None:
    features, said = everybody(6, 2)
    fewer = Features(features.items[:5], features.values[:5])
    with pytest.warns(SfumatoWarning, match="5 of 15 rated pairs are skipped"):
        assert represent(fewer, said).rows()[0].n_items == 5
    with pytest.raises(BadTable, match="of which none have features"):
        represent(FOUR, said)
    with pytest.raises(BadTable, match="found 3 rated pairs"):
        represent(FOUR, rated([("a", "b", "p", 1), ("a", "c", "p", 2), ("a", "d", "p", 3)]))
    with pytest.raises(BadTable, match="of the kinds choice/1"):
        represent(FOUR, annotations([("a", "p", "choice/1", {"class": "cat"})]))
    with pytest.raises(InvalidAnswer, match="compared with itself"):
        represent(FOUR, rated([("a", "a", "p", 1)]))
    zero = Features(features.items, np.zeros((6, 2)))
    with pytest.raises(BadTable, match="euclidean"):
        represent(zero, said)
    with pytest.warns(SfumatoWarning, match="undefined"):
        assert np.isnan(represent(zero, said, by=FeatureSimilarity.EUCLIDEAN).value_of("similarity_spearman"))


def test_published_ratings_of_digits(published: Path) -> None:
    """Pixels against seven people who rated 90 pairs of the same digit."""
    folder = published / "digit-similarity"
    said = pl.read_csv(gzip.decompress((folder / "ratings.csv.gz").read_bytes()))
    with np.load(folder / "pairs.npz") as arrays:
        one, other = arrays["images1"], arrays["images2"]
    rows = (30 * said["digit"] + said["pair"]).to_list()
    ratings = ((said["similarity_1_10"] - 1) * 6 / 9).to_list()
    people = [f"r{r}" for r in said["rater"]]
    table = rated([(f"l{k}", f"r{k}", who, r) for k, who, r in zip(rows, people, ratings, strict=True)])
    ids = tuple(f"{side}{k}" for side in "lr" for k in range(300))
    features = Features(ids, np.concatenate([one, other]).reshape(600, -1).astype(np.float64))
    scores = represent(features, table)
    assert len(scores) == 2  # no item is in two pairs: nothing is implied
    row = scores.rows()[0]
    assert row.n_items == 180
    assert 0.2 < row.low < row.value < row.high < row.floor
    assert 0.3 < scores.value_of("leave_one_out_spearman") < row.floor
