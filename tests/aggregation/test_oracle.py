"""DuckDB as an oracle: the classic Dawid-Skene written as SQL, which shares no line with ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sfumato import Beliefs
from sfumato.aggregation import DawidSkene, Mean

duckdb = pytest.importorskip("duckdb")

N_ITEMS, N_ANNOTATORS, N_CLASSES, N_EACH, N_ITERATIONS = 2_000, 40, 5, 5, 15

SHARES = """
    create or replace table posterior as
    select item, c as class, count(*) filter (said = c) / count(*)::double as p
    from votes, classes group by item, c
"""

CONFUSIONS = """
    create or replace table confusion as
    with expected as (  -- only of pairs of annotator and answer that occur, none below 1e-10
        select annotator, said, class, greatest(sum(p), 1e-10) as n
        from votes join posterior using (item) group by annotator, said, class
    )
    select annotator, said, class, ln(n / sum(n) over (partition by annotator, class)) as log_p from expected
"""

CLASS_SHARES = """
    create or replace table shares as
    select class, ln(greatest(sum(p) / (select sum(p) from posterior), 1e-10)) as log_p from posterior group by class
"""

POSTERIORS = """
    create or replace table posterior as
    with evidence as (
        select item, class, any_value(shares.log_p) + sum(confusion.log_p) as l
        from votes join confusion using (annotator, said) join shares using (class) group by item, class
    ), scaled as (
        select item, class, exp(l - max(l) over (partition by item)) as p from evidence
    )
    select item, class, p / sum(p) over (partition by item) as p from scaled
"""


class Oracle:
    """The votes in a database, and the posteriors it comes to."""

    def __init__(self, votes: np.ndarray) -> None:
        self._db = duckdb.connect(":memory:")
        self._db.execute("create table votes (item integer, annotator integer, said integer)")
        self._db.execute(
            "insert into votes select unnest($item), unnest($annotator), unnest($said)",
            {name: column.tolist() for name, column in zip(("item", "annotator", "said"), votes.T, strict=True)},
        )
        self._db.execute(f"create table classes as select range::integer as c from range({N_CLASSES})")
        self._db.execute(SHARES)

    def iterate(self) -> None:
        for step in (CONFUSIONS, CLASS_SHARES, POSTERIORS):
            self._db.execute(step)

    def posterior(self) -> np.ndarray:
        rows = self._db.execute("select p from posterior order by item, class").fetchall()
        return np.array(rows).reshape(N_ITEMS, N_CLASSES)

    def close(self) -> None:
        self._db.close()


@pytest.fixture(scope="module")
def votes() -> np.ndarray:
    """Item, annotator and what they said: able people, poor ones, and one in eight who says anything."""
    rng = np.random.default_rng(79)
    truth = rng.choice(N_CLASSES, N_ITEMS, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    ability = rng.beta(4, 2, N_ANNOTATORS)
    ability[::8] = 0.2
    item = np.repeat(np.arange(N_ITEMS), N_EACH)
    annotator = np.concatenate([rng.permutation(N_ANNOTATORS)[:N_EACH] for _ in range(N_ITEMS)])
    # Some never say some classes, so that pairs without an answer occur.
    elsewhere = rng.integers(0, N_CLASSES - 1 - annotator % 2)
    said = np.where(rng.random(len(item)) < ability[annotator], truth[item], elsewhere)
    said = np.where((annotator % 5 == 0) & (said == N_CLASSES - 1), 0, said)
    return np.stack([item, annotator, said], axis=1)


@pytest.fixture
def oracle(votes: np.ndarray) -> Iterator[Oracle]:
    oracle = Oracle(votes)
    yield oracle
    oracle.close()


@pytest.fixture(scope="module")
def beliefs(votes: np.ndarray) -> Beliefs:
    item, annotator, said = votes.T
    return Beliefs.from_numpy(
        [f"{i:04}" for i in item], [f"{a:02}" for a in annotator], said, [f"class {c}" for c in range(N_CLASSES)]
    )


def in_order(labels: Any) -> np.ndarray:
    return np.asarray(labels.probs[np.argsort(labels.items.to_pylist())])


def test_some_pairs_do_not_occur(votes: np.ndarray) -> None:
    assert len(np.unique(votes[:, 1] * N_CLASSES + votes[:, 2])) < N_ANNOTATORS * N_CLASSES


def test_shares_of_votes(oracle: Oracle, beliefs: Beliefs) -> None:
    np.testing.assert_allclose(in_order(Mean().aggregate(beliefs).labels), oracle.posterior(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_iterations", [1, N_ITERATIONS])
def test_classic_dawid_skene(oracle: Oracle, beliefs: Beliefs, n_iterations: int) -> None:
    for _ in range(n_iterations):
        oracle.iterate()
    found = DawidSkene(prior=0.0, iterations=n_iterations, tolerance=0.0).aggregate(beliefs)
    np.testing.assert_allclose(in_order(found.labels), oracle.posterior(), rtol=0, atol=1e-9)


def test_the_oracle_tells_methods_apart(oracle: Oracle, beliefs: Beliefs) -> None:
    for _ in range(N_ITERATIONS):
        oracle.iterate()
    with_prior = DawidSkene(prior=1.0, iterations=N_ITERATIONS, tolerance=0.0).aggregate(beliefs)
    assert np.abs(in_order(with_prior.labels) - oracle.posterior()).max() > 1e-3
