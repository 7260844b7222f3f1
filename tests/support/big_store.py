"""Writes large stores by SQL within seconds, with the schema of an older release or of this one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from study_server import write_texts_study

from sfumato.store import database
from sfumato.store.database import writing_engine
from sfumato.store.location import StoreLocation

OLDER = "0002"
"""The store version before the hash chain."""
ANSWERS_PER_PERSON = 500
N_ITEMS = 5_000
FIRST = 2**40
"""The ids of the first study are larger than this."""
STUDY = """
INSERT INTO studies (id, name, kind, classes, secret, created_at, version)
VALUES (1, 'texts', 'tokens/1', '["cat", "dog", "ship"]', '6e6f742d612d736563726574', 1, 0)
"""
NUMBERS = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < :n) "
ITEMS = f"""
INSERT INTO items (id, study, item, others, told, quota)
{NUMBERS} SELECT :first + 1 + k, 1, 't' || k, '[]', '{{}}', 10000 FROM n
"""
PEOPLE = f"""
INSERT INTO annotators (id, study, pseudonym, token_hash, seed, created_at, instructed_at, attempts)
{NUMBERS} SELECT :first + 1 + k, 1, 'A' || k, 'hash' || k, k, 1, 1, 0 FROM n
"""
# Each person answers consecutive items, starting where the previous person stopped.
TRIALS = f"""
INSERT INTO trials (id, annotator, item, number, purpose, handle, leased_at, expires_at, state)
{NUMBERS} SELECT :first + 1 + k, :first + 1 + k / :each, :first + 1 + (k % :items), k % :each + 1, 'label', 't' || k,
 k, k + 600000, 1 FROM n
"""
ANSWERS = f"""
INSERT INTO answers (id, study, annotator, item, trial, number, purpose, kind, payload, started_at, submitted_at,
 received_at, seconds, key, digest, handle, record)
{NUMBERS} SELECT :first + 1 + k, 1, :first + 1 + k / :each, :first + 1 + (k % :items), :first + 1 + k, k % :each + 1,
 'label', 'tokens/1', '{{"tokens":{{"cat":' || (k % 11) || ',"dog":' || (10 - k % 11) || '}},"others":false}}',
 k, k + 2500, k + 2500, 2.5, 'key-' || k, printf('%064x', k), 'a' || k,
 '{{"elapsed_ms":2500,"pointer":"mouse","order":["cat","dog","ship"],"viewport":[1280.0,720.0,1.0]}}' FROM n
"""


def write_older_store(file: Path, n_answers: int) -> None:
    """Write a store of version `OLDER` with a study of texts and `n_answers` answers."""
    with older_release():
        writing_engine(StoreLocation.of(file)).dispose()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA synchronous = OFF")
    settings = {"first": FIRST, "each": ANSWERS_PER_PERSON, "items": N_ITEMS}
    connection.execute(STUDY)
    for statement, n in (
        (ITEMS, N_ITEMS),
        (PEOPLE, -(-n_answers // ANSWERS_PER_PERSON)),
        (TRIALS, n_answers),
        (ANSWERS, n_answers),
    ):
        connection.execute(statement, settings | {"n": n})
    connection.commit()
    connection.close()


def write_big_store(file: Path, n_answers: int) -> None:
    """Write the same store in the version of this release, with the hash chain."""
    write_older_store(file, n_answers)
    writing_engine(StoreLocation.of(file)).dispose()


def write_big_study(folder: Path) -> Path:
    """Write the study of these stores."""
    return write_texts_study(folder, N_ITEMS, answers_per_item=10_000, batch_size=N_ITEMS)


@contextlib.contextmanager
def older_release(version: str = OLDER) -> Iterator[None]:
    """Stores created in this context have the version of an older release."""
    latest, database.LATEST = database.LATEST, version
    try:
        yield
    finally:
        database.LATEST = latest
