"""Changes of a group of requests, and writing them to the database with as few statements as possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from sfumato.store.schema import Row, annotators, answers, refused, trials

ROWS_PER_STATEMENT = 500
"""Rows inserted by one statement; SQLite allows 32,766 values in all."""


@dataclass
class PendingWrites:
    """Rows to be written together. Nothing reaches the database before `flush`."""

    new_annotators: list[Row] = field(default_factory=list)
    new_trials: list[Row] = field(default_factory=list)
    new_answers: list[Row] = field(default_factory=list)
    new_refused: list[Row] = field(default_factory=list)
    annotators: dict[int, Row] = field(default_factory=dict)
    """Columns to set, by the annotator's id."""
    trials: dict[int, Row] = field(default_factory=dict)

    def set_annotator(self, number: int, **values: Any) -> None:
        self.annotators.setdefault(number, {}).update(values)

    def set_trial(self, number: int, **values: Any) -> None:
        self.trials.setdefault(number, {}).update(values)

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def clear(self) -> None:
        for rows in vars(self).values():
            rows.clear()


def flush(connection: sa.Connection, pending: PendingWrites) -> None:
    """Write the changes.

    One statement for many rows, not one statement run many times: between two steps of SQLite other threads run, and
    the writer would wait once per row. The statements contain our own names and placeholders only.
    """
    _insert(connection, annotators, pending.new_annotators)
    _insert(connection, trials, pending.new_trials)
    _insert(connection, answers, pending.new_answers)
    _insert(connection, refused, pending.new_refused)
    update_rows(connection, annotators, pending.annotators)
    update_rows(connection, trials, pending.trials)


def _insert(connection: sa.Connection, table: sa.Table, rows: list[Row]) -> None:
    names = table.c.keys()
    for start in range(0, len(rows), ROWS_PER_STATEMENT):
        part = rows[start : start + ROWS_PER_STATEMENT]
        row = f"({', '.join([_placeholder(connection)] * len(names))})"
        text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {', '.join([row] * len(part))}"
        connection.exec_driver_sql(text, tuple(each[name] for each in part for name in names))


def update_rows(connection: sa.Connection, table: sa.Table, rows: dict[int, Row]) -> None:
    """Set columns of rows by id; rows that set the same columns to the same values share a statement."""
    groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for number, values in rows.items():
        groups.setdefault(tuple(values.items()), []).append(number)
    mark = _placeholder(connection)
    for pairs, numbers in groups.items():
        columns = ", ".join(f"{name} = {mark}" for name, _ in pairs)
        text = f"UPDATE {table.name} SET {columns} WHERE id IN ({', '.join([mark] * len(numbers))})"
        connection.exec_driver_sql(text, (*(value for _, value in pairs), *numbers))


def _placeholder(connection: sa.Connection) -> str:
    return "?" if connection.dialect.name == "sqlite" else "%s"
