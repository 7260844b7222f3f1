"""Findings: a published figure or sentence, and what came out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato_papers.estimate import Estimate
from sfumato_papers.published import Published


@dataclass(frozen=True)
class Change:
    """How a figure differs from that of a reference: as published, and as measured, paired where it can be."""

    reference: str
    """What it is measured from, by the name of its row."""
    published: Published
    ours: Estimate
    reference_value: Published | None = None
    """The reference's own figure as published, where there is one."""


@dataclass(frozen=True)
class Reference:
    """What the other rows of a table are measured from: its figure as published, and ours by seed."""

    name: str
    published: Published | None
    values: Mapping[int, float]


@dataclass(frozen=True)
class Finding:
    """One cell of a published table, next to ours. `ours` is None where `needs` names data that is not public."""

    row: str
    column: str
    published: Published | None
    ours: Estimate | None = None
    change: Change | None = None
    how: str = ""
    """The definition, where the paper's words leave it open; or what came out when it was read another way."""
    needs: str = ""
    places: int = 3
    """Decimals to show."""

    @classmethod
    def over_seeds(
        cls,
        row: str,
        column: str,
        published: Published | None,
        values: Mapping[int, float],
        *,
        reference: Reference | None = None,
        how: str = "",
        places: int = 3,
    ) -> Finding:
        """The mean over trainings, by seed; its change from a reference that was trained with the same seeds."""
        change = None
        if reference is not None and published is not None and reference.published is not None:
            both = sorted(values.keys() & reference.values.keys())
            ours = Estimate.over_seeds([values[seed] - reference.values[seed] for seed in both])
            change = Change(reference.name, published.less(reference.published), ours, reference.published)
        return cls(row, column, published, Estimate.over_seeds(list(values.values())), change, how, places=places)


@dataclass(frozen=True)
class Statement:
    """Something a paper says without a figure, and whether it holds here. `holds` is computed, never written."""

    row: str
    says: str
    holds: bool = False
    ours: str = ""
    """The figures that decide it."""
    how: str = ""
    needs: str = ""
