"""Strata: groups of items that are scored separately; the name of a stratum is its condition in Scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadSetting, BadTable, listing, show, warn
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.scores import ALL
from sfumato.tables.setting_checks import at_least, one_of
from sfumato.tables.strategies import strategy_from_name

ROUNDING = 1e-9
"""Tolerance for a probability of 1."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """Some of the items, with a name."""

    name: str
    rows: Int[np.ndarray, "some"]
    """Their rows in `MatchedLabels`."""
    by_votes: bool = False
    """Whether people's labels, which are also scored against, chose the items."""

    def part(self, matched: MatchedLabels) -> MatchedLabels:
        """The items of this stratum."""
        return replace(matched.take(self.rows), chosen_by_votes=self.by_votes)

    def __len__(self) -> int:
        return len(self.rows)


@runtime_checkable
class Stratification(Protocol):
    """Splits the items into strata. A frozen dataclass whose fields are its settings."""

    @property
    def name(self) -> str: ...

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        """The strata in order, empty ones included."""


@dataclass(frozen=True)
class AgreementStrata:
    """Items on which all people agree, and those on which they disagree (`max q < 1`).

    Labels that are smoothed, for example by `bayes`, do not show who agrees: they are an error.
    """

    name: ClassVar[str] = "agree"

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        problem = agreement_problem(matched)
        if problem:
            fix = "give labels made by mean, which are the shares of votes, or use strata by entropy"
            raise BadSetting(
                f"strata by agreement of {problem}", "labels that are shares of votes", fix, "smoothed-labels"
            )
        agreed = _is_certain(matched)
        return [_where("people agree", agreed, True), _where("people disagree", ~agreed, True)]


def agreement_problem(matched: MatchedLabels) -> str:
    """Why the labels do not show on which items people agree: they look smoothed; empty if they show it."""
    if _is_certain(matched).any() or not matched.vote_problem:
        return ""
    if matched.n_annotators is None and (matched.people == 0).any():
        return ""
    made_by = "" if matched.made_by is None else f", made by {matched.made_by}"
    return f"labels of which none gives a class probability 1, and which are not shares of whole votes{made_by}"


def _is_certain(matched: MatchedLabels) -> Bool[np.ndarray, "items"]:
    return np.asarray(matched.people.max(axis=1) >= 1 - ROUNDING)


@dataclass(frozen=True)
class EntropyStrata:
    """Items by the entropy of people's labels, in groups of about equal size.

    From low to high entropy, in `quantiles` groups. Items of equal entropy stay together, so groups may differ in size
    or be empty.
    """

    quantiles: int = 4

    name: ClassVar[str] = "entropy"

    def __post_init__(self) -> None:
        at_least("quantiles", self.quantiles, 2)

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        # Entropies of the same shares in another order of classes differ in the last digits.
        doubt = matched.people_entropy.round(12)
        edges = np.quantile(doubt, np.arange(1, self.quantiles) / self.quantiles, method="inverted_cdf")
        group = np.searchsorted(edges, doubt, side="left")
        return [_where(f"entropy {k + 1} of {self.quantiles}", group == k, True) for k in range(self.quantiles)]


@dataclass(frozen=True)
class ClassStrata:
    """Items by the class most people chose, or (`by="original"`) by original label.

    Items whose most frequent class is tied form their own stratum.
    """

    by: str = "people"

    name: ClassVar[str] = "class"

    def __post_init__(self) -> None:
        one_of("by", self.by, ("people", "original"))

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        if self.by == "original":
            original = matched.original
            if original is None:
                found = "strata by original class and no original labels"
                fix = "give --original, or use people's classes (class:by=people)"
                raise BadSetting(found, "the original label of each item", fix, "no-original")
            return [_where(f"class {name}", original == k) for k, name in enumerate(matched.classes)]
        most = matched.people.max(axis=1, keepdims=True)
        first = matched.people >= most - ROUNDING
        tied = first.sum(axis=1) > 1
        strata = [_where(f"class {name}", first[:, k] & ~tied, True) for k, name in enumerate(matched.classes)]
        return [*strata, _where("class tied", tied, True)] if tied.any() else strata


@dataclass(frozen=True, eq=False)
class GivenStrata:
    """Your own strata: the stratum of each item. Items without one are in none of them."""

    stratum: Mapping[str, str]
    path: Path | None = field(default=None, compare=False)
    by_votes: bool = False
    """Whether people's labels chose the items."""

    name: ClassVar[str] = "given"

    @classmethod
    def read(cls, path: str | Path) -> GivenStrata:
        """From a table with `item` and `stratum`."""
        rows = read_rows(path)
        columns = read_columns(rows, ("item", "stratum"))
        found: dict[str, str] = {}
        for item, name in zip(columns.listed("item"), columns.listed("stratum"), strict=True):
            if found.setdefault(item, name) != name:
                text = f"item {show(item)} in {show(found[item])} and in {show(name)}"
                fix = "keep one of them, or make two tables"
                raise BadTable(text, "one stratum per item", fix, "doubled-item", rows.where())
        return cls(found, Path(path))

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        own = [self.stratum.get(item) for item in matched.items.to_pylist()]
        n_without = own.count(None)
        if n_without:
            warn(f"{n_without:,} of {len(own):,} items are in no stratum of {self.path or 'those given'}")
        codes = {name: k for k, name in enumerate(dict.fromkeys(self.stratum.values()))}
        if ALL in codes:
            found = f"a stratum called {ALL!r}"
            raise BadTable(found, "another name: this one is reserved for all items", "rename it", "bad-stratum")
        group = np.array([-1 if name is None else codes[name] for name in own], np.int64)
        return [_where(name, group == k, self.by_votes) for name, k in codes.items()]


STRATA: tuple[Any, ...] = (AgreementStrata, EntropyStrata, ClassStrata)
"""The strata with a name on the command line; a file becomes `GivenStrata`."""


def stratification_from_name(name: str, settings: Mapping[str, Any] | None = None) -> Stratification:
    """The stratification called `name`, with `settings`."""
    return strategy_from_name("stratum", STRATA, name, settings or {})  # type: ignore[no-any-return]


def strata_of(matched: MatchedLabels, chosen: Iterable[Stratification | Stratum]) -> list[Stratum]:
    """All chosen strata; warns of empty ones."""
    strata: list[Stratum] = []
    for each in chosen:
        strata += [each] if isinstance(each, Stratum) else each.strata(matched)
    names = [stratum.name for stratum in strata]
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        fix = "give each stratification once, and your own strata other names"
        raise BadSetting(f"the stratum {show(doubled[0])} twice", "each stratum once", fix)
    empty = [stratum.name for stratum in strata if not len(stratum)]
    if empty:
        warn(f"found no items in {listing(empty)}: there is nothing to score")
    return strata


def strata_by_item(
    matched: MatchedLabels, chosen: Iterable[Stratification | Stratum]
) -> list[Stratification | Stratum]:
    """The same strata by the names of their items, to score the same items against other labels."""
    items = matched.items.to_pylist()
    found: list[Stratification | Stratum] = []
    for each in chosen:
        if isinstance(each, (Stratum, GivenStrata)):
            found.append(each)
            continue
        own = strata_of(matched, [each])
        of_item = {items[row]: stratum.name for stratum in own for row in stratum.rows}
        found.append(GivenStrata(of_item, by_votes=any(stratum.by_votes for stratum in own)))
    return found


def _where(name: str, mask: Bool[np.ndarray, "items"], by_votes: bool = False) -> Stratum:
    return Stratum(name, np.flatnonzero(mask), by_votes)
