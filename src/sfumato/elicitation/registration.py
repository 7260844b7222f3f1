"""Registering a study: the store learns of it, or is brought in line with a study file that has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.elicitation.kind import Kind, label_of
from sfumato.elicitation.participant_link import new_secret
from sfumato.store import queries, researcher_queries
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting


def register(
    connection: sa.Connection, study: Study, kinds: Sequence[Kind], stimuli: Sequence[Stimulus], now: int
) -> int:
    """Make the store know the study and its items as the study file has them; returns the study's id.

    Items may be added, and quotas changed. An item that is no longer in the file keeps its answers and gets no more;
    one that everybody sees in practice or as a check gets none either.
    """
    queries.lock_store(connection)
    # A deeper form may come and go; the forms that are compared are the question.
    kind = "+".join(map(label_of, kinds if study.arms else kinds[:1]))
    asked = {"kind": kind, "classes": json.dumps(study.class_names, ensure_ascii=False)}
    row = queries.study_row(connection, study.name)
    if row is None:
        new = {"name": study.name, "secret": new_secret(), "created_at": now, "paused_at": None}
        number = queries.add_study(connection, new | asked)
    else:
        _check_same_question(row, asked)
        number = int(row["id"])
    aside = study.set_aside
    wanted = researcher_queries.quota_in_force(connection, number, study.people.answers_per_item)
    quotas = {identity(each): 0 if each.item in aside else wanted for each in stimuli}
    known = {identity(each): (key, quota) for key, (each, quota) in queries.stimuli(connection, number).items()}
    added: dict[int, list[Stimulus]] = {}
    for each in stimuli:
        if identity(each) not in known:
            added.setdefault(quotas[identity(each)], []).append(each)
    changed: dict[int, list[int]] = {}
    for asked_about, (key, quota) in known.items():
        if quotas.get(asked_about, 0) != quota:
            changed.setdefault(quotas.get(asked_about, 0), []).append(key)
    for quota, each_new in added.items():
        queries.add_items(connection, number, each_new, quota)
    for quota, keys in changed.items():
        queries.set_quota(connection, quota, keys)
        about = {"to": quota, "items": len(keys)}
        researcher_queries.note_happening(
            connection, number, at=now, who="study file", what="quota changed", about=about
        )
    return number


def _check_same_question(known: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Answers to two questions never mix in one study."""
    for name in ("kind", "classes"):
        if known[name] != asked[name]:
            raise BadSetting(
                f"found {name} {asked[name]} in the study file, and answers for {known[name]} in the store",
                expected=f"the same {name} for the whole of a study",
                fix="give the changed study another name, or another --store",
                code="study-changed",
            )


def identity(stimulus: Stimulus) -> tuple[str, ...]:
    """What makes a stimulus the same one in the file and in the store."""
    told = json.dumps(dict(stimulus.told), sort_keys=True) if stimulus.told else ""
    return (stimulus.item, *stimulus.others, told)
