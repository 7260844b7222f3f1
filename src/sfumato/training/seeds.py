"""Seeds and NumPy generators that are determined by names and numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def rng_of(*parts: int | str) -> np.random.Generator:
    """A NumPy generator seeded by these strings and numbers."""
    return np.random.default_rng(seed_of(*parts))


def seed_of(*parts: int | str) -> int:
    """A seed determined by these strings and numbers."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
