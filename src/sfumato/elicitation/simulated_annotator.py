"""Simulated annotators of different skill and attention, for items with a known truth.

A truth gives every item a distribution over the classes. An annotator forms a belief from it, and the kind of the study
turns the belief into the answer that its form would send (`Kind.simulate`), so that every kind can be simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, listing
from sfumato.tables.setting_checks import above_0, share

if TYPE_CHECKING:
    from sfumato.elicitation.kind import Kind
    from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
    from sfumato.study.stimulus import Item, Stimulus
    from sfumato.study.study import Study
    from sfumato.tables.soft_labels import SoftLabels

LOG_SECONDS_SPREAD = 0.5
LOG_SECONDS_PER_UNCERTAINTY = 1.2
"""Increase of log seconds for a wholly uncertain answer; in CIFAR-10S time and 1 - p1 correlate at 0.50."""
UNCERTAIN_NATS = 0.25
SHARE_IN_FIVES = 0.91
SHARE_CLEAR = 0.6
CACHED_ITEMS = 100_000


class Annotator(Protocol):
    """An annotator who answers questions."""

    @property
    def attention(self) -> float:
        """The share of trials in which the annotator pays attention."""

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """The response to a question about items with these truths (one per shown item)."""


@dataclass(frozen=True)
class PresentedQuestion:
    """One question as presented."""

    kind: Kind
    stimulus: Stimulus
    study: Study


@dataclass(frozen=True)
class Response:
    """The raw answer as the form would send it, the seconds it took, and the uncertainty (0 to 1).

    A script may spend another time than it claims, and send no input events.
    """

    raw: dict[str, Any]
    seconds: float
    doubt: float = 0.0
    spent: float | None = None
    has_inputs: bool = True


@dataclass(frozen=True)
class SimulatedAnnotator:
    """An annotator with a skill, class biases, a confidence, a speed and an attention of their own.

    `skill` (0 to 1) is the share of the truth in the belief, the rest is noise; `bias` multiplies each class (empty:
    none); `overconfidence` is the power to which the belief is then raised (above 1 sharpens, below 1 flattens);
    `median_seconds` is the time for an item without uncertainty; with probability 1 - `attention` the answer is random.

        belief ~ ((skill * truth + (1 - skill) * noise) * bias) ** overconfidence,    noise ~ Dirichlet(1, ..., 1)
    """

    skill: float = 0.9
    bias: tuple[float, ...] = ()
    overconfidence: float = 1.0
    median_seconds: float = 6.0
    attention: float = 1.0

    def __post_init__(self) -> None:
        share("skill", self.skill)
        share("attention", self.attention)
        above_0("overconfidence", self.overconfidence)
        above_0("median_seconds", self.median_seconds)
        for weight in self.bias:
            above_0("bias", weight)

    def belief(self, truth: Float[np.ndarray, "classes"], rng: np.random.Generator) -> Float[np.ndarray, "classes"]:
        """The belief about an item with this truth."""
        noise = rng.dirichlet(np.ones(len(truth)))
        if rng.random() >= self.attention:
            return noise
        seen = self.skill * np.asarray(truth, np.float64) + (1 - self.skill) * noise
        if self.bias:
            seen = seen * self.bias
        # Divided first, so that a high power does not underflow.
        sharpened = (seen / seen.max()) ** self.overconfidence
        return np.asarray(sharpened / sharpened.sum())

    def seconds(self, belief: Float[np.ndarray, "classes"], rng: np.random.Generator) -> float:
        """The seconds for an answer: log-normal, longer with more uncertainty."""
        return human_seconds(rng, self.median_seconds, 1 - float(belief.max()))

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """The answer of `Kind.simulate` for this annotator's beliefs."""
        beliefs = [self.belief(truth, rng) for truth in truths]
        raw = asked.kind.simulate([belief.tolist() for belief in beliefs], asked.stimulus, asked.study, rng)
        return Response(raw, self.seconds(beliefs[0], rng), 1 - float(beliefs[0].max()))


@dataclass(frozen=True)
class FittedAnnotator:
    """A CIFAR-10S annotator, for the top_two kind: percentages and alternatives as its 248 annotators gave them.

    The draws are those of `SimulatedTopTwo` (Collins 2022, thesis, B.5) for a hard label drawn from the truth, so that
    annotators differ where the truth is uncertain. The draws are independent and often exceed 100 in sum; the form
    requires at most 100, so the second gets the rest, as in 3,907 of the 6,200 published answers.
    """

    simulated: SimulatedTopTwo
    median_seconds: float = 27.0
    attention: float = 1.0

    def __post_init__(self) -> None:
        share("attention", self.attention)
        above_0("median_seconds", self.median_seconds)

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """The answer of such an annotator in the top-two form."""
        truth, names = truths[0], asked.study.class_names
        if rng.random() >= self.attention:
            truth = rng.dirichlet(np.ones(len(names)))
        uncertain = float(-(truth * np.log(np.maximum(truth, 1e-300))).sum()) >= UNCERTAIN_NATS
        drawn = self.simulated.simulate_answers(
            np.array([rng.choice(len(names), p=truth / truth.sum())]), np.array([uncertain]), names, rng
        )
        percents = [_typed(drawn.first_percent[0], rng), 0]
        if drawn.second[0] >= 0:
            percents[1] = min(_typed(drawn.second_percent[0], rng), 100 - percents[0])
        percents.sort(reverse=True)
        has_second = percents[1] > 0
        raw = {
            "first": names[drawn.first[0]],
            "first_percent": percents[0] or 1,
            "second": names[drawn.second[0]] if has_second else None,
            "second_percent": percents[1] if has_second else None,
            "impossible": [name for name, is_out in zip(names, drawn.impossible[0], strict=True) if is_out],
        }
        return Response(raw, human_seconds(rng, self.median_seconds, 1 - percents[0] / 100))


@dataclass(frozen=True, eq=False)
class Truth:
    """The true distribution over `classes` of every item."""

    classes: tuple[str, ...]
    of: Callable[[str], Float[np.ndarray, "classes"]]
    """The distribution of an item, by its id."""

    @classmethod
    def from_labels(cls, labels: SoftLabels, classes: Sequence[str], items: Iterable[Item]) -> Truth:
        """The truth given by `labels`, matched by item and class name; they must have every class and every item."""
        if sorted(labels.classes) != sorted(classes):
            found = f"a truth over the classes {listing(labels.classes)}"
            expected = f"the classes of the study: {listing(list(classes))}"
            fix = "give labels over the same classes, in any order"
            raise BadSetting(found, expected, fix, "wrong-classes", labels.path)
        columns = [labels.classes.index(name) for name in classes]
        ids = [item.id for item in items]
        rows = dict(zip(ids, labels.probs[labels.rows_of(ids)][:, columns], strict=True))
        return cls(tuple(classes), rows.__getitem__)

    @classmethod
    def built_in(cls, classes: Sequence[str], items: Iterable[Item] = ()) -> Truth:
        """A generated truth that depends on the ids only: most items clear, some ambiguous, and some classes more
        similar than others. An item with a given class has it as its most probable one."""
        given = {item.id: classes.index(item.given) for item in items if item.given in classes}
        near = np.array([[number_of(*sorted((one, other))) / 2**64 for other in classes] for one in classes]) ** 4
        # Each item is shown to several annotators.
        return cls(tuple(classes), lru_cache(CACHED_ITEMS)(lambda item: _generated(item, given.get(item), near)))

    def shown(self, stimulus: Stimulus) -> list[Float[np.ndarray, "classes"]]:
        """The distributions of the shown items, the main item first; a mixed image has the mixture of two."""
        parts, mix = stimulus.context.get("of"), stimulus.context.get("mix")
        if parts is not None and mix is not None:
            one, other = parts
            return [mix * self.of(one) + (1 - mix) * self.of(other)]
        return [self.of(item) for item in stimulus.shown]

    def alikeness(self, items: Iterable[str]) -> Float[np.ndarray, "classes classes"]:
        """The similarity of each pair of classes: the mean of p_i p_j."""
        probs = np.array([self.of(item) for item in items]).reshape(-1, len(self.classes))
        return np.asarray(probs.T @ probs / max(len(probs), 1))


def drawn_annotators(
    n: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    careless: float = 0.05,
    fitted: SimulatedTopTwo | None = None,
    share_fitted: float = 0.25,
) -> list[Annotator]:
    """`n` annotators: mostly skilled and slightly overconfident, each with biases of their own; the share `careless`
    pays little attention. With `fitted`, for top_two studies, the share `share_fitted` are CIFAR-10S annotators."""
    share("careless", careless)
    share("share_fitted", share_fitted)
    crowd: list[Annotator] = []
    for _ in range(n):
        is_careless = rng.random() < careless
        attention = rng.uniform(0.1, 0.5) if is_careless else rng.beta(60, 1)
        pace = float(np.exp(rng.normal(-1.0 if is_careless else 0.0, 0.35)))
        skill, sureness = rng.beta(9, 2), float(np.exp(rng.normal(0.2, 0.3)))
        bias = tuple(float(weight) for weight in np.exp(rng.normal(0, 0.25, n_classes)))
        if fitted is not None and rng.random() < share_fitted:
            crowd.append(FittedAnnotator(fitted, 27 * pace, float(attention)))
        else:
            crowd.append(SimulatedAnnotator(float(skill), bias, sureness, 6 * pace, float(attention)))
    return crowd


def _generated(
    item: str, given: int | None, near: Float[np.ndarray, "classes classes"]
) -> Float[np.ndarray, "classes"]:
    rng = np.random.default_rng(number_of(item))
    n_classes = len(near)
    peak = int(rng.integers(n_classes)) if given is None else given
    highest = 1 - rng.beta(1, 30) if rng.random() < SHARE_CLEAR else rng.beta(4, 2.5)
    probs = np.insert((1 - highest) * rng.dirichlet(0.05 + 3 * np.delete(near[peak], peak)), peak, highest)
    largest = int(probs.argmax())
    probs[[peak, largest]] = probs[[largest, peak]]
    generated: np.ndarray = probs / probs.sum()
    generated.flags.writeable = False
    return generated


def _typed(percent: float, rng: np.random.Generator) -> int:
    """A percentage as people type it: 91% of those in CIFAR-10S are multiples of five."""
    return int(5 * round(percent / 5) if rng.random() < SHARE_IN_FIVES else round(percent))


def human_seconds(rng: np.random.Generator, median_seconds: float = 6.0, uncertainty: float = 0.0) -> float:
    """The seconds for an answer of a person: log-normal, longer with more uncertainty."""
    return float(
        median_seconds * np.exp(LOG_SECONDS_SPREAD * rng.standard_normal() + LOG_SECONDS_PER_UNCERTAINTY * uncertainty)
    )


def number_of(*texts: str) -> int:
    """A 64-bit hash of these texts, the same on every machine and in every run."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
