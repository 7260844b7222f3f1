"""Registering a study in its store, and creating participant links; neither needs a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sfumato.elicitation.clock import Clock
from sfumato.elicitation.items import read_items
from sfumato.elicitation.kind import Kind, label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.participant_link import new_secret, new_token
from sfumato.store import queries, researcher_queries
from sfumato.store.database import is_store, make_private, only_server, reading, writing_engine
from sfumato.store.location import StoreLocation, default_location
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, NotThere, show


def register(
    connection: sa.Connection, study: Study, kinds: Sequence[Kind], stimuli: Sequence[Stimulus], now: int
) -> int:
    """Add the study and its items to the store, or bring the store in line with a changed study file; returns the id.

    Items may be added, and quotas changed. An item that is no longer in the file keeps its answers and gets no more;
    items for practice or checks get none.
    """
    queries.lock_store(connection)
    # The deeper form may be added or removed later; the forms that are compared are part of the question.
    kind = "+".join(map(label_of, kinds if study.arms else kinds[:1]))
    question = {"kind": kind, "classes": json.dumps(study.class_names, ensure_ascii=False)}
    row = queries.study_row(connection, study.name)
    if row is None:
        new = {"name": study.name, "secret": new_secret(), "created_at": now, "paused_at": None}
        number = queries.add_study(connection, new | question)
    else:
        _check_same_question(row, question)
        number = int(row["id"])
    special = study.special_items
    wanted = researcher_queries.quota_in_force(connection, number, study.people.answers_per_item)
    quotas = {stimulus_key(each): 0 if each.item in special else wanted for each in stimuli}
    known = {
        stimulus_key(each): (row_id, quota) for row_id, (each, quota) in queries.stimuli(connection, number).items()
    }
    added: dict[int, list[Stimulus]] = {}
    for each in stimuli:
        if stimulus_key(each) not in known:
            added.setdefault(quotas[stimulus_key(each)], []).append(each)
    changed: dict[int, list[int]] = {}
    for key, (row_id, quota) in known.items():
        if quotas.get(key, 0) != quota:
            changed.setdefault(quotas.get(key, 0), []).append(row_id)
    for quota, new_stimuli in added.items():
        queries.add_items(connection, number, new_stimuli, quota)
    for quota, row_ids in changed.items():
        queries.set_quota(connection, quota, row_ids)
        about = {"to": quota, "items": len(row_ids)}
        researcher_queries.add_event(connection, number, at=now, who="study file", what="quota changed", about=about)
    return number


def _check_same_question(known: Mapping[str, Any], question: Mapping[str, Any]) -> None:
    """Refuse a changed question: answers to two questions must not mix in one study."""
    for name in ("kind", "classes"):
        if known[name] != question[name]:
            found = f"{name} {question[name]} in the study file, and answers for {known[name]} in the store"
            fix = "give the changed study another name, or another --store"
            raise BadSetting(found, f"the same {name} for the whole of a study", fix, "study-changed")


def stimulus_key(stimulus: Stimulus) -> tuple[str, ...]:
    """The key by which a stimulus in the file is matched with one in the store."""
    context = json.dumps(dict(stimulus.context), sort_keys=True) if stimulus.context else ""
    return (stimulus.item, *stimulus.others, context)


def new_links(study: Study, number: int, store: str | Path | None = None) -> list[str]:
    """Tokens for `number` participants. The study may be running, but does not have to."""
    secret, made_at = study_secret(study, store), Clock().now()
    return [new_token(secret, made_at) for _ in range(number)]


def link_for(
    study: Study, pseudonym: str | None, store: str | Path | None = None, *, platform_id: str | None = None
) -> str:
    """A token for one more link of a participant, given by pseudonym or by platform id. Their other links stay valid;
    the study may be running."""
    if (pseudonym is None) == (platform_id is None):
        fix = "give --for with the pseudonym, or --platform-id with the id on the platform"
        raise BadSetting("neither or both of a pseudonym and a platform id", "one of them", fix)
    place = StoreLocation.of(store or default_location(study))
    row = None
    if is_store(place):
        with reading(place) as connection:
            known = queries.study_row(connection, study.name)
            row = researcher_queries.find_annotator(connection, known["id"], pseudonym, platform_id) if known else None
    if row is None or row["erased_at"] is not None:
        # The platform id is not repeated in the message.
        found = f"no participant {f'called {show(pseudonym)}' if pseudonym else 'with this platform id'}"
        fix = "sfumato study reconcile lists the pseudonyms; a participant who was erased gets no link"
        raise NotThere(found, "a participant of this study", fix, "unknown-person")
    return new_token(study_secret(study, store), Clock().now(), row["pseudonym"])


def study_secret(study: Study, store: str | Path | None = None) -> str:
    """The key that signs the study's links; a study that was never served is registered first."""
    place = StoreLocation.of(store or default_location(study))
    secret = _stored_secret(study, place)
    if secret is None:
        _register_unserved(study, place)
        secret = _stored_secret(study, place)
    assert secret is not None
    return secret


def _stored_secret(study: Study, place: StoreLocation) -> str | None:
    if not is_store(place):
        return None
    with reading(place, any_version=True) as connection:
        return queries.secret_of(connection, study.name)


def _register_unserved(study: Study, place: StoreLocation) -> None:
    kinds = kinds_of(study)
    stimuli = kinds[0].stimuli(read_items(study.items, study.class_names), study)
    if place.file is not None and not is_store(place):
        make_private(place.file)
    with only_server(place):
        engine = writing_engine(place)
        try:
            with engine.begin() as connection:
                register(connection, study, kinds, stimuli, Clock().now())
        finally:
            engine.dispose()
