"""A simulated CIFAR-10S annotator: draws soft answers from hard labels. Behind `sfumato soften`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.top_two_labelers import TopTwoArrays, clamp
from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import share
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True)
class AnswerStatistics:
    """How people answer the form: Beta parameters of the percents, and a histogram of the number of alternatives."""

    first: tuple[float, float]
    second: tuple[float, float]
    n_alternatives: tuple[int, ...]

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
            raise BadSetting(f"n_annotators = {self.n_annotators}", "at least 1", "raise it")

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
        return votes.beliefs(item, annotator, labels.classes)

    def simulate_answers(
        self,
        first: Int[np.ndarray, "answers"],
        doubtful: Bool[np.ndarray, "answers"],
        classes: tuple[str, ...],
        rng: np.random.Generator,
    ) -> TopTwoArrays:
        percents = {
            name: _either(doubtful, rng, getattr(self.doubtful, name), getattr(self.clear, name))
            for name in ("first", "second")
        }
        n_possible = np.where(
            doubtful,
            _numbers(self.doubtful.n_alternatives, len(classes), len(first), rng),
            _numbers(self.clear.n_alternatives, len(classes), len(first), rng),
        )
        nearest = self.similarity.nearest_first(classes)[first]
        impossible = np.ones((len(first), len(classes)), dtype=bool)
        rows = np.arange(len(first))
        impossible[rows, first] = False
        for rank in range(len(classes) - 1):
            impossible[rows, nearest[:, rank]] = rank >= n_possible
        has_second = n_possible >= 1
        return TopTwoArrays(
            first,
            percents["first"],
            np.where(has_second, nearest[:, 0], -1),
            np.where(has_second, percents["second"], np.nan),
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


def _either(
    doubtful: Bool[np.ndarray, "answers"],
    rng: np.random.Generator,
    one: tuple[float, float],
    other: tuple[float, float],
) -> Float[np.ndarray, "answers"]:
    """Percents drawn from one of two Betas."""
    return 100 * np.where(doubtful, rng.beta(*one, len(doubtful)), rng.beta(*other, len(doubtful)))


def _numbers(
    histogram: tuple[int, ...], n_classes: int, n: int, rng: np.random.Generator
) -> Int[np.ndarray, "answers"]:
    weights = np.array(histogram, dtype=np.float64)
    return np.minimum(rng.choice(len(weights), size=n, p=weights / weights.sum()), n_classes - 1)
