"""Similarities and how often labels contradict them, by hand and by brute force."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato.planning.exchange_estimates import MatchedAnswers
from sfumato.planning.informativeness.answered_triplets import RankedLists, channel_capacity
from sfumato.planning.label_quality import Similarities
from sfumato.planning.pilot_evidence import triplet_errors
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import SfumatoError
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("a", "b", "c")


def rated(pairs: list[tuple[str, str, float]]) -> Annotations:
    return Annotations.from_arrow(
        pa.table(
            {
                "item": [one for one, _, _ in pairs],
                "annotator": [f"p{i}" for i in range(len(pairs))],
                "kind": ["similarity/1"] * len(pairs),
                "payload": [json.dumps({"other": other, "rating": r}) for _, other, r in pairs],
            }
        )
    )


def test_ratings_are_averaged_both_ways() -> None:
    found = Similarities.of(rated([("x", "y", 2), ("y", "x", 5), ("x", "z", 6)]))
    assert found.items.to_pylist() == ["x", "y", "z"]
    assert np.allclose(found.values[0], [np.nan, 3.5, 6], equal_nan=True)
    assert np.isnan(found.values[1, 2])
    asked = found.of_items(pa.array(["z", "w", "x"]))
    assert asked[0, 2] == asked[2, 0] == 6
    assert np.isnan(asked[1]).all()


def test_a_matrix_that_is_no_similarity() -> None:
    with pytest.raises(SfumatoError, match="symmetric"):
        Similarities(pa.array(["x", "y"]), np.array([[0.0, 1.0], [2.0, 0.0]]))


def study(n: int = 24) -> tuple[Beliefs, SoftLabels, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], n)
    items = [f"i{i}" for i in range(n)]
    soft = np.concatenate([rng.dirichlet(6 * row + 0.01, 2) for row in p])
    beliefs = Beliefs.from_numpy(np.repeat(items, 2), ["s", "t"] * n, soft, CLASSES)
    counts = rng.multinomial(40, p)
    return beliefs, SoftLabels.from_numpy(items, counts / 40, CLASSES, 40), p


def test_errors_against_labels_by_brute_force() -> None:
    beliefs, votes, _ = study()
    matched = MatchedAnswers.of(beliefs, votes)
    table = triplet_errors(matched, kind="tokens", rng=np.random.default_rng(3))
    half = matched.split(np.random.default_rng(3))
    for error, labels in zip(table.errors, (half.rich[:, 1], half.votes[:, 1]), strict=True):
        wrong = n = 0.0
        for block, true in ((labels, half.reference), (labels.T, half.reference.T)):
            for row, right in zip(block, true, strict=True):
                for a, b in itertools.combinations(range(len(row)), 2):
                    said = np.sign(row[a] - row[b])
                    n += said != 0
                    wrong += said != 0 and (1 - said * np.sign(right[a] - right[b])) / 2
        assert error.n_triplets == n
        assert np.isclose(error.flip_rate, wrong / n)
        assert np.isclose(error.kept, channel_capacity(wrong / n))
    assert [error.kind for error in table.errors] == ["tokens", "choice"]


def test_errors_against_judgments_look_at_items_that_were_all_rated() -> None:
    beliefs, votes, p = study()
    matched = MatchedAnswers.of(beliefs, votes)
    values = p @ p.T
    np.fill_diagonal(values, np.nan)
    values[0, 5] = values[5, 0] = np.nan
    table = triplet_errors(
        matched, kind="tokens", similarities=Similarities(votes.items, values), rng=np.random.default_rng(3)
    )
    assert table.errors[0].n_items == 23
    assert table.errors[0].against == "similarity judgments"
    places = np.delete(np.arange(24), [0])
    label = matched.split(np.random.default_rng(3)).rich[places, 1]
    judged = {tuple(each) for each in RankedLists.of_similarities(label @ label.T).triplets().tolist()}
    sure = p[places] @ p[places].T
    wrong = np.mean([sure[a, b] < sure[a, c] for a, b, c in judged])
    assert np.isclose(table.errors[0].flip_rate, wrong)
