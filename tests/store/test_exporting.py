"""Exports: one consistent snapshot, read back as Annotations, pseudonyms only, and a codebook for every column."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from study_instance import StudyInstance, items_named, plain_study, running_instance, sent

from sfumato import Annotations
from sfumato.elicitation.codebook import codebook
from sfumato.elicitation.kind import Kind
from sfumato.elicitation.kinds import KINDS
from sfumato.store import queries
from sfumato.store.export import RECORDS, ExportResult, export, read_answers
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import ItemSource, People, PracticeItem, Question, Study, StudyClass
from sfumato.tables.annotations import SCHEMA
from sfumato.tables.errors import BadTable
from sfumato.tables.shifted_times import START_MS


def written(at: StudyInstance, folder: Path, suffix: str = ".parquet") -> tuple[ExportResult, Path, Path]:
    output, records = folder / f"answers{suffix}", folder / f"records{suffix}"
    return export(StoreLocation.of(at.store), at.study.name, output, records), output, records


def test_an_export_is_what_people_answered(store: str, tmp_path: Path) -> None:
    with running_instance(
        store, plain_study(people=People(answers_per_item=2, batch_size=3, repeats=1)), items_named(5)
    ) as at:
        people = [at.new(), at.new()]
        shown = {person.pseudonym: person.answer_all() for person in people}
        at.clock.advance(100)
        done, output, records = written(at, tmp_path)
    assert done == ExportResult(8, "choice/1")
    table = Annotations.read(output)
    assert table.classes == ("cat", "dog")
    rows = pq.read_table(output).to_pylist()
    for person in people:
        theirs = sorted((row for row in rows if row["annotator"] == person.pseudonym), key=lambda row: row["trial"])
        assert [row["item"] for row in theirs] == [each.stimulus.item for each in shown[person.pseudonym]]
        assert [row["trial"] for row in theirs] == [1, 2, 3, 4]
        assert [row["purpose"] for row in theirs] == ["label"] * 3 + ["repeat"]
    assert {row["payload"] for row in rows} == {'{"class":"cat"}'}
    assert {row["seconds"] for row in rows} == {1.5}
    assert rows == sorted(rows, key=lambda row: (row["item"], row["annotator"], row["trial"]))
    kept = pq.read_table(records).to_pylist()
    together = ("item", "annotator", "trial", "purpose")
    assert [[row[name] for name in together] for row in kept] == [[row[name] for name in together] for row in rows]


def test_times_have_no_dates_unless_asked_for(store: str, tmp_path: Path) -> None:
    with running_instance(store, plain_study(people=People(answers_per_item=2, batch_size=3)), items_named(3)) as at:
        for break_seconds in (7.25, 61.0):
            person = at.new()
            for n in range(3):
                at.clock.advance(n * break_seconds)
                person.submit(sent(person.first().handle, elapsed_ms=1234.5))
        written(at, tmp_path)
        place, exact = StoreLocation.of(at.store), tmp_path / "exact.parquet"
        export(place, at.study.name, exact, exact_times=True)
        stored = at.rows("SELECT started_at, submitted_at FROM answers ORDER BY id")
        assert [(row.started_at, row.submitted_at) for row in plain_times(exact)] == stored
        assert {row.seconds for row in plain_times(exact)} == {1.2345}
        own = read_answers(place, at.study.name)
        assert own.started_at.cast(pa.int64()).to_pylist() == [started for started, _ in stored]
    rows = sorted(plain_times(tmp_path / "answers.parquet"), key=lambda row: (row.submitted_at, row.started_at))
    since = [((row.started_at - START_MS) / 1000, (row.submitted_at - START_MS) / 1000) for row in rows]
    # 1.234 seconds per answer; breaks of 0, 7.25, 14.5 and of 0, 61, 122 seconds before an answer.
    assert sorted(since) == [(0, 1), (0, 1), (7, 8), (21, 22), (61, 62), (183, 184)]
    assert {row.seconds for row in rows} == {1.2}


def plain_times(file: Path) -> list[Any]:
    """The rows of an export as objects, with times in milliseconds."""
    table = pq.read_table(file)
    for name in ("started_at", "submitted_at"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int64()))
    return [SimpleNamespace(**row) for row in table.to_pylist()]


def test_how_an_answer_came_about(store: str, tmp_path: Path) -> None:
    record = InteractionRecord(
        9000.0,
        hidden=((1000.0, 2000.0), (3000.0, 3500.0)),
        idle=((5000.0, 7000.0),),
        events=((10.0, "keydown", "class:cat", "1"),),
        pointer="pen",
        viewport=(800.0, 600.0, 2.0),
        keys={"cat": "1"},
        order=("dog", "cat"),
        shortcuts=False,
        resumed=True,
    )
    with running_instance(store) as at:
        person = at.new()
        answer = sent(person.first().handle)
        person.submit(type(answer)(answer.key, answer.trial, answer.answer, record, answer.body, answer.digest))
        _, output, records = written(at, tmp_path)
    (row,) = pq.read_table(records).to_pylist()
    assert {name: row[name] for name in RECORDS.names[4:]} == {
        "claimed_seconds": 5.5, "server_seconds": 0.0, "n_inputs": 1, "network": None,
        "elapsed_seconds": 9.0, "hidden_seconds": 1.5, "idle_seconds": 2.0, "pointer": "pen", "width": 800.0,
        "height": 600.0, "pixel_ratio": 2.0, "shortcuts": False, "resumed": True, "probability": None,
        "deeper": None, "deeper_probability": None, "first": None,
        "audit": False, "order": '["dog","cat"]',
        "keys": '{"cat":"1"}', "events": '[[10.0,"keydown","class:cat","1"]]',
    }  # fmt: skip
    assert pq.read_table(output).to_pylist()[0]["seconds"] == 5.5


def test_practice_is_left_out(store: str, tmp_path: Path) -> None:
    with running_instance(store, plain_study(practice=(PracticeItem("i0"),))) as at:
        at.new().answer_all()
        done, output, records = written(at, tmp_path)
    assert done.n_answers == 4
    for file in (output, records):
        rows = pq.read_table(file).to_pylist()
        assert {row["purpose"] for row in rows} == {"label"}
        assert sorted(row["trial"] for row in rows) == [2, 3, 4, 5]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_pseudonyms_only(store: str, tmp_path: Path, suffix: str) -> None:
    with running_instance(store) as at:
        people = [at.new() for _ in range(3)]
        for person in people:
            person.answer_all()
        secret = at.one("SELECT secret FROM studies")
        codes = [person.state().code for person in people]
        trials = [row[0] for row in at.rows("SELECT handle FROM trials")]
        _, *files = written(at, tmp_path, suffix)
    for file in files:
        data = file.read_bytes()
        if suffix == ".parquet":
            table = pq.read_table(file)
            data += repr(table.to_pylist()).encode() + repr(table.schema.metadata).encode()
        for hidden in (secret, *codes, *trials, *(p.token for p in people), *(p.token_hash for p in people)):
            assert hidden.encode() not in data
        assert all(person.pseudonym.encode() in data for person in people)
    assert all(re.fullmatch("A[a-z0-9]{10}", person.pseudonym) for person in people)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_ids_stay_as_they_are(store: str, tmp_path: Path, suffix: str) -> None:
    ids = ["007", "7", "1e5", "NA", "null", "", " ", "-1", "=1+1", "true", "9007199254740993", "ä,\"'\n;"]
    people = People(answers_per_item=1, batch_size=50)
    with running_instance(store, plain_study(people=people), [Stimulus(each) for each in ids if each.strip()]) as at:
        at.new().answer_all()
        _, output, _ = written(at, tmp_path, suffix)
    table = Annotations.read(output)
    names = table.item.to_pylist() if hasattr(table.item, "to_pylist") else list(table.item.names)
    assert sorted(set(map(str, names))) == sorted(each for each in ids if each.strip())


def test_an_empty_study(store: str, tmp_path: Path) -> None:
    with running_instance(store) as at:
        at.new()
        done, output, records = written(at, tmp_path)
    assert done.n_answers == 0
    assert pq.read_table(output).schema.names == SCHEMA.names
    assert (len(pq.read_table(output)), len(pq.read_table(records))) == (0, 0)


def test_a_study_the_store_does_not_know(store: str, tmp_path: Path) -> None:
    with running_instance(store) as at:
        with pytest.raises(BadTable) as caught:
            export(StoreLocation.of(at.store), "zoo", tmp_path / "out.parquet")
        assert caught.value.code == "no-study"
        assert "pets" in caught.value.found
    assert list(tmp_path.glob("out*")) == []


def test_only_the_study_asked_for(store: str, tmp_path: Path) -> None:
    for name in ("pets", "zoo"):
        with running_instance(store, plain_study(name), items_named(4, name)) as at:
            at.new().answer_all()
    done, output, _ = written(at, tmp_path)
    assert done.n_answers == 4
    assert {row["item"][:3] for row in pq.read_table(output).to_pylist()} == {"zoo"}


def test_an_export_is_of_one_moment_while_people_go_on(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few rows at a time, so that answers come in between one part of an export and the next.
    monkeypatch.setitem(queries.STREAMED, "yield_per", 7)
    acknowledged: list[str] = []
    ending = threading.Event()
    with running_instance(store, plain_study(people=People(answers_per_item=40, batch_size=40)), items_named(50)) as at:

        def keep_answering() -> None:
            while not ending.is_set():
                person = at.new()
                for _ in range(40):
                    shown = person.first()
                    person.submit(sent(shown.handle))
                    acknowledged.append(f"{person.pseudonym} {shown.number}")
                    if ending.is_set():
                        return

        thread = threading.Thread(target=keep_answering)
        thread.start()
        try:
            while len(acknowledged) < 20:
                ending.wait(0.001)
            sizes = []
            for number in range(6):
                (folder := tmp_path / str(number)).mkdir()
                before = len(acknowledged)
                done, output, records = written(at, folder)
                after = len(acknowledged)
                rows = pq.read_table(output).to_pylist()
                found = [f"{row['annotator']} {row['trial']}" for row in rows]
                # At most one answer is stored and not yet noted by the thread.
                assert before <= len(found) == done.n_answers <= after + 1
                while len(acknowledged) < len(found):
                    ending.wait(0.001)
                assert sorted(found) == sorted(acknowledged[: len(found)])
                assert len(pq.read_table(records)) == len(found)
                sizes.append(len(found))
        finally:
            ending.set()
            thread.join()
        assert sizes == sorted(sizes)
        assert sizes[-1] > sizes[0]


# --- the codebook ---


def fields_told(text: str) -> set[str]:
    """Every field that has a row of its own, or shares one, in the tables of a codebook."""
    cells = re.findall(r"^\| ([^|]+) \| [^|]+ \|", text, re.MULTILINE)
    return {name.strip().strip("`") for cell in cells for name in cell.split(",")}


@pytest.mark.parametrize("kind", [kind() for kind in KINDS], ids=[kind.name for kind in KINDS])
def test_the_codebook_names_every_column_and_every_field(kind: Kind) -> None:
    classes = tuple(map(StudyClass, ("cat", "dog", "ship")))
    told = codebook(Study("s", "A title", classes, ItemSource(), Question(kind.name)), [kind])
    named = fields_told(told)
    assert set(SCHEMA.names) <= named
    assert set(RECORDS.names) <= named
    if isinstance(kind.payload, type) and issubclass(kind.payload, msgspec.Struct):
        assert {field.encode_name for field in msgspec.structs.fields(kind.payload)} <= named
    else:
        assert kind.meanings
    assert f"`{kind.name}/{kind.version}`" in told
    assert "cat, dog, ship" in told
