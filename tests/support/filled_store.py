"""Fills a store with many simulated answers within seconds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from sfumato.server.server import open_site
from sfumato.store.database import writing_engine
from sfumato.store.location import StoreLocation, default_location
from sfumato.store.queries import IDS_PER_STUDY
from sfumato.store.schema import ANSWERED, annotators, answers, items, studies, trials
from sfumato.study import read_study

TOKENS = 10
EVERY_MS = 60


def fill(folder: Path, n_answers: int, n_each: int = 100, *, until: int, seed: int = 0) -> None:
    """Add `n_answers` to the store of the token study in `folder`: `n_each` per person, the last one at `until`.

    The items are answered in turn. There is no hash chain, because such stores are only used to measure reading.
    """
    study = read_study(folder)
    with open_site(study):
        pass
    engine = writing_engine(StoreLocation.of(default_location(study)))
    rng = np.random.default_rng(seed)
    with engine.begin() as connection:
        number = connection.execute(sa.select(studies.c.id)).scalar_one()
        things = list(connection.execute(sa.select(items.c.id).order_by(items.c.id)).scalars())
        first = number * IDS_PER_STUDY + 1
        n_people = -(-n_answers // n_each)
        connection.execute(sa.insert(annotators), [_person(first + i, number, until) for i in range(n_people)])
        mostly = rng.integers(len(study.classes), size=len(things))
        for begins in range(0, n_answers, 10_000):
            some = range(begins, min(begins + 10_000, n_answers))
            people = [first + i // n_each for i in some]
            about = [things[i % len(things)] for i in some]
            given = [_tokens(study.class_names, int(mostly[i % len(things)]), rng) for i in some]
            at = [until - EVERY_MS * (n_answers - i) for i in some]
            connection.execute(
                sa.insert(trials),
                [
                    {"id": first + i, "annotator": people[k], "item": about[k], "number": i % n_each,
                     "purpose": "label", "handle": f"filled-{i}", "leased_at": at[k], "expires_at": at[k],
                     "state": ANSWERED}
                    for k, i in enumerate(some)
                ],
            )  # fmt: skip
            seconds = rng.lognormal(1.2, 0.6, len(some)).round(3).tolist()
            connection.execute(
                sa.insert(answers),
                [
                    {"id": first + i, "study": number, "annotator": people[k], "item": about[k], "trial": first + i,
                     "number": i % n_each, "purpose": "label", "kind": "tokens/1", "payload": given[k],
                     "started_at": at[k], "submitted_at": at[k], "received_at": at[k], "seconds": seconds[k],
                     "key": f"filled-{i}", "digest": "", "handle": f"filled-{i}", "record": "{}"}
                    for k, i in enumerate(some)
                ],
            )  # fmt: skip
    engine.dispose()


def _person(id: int, study: int, at: int) -> dict[str, object]:
    return {"id": id, "study": study, "pseudonym": f"A{id}", "token_hash": f"filled-{id}", "seed": id, "attempts": 0,
            "created_at": at, "seen_at": at, "instructed_at": at, "finished_at": at}  # fmt: skip


def _tokens(classes: tuple[str, ...], mostly: int, rng: np.random.Generator) -> str:
    """Random tokens: mostly on the class `mostly`, sometimes on another."""
    chosen = mostly if rng.random() < 0.8 else int(rng.integers(len(classes)))
    n = int(rng.integers(5, TOKENS + 1))
    other = (chosen + 1) % len(classes)
    tokens = {classes[chosen]: n} | ({classes[other]: TOKENS - n} if n < TOKENS else {})
    return json.dumps({"tokens": tokens, "others": False})
