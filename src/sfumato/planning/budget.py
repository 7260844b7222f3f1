"""The trade-off between many items and many answers per item at a fixed budget, per goal. Called by `sfumato plan
annotators`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_simulation import simulate_answers
from sfumato.planning.costs import CostModel
from sfumato.planning.item_prior import Population
from sfumato.planning.precision import ErrorMeasure, TotalVariationError
from sfumato.tables.errors import BadSetting
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import above_0, at_least
from sfumato.tables.table import Table

if TYPE_CHECKING:
    from sfumato.planning.pilot import Pilot

DRAWS = 10_000
USUAL = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Table):
    """One row per number of answers per item, all at the same budget; smaller errors are better.

    `class_shares` is the root mean squared distance of the mean label from that of all such items, `disagreement` the
    standard error of the probability that two people differ (mean over items; NaN with one answer per item), and `item`
    the mean error of a single item's label.
    """

    n_answers: Int[np.ndarray, "rows"]
    n_items: Int[np.ndarray, "rows"]
    class_shares: Float[np.ndarray, "rows"]
    disagreement: Float[np.ndarray, "rows"]
    item: Float[np.ndarray, "rows"]
    cost: Float[np.ndarray, "rows"]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "n_answers", "n_items", "class_shares", "disagreement", "item", "cost")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        names = ("n_answers", "n_items", "class_shares", "disagreement", "item", "cost")
        return pa.table({name: pa.array(getattr(self, name)[start:stop], from_pandas=True) for name in names})

    def __len__(self) -> int:
        return len(self.n_answers)

    def best(self, goal: str) -> int:
        """The best number of answers per item for `class_shares`, `disagreement` or `item`; 0 if none is possible."""
        errors = np.nan_to_num(getattr(self, goal), nan=np.inf)
        return int(self.n_answers[np.argmin(errors)]) if np.isfinite(errors).any() else 0


def trade_off(
    source: Pilot | DirichletMixture,
    budget: float,
    *,
    costs: CostModel | None = None,
    kind: str = "choice",
    measure: ErrorMeasure | None = None,
    n_answers: Sequence[int] = USUAL,
    rng: np.random.Generator,
) -> TradeOff:
    """What a budget pays at each number of answers per item: `budget` in answers, or with `costs` in money.

    For the mean label of n items with M answers each, `E |error|^2 = (between + within / M) / n`, with the variance
    between items `between = E |p|^2 - |E p|^2` and within items `within = 1 - E |p|^2`: at a fixed n M, one answer per
    item is always best. The probability that two people differ needs two. The label of a single item only improves with
    its own answers: there the budget decides how many items are possible.
    """
    above_0("budget", budget)
    price_each = 1.0 if costs is None else costs.money(kind)
    if costs is not None:
        n_affordable = costs.affordable(kind, budget)
    elif (n_affordable := int(min(budget + 1e-9, 2**53))) < 1:
        raise BadSetting(
            f"a budget of {budget:g} answers",
            "enough for at least one answer",
            "plan for 1 or more",
            "budget-too-small",
        )
    many = np.array([at_least("n_answers", m, 1) for m in n_answers if m <= n_affordable] or [1])
    items = Population.of(source if isinstance(source, DirichletMixture) else source.subsample(DRAWS), DRAWS, rng)
    n_items = n_affordable // many
    squares = float((items.probs**2).sum(axis=1).mean())
    between = squares - float((items.probs.mean(axis=0) ** 2).sum())
    most = int(many.max())
    spread = np.full(most + 1, np.nan)
    for known in simulate_answers(items.probs, most, rng):
        if (m := known.n_answers) > 1:
            spread[m] = ((m**2 - (known.counts**2).sum(axis=1)) / (m * (m - 1))).std()
    return TradeOff(
        many,
        n_items,
        np.sqrt((between + (1 - squares) / many) / n_items),
        spread[many] / np.sqrt(n_items),
        (measure or TotalVariationError()).of_items(items, most, rng).mean(axis=0)[many - 1],
        many * n_items * price_each,
    )
