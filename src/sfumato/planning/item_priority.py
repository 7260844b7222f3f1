"""Which items to ask about with a richer form or more often: by their answers so far, or by how a model learned them.
Called by `sfumato plan items`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion
from sfumato.evaluation.items_to_annotate import ItemSelection, select
from sfumato.planning.allocation import RISKS, Form, worth_of_votes
from sfumato.planning.answer_value import AcquisitionIndex, ItemPosteriors, KLIndex
from sfumato.planning.item_prior import check_counts, fit_prior
from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadSetting, no_rows, wrong_shape
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least

AT_ONCE = 2**12
UNCERTAIN = (MapRegion.AMBIGUOUS, MapRegion.HARD)
"""Regions that get the richer form; others get the plain one."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemPriority(Table):
    """One row per item: the remaining error, its reduction per second by one answer of each form, the best form, and
    the item's rank (1: ask about it first)."""

    items: tuple[str, ...]
    forms: tuple[str, ...]
    risk: Float[np.ndarray, "items"]
    worth: Float[np.ndarray, "items forms"]
    form: Int[np.ndarray, "items"]
    """Its position in `forms`."""

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "risk", "worth", "form")

    @property
    def rank(self) -> Int[np.ndarray, "items"]:
        return _ranks(self.worth[np.arange(len(self.form)), self.form])

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        rows = slice(start, stop)
        columns = {
            "item": pa.array(self.items[rows], pa.string()),
            "risk": pa.array(self.risk[rows]),
            **{f"worth_a_second:{name}": pa.array(self.worth[rows, k]) for k, name in enumerate(self.forms)},
            "form": pa.array([self.forms[k] for k in self.form[rows]], pa.string()),
            "rank": pa.array(self.rank[rows]),
        }
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.items)

    def items_for(self, form: str) -> tuple[str, ...]:
        """The items for which a form is advised, highest priority first."""
        order = np.argsort(self.rank)
        return tuple(self.items[i] for i in order if self.forms[self.form[i]] == form)

    def with_deeper_form(self, n: int) -> ItemPriority:
        """With the last form for the `n` items where it is worth most, and the first form for all others.

        For a richer form that is wanted for information that votes do not have, although it reduces the error less per
        second.
        """
        if at_least("deeper", n, 0) > len(self):
            raise BadSetting(
                f"{n:,} items for {self.forms[-1]}", f"at most {len(self):,}, the number of items", "choose fewer"
            )
        form = np.zeros(len(self), np.int64)
        form[np.argsort(-self.worth[:, -1], kind="stable")[:n]] = len(self.forms) - 1
        return ItemPriority(self.items, self.forms, self.risk, self.worth, form)


def _ranks(values: Float[np.ndarray, "items"]) -> Int[np.ndarray, "items"]:
    """1 for the highest value."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


def rank_items(
    items: Sequence[str],
    counts: Float[np.ndarray, "items classes"],
    forms: Mapping[str, Form],
    *,
    index: AcquisitionIndex | None = None,
    prior: DirichletMixture | None = None,
) -> ItemPriority:
    """Items ranked by the expected reduction of their error by the next answer, per second of paid time.

    The error is that of the posterior mean under a mixture of Dirichlets, fitted to the answers unless a `prior` is
    given: the KL divergence, or with the index `l2` the squared distance. An answer worth `w` votes reduces it by `R w
    / (A + w)` (`allocation.worth_of_votes`), so a rich form gains most on items with many answers and much remaining
    uncertainty. Exchange rates are averages over items: that a form may say more on contested items is not included.
    """
    counts = check_counts(counts)
    if not forms:
        raise BadSetting("no forms", "at least one", "give a kind of question")
    if len(items) != len(counts):
        found = f"{len(items):,} items and {len(counts):,} rows of counts"
        raise wrong_shape(found, "one row per item", "give both in the same order")
    by = index or KLIndex()
    fitted = prior or fit_prior(counts)
    rows, place = np.unique(counts, axis=0, return_inverse=True)
    risk, worth = np.empty(len(rows)), np.empty((len(rows), len(forms)))
    for first in range(0, len(rows), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        known = ItemPosteriors(rows[part], fitted)
        for k, form in enumerate(forms.values()):
            worth[part, k] = worth_of_votes(by, known, form.votes) / form.seconds
        risk[part] = getattr(known, RISKS[by.name])
    worth = worth[place.ravel()]
    return ItemPriority(tuple(items), tuple(forms), risk[place.ravel()], worth, worth.argmax(axis=1).astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class MapPriority(Table):
    """Items selected from a data map, one row each: class, region, variability, advised form, rank."""

    selection: ItemSelection
    variability: Float[np.ndarray, "items"]
    form: tuple[str, ...]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "variability")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        chosen = self.selection.chunk(start, stop, wide=wide)
        chosen = chosen.append_column("variability", pa.array(self.variability[start:stop]))
        chosen = chosen.append_column("form", pa.array(self.form[start:stop], pa.string()))
        return chosen.append_column("rank", pa.array(_ranks(self.variability)[start:stop]))

    def __len__(self) -> int:
        return len(self.selection)


def rank_items_by_map(
    drawn: DataMap,
    labels: Mapping[str, str],
    quota: Mapping[MapRegion, int | None],
    *,
    plain: str,
    richer: str,
    fill: bool = False,
    rng: np.random.Generator,
) -> MapPriority:
    """Items by how a model learned them, with a quota per class and region: see `evaluation.items_to_annotate.select`.

    Ambiguous and hard items get the richer form, the others the plain one, as in soft-digits; higher variability first.
    For items without answers: with answers, prefer `rank_items`. Items that confuse a network need not divide people.
    """
    chosen = select(drawn, labels, quota, rng=rng, fill=fill)
    if not len(chosen):
        counted = ", ".join(f"{drawn.count(region):,} {region}" for region in REGIONS)
        raise no_rows("at least one item", "choose another quota", found=f"no item for this quota among {counted}")
    row = {item: i for i, item in enumerate(drawn.items.to_pylist())}
    variability = drawn.variability[[row[item] for item in chosen.items]]
    return MapPriority(
        chosen, variability, tuple(richer if region in UNCERTAIN else plain for region in chosen.regions)
    )
