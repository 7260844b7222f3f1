"""The simulated CIFAR-10S annotator (Collins 2022, thesis, B.5): its fit and the means it gives."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Annotations, SoftLabels
from sfumato.labeling import ClassSimilarity, TopTwoClamp
from sfumato.labeling.simulated_soft_labels import CLEAR, DOUBTFUL, AnswerStatistics, SimulatedTopTwo
from sfumato.labeling.top_two_labelers import TopTwoArrays, read_top_two
from sfumato.tables.doubt import entropy
from sfumato.tables.payloads import decode, payload_kind

INDEX = {name: k for k, name in enumerate(
    ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
)}  # fmt: skip


@pytest.fixture(scope="module")
def doubtful_rows(first_pass: Annotations, cifar_10h: SoftLabels) -> np.ndarray:
    return entropy(cifar_10h.probs)[cifar_10h.rows_of(first_pass.item.text())] >= 0.25


def arrays(first_pass: Annotations, rows: np.ndarray) -> TopTwoArrays:
    texts = [text for text, kept in zip(first_pass.payload.to_pylist(), rows, strict=True) if kept]
    return read_top_two(decode(texts, payload_kind("top_two/1")), INDEX)


def test_the_constants_are_the_fit(first_pass: Annotations, doubtful_rows: np.ndarray) -> None:
    assert (int(doubtful_rows.sum()), int((~doubtful_rows).sum())) == (5498, 702)
    for rows, expected in ((doubtful_rows, DOUBTFUL), (~doubtful_rows, CLEAR)):
        fitted = AnswerStatistics.fitted_to(arrays(first_pass, rows))
        assert fitted.n_alternatives == expected.n_alternatives
        assert tuple(round(x, 3) for x in fitted.first) == expected.first
        assert tuple(round(x, 3) for x in fitted.second) == expected.second


def test_mean_entropy(first_pass: Annotations, doubtful_rows: np.ndarray) -> None:
    """.451 simulated against .469 in the data, on doubtful images."""
    real = entropy(TopTwoClamp(as_released=True).label(first_pass).probs)[doubtful_rows].mean()
    assert round(float(real), 3) == 0.469
    hard = SoftLabels.from_numpy([str(i) for i in range(100_000)], np.eye(10)[np.arange(100_000) % 10], list(INDEX))
    similarity = ClassSimilarity(tuple(INDEX), np.ones((10, 10)))
    beliefs = SimulatedTopTwo(similarity=similarity).soften(hard, np.ones(100_000, bool), np.random.default_rng(7))
    assert float(entropy(beliefs.probs).mean()) == pytest.approx(0.451, abs=0.004)


def test_two_thirds_of_doubtful_draws_exceed_100() -> None:
    similarity = ClassSimilarity(tuple(INDEX), np.ones((10, 10)))
    simulated = SimulatedTopTwo(similarity=similarity)
    truth, certain = np.zeros(100_000, int), np.ones(100_000, bool)
    answers = simulated.simulate_answers(truth, certain, tuple(INDEX), np.random.default_rng(3))
    given = ~np.isnan(answers.second_percent)
    above = (answers.first_percent + answers.second_percent)[given] > 100
    assert float(above.mean()) == pytest.approx(2 / 3, abs=0.04)


def test_what_independence_ignores(first_pass: Annotations) -> None:
    answers = decode(first_pass.payload.to_pylist(), payload_kind("top_two/1"))
    n_alternatives = [10 - len({*answer.impossible, answer.first}) for answer in answers]
    correlation = np.corrcoef([answer.first_percent for answer in answers], n_alternatives)[0, 1]
    assert round(float(correlation), 2) == -0.51
