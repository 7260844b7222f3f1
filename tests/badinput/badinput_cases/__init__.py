"""Bad input, case by case, with the outcome that is right for each."""

from __future__ import annotations

from badinput_cases import (
    aggregate,
    bombs,
    csv_names,
    csv_shape,
    csv_text,
    documents,
    parquet,
    payloads,
    places,
    probabilities,
    published,
    settings,
    studies,
    train,
)
from badinput_cases.case import Case

TABLES: tuple[Case, ...] = (*csv_shape.CASES, *csv_names.CASES, *csv_text.CASES, *probabilities.CASES)
"""The cases about plain CSV tables."""

CASES: tuple[Case, ...] = (
    *TABLES,
    *payloads.CASES,
    *documents.CASES,
    *parquet.CASES,
    *bombs.CASES,
    *published.CASES,
    *settings.CASES,
    *places.CASES,
    *aggregate.CASES,
    *train.CASES,
    *studies.CASES,
)
