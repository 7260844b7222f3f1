"""What one more answer about an item is worth. One index a file; `INDICES` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.planning.indices.entropy import EntropyIndex
from sfumato.planning.indices.index import ENOUGH, AcquisitionIndex
from sfumato.planning.indices.kl import KLIndex
from sfumato.planning.indices.known import ItemPosteriors
from sfumato.planning.indices.l2 import L2Index
from sfumato.planning.indices.lead import LeadIndex
from sfumato.planning.indices.not_unanimous import NotUnanimousIndex
from sfumato.planning.indices.uniform import UniformIndex
from sfumato.tables.strategies import strategy_from_name

INDICES: tuple[Any, ...] = (UniformIndex, L2Index, KLIndex, EntropyIndex, NotUnanimousIndex, LeadIndex)

__all__ = [
    "ENOUGH",
    "INDICES",
    "AcquisitionIndex",
    "EntropyIndex",
    "ItemPosteriors",
    "KLIndex",
    "L2Index",
    "LeadIndex",
    "NotUnanimousIndex",
    "UniformIndex",
    "index_named",
]


def index_named(name: str, settings: Mapping[str, Any] | None = None) -> AcquisitionIndex:
    """The index called `name`; the one place where a name becomes an object."""
    return strategy_from_name("policy", INDICES, name, settings or {})  # type: ignore[no-any-return]
