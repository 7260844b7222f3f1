"""Sparsify: only the k most probable classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.labeling.transform.rows import Distributions, with_probs
from sfumato.tables.errors import BadSetting


@dataclass(frozen=True)
class Sparsify:
    """The `k` largest entries of each row, renormalised; ties go to the class that stands first.

    How dense labels are made to look like top-k ones (CIFAR-10S + dense; Sucholutsky et al. 2023, with k = 2).
    """

    k: int = 2

    name: ClassVar[str] = "sparsify"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise BadSetting(f"found k = {self.k}", expected="at least 1", fix="choose another k", code="bad-setting")

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        rank = np.argsort(np.argsort(-probs, axis=1, kind="stable"), axis=1, kind="stable")
        kept = np.where(rank < self.k, probs, 0.0)
        return with_probs(table, kept / kept.sum(axis=1, keepdims=True))
