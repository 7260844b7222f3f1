"""Strata: groups of items that are scored apart, each under the name that stands as its condition in Scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, listing, show
from sfumato.tables.files import read_rows
from sfumato.tables.scores import ALL
from sfumato.tables.settings import at_least, one_of
from sfumato.tables.strategies import strategy_from_name
from sfumato.tables.text_columns import TextReader

ROUNDING = 1e-9
"""By how much all of people's mass on one class may miss 1."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """Some of the items, under the name that stands as their condition in Scores."""

    name: str
    rows: Int[np.ndarray, "some"]
    """Their rows in what is matched."""

    def __len__(self) -> int:
        return len(self.rows)


@runtime_checkable
class Stratification(Protocol):
    """A way to part items. A frozen dataclass whose fields are its settings."""

    @property
    def name(self) -> str: ...

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        """The groups, in the order they are read; one may be empty, and is then still named."""


@dataclass(frozen=True)
class AgreementStrata:
    """Items on which all people agree, and those on which they do not (`max q < 1`: human label variation)."""

    name: ClassVar[str] = "agree"

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        agreed = matched.people.max(axis=1) >= 1 - ROUNDING
        return [_where("people agree", agreed), _where("people disagree", ~agreed)]


@dataclass(frozen=True)
class EntropyStrata:
    """Items by how much people doubt them: `quantiles` groups of about as many items, from the least doubt up.

    Items of equal entropy stay together, so groups differ in size where there are many of them, and may be empty.
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
        return [_where(f"entropy {k + 1} of {self.quantiles}", group == k) for k in range(self.quantiles)]


@dataclass(frozen=True)
class ClassStrata:
    """Items by class: the one most people chose, or (`by="original"`) the one the item came with.

    Items for which people's first choice is tied stand apart.
    """

    by: str = "people"

    name: ClassVar[str] = "class"

    def __post_init__(self) -> None:
        one_of("by", self.by, ("people", "original"))

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        if self.by == "original":
            original = matched.original
            if original is None:
                raise BadSetting(
                    "strata by original class and no original labels",
                    "the class each item came with",
                    "give --original, or take people's classes (class:by=people)",
                    "no-original",
                )
            return [_where(f"class {name}", original == k) for k, name in enumerate(matched.classes)]
        most = matched.people.max(axis=1, keepdims=True)
        first = matched.people >= most - ROUNDING
        tied = first.sum(axis=1) > 1
        strata = [_where(f"class {name}", first[:, k] & ~tied) for k, name in enumerate(matched.classes)]
        return [*strata, _where("class tied", tied)] if tied.any() else strata


@dataclass(frozen=True, eq=False)
class GivenStrata:
    """Strata of your own: the stratum of each item, by name. Items without one are scored in none of them."""

    stratum: Mapping[str, str]
    path: Path | None = field(default=None, compare=False)

    name: ClassVar[str] = "given"

    @classmethod
    def read(cls, path: str | Path) -> GivenStrata:
        """From a table with `item` and `stratum`."""
        rows = read_rows(path)
        check_columns(rows, ("item", "stratum"))
        readers = [TextReader(rows, name) for name in ("item", "stratum")]
        found: dict[str, str] = {}
        for chunk in rows.chunks:
            items, names = (
                [text for piece in reader.read(chunk.column(reader.name)) for text in piece.to_pylist()]
                for reader in readers
            )
            for item, name in zip(items, names, strict=True):
                if found.setdefault(item, name) != name:
                    raise BadTable(
                        f"item {show(item)} in {show(found[item])} and in {show(name)}",
                        "one stratum an item",
                        "keep one of them, or make two tables",
                        "doubled-item",
                        rows.where(),
                    )
        return cls(found, Path(path))

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        own = [self.stratum.get(item) for item in matched.items.to_pylist()]
        n_without = own.count(None)
        if n_without:
            _warn(f"{n_without:,} of {len(own):,} items stand in no stratum of {self.path or 'those given'}")
        codes = {name: k for k, name in enumerate(dict.fromkeys(self.stratum.values()))}
        if ALL in codes:
            raise BadTable(
                f"a stratum called {ALL!r}",
                "another name: it is that of all items together",
                "rename it",
                "bad-stratum",
            )
        group = np.array([-1 if name is None else codes[name] for name in own], np.int64)
        return [_where(name, group == k) for name, k in codes.items()]


STRATA: tuple[Any, ...] = (AgreementStrata, EntropyStrata, ClassStrata)
"""Those that have a name on the command line; a file there is `Given`."""


def stratification_from_name(name: str, settings: Mapping[str, Any] | None = None) -> Stratification:
    """The way to part items that is called `name`, with `settings`."""
    return strategy_from_name("stratum", STRATA, name, settings or {})  # type: ignore[no-any-return]


def strata_of(matched: MatchedLabels, asked: Iterable[Stratification | Stratum]) -> list[Stratum]:
    """Every stratum asked for; one that is empty is named in a warning."""
    strata: list[Stratum] = []
    for each in asked:
        strata += [each] if isinstance(each, Stratum) else each.strata(matched)
    _check_names([stratum.name for stratum in strata])
    empty = [stratum.name for stratum in strata if not len(stratum)]
    if empty:
        _warn(f"found no items in {listing(empty)}: there is nothing to score")
    return strata


def _check_names(names: Sequence[str]) -> None:
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        raise BadSetting(
            f"the stratum {show(doubled[0])} twice",
            "each stratum once",
            "ask for each way to part items once, and give strata of your own other names",
        )


def _where(name: str, mask: Bool[np.ndarray, "items"]) -> Stratum:
    return Stratum(name, np.flatnonzero(mask))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=4)
