"""Learning from a crowd directly: the network and what its annotators are like, both at once, from Beliefs.

A head stands on the network while it learns, and is taken off when it predicts. `CROWDS` lists the kinds of head.
For a batch: `rows = gather(pool, index)`, then `head.loss(logits, rows)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.crowds.annotator_confusion import AnnotatorConfusion
from sfumato.training.crowds.annotator_heads import AnnotatorHeads
from sfumato.training.crowds.crowd_layer import CrowdLayer
from sfumato.training.crowds.head import CrowdHead, CrowdModel, CrowdRows, gather
from sfumato.training.crowds.labels import CrowdLabels

CROWDS: tuple[Any, ...] = (CrowdLayer, AnnotatorHeads, AnnotatorConfusion)

__all__ = [
    "CROWDS",
    "AnnotatorConfusion",
    "AnnotatorHeads",
    "CrowdHead",
    "CrowdLabels",
    "CrowdLayer",
    "CrowdModel",
    "CrowdRows",
    "crowd_named",
    "gather",
]


def crowd_named(name: str, settings: Mapping[str, Any]) -> CrowdModel:
    """The way to learn from a crowd called `name` with `settings`; the one place where a name becomes an object."""
    return strategy_from_name("crowd", CROWDS, name, settings)  # type: ignore[no-any-return]
