"""Cross-label: every target against every kind of label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trained

from sfumato import SoftLabels
from sfumato.evaluation import cross_label, kinds_of_labels, measure_against
from sfumato.evaluation.cross_label import LABEL_SETS, label_sets_in
from sfumato.evaluation.metrics import Brier
from sfumato.tables.errors import UnknownName


def test_kinds_of_labels_by_hand() -> None:
    people = SoftLabels.from_numpy(["a", "b", "c"], [[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], ["cat", "dog"])
    original = SoftLabels.one_hot(["c", "a", "b"], ["dog", "dog", "cat"], ["dog", "cat"])
    kinds = kinds_of_labels(people, original)
    assert list(kinds) == ["original", "majority", "people", "class-level"]
    assert kinds["majority"].probs.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    assert kinds["original"].items.to_pylist() == ["c", "a", "b"]
    assert kinds["original"].probs.tolist() == [[0, 1], [0, 1], [1, 0]]
    # a and c came as dogs: their mean label; b is the only cat.
    np.testing.assert_allclose(kinds["class-level"].probs, [[0.4, 0.6], [0.5, 0.5], [0.4, 0.6]])
    assert list(kinds_of_labels(people)) == ["majority", "people", "class-level"]
    with pytest.raises(UnknownName, match="'emu'"):
        kinds_of_labels(people, SoftLabels.one_hot(["a"], ["emu"], ["emu", "cat"]))


def test_the_matrix() -> None:
    kinds = kinds_of_labels(trained.people(), trained.original())
    own = trained.trained("soft", 0).predictions
    told: list[tuple[int, int]] = []
    measured = measure_against(
        trained.grid(("hard", "soft"), [0, 1]), {**kinds, "itself": own}, metrics=[Brier()],
        on_progress=lambda done, of: told.append((done, of)),
    )  # fmt: skip
    cross = cross_label(measured)
    assert len(cross) == 2 * 5
    found = {(score.target, score.against): score.value for score in cross.scores}
    for against, labels in kinds.items():
        expected = [
            ((trained.trained("hard", seed).predictions.probs - labels.probs) ** 2).sum(1).mean() for seed in (0, 1)
        ]
        assert found["hard", against] == pytest.approx(np.mean(expected))
    assert found["soft", "people"] < found["hard", "people"]
    assert measured["itself"].of("soft", "ffn", "brier", "all").values[0] == 0
    assert told[-1] == (20, 20)
    assert cross.to_polars().columns[:5] == ["target", "network", "against", "n_seeds", "metric"]


def test_a_stored_set_does_not_replace_the_labels_given_for_scoring(tmp_path: Path) -> None:
    folder = tmp_path / LABEL_SETS
    folder.mkdir()
    for name in ("people", "crowd"):
        trained.people().write(folder / f"{name}.parquet")
    assert set(label_sets_in(tmp_path)) == {"people (trained on)", "crowd"}
