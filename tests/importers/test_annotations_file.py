"""Our own Annotations, read back and checked."""

from __future__ import annotations

import pytest

from sfumato.importers import AnnotationsImporter, CrowdImporter
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, InvalidAnswer, UnknownName

HEADER = "item,annotator,kind,payload,trial,purpose,started_at,submitted_at,seconds\n"
ROW = '1,a,choice/1,"{""class"": ""cat""}",3,label,2026-01-31T12:00:00.000Z,2026-01-31 12:00:01.250Z,1.25\n'


def test_a_table_written_comes_back_with_its_classes(written, tmp_path):
    table = (
        CrowdImporter(classes=("dog", "cat")).read(written("a.csv", "item,annotator,label\n1,a,cat\n2,b,dog\n")).table
    )
    path = tmp_path / "own.parquet"
    table.write(path)
    imported = AnnotationsImporter().read(path)
    assert isinstance(imported.table, Annotations)
    assert imported.table.to_arrow().equals(table.to_arrow(), check_metadata=True)
    assert imported.table.classes == ("dog", "cat")
    assert imported.notes == ("2 answers by 2 annotators about 2 items, 2 classes; question type choice/1",)


def test_a_csv_has_the_classes_of_its_answers_or_those_given(written):
    path = written("own.csv", HEADER + ROW + ROW.replace("1,a", "2,a").replace("cat", "dog"))
    assert AnnotationsImporter().read(path).table.classes == ("cat", "dog")
    assert AnnotationsImporter(classes=("dog", "cat")).read(path).table.classes == ("dog", "cat")


def test_values_of_a_csv(written, answers):
    (row,) = answers(AnnotationsImporter(classes=("cat", "dog")).read(written("own.csv", HEADER + ROW)).table)
    assert row.pop("started_at").isoformat() == "2026-01-31T12:00:00+00:00"
    assert row.pop("submitted_at").isoformat() == "2026-01-31T12:00:01.250000+00:00"
    assert row == {
        "item": "1",
        "annotator": "a",
        "kind": "choice/1",
        "payload": {"class": "cat"},
        "trial": 3,
        "purpose": "label",
        "seconds": 1.25,
    }


def test_every_kind_is_listed(written):
    sliders = '2,a,sliders/1,"{""cat"": 0.5}",,check,,,\n'
    imported = AnnotationsImporter(classes=("cat", "dog")).read(written("own.csv", HEADER + ROW + sliders))
    assert imported.notes[0] == "2 answers by 1 annotators about 2 items, 2 classes; question type choice/1, sliders/1"


def test_one_class_is_not_enough(written):
    with pytest.raises(BadTable) as caught:
        AnnotationsImporter().read(written("own.csv", HEADER + ROW))
    assert caught.value.code == "missing-classes"


@pytest.mark.parametrize("payload", ['{""klass"": ""cat""}', '{""class"": 3}'])
def test_every_payload_is_read_as_an_answer_of_its_kind(written, payload):
    path = written("own.csv", HEADER + ROW + f'2,b,choice/1,"{payload}",,label,,,\n')
    with pytest.raises(InvalidAnswer, match="a choice answer") as caught:
        AnnotationsImporter().read(path)
    assert (caught.value.where.item, caught.value.where.annotator) == ("2", "b")


def test_a_table_without_rows(written):
    imported = AnnotationsImporter().read(written("own.csv", HEADER))
    assert len(imported.table) == 0
    assert imported.notes[0].endswith("question type none")


@pytest.mark.parametrize(
    ("old", "new", "error", "column"),
    [
        ("choice/1", "choise/1", UnknownName, "kind"),
        ("label", "lable", UnknownName, "purpose"),
        ('"{""class"": ""cat""}"', "cat", InvalidAnswer, "payload"),
    ],
)
def test_faults_name_their_line(written, old, new, error, column):
    path = written("own.csv", HEADER + ROW + "\n" + ROW.replace("1,a", "2,a", 1).replace(old, new, 1))
    with pytest.raises(error) as caught:
        AnnotationsImporter().read(path)
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 4, column)
