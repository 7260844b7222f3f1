"""What one more answer about an item is worth. One index a file; `INDICES` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.planning.indices.entropy import Entropy
from sfumato.planning.indices.index import ENOUGH, Index
from sfumato.planning.indices.kl import KL
from sfumato.planning.indices.known import Known
from sfumato.planning.indices.l2 import L2
from sfumato.planning.indices.lead import Lead
from sfumato.planning.indices.not_unanimous import NotUnanimous
from sfumato.planning.indices.uniform import Uniform
from sfumato.tables.strategies import strategy_named

INDICES: tuple[Any, ...] = (Uniform, L2, KL, Entropy, NotUnanimous, Lead)

__all__ = [
    "ENOUGH",
    "INDICES",
    "KL",
    "L2",
    "Entropy",
    "Index",
    "Known",
    "Lead",
    "NotUnanimous",
    "Uniform",
    "index_named",
]


def index_named(name: str, settings: Mapping[str, Any] | None = None) -> Index:
    """The index called `name`; the one place where a name becomes an object."""
    return strategy_named("policy", INDICES, name, settings or {})  # type: ignore[no-any-return]
