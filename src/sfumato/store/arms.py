"""The answers of a study with arms, and which arm each annotator is in."""

from __future__ import annotations

from pathlib import Path

from sfumato.store import queries
from sfumato.store.database import reading_engine
from sfumato.store.exporting import export
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadSetting, ErrorLocation


def answers_by_arm(place: StoreLocation, study: Study, folder: Path) -> tuple[Annotations, dict[str, str]]:
    """The study's answers, by way of an export into `folder`, and the name of everybody's arm."""
    if not study.arms:
        raise BadSetting(
            "found a study without [[arms]]",
            expected="several forms to compare",
            fix="add [[arms]] to the study file, one for each form",
            code="no-arms",
            where=ErrorLocation(str(study.path) if study.path else None),
        )
    file = folder / "answers.parquet"
    export(place, study.name, file)
    engine = reading_engine(place)
    try:
        with engine.connect() as connection:
            row = queries.study_row(connection, study.name)
            assert row is not None, "exported a moment ago"
            arms = queries.arms_of(connection, row["id"])
    finally:
        engine.dispose()
    # In the order of the study file, whoever came first.
    in_order = sorted(arms.items(), key=lambda each: each[1])
    return Annotations.read(file), {person: study.arms[arm].name for person, arm in in_order}
