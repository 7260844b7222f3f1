"""A simulated CIFAR-10S annotator: draws soft answers from hard labels. Behind `sfumato soften`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.top_two_labelers import TopTwoArrays, clamp
from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import bad_setting, share
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True)
class AnswerStatistics:
    """How people answer the form: Beta parameters of the percents, and a histogram of the number of alternatives."""

    first: tuple[float, float]
    second: tuple[float, float]
    n_alternatives: tuple[int, ...]

    def shares(self) -> Float[np.ndarray, "numbers"]:
        """The share of answers with each number of alternatives."""
        weights = np.array(self.n_alternatives, dtype=np.float64)
        return np.asarray(weights / weights.sum())

    @classmethod
    def fitted_to(cls, answers: TopTwoArrays) -> AnswerStatistics:
        """The statistics of real answers, Betas fitted by moments; a class named twice counts as first only."""
        rows = np.arange(len(answers.first))
        excluded = answers.impossible.copy()
        excluded[rows, answers.first] = True
        given = ~np.isnan(answers.second_percent) & (answers.second != answers.first)
        n_alternatives = np.bincount((~excluded).sum(axis=1), minlength=excluded.shape[1])
        return cls(
            _beta_by_moments(answers.first_percent / 100),
            _beta_by_moments(answers.second_percent[given] / 100),
            tuple(int(n) for n in n_alternatives),
        )


# Fitted on the 6,200 first-pass answers of CIFAR-10S, Betas by moments (maximum likelihood is not stable here: many
# answers are 100). An image is doubtful if its CIFAR-10H entropy is at least 0.25 nats.
DOUBTFUL = AnswerStatistics((1.703, 0.330), (0.785, 2.787), (1739, 1565, 682, 638, 264, 321, 62, 57, 63, 107))
CLEAR = AnswerStatistics((2.874, 0.102), (0.257, 1.429), (436, 142, 27, 41, 15, 14, 5, 6, 5, 11))


@dataclass(frozen=True)
class SimulatedTopTwo:
    """Simulates answers about items whose hard labels are known (Collins 2022, thesis, B.5).

    For each answer: the hard label is the first class, with a percent from a Beta; the number of alternatives is drawn
    from a histogram, the most similar classes stay possible, and the most similar one is the second class with a
    percent from another Beta; the clamp rule makes the label. Doubtful and clear items have different statistics.

    The three draws are independent, unlike in people's answers (the first percent and the number of alternatives have
    a correlation of -0.51), so two thirds of the doubtful draws exceed 100 and are normalized.
    """

    similarity: ClassSimilarity = field(kw_only=True)
    n_annotators: int = 1
    gamma: float = 0.1
    doubtful: AnswerStatistics = DOUBTFUL
    clear: AnswerStatistics = CLEAR

    def __post_init__(self) -> None:
        share("gamma", self.gamma)
        if self.n_annotators < 1:
            raise bad_setting("n_annotators", self.n_annotators, "at least 1", "raise it")

    def soften(self, labels: SoftLabels, doubtful: Bool[np.ndarray, "items"], rng: np.random.Generator) -> Beliefs:
        """Beliefs of `n_annotators` simulated annotators about every item of `labels` (largest entry: its label)."""
        if len(doubtful) != len(labels):
            found = f"{len(doubtful)} marks of doubt for {len(labels)} items"
            raise BadSetting(found, "one per item", "mark every item as doubtful or not")
        first = np.tile(labels.probs.argmax(axis=1), self.n_annotators)
        is_doubtful = np.tile(doubtful, self.n_annotators)
        answers = self.simulate_answers(first, is_doubtful, labels.classes, rng)
        votes = HardVotes(len(labels.classes))
        votes.append(clamp(answers, self.gamma))
        item = CodedText(np.tile(np.arange(len(labels), dtype=np.int32), self.n_annotators), labels.items)
        people = pa.array([f"simulated-{i}" for i in range(self.n_annotators)])
        annotator = CodedText(np.repeat(np.arange(self.n_annotators, dtype=np.int32), len(labels)), people)
        return replace(votes.beliefs(item, annotator, labels.classes), row_sources=labels.row_sources)

    def simulate_answers(
        self,
        first: Int[np.ndarray, "answers"],
        doubtful: Bool[np.ndarray, "answers"],
        classes: tuple[str, ...],
        rng: np.random.Generator,
    ) -> TopTwoArrays:
        n, most = len(first), len(classes) - 1

        def drawn(draw: Callable[[AnswerStatistics], np.ndarray]) -> np.ndarray:
            """A draw for each answer, from the statistics of doubtful or of clear items."""
            return np.where(doubtful, draw(self.doubtful), draw(self.clear))

        first_percent = 100 * drawn(lambda each: rng.beta(*each.first, n))
        second_percent = 100 * drawn(lambda each: rng.beta(*each.second, n))
        n_possible = np.minimum(drawn(lambda each: rng.choice(len(each.n_alternatives), n, p=each.shares())), most)
        nearest = self.similarity.nearest_first(classes)[first]
        impossible = np.ones((len(first), len(classes)), dtype=bool)
        rows = np.arange(len(first))
        impossible[rows, first] = False
        for rank in range(len(classes) - 1):
            impossible[rows, nearest[:, rank]] = rank >= n_possible
        has_second = n_possible >= 1
        return TopTwoArrays(
            first,
            first_percent,
            np.where(has_second, nearest[:, 0], -1),
            np.where(has_second, second_percent, np.nan),
            impossible,
            impossible.sum(axis=1),
        )


def _beta_by_moments(values: Float[np.ndarray, "answers"]) -> tuple[float, float]:
    mean, variance = float(values.mean()), float(values.var())
    if not 0 < variance < mean * (1 - mean):
        found = f"{len(values)} percents with mean {100 * mean:.3g} and variance {variance:.3g}"
        raise BadSetting(found, "percents with the variance of a Beta distribution", "fit on more answers")
    scale = mean * (1 - mean) / variance - 1
    return mean * scale, (1 - mean) * scale
