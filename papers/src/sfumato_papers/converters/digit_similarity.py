"""Digit similarity: pairs of the same digit, and how alike seven people found them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato_papers.converters.released_files import write_arrays, write_table

N_DIGITS = 10


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """People are numbers, in the order of their files; a rating is an empty cell where a digit was not rated."""
    sheets = sorted(name for name in files if name.endswith(".csv"))
    rows = [(rater, *rating) for rater, name in enumerate(sheets) for rating in _ratings(files[name])]
    write_table(folder / "ratings.csv.gz", ("rater", "digit", "pair", "similarity_1_10"), rows)
    pairs = [_pairs(files[f"digits{digit}.npz"]) for digit in range(N_DIGITS)]
    n_pairs = [len(first) for first, _ in pairs]
    write_arrays(
        folder / "pairs.npz",
        images1=np.concatenate([first for first, _ in pairs]),
        images2=np.concatenate([second for _, second in pairs]),
        digit=np.repeat(np.arange(N_DIGITS, dtype=np.uint8), n_pairs),
        pair=np.concatenate([np.arange(n, dtype=np.uint8) for n in n_pairs]),
    )


def _ratings(path: Path) -> list[tuple[int, int, int]]:
    """Digit, pair (from 0) and rating, pair by pair."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        _, _, *lines = csv.reader(file)
    return [
        (digit, int(pair) - 1, int(rating))
        for pair, *ratings in lines
        for digit, rating in enumerate(ratings)
        if rating.strip()
    ]


def _pairs(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        first, second = (file[name].astype(np.uint8)[:, 0] for name in ("images1", "images2"))
    return first, second
