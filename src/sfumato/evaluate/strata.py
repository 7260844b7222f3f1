"""Strata: groups of items that are scored apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class Stratum:
    """Some of the items, under the name that stands as their condition in Scores."""

    name: str
    rows: Int[np.ndarray, "some"]
    """Their rows in what is compared."""
