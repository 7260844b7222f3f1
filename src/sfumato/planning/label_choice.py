"""Which kind of label to collect: recovery, price and loss of every kind for the user's own numbers of items and
classes, at equal items and at equal budget, and what would change the recommendation. Called by `sfumato plan labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from sfumato.planning.decision_limits import BetaRange, beta_ranges, price_limits
from sfumato.planning.informativeness.answered_triplets import information_ratio
from sfumato.planning.informativeness.kind_recovery import (
    AUTO,
    METHODS,
    KindRecovery,
    Progress,
    RecoveryGrid,
    SimulatedKind,
    WorldSize,
)
from sfumato.planning.informativeness.label_types import LabelSet, LabelType, TripletLabels
from sfumato.planning.label_prices import LabelPrices, Tradeoff
from sfumato.planning.pilot_geometry import UNKNOWN_DIMENSIONS, NoiseEstimate
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0, at_least

MOST_ITEMS, MOST_CLASSES = 300, 1000
"""With more items, this many are simulated: recovery hardly changes with further items of the same classes."""
FEWEST_WORLDS, MOST_WORLDS = 12, 48
CPU_SECONDS = 30.0
"""About how long the worlds of the user's own size may take together."""
DRAWS = 1000
OTHER_NOISES = (0.5, 1.0)


@dataclass(frozen=True)
class LabelQuestion:
    """What is asked: items, classes, the kinds to compare, and what is known about the task.

    `noise` by kind; kinds that are missing have none. `dimensions` take turns over the worlds.
    """

    n_items: int
    n_classes: int
    kinds: tuple[LabelType, ...]
    dimensions: tuple[int, ...] = UNKNOWN_DIMENSIONS
    noise: Mapping[str, NoiseEstimate] = field(default_factory=dict)
    embedder: str = AUTO
    seed: int = 0
    n_worlds: int | None = None

    def __post_init__(self) -> None:
        if self.n_classes < 2:
            raise BadSetting(
                f"{self.n_classes} class{'es' * (self.n_classes != 1)}",
                "two classes or more",
                "give the number of classes that people choose from",
            )
        if self.n_classes > MOST_CLASSES:
            raise BadSetting(f"{self.n_classes:,} classes", f"at most {MOST_CLASSES:,}", "group the classes")
        if self.n_worlds is not None:
            at_least("worlds", self.n_worlds, 2)
        WorldSize(self.n_items, self.n_classes, self.dimensions)

    @property
    def n_simulated(self) -> int:
        return min(self.n_items, MOST_ITEMS)

    @property
    def items_only(self) -> bool:
        """Whether recovery is compared over items only, because some kinds say nothing about classes."""
        return not all(isinstance(kind, LabelSet) for kind in self.kinds)

    def grid(self, times: Sequence[float] | None = None, noise: float | None = None) -> RecoveryGrid:
        """The simulation of every kind, judged `times` times, with the noise of the question or another."""
        known = [self.noise[kind.title].value if kind.title in self.noise else 0.0 for kind in self.kinds]
        noises = known if noise is None else [noise] * len(self.kinds)
        simulated = self._simulated_kinds()
        grid = RecoveryGrid(
            (WorldSize(self.n_simulated, self.n_classes, self.dimensions),),
            tuple(SimulatedKind(*each) for each in zip(simulated, noises, times or [1.0] * len(noises), strict=True)),
            1, self.embedder, self.seed,
        )  # fmt: skip
        n_worlds = self.n_worlds or int(
            np.clip(CPU_SECONDS / grid.seconds_per_world(grid.sizes[0]), FEWEST_WORLDS, MOST_WORLDS)
        )
        turns = len(self.dimensions)
        # Two worlds or more of each number of dimensions, for an interval.
        return replace(grid, n_worlds=max(-(-n_worlds // turns), 2) * turns)

    def _simulated_kinds(self) -> list[LabelType]:
        """The kinds; with fewer items than asked about, as many triplets per item."""
        if self.n_simulated == self.n_items:
            return list(self.kinds)
        share = self.n_simulated / self.n_items
        return [
            TripletLabels(max(round(kind.n_judgments * share), 1)) if isinstance(kind, TripletLabels) else kind
            for kind in self.kinds
        ]


@dataclass(frozen=True)
class KindResult:
    """One kind of label. Prices are in hard labels; `cost` is `beta c`, `loss` is `cost - utility`.

    Intervals are 95%: `rho_low` to `rho_high` of the mean over worlds, `world_low` to `world_high` of single worlds.
    `share_best` is the share of worlds in which no other kind has a lower loss, `share_beaten` that in which the
    recommended kind has a lower loss than this one; `difference` is the loss minus that of the recommended kind.
    `budget_times` is how often the budget pays for labeling everything, `budget_rho` the recovery.
    """

    kind: str
    n_labels: int
    price: float
    price_source: str
    total: float
    cost: float
    noise: float
    information_ratio: float
    embedder: str
    rho: float
    rho_low: float
    rho_high: float
    world_low: float
    world_high: float
    items_rho: float
    utility: float
    loss: float
    loss_low: float
    loss_high: float
    share_best: float
    share_beaten: float
    difference: float
    difference_low: float
    difference_high: float
    budget_times: float
    budget_rho: float
    budget_low: float
    budget_high: float


@dataclass(frozen=True)
class Sensitivity:
    """The kind that would be recommended if one assumption were otherwise."""

    what: str
    value: str
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class LabelChoice(RecordTable):
    """The comparison, one row per kind, and the recommendation."""

    record = KindResult
    rows: tuple[KindResult, ...]
    question: LabelQuestion
    prices: LabelPrices
    tradeoff: Tradeoff
    budget: float
    n_worlds: int
    price_limits: Mapping[str, float]
    """For every kind but the recommended: the price per label, in hard labels, below which it would be recommended;
    for the recommended kind the price above which it would not."""
    beta_ranges: tuple[BetaRange, ...]
    sensitivity: tuple[Sensitivity, ...]
    recovery: KindRecovery

    @property
    def best(self) -> KindResult:
        """The recommended kind: the lowest loss; of equal ones the cheaper."""
        return min(self.rows, key=lambda row: (row.loss, row.total))

    @property
    def next_best(self) -> KindResult | None:
        others = [row for row in self.rows if row.kind != self.best.kind]
        return min(others, key=lambda row: (row.loss, row.total)) if others else None

    @property
    def rival(self) -> KindResult | None:
        """The best kind that is another one in practice: not the same family with nearly as many classes."""
        others = [row for row in self.rows if not are_close(row.kind, self.best.kind)]
        return min(others, key=lambda row: (row.loss, row.total)) if others else None

    @property
    def is_clear(self) -> bool:
        """Whether the interval of the difference from the next best kind excludes 0."""
        return self.next_best is None or self.next_best.difference_low > 0

    @property
    def best_at_budget(self) -> KindResult:
        """The kind that recovers most for the budget; of equal ones the one with the lower loss."""
        return max(self.rows, key=lambda row: (round(row.budget_rho, 6), -row.loss))

    def best_of(self, family: str) -> KindResult | None:
        """The best row of a family such as `sparse`."""
        rows = [row for row in self.rows if row.kind.startswith(f"{family}:")]
        return min(rows, key=lambda row: (row.loss, row.total)) if rows else None

    def mean_rho(self, kind: str, d: int, otherwise: float) -> float:
        """The mean rho of a kind in `d` dimensions, in all if 0; `otherwise` if it was not compared."""
        titles = [each.title for each in self.question.kinds]
        if kind not in titles:
            return otherwise
        rho = self.recovery.rho(items_only=self.question.items_only)[:, titles.index(kind)]
        return float((rho[self.recovery.dimensions == d] if d else rho).mean())

    @property
    def method(self) -> str:
        return METHODS[self.question.embedder]


NEARLY = 1.5
"""Labels of one family are nearly the same if their numbers of classes differ by at most this factor."""


def are_close(kind: str, other: str) -> bool:
    """Whether two kinds are the same in practice: `sparse:6` and `sparse:7`."""
    (family, _, number), (other_family, _, other_number) = kind.partition(":"), other.partition(":")
    if family != other_family or not number or not other_number:
        return kind == other
    return max(int(number), int(other_number)) <= NEARLY * min(int(number), int(other_number))


def choose_labels(
    question: LabelQuestion,
    prices: LabelPrices,
    tradeoff: Tradeoff,
    *,
    budget: float | None = None,
    workers: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> LabelChoice:
    """Simulate every kind in the same worlds, and compare recovery with price.

    `budget` is in hard labels; without it, the price of the dearest kind. The loss uses the utility of the mean rho
    over worlds; its interval is a bootstrap over worlds within each number of dimensions.
    """
    n, k = question.n_items, question.n_classes
    totals = np.array([prices.total(kind, n, k) for kind in question.kinds])
    spent = above_0("budget", float(totals.max()) if budget is None else budget)
    times = spent / totals
    steps = _Steps(progress)
    once = question.grid()
    at_budget, changed = _budget_grid(question, once, times)
    n_others = max(once.n_worlds // 3 // len(question.dimensions), 1) * len(question.dimensions)
    others = [] if question.noise else [replace(question.grid(noise=each), n_worlds=n_others) for each in OTHER_NOISES]
    steps.total = sum(grid.n_worlds for grid in (once, *others, *([at_budget] if at_budget else [])))
    recovery = once.run(workers=workers, cache=cache, progress=steps.show)[0]
    steps.next(once.n_worlds)
    items_only = question.items_only
    rho = recovery.rho(items_only=items_only)
    budget_rho = rho.copy()
    if at_budget is not None:
        found = at_budget.run(workers=workers, cache=cache, progress=steps.show)[0]
        steps.next(at_budget.n_worlds)
        budget_rho[:, changed] = found.rho(items_only=items_only)
    sensitivity = [*_by_dimensions(rho, recovery, question, totals, tradeoff)]
    for noise, grid in zip(OTHER_NOISES, others, strict=False):
        other_rho = grid.run(workers=workers, cache=cache, progress=steps.show)[0].rho(items_only=items_only)
        steps.next(grid.n_worlds)
        sensitivity.append(
            Sensitivity("noise", f"{noise:g}", _best(other_rho.mean(axis=0), question, totals, tradeoff))
        )
    titles = [kind.title for kind in question.kinds]
    utilities = np.array([tradeoff.utility(float(each)) for each in rho.mean(axis=0)])
    n_labels = np.array([n if isinstance(kind, LabelSet) else kind.judgments(n, k) for kind in question.kinds])
    return LabelChoice(
        _rows(question, prices, tradeoff, recovery, rho, totals, times, budget_rho),
        question, prices, tradeoff, spent, len(rho),
        price_limits(titles, utilities, totals, n_labels, tradeoff.unit / tradeoff.beta) if tradeoff.beta else {},
        beta_ranges(titles, utilities, totals / tradeoff.unit),
        tuple(sensitivity), recovery,
    )  # fmt: skip


class _Steps:
    """Progress over several simulations."""

    def __init__(self, progress: Progress | None) -> None:
        self.total, self._done, self._progress = 0, 0, progress

    def show(self, done: int, of: int) -> None:  # noqa: ARG002
        if self._progress is not None:
            self._progress(self._done + done, self.total)

    def next(self, done: int) -> None:
        self._done += done


def _budget_grid(
    question: LabelQuestion, once: RecoveryGrid, times: Float[np.ndarray, "kinds"]
) -> tuple[RecoveryGrid | None, list[int]]:
    """The simulation at equal budget, of the kinds for which it differs from labeling everything once."""
    changed = [
        i
        for i, each in enumerate(once.kinds)
        if abs(times[i] - 1) > 1e-9 and (each.noise or times[i] < 1 or isinstance(each.kind, TripletLabels))
    ]
    if not changed:
        return None, []
    whole = question.grid(times=times.tolist())
    return replace(whole, kinds=tuple(whole.kinds[i] for i in changed), n_worlds=once.n_worlds), changed


def _best(
    rho: Float[np.ndarray, "kinds"], question: LabelQuestion, totals: Float[np.ndarray, "kinds"], tradeoff: Tradeoff
) -> str:
    losses = [(tradeoff.loss(float(r), t), t, i) for i, (r, t) in enumerate(zip(rho, totals.tolist(), strict=True))]
    return question.kinds[min(losses)[2]].title


def _by_dimensions(
    rho: Float[np.ndarray, "worlds kinds"],
    recovery: KindRecovery,
    question: LabelQuestion,
    totals: Float[np.ndarray, "kinds"],
    tradeoff: Tradeoff,
) -> list[Sensitivity]:
    if len(question.dimensions) < 2:
        return []
    return [
        Sensitivity("dimensions", str(d), _best(rho[recovery.dimensions == d].mean(axis=0), question, totals, tradeoff))
        for d in question.dimensions
    ]


def _rows(
    question: LabelQuestion,
    prices: LabelPrices,
    tradeoff: Tradeoff,
    recovery: KindRecovery,
    rho: Float[np.ndarray, "worlds kinds"],
    totals: Float[np.ndarray, "kinds"],
    times: Float[np.ndarray, "kinds"],
    budget_rho: Float[np.ndarray, "worlds kinds"],
) -> tuple[KindResult, ...]:
    n, k = question.n_items, question.n_classes
    valued = np.vectorize(tradeoff.utility, otypes=[np.float64])
    costs = tradeoff.beta * totals / tradeoff.unit
    weights = _draws(recovery.dimensions, question.seed)
    drawn = weights @ rho
    losses, drawn_losses = costs - valued(rho.mean(axis=0)), costs - valued(drawn)
    in_worlds = costs - valued(rho)
    is_best = in_worlds <= in_worlds.min(axis=1, keepdims=True) + 1e-12
    best = min(range(len(losses)), key=lambda i: (losses[i], totals[i]))
    is_beaten = in_worlds > in_worlds[:, [best]] + 1e-12
    apart = drawn_losses - drawn_losses[:, [best]]
    budget_drawn = weights @ budget_rho
    items_rho = recovery.rho(items_only=True).mean(axis=0)
    used = recovery.used(items_only=question.items_only)

    def ends(values: Float[np.ndarray, "draws kinds"], i: int) -> tuple[float, float]:
        low, high = np.quantile(values[:, i], [0.025, 0.975])
        return float(low), float(high)

    rows = []
    for i, kind in enumerate(question.kinds):
        price = prices.of(kind, k)
        estimate = question.noise.get(kind.title)
        rows.append(
            KindResult(
                kind.title, n if isinstance(kind, LabelSet) else kind.judgments(n, k), price.amount, price.source,
                float(totals[i]), float(costs[i]), estimate.value if estimate else 0.0,
                information_ratio(kind.n_triplets(n, k), n + k), used[i], float(rho[:, i].mean()), *ends(drawn, i),
                *ends(rho, i), float(items_rho[i]), float(valued(rho.mean(axis=0))[i]), float(losses[i]),
                *ends(drawn_losses, i), float(is_best[:, i].mean()), float(is_beaten[:, i].mean()),
                float(losses[i] - losses[best]), *ends(apart, i),
                float(times[i]), float(budget_rho[:, i].mean()), *ends(budget_drawn, i),
            )
        )  # fmt: skip
    return tuple(rows)


def _draws(dimensions: np.ndarray, seed: int) -> Float[np.ndarray, "draws worlds"]:
    """Weights of the worlds in a bootstrap within each number of dimensions; each row sums to 1.

    Deviations from equal weights are enlarged by `sqrt(m / (m - 1))` with `m` worlds, so that the variance is right.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**20,)))
    weights = np.zeros((DRAWS, len(dimensions)))
    for d in np.unique(dimensions):
        rows = np.flatnonzero(dimensions == d)
        m = len(rows)
        drawn = rng.multinomial(m, np.full(m, 1 / m), size=DRAWS)
        weights[:, rows] = 1 + (drawn - 1) * np.sqrt(m / (m - 1))
    return weights / len(dimensions)
