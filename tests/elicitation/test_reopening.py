"""Items whose annotators a screening excluded are offered again, and answers stay in exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_instance import StudyInstance, plain_study, running_instance

from sfumato.elicitation.researcher_actions import set_aside
from sfumato.elicitation.session import StudyClosed
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.store.researcher_queries import not_counted
from sfumato.study.study import People
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import NotThere

STUDY = plain_study(people=People(answers_per_item=2, batch_size=6))
N_ITEMS = 6


def names(at: StudyInstance) -> list[str]:
    return [name for (name,) in at.rows("SELECT pseudonym FROM annotators ORDER BY id")]


def exclude(at: StudyInstance, *excluded: str) -> int:
    return at.run(lambda running: set_aside(running, excluded, "tests"))


def finish(at: StudyInstance) -> int:
    """A new person answers everything that is offered; returns how many answers that is, 0 if the study is full."""
    try:
        return len(at.new().answer_all())
    except StudyClosed:
        return 0


def test_items_of_excluded_people_are_offered_again(store: str, tmp_path: Path) -> None:
    with running_instance(store, STUDY) as at:
        assert [finish(at), finish(at), finish(at)] == [N_ITEMS, N_ITEMS, 0]
        first, second = names(at)
        assert exclude(at, first) == N_ITEMS
        assert finish(at) == N_ITEMS  # each item once more, and no item three times
        assert finish(at) == 0
        again = at.restarted()
        assert finish(again) == 0  # also after a restart
        assert set(again.run(lambda running: not_counted(running.connection(), running.number)).values()) == {1}
        # The list is replaced: the first person's answers count again, so nothing is missing.
        assert exclude(again, second) == 0
        assert exclude(again) == -N_ITEMS
        assert finish(again) == 0
        events = again.rows("SELECT who, about FROM happenings WHERE what = 'answers excluded' ORDER BY id")
        assert [(who, json.loads(about)["annotators"]) for who, about in events] == [
            ("tests", [first]),
            ("tests", [second]),
            ("tests", []),
        ]
        export(StoreLocation.of(store), STUDY.name, tmp_path / "a.parquet")
        assert {first, second} <= set(Annotations.read(tmp_path / "a.parquet").annotator.names.to_pylist())


def test_people_who_are_not_in_the_study_are_an_error(tmp_path: Path) -> None:
    with running_instance(str(tmp_path / "a.sqlite"), STUDY) as at:
        finish(at)
        with pytest.raises(NotThere) as caught:
            exclude(at, "Anobody")
        assert caught.value.code == "unknown-person"
        assert at.one("SELECT count(*) FROM happenings WHERE what = 'answers excluded'") == 0
