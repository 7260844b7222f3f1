"""Intervals of agreement measures: how often they contain the value of the population of items and people.

Every cell draws three kinds of answers from the same design. `choices`: four classes; each person adds leanings of
their own to the logits of every item. `ratings`: five ordered classes; each person shifts and stretches the scale.
`beliefs`: distributions over the four classes, with noise of their own. `people differ by` is the standard deviation
of the leanings, of the shift, and of the logarithm of the stretching times 2. Items in the rows `clear` are far
clearer: dissent is near 0, and agreement near 1.

Rows `confirmation` are of another world, and no method was changed after they were simulated: three classes of unequal
frequency, people see the logits of the items sharper or flatter, and seven ordered classes, of which items use all
equally, with shifts that have a t distribution with 4 degrees of freedom. A person answers about an item with
probability 0.6, in the first of these rows with certainty.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.stats import norm, qmc
from scipy.stats import t as student

from sfumato.labeling.agreement import agreement, measure_from_name
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import OrderedClasses
from sfumato.tables.errors import warnings_off
from sfumato.tables.text_columns import CodedText

GOAL = (
    "90% intervals for other items and other people should contain the true value in 85% to 95% of studies. "
    "Studies of 200 items; `icc-a1` and `icc-c1` need a crossed study. No method was chosen on the rows `confirmation`."
)
MEASURES: Mapping[str, tuple[str, ...]] = {
    "choices": ("percent-agreement", "cohen-kappa", "fleiss-kappa", "gwet-ac1"),
    "ratings": ("alpha-ordinal", "weighted-kappa", "gwet-ac2", "icc-1", "icc-1k", "icc-a1", "icc-ak", "icc-c1"),
    "beliefs": ("total-variation", "alpha-distributions"),
}
NAMES = tuple(name for names in MEASURES.values() for name in names)
HEAD = ("study", "people", "people differ by", *NAMES)
TIMES = 2
LEVEL, N_ITEMS, ANSWER_NOISE = 0.9, 200, 0.3
POPULATION, CROWD = 8_000, 256

Probs = Float[np.ndarray, "items people classes"]


@dataclass(frozen=True)
class Cell:
    study: str
    n_people: int
    effect: float

    @property
    def density(self) -> float:
        return {"sparse": 0.2, "confirmation": 0.6}.get(self.study, 1.0)

    @property
    def is_confirmation(self) -> bool:
        return self.study.startswith("confirmation")

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple("abc" if self.is_confirmation else "abcd")

    @property
    def grades(self) -> OrderedClasses:
        return OrderedClasses("1234567" if self.is_confirmation else "12345")


CELLS = (
    *(Cell("crossed", n, effect) for n in (5, 10, 30) for effect in (0.0, 0.4, 0.8)),
    *(Cell("sparse", n, effect) for n in (10, 30) for effect in (0.0, 0.4, 0.8)),
    *(Cell("clear", n, 0.4) for n in (5, 10)),
    *(Cell("confirmation, crossed", 6, effect) for effect in (0.3, 0.6)),
    *(Cell("confirmation", n, effect) for n in (6, 16) for effect in (0.3, 0.6)),
)
STUDIES = ("crossed", "sparse", "clear", "confirmation, crossed", "confirmation")


@dataclass(frozen=True, eq=False)
class Crowd:
    """Items and people, and what people think of the items."""

    logits: Float[np.ndarray, "items classes"]
    place: Float[np.ndarray, "items"]
    leaning: Float[np.ndarray, "people classes"]
    sharpness: Float[np.ndarray, "people"]
    shift: Float[np.ndarray, "people"]
    stretch: Float[np.ndarray, "people"]
    limits: Float[np.ndarray, "limits"]
    """Between the grades."""

    @classmethod
    def drawn(cls, rng: np.random.Generator, cell: Cell, n_items: int, normal: Float[np.ndarray, "people 6"]) -> Crowd:
        """Items are drawn; `normal` are the people, as standard normal numbers."""
        far = 5.0 if cell.study == "clear" else 0.0
        n_classes = len(cell.classes)
        shares = np.array([0.6, 0.3, 0.1]) if cell.is_confirmation else np.full(n_classes, 1 / n_classes)
        logits = np.eye(n_classes)[rng.choice(n_classes, n_items, p=shares)]
        logits = logits * (far + rng.gamma(2, 1, n_items))[:, None] + rng.normal(0, 0.5, logits.shape)
        one = np.ones(len(normal))
        if cell.is_confirmation:
            place, shift = rng.uniform(-2.5, 2.5, n_items), cell.effect * student.ppf(norm.cdf(normal[:, 4]), 4)
            sharpness = np.exp(cell.effect * normal[:, 0])
            return cls(logits, place, np.zeros((len(normal), 3)), sharpness, shift, one, np.linspace(-2, 2, 6))
        normal, place = normal * cell.effect, rng.normal(0, 1.2, n_items)
        return cls(logits, place, normal[:, :4], one, normal[:, 4], np.exp(normal[:, 5] / 2), np.linspace(-1.5, 1.5, 4))

    def choices(self, items: slice) -> Probs:
        return softmax(self.logits[items, None] * self.sharpness[:, None] + self.leaning)

    def ratings(self, items: slice) -> Probs:
        seen = self.place[items, None, None] * self.stretch[:, None] + self.shift[:, None]
        below = norm.cdf((self.limits - seen) / 0.7)
        whole = np.ones((*below.shape[:2], 1))
        return np.diff(np.concatenate([0 * whole, below, whole], axis=2), axis=2)

    def beliefs(self, items: slice, rng: np.random.Generator) -> Probs:
        seen = self.logits[items, None] * self.sharpness[:, None] + self.leaning
        return softmax(seen + rng.normal(0, ANSWER_NOISE, seen.shape))


def softmax(logits: Float[np.ndarray, "... classes"]) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@cache
def truth(cell: Cell) -> dict[str, float]:
    """The values of many items, and of many people with their mirror images; pairs of them are independent."""
    rng = np.random.default_rng([1, round(10 * cell.effect)])
    half = norm.ppf(qmc.Sobol(6, rng=np.random.default_rng(2)).random(CROWD // 2))
    people = Crowd.drawn(rng, cell, POPULATION, np.concatenate([half, -half]))
    n_classes, n_grades = len(cell.classes), len(cell.grades)
    choices = PairFigures.of(np.eye(n_classes), people.choices)
    quadratic = 1 - (np.subtract.outer(np.arange(n_grades), np.arange(n_grades)) / (n_grades - 1)) ** 2
    ratings = PairFigures.of(quadratic, people.ratings)
    guesses = quadratic.sum() / (n_grades * (n_grades - 1))
    found = {
        "percent-agreement": choices.agree,
        "cohen-kappa": choices.of_pairs,
        "fleiss-kappa": choices.beyond(choices.shared_chance),
        "gwet-ac1": choices.beyond((choices.shares * (1 - choices.shares)).sum() / (n_classes - 1)),
        "weighted-kappa": ratings.of_pairs,
        "gwet-ac2": ratings.beyond(guesses * (ratings.shares * (1 - ratings.shares)).sum()),
        **ratings_truth(people, ratings, cell),
        **beliefs_truth(people, rng),
    }
    return {name: float(found[name]) for name in NAMES}


@dataclass(frozen=True, eq=False)
class PairFigures:
    """What kappas are made of: agreement of pairs of people, and the shares of classes of each person."""

    weights: Float[np.ndarray, "classes classes"]
    both: Float[np.ndarray, "people people"]
    own: Float[np.ndarray, "people classes"]

    @classmethod
    def of(cls, weights: np.ndarray, probs: object) -> PairFigures:
        both, own = np.zeros((CROWD, CROWD)), np.zeros((CROWD, len(weights)))
        assert callable(probs)
        for start in range(0, POPULATION, 500):
            part = probs(slice(start, start + 500))
            near = part @ weights
            flat = part.transpose(1, 0, 2).reshape(CROWD, -1)
            both += flat @ near.transpose(1, 0, 2).reshape(CROWD, -1).T / POPULATION
            own += part.sum(axis=0) / POPULATION
        return cls(weights, both, own)

    @property
    def shares(self) -> Float[np.ndarray, "classes"]:
        return np.asarray(self.own.mean(axis=0))

    @property
    def agree(self) -> float:
        return float(self.both.mean())

    @property
    def shared_chance(self) -> float:
        return float(self.shares @ self.weights @ self.shares)

    @property
    def of_pairs(self) -> float:
        """The mean over pairs of people of Cohen's kappa."""
        chance = self.own @ self.weights @ self.own.T
        return float(((self.both - chance) / (1 - chance)).mean())

    def beyond(self, chance: float) -> float:
        return (self.agree - chance) / (1 - chance)


def ratings_truth(people: Crowd, ratings: PairFigures, cell: Cell) -> dict[str, float]:
    """Intraclass correlations from the variances of items, people and answers; alpha from ranks."""
    grades = np.arange(float(len(cell.grades)))
    rank = np.cumsum(ratings.shares) - ratings.shares / 2
    found = {}
    for scale in (grades, rank):
        of_item = np.concatenate(
            [(people.ratings(slice(start, start + 500)) @ scale).mean(axis=1) for start in range(0, POPULATION, 500)]
        )
        total = ratings.shares @ scale**2 - (ratings.shares @ scale) ** 2
        items, crowd = of_item.var(), (ratings.own @ scale).var()
        if scale is rank:
            found["alpha-ordinal"] = items / total
            continue
        k = cell.n_people
        found |= {
            "icc-1": items / total,
            "icc-a1": items / total,
            "icc-c1": items / (total - crowd),
            "icc-1k": items / (items + (total - items) / answers_per_item(cell)),
            "icc-ak": items / (items + (total - items) / k),
        }
    return found


def answers_per_item(cell: Cell) -> float:
    """The number of answers of the mean that `icc-1k` is about; in a sparse study of items with at least two."""
    if cell.density == 1:
        return cell.n_people
    n = np.random.default_rng(0).binomial(cell.n_people, cell.density, 100_000)
    n = n[n > 1]
    return float(n.mean())


def beliefs_truth(people: Crowd, rng: np.random.Generator) -> dict[str, float]:
    apart, squares, means, alone = [], [], [], []
    for start in range(0, POPULATION, 500):
        part = people.beliefs(slice(start, start + 500), rng)
        # Another person about the same item: all people in another order, drawn again.
        again = people.beliefs(slice(start, start + 500), rng)[:, rng.permutation(CROWD)]
        apart.append(np.abs(part - again).sum(axis=2).mean() / 2)
        squares.append(((part - again) ** 2).sum(axis=2).mean() / 2)
        means.append(part.mean(axis=(0, 1)))
        alone.append((part**2).sum(axis=2).mean())
    expected = np.mean(alone) - (np.mean(means, axis=0) ** 2).sum()
    return {"total-variation": float(np.mean(apart)), "alpha-distributions": float(1 - np.mean(squares) / expected)}


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        shares = np.array(list(pool.map(coverage, CELLS, [n_studies] * len(CELLS))))
    rows = [
        [cell.study, str(cell.n_people), f"{cell.effect:g}", *map(_share, each)]
        for cell, each in zip(CELLS, shares, strict=True)
    ]
    confirms = np.array([cell.is_confirmation for cell in CELLS])
    for which, part in (("", shares[~confirms]), ("confirmation, ", shares[confirms])):
        for name, of in (("mean", np.nanmean), ("lowest", np.nanmin), ("highest", np.nanmax)):
            rows.append([which + name, "", "", *map(_share, of(part, axis=0))])
    return rows


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def coverage(cell: Cell, n_studies: int) -> list[float]:
    """The share of studies whose interval contains the true value, per measure; NaN if it is not defined."""
    true, found = truth(cell), []
    for study in range(n_studies):
        rng = np.random.default_rng([study, cell.n_people, round(10 * cell.effect), STUDIES.index(cell.study)])
        ends = intervals(cell, rng)
        found.append([ends[name][0] <= true[name] <= ends[name][1] if name in ends else np.nan for name in NAMES])
    return [float(share) for share in np.mean(found, axis=0)]


def intervals(cell: Cell, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """The intervals of all measures in one simulated study."""
    people = Crowd.drawn(rng, cell, N_ITEMS, rng.normal(size=(cell.n_people, 6)))
    item, person = np.divmod(np.arange(N_ITEMS * cell.n_people), cell.n_people)
    answered = rng.random(len(item)) < cell.density
    everything = slice(0, N_ITEMS)
    answers: dict[str, np.ndarray] = {}
    for name, probs in (("choices", people.choices(everything)), ("ratings", people.ratings(everything))):
        flat = probs.reshape(len(item), -1)[answered]
        answers[name] = (flat.cumsum(axis=1) > rng.random((len(flat), 1)) * flat.sum(axis=1, keepdims=True)).argmax(1)
    answers["beliefs"] = people.beliefs(everything, rng).reshape(len(item), -1)[answered]
    names = _named(item[answered]), _named(person[answered])
    found = {}
    for kind, said in answers.items():
        measures = [each for each in MEASURES[kind] if cell.density == 1 or each[:5] not in ("icc-a", "icc-c")]
        hard = {"soft": said} if kind == "beliefs" else {"hard": said.astype(np.int16)}
        table = Beliefs(*names, cell.grades if kind == "ratings" else cell.classes, **hard)
        with warnings_off():
            result = agreement(table, measures=[measure_from_name(each) for each in measures], level=LEVEL)
        for name, low, high in zip(measures, result.low, result.high, strict=True):
            found[name] = float(low), float(high)
    return found


def _named(codes: np.ndarray) -> CodedText:
    return CodedText(codes.astype(np.int32), pa.array([str(k) for k in range(int(codes.max()) + 1)]))
