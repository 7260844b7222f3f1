"""Simulated annotators: what people of differing skill and care would answer about items whose truth is known.

A truth gives every item a distribution over the classes. An annotator makes a belief of it, and the kind of the study
turns the belief into the answer a form would send (`Kind.simulate`), so that every kind can be simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, ErrorLocation, listing
from sfumato.tables.settings import share

if TYPE_CHECKING:
    from sfumato.elicitation.kind import Kind
    from sfumato.labeling.simulated_top_two import SimulatedTopTwo
    from sfumato.study.stimulus import Item, Stimulus
    from sfumato.study.study import Study
    from sfumato.tables.soft_labels import SoftLabels

SPREAD_OF_SECONDS = 0.5
SECONDS_OF_DOUBT = 1.2
"""How much longer one takes who is wholly in doubt, in logarithms; in CIFAR-10S time and 1 - p1 correlate at .50."""
DOUBTFUL_NATS = 0.25
SHARE_IN_FIVES = 0.91
SHARE_CLEAR = 0.6
ITEMS_REMEMBERED = 100_000


class Annotator(Protocol):
    """Somebody who answers."""

    @property
    def attention(self) -> float:
        """The share of what is shown that the person really looks at."""
        ...

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """What this person sends about items with these truths (one an item shown), and after how many seconds."""
        ...


@dataclass(frozen=True)
class PresentedQuestion:
    """One question as a person meets it."""

    kind: Kind
    stimulus: Stimulus
    study: Study


@dataclass(frozen=True)
class Response:
    """The raw answer, as the form would send it, the seconds it took, and how far from sure the person was (0..1)."""

    raw: dict[str, Any]
    seconds: float
    doubt: float = 0.0


@dataclass(frozen=True)
class SimulatedAnnotator:
    """A person with a skill, leanings, a confidence, a speed and an attention of their own.

    `skill` (0..1) is the share of the truth in what they see, the rest is noise of their own; `bias` multiplies each
    class (empty: none); `overconfidence` is the power to which the belief is then raised (above 1 sharpens, below 1
    flattens); `median_seconds` is their time for an item without doubt; and with probability 1 - `attention` they do
    not look and answer anything.

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
        _positive("overconfidence", self.overconfidence)
        _positive("median_seconds", self.median_seconds)
        for weight in self.bias:
            _positive("bias", weight)

    def belief(self, truth: Float[np.ndarray, "classes"], rng: np.random.Generator) -> Float[np.ndarray, "classes"]:
        """What this person believes about an item with this truth."""
        noise = rng.dirichlet(np.ones(len(truth)))
        if rng.random() >= self.attention:
            return noise
        seen = self.skill * np.asarray(truth, np.float64) + (1 - self.skill) * noise
        if self.bias:
            seen = seen * self.bias
        # Divided first, so that a high power leaves something to divide by.
        sharpened = (seen / seen.max()) ** self.overconfidence
        return np.asarray(sharpened / sharpened.sum())

    def seconds(self, belief: Float[np.ndarray, "classes"], rng: np.random.Generator) -> float:
        """How long an answer takes: log-normal, longer in doubt."""
        return _seconds(self.median_seconds, 1 - float(belief.max()), rng)

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """What `Kind.simulate` makes of this person's beliefs."""
        beliefs = [self.belief(truth, rng) for truth in truths]
        raw = asked.kind.simulate([belief.tolist() for belief in beliefs], asked.stimulus, asked.study, rng)
        return Response(raw, self.seconds(beliefs[0], rng), 1 - float(beliefs[0].max()))


@dataclass(frozen=True)
class FittedAnnotator:
    """A CIFAR-10S annotator, for the top_two kind: percents and alternatives as its 248 people gave them.

    The draws are `SimulatedTopTwo`'s (Collins 2022, thesis, B.5), about a hard label drawn from the truth, so that
    people differ where the truth does. Those draws are independent and often exceed 100 together; the form asks for
    percents that do not, so the second gets what the first leaves, as 3,907 of the 6,200 published answers have it.
    """

    simulated: SimulatedTopTwo
    median_seconds: float = 27.0
    attention: float = 1.0

    def __post_init__(self) -> None:
        share("attention", self.attention)
        _positive("median_seconds", self.median_seconds)

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """A top-two form as such a person fills it in."""
        truth, names = truths[0], asked.study.class_names
        if rng.random() >= self.attention:
            truth = rng.dirichlet(np.ones(len(names)))
        doubtful = float(-(truth * np.log(np.maximum(truth, 1e-300))).sum()) >= DOUBTFUL_NATS
        drawn = self.simulated.drawn_answers(
            np.array([rng.choice(len(names), p=truth / truth.sum())]), np.array([doubtful]), names, rng
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
        return Response(raw, _seconds(self.median_seconds, 1 - percents[0] / 100, rng))


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true of every item: a distribution over `classes`."""

    classes: tuple[str, ...]
    of: Callable[[str], Float[np.ndarray, "classes"]]
    """The distribution of an item, by its id."""

    @classmethod
    def from_labels(cls, labels: SoftLabels, classes: Sequence[str], items: Iterable[Item]) -> Truth:
        """The truth that `labels` tell, matched by item and class name; they must have every class and every item."""
        if sorted(labels.classes) != sorted(classes):
            raise BadSetting(
                f"found a truth over the classes {listing(labels.classes)}",
                expected=f"the classes of the study: {listing(list(classes))}",
                fix="give labels over the same classes, in any order",
                code="wrong-classes",
                where=ErrorLocation(str(labels.path) if labels.path else None),
            )
        columns = [labels.classes.index(name) for name in classes]
        ids = [item.id for item in items]
        rows = dict(zip(ids, labels.probs[labels.rows_of(ids)][:, columns], strict=True))
        return cls(tuple(classes), rows.__getitem__)

    @classmethod
    def built_in(cls, classes: Sequence[str], items: Iterable[Item] = ()) -> Truth:
        """A plausible truth made up from the ids alone, always the same: most items clear, some doubtful, and some
        classes nearer to each other than others. An item whose class is given has it as its most probable one."""
        given = {item.id: classes.index(item.given) for item in items if item.given in classes}
        near = np.array([[_of_names(*sorted((one, other))) for other in classes] for one in classes]) ** 4
        # Each item is shown to several people.
        return cls(tuple(classes), lru_cache(ITEMS_REMEMBERED)(lambda item: _made_up(item, given.get(item), near)))

    def shown(self, stimulus: Stimulus) -> list[Float[np.ndarray, "classes"]]:
        """The distributions of what a trial shows, the item asked about first; a mixed picture is as it was mixed."""
        parts, mix = stimulus.context.get("of"), stimulus.context.get("mix")
        if parts is not None and mix is not None:
            one, other = parts
            return [mix * self.of(one) + (1 - mix) * self.of(other)]
        return [self.of(item) for item in stimulus.shown]

    def alikeness(self, items: Iterable[str]) -> Float[np.ndarray, "classes classes"]:
        """How far each pair of classes shares items: the mean of p_i p_j."""
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
    """A crowd of `n`: mostly able and a little too sure, each with leanings of their own; the share `careless` hardly
    look. With `fitted`, for studies that ask for the top two, the share `share_fitted` are CIFAR-10S annotators."""
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


def _made_up(item: str, given: int | None, near: Float[np.ndarray, "classes classes"]) -> Float[np.ndarray, "classes"]:
    rng = np.random.default_rng(number_of(item))
    n_classes = len(near)
    peak = int(rng.integers(n_classes)) if given is None else given
    highest = 1 - rng.beta(1, 30) if rng.random() < SHARE_CLEAR else rng.beta(4, 2.5)
    probs = np.insert((1 - highest) * rng.dirichlet(0.05 + 3 * np.delete(near[peak], peak)), peak, highest)
    largest = int(probs.argmax())
    probs[[peak, largest]] = probs[[largest, peak]]
    made_up: np.ndarray = probs / probs.sum()
    made_up.flags.writeable = False
    return made_up


def _typed(percent: float, rng: np.random.Generator) -> int:
    """A percent as people type it: 91% of those in CIFAR-10S are multiples of five."""
    return int(5 * round(percent / 5) if rng.random() < SHARE_IN_FIVES else round(percent))


def _seconds(median_seconds: float, doubt: float, rng: np.random.Generator) -> float:
    return float(median_seconds * np.exp(SPREAD_OF_SECONDS * rng.standard_normal() + SECONDS_OF_DOUBT * doubt))


def number_of(*texts: str) -> int:
    """A number of 64 bits that belongs to these texts, on every machine and in every run."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _of_names(*names: str) -> float:
    """A number in 0..1 that belongs to these names."""
    return number_of(*names) / 2**64


def _positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise BadSetting(
            f"found {name} = {value}", expected="a number above 0", fix=f"choose another {name}", code="bad-setting"
        )
