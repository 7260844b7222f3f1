"""What tests of the elicit package share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from study_at_work import AtWork, Serve, at_work, plain_study

from sfumato.elicit.kind import Stimulus
from sfumato.study.study import People, Study


@pytest.fixture
def serve(store: str) -> Iterator[Serve]:
    """Starts a study on an empty store; whatever is started is stopped in the end."""
    managers = []

    def start(study: Study | None = None, stimuli: Sequence[Stimulus] | None = None, **people: int) -> AtWork:
        if people:
            study = plain_study(people=People(**people))
        managers.append(at_work(store, study, stimuli))
        return managers[-1].__enter__()

    yield start
    for manager in managers:
        manager.__exit__(None, None, None)
