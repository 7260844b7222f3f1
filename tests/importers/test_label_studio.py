"""Label Studio's JSON export: each kind of answer, what is left out, and where a fault is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.importers import LabelStudioImporter
from sfumato.tables.errors import BadFile, BadTable, SfumatoError, UnknownName
from sfumato.tables.payloads import decode, payload_kind

PROLOGUE = {"project": 1, "file_upload": "x.csv", "updated_at": "2021-03-09T22:16:08.746926Z", "total_annotations": 1}


def choices(*names: str, control: str = "class") -> dict[str, Any]:
    return {
        "id": "Dx_aB91ISN",
        "from_name": control,
        "to_name": "image",
        "type": "choices",
        "value": {"choices": list(names)},
        "origin": "manual",
    }


def rating(value: Any, control: str = "typical") -> dict[str, Any]:
    return {"id": "r", "from_name": control, "to_name": "image", "type": "rating", "value": {"rating": value}}


def number(value: Any, control: str = "percent") -> dict[str, Any]:
    return {"id": "n", "from_name": control, "to_name": "image", "type": "number", "value": {"number": value}}


def annotation(*results: Any, by: Any = 3, **fields: Any) -> dict[str, Any]:
    return {
        "id": 1001,
        "completed_by": by,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2021-03-09T22:16:08.728Z",
        "lead_time": 4.288,
        **fields,
    }


def task(number: int, *annotations: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "annotations": list(annotations),
        "predictions": [],
        "data": {"image": f"/data/{number}.png"},
        **PROLOGUE,
        **fields,
    }


@pytest.fixture
def export(written):
    """Writes tasks as an export and returns the path."""
    return lambda *tasks: written("export.json", json.dumps(list(tasks)))


def payloads(imported) -> list[dict]:
    return [json.loads(text) for text in imported.table.to_arrow()["payload"].to_pylist()]


# Kinds of answers


def test_one_class_chosen_is_a_choice(export, answers):
    path = export(task(7, annotation(choices("dog"))), task(8, annotation(choices("cat"), by=4)))
    imported = LabelStudioImporter().read(path)
    rows = answers(imported.table)
    assert [(r["item"], r["annotator"], r["kind"], r["payload"], r["purpose"], r["seconds"]) for r in rows] == [
        ("7", "3", "choice/1", {"class": "dog"}, "label", 4.288),
        ("8", "4", "choice/1", {"class": "cat"}, "label", 4.288),
    ]
    assert [r["submitted_at"].isoformat() for r in rows] == ["2021-03-09T22:16:08.728000+00:00"] * 2
    assert {r["started_at"] for r in rows} == {r["trial"] for r in rows} == {None}
    assert imported.table.classes == ("cat", "dog")
    assert imported.notes[:2] == (
        "2 answers by 2 annotators about 2 items, 2 classes; question type choice/1",
        "classes: cat, dog (as found; set names and order with --classes)",
    )


def test_several_classes_chosen_anywhere_are_plausible_everywhere(export):
    path = export(task(1, annotation(choices("dog", "cat"))), task(2, annotation(choices("ship"))))
    imported = LabelStudioImporter(classes=("ship", "cat", "dog")).read(path)
    assert imported.table.kind.names.to_pylist() == ["plausible/1"]
    assert payloads(imported) == [
        {"ship": "no", "cat": "yes", "dog": "yes"},
        {"ship": "yes", "cat": "no", "dog": "no"},
    ]


def test_a_choice_and_a_rating_are_a_typicality(export):
    path = export(
        task(1, annotation(choices("cat"), rating(4))),
        task(2, annotation(rating(0), choices("dog"))),
    )
    imported = LabelStudioImporter().read(path)
    assert imported.table.kind.names.to_pylist() == ["typicality/1"]
    assert payloads(imported) == [{"class": "cat", "typicality": 0.8}, {"class": "dog", "typicality": 0.0}]
    assert imported.table.classes == ("cat", "dog")


def test_a_rating_of_another_scale(export):
    path = export(task(1, annotation(choices("cat"), rating(7))), task(2, annotation(choices("dog"), rating(10))))
    assert [p["typicality"] for p in payloads(LabelStudioImporter(scale=10).read(path))] == [0.7, 1.0]
    with pytest.raises(BadTable, match=r"found the value 7; expected 0 to 5; fix: .*scale=") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.column == "/0/annotations/0"


def test_numbers_named_like_classes_are_sliders(export):
    path = export(
        task(1, annotation(number(80, "cat"), number(25.5, "dog"))),
        task(2, annotation(number(100, "dog"), number(0, "cat"))),
    )
    imported = LabelStudioImporter(scale=100).read(path)
    assert imported.table.kind.names.to_pylist() == ["sliders/1"]
    assert payloads(imported) == [{"cat": 0.8, "dog": 0.255}, {"cat": 0.0, "dog": 1.0}]
    assert imported.table.classes == ("cat", "dog")


def test_ratings_named_like_classes_are_sliders_to_five(export):
    path = export(task(1, annotation(rating(5, "cat"), rating(1, "dog"))))
    assert payloads(LabelStudioImporter().read(path)) == [{"cat": 1.0, "dog": 0.2}]


def test_a_number_needs_its_scale(export):
    path = export(task(1, annotation(number(80, "cat"), number(20, "dog"))))
    with pytest.raises(BadTable, match=r"found the number 80; expected a known largest value; .*scale=100"):
        LabelStudioImporter().read(path)


def test_sliders_are_complete(export):
    path = export(
        task(1, annotation(number(80, "cat"), number(20, "dog"))),
        task(2, annotation(number(80, "cat"))),
    )
    with pytest.raises(BadTable, match="found no value for dog; expected a Rating or Number for every class") as caught:
        LabelStudioImporter(scale=100).read(path)
    assert caught.value.where.column == "/1/annotations/0"


def test_two_classes_have_no_single_typicality(export):
    path = export(task(1, annotation(choices("cat", "dog"), rating(4))))
    with pytest.raises(BadTable, match="found 2 choices and 1 values; expected one choice and one Rating") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.column == "/0/annotations/0"


def test_answers_of_two_shapes_are_refused(export):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog"), rating(3))))
    with pytest.raises(BadTable, match="an answer with other controls than the first") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.column == "/1/annotations/0"


@pytest.mark.parametrize(
    "results",
    [
        [choices("día, “x” \\ 猫")],
        [choices("día, “x” \\ 猫", "b")],
        [choices("día, “x” \\ 猫"), rating(5)],
        [rating(5, "día, “x” \\ 猫"), rating(1, "b")],
    ],
    ids=["choice", "plausible", "typicality", "sliders"],
)
def test_payloads_are_answers_of_their_kind_for_any_name(export, results):
    imported = LabelStudioImporter(classes=("b", "día, “x” \\ 猫")).read(export(task(1, annotation(*results))))
    (kind,) = imported.table.kind.names.to_pylist()
    (text,) = imported.table.to_arrow()["payload"].to_pylist()
    decode([text], payload_kind(kind))
    assert "día, “x” \\ 猫" in json.dumps(json.loads(text), ensure_ascii=False).replace("\\\\", "\\")


# Classes


def test_a_class_not_given_is_named_with_its_place(export):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("cat")), annotation(choices("dgo"))))
    with pytest.raises(UnknownName, match="found class 'dgo'; expected one of cat, dog; fix: did you mean 'dog'") as e:
        LabelStudioImporter(classes=("cat", "dog")).read(path)
    assert (e.value.where.file, e.value.where.column) == (str(path), "/1/annotations/1")


def test_classes_given_keep_their_order(export):
    imported = LabelStudioImporter(classes=("dog", "ship", "cat")).read(export(task(1, annotation(choices("cat")))))
    assert imported.table.classes == ("dog", "ship", "cat")
    assert "classes: dog, ship, cat" in imported.notes


def test_a_single_class_names_the_file(export):
    path = export(task(1, annotation(choices("cat"))))
    with pytest.raises(BadTable, match="found 1 class") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.file == str(path)


# Who and what


@pytest.mark.parametrize(
    ("by", "annotator"),
    [(10, "10"), ("ann", "ann"), ({"id": 10, "email": "ann@example.com", "first_name": "Ann"}, "10")],
    ids=["number", "text", "object"],
)
def test_who_answered(export, by, annotator):
    path = export(task(1, annotation(choices("cat"), by=by)), task(2, annotation(choices("dog"), by=by)))
    table = LabelStudioImporter().read(path).table
    assert table.annotator.names.to_pylist() == [annotator]
    assert "ann@example.com" not in json.dumps(table.to_arrow().drop(["submitted_at"]).to_pylist())


@pytest.mark.parametrize("by", [None, {}, {"email": "ann@example.com"}, "", True, 1.5, [3]])
def test_nobody_is_refused(export, by):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog"), by=by)))
    with pytest.raises(BadTable, match="expected completed_by as a number or text") as caught:
        LabelStudioImporter().read(path)
    assert (caught.value.where.file, caught.value.where.column) == (str(path), "/1/annotations/0/completed_by")


def test_a_field_of_the_data_may_name_the_item(export):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog"))))
    table = LabelStudioImporter(item="image").read(path).table
    assert table.item.names.to_pylist() == ["/data/1.png", "/data/2.png"]


@pytest.mark.parametrize("data", [{}, {"image": ""}, {"image": None}, {"image": ["a", "b"]}, None, "a.png"])
def test_a_field_that_is_not_there_is_pointed_at(export, data):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog")), data=data))
    with pytest.raises(BadTable) as caught:
        LabelStudioImporter(item="image").read(path)
    assert caught.value.where.column == "/1/data/image"


def test_a_task_without_a_number_is_pointed_at(export):
    path = export(task(1, annotation(choices("cat"))), task(None, annotation(choices("dog"))))
    with pytest.raises(BadTable) as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.column == "/1/id"


# When


@pytest.mark.parametrize(
    ("created_at", "moment"),
    [
        ("2021-03-09T22:16:08.728353Z", "2021-03-09T22:16:08.728000+00:00"),
        ("2021-03-09T22:16:08Z", "2021-03-09T22:16:08+00:00"),
        ("2021-03-09T22:16:08.728353+02:00", "2021-03-09T20:16:08.728000+00:00"),
        (None, None),
    ],
    ids=["microseconds, as exported", "seconds", "a zone", "none"],
)
def test_moments(export, answers, created_at, moment):
    results = [annotation(choices(name), by=name, created_at=created_at) for name in ("cat", "dog")]
    (first, _) = answers(LabelStudioImporter().read(export(task(1, *results))).table)
    assert (first["submitted_at"] and first["submitted_at"].isoformat()) == moment


def test_a_moment_that_is_none_is_pointed_at(export):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog"), created_at="yesterday")))
    with pytest.raises(SfumatoError, match="yesterday") as caught:
        LabelStudioImporter().read(path)
    assert (caught.value.where.file, caught.value.where.column) == (str(path), "/1/annotations/0/created_at")


@pytest.mark.parametrize(("lead_time", "seconds"), [(12, 12.0), (0.25, 0.25), (None, None)])
def test_seconds(export, answers, lead_time, seconds):
    path = export(task(1, annotation(choices("cat"), lead_time=lead_time)), task(2, annotation(choices("dog"))))
    assert answers(LabelStudioImporter().read(path).table)[0]["seconds"] == seconds


def test_a_time_below_zero_is_pointed_at(export):
    path = export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog"), lead_time=-1)))
    with pytest.raises(SfumatoError, match="-1") as caught:
        LabelStudioImporter().read(path)
    assert (caught.value.where.file, caught.value.where.column) == (str(path), "/1/annotations/0/lead_time")


# What is left out


def test_skipped_annotations_and_predictions_are_counted(export, answers):
    path = export(
        task(1, annotation(choices("cat")), annotation(by=4, was_cancelled=True), predictions=[{"result": []}] * 2),
        task(2, annotation(choices("dog"), by=4, was_cancelled=True), annotation(choices("dog"))),
        task(3),
    )
    imported = LabelStudioImporter().read(path)
    assert [(a["item"], a["annotator"]) for a in answers(imported.table)] == [("1", "3"), ("2", "3")]
    assert "2 annotations skipped by the annotator" in imported.notes
    assert "2 predictions of models, not imported" in imported.notes


def test_other_controls_are_counted(export):
    box = {"type": "rectanglelabels", "from_name": "box", "value": {"rectanglelabels": ["cat"]}}
    path = export(
        task(1, annotation(box, choices("cat"), box)),
        task(2, annotation(choices("dog"))),
        task(3, annotation(box)),
        task(4, annotation()),
    )
    imported = LabelStudioImporter().read(path)
    assert len(imported.table) == 2
    assert "3 results of type rectanglelabels, not imported" in imported.notes
    assert "2 annotations without Choices, Rating or Number" in imported.notes


def test_nothing_left_out_is_not_mentioned(export):
    notes = (
        LabelStudioImporter()
        .read(export(task(1, annotation(choices("cat"))), task(2, annotation(choices("dog")))))
        .notes
    )
    assert not any("not read" in note or note.startswith("0 ") for note in notes)


@pytest.mark.parametrize("tasks", [[], [task(1)], [task(1, annotation(was_cancelled=True))], [task(1, annotation())]])
def test_an_export_without_answers_is_refused(export, tasks):
    path = export(*tasks)
    with pytest.raises(BadTable, match="found no annotation with an answer") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.file == str(path)


# Repeats


def test_a_second_answer_is_refused_with_its_place(export):
    path = export(
        task(1, annotation(choices("cat")), annotation(choices("dog"), by=4), annotation(choices("dog"))),
    )
    with pytest.raises(BadTable, match=r"found annotator '3' answering item '1' again; .*repeats=True") as caught:
        LabelStudioImporter().read(path)
    assert (caught.value.code, caught.value.where.column) == ("duplicate-answer", "/0/annotations/2")


def test_second_answers_are_kept_as_repeats(export, answers):
    path = export(
        task(1, annotation(choices("cat")), annotation(choices("dog"), by=4)),
        task(1, annotation(choices("dog")), annotation(choices("dog"), by=5)),
    )
    rows = answers(LabelStudioImporter(repeats=True).read(path).table)
    assert [(r["annotator"], r["payload"]["class"], r["purpose"]) for r in rows] == [
        ("3", "cat", "label"),
        ("4", "dog", "label"),
        ("3", "dog", "repeat"),
        ("5", "dog", "label"),
    ]


# Faults


def test_records_that_are_no_tasks_are_refused(written):
    path = written("export.json", json.dumps([{"image": "/data/1.png", "id": 1, "class": "cat", "annotator": 3}]))
    with pytest.raises(BadTable, match="a task with `annotations`") as caught:
        LabelStudioImporter().read(path)
    assert (caught.value.where.file, caught.value.where.column) == (str(path), "/0")


def test_reference_annotations_are_not_votes(written, answers):
    def annotation(who, label, **more):
        result = [{"from_name": "mood", "type": "choices", "value": {"choices": [label]}}]
        return {"completed_by": who, "result": result, **more}

    given = [annotation(1, "sad"), annotation(2, "happy", ground_truth=True), annotation(3, "sad", ground_truth=False)]
    path = written("a.json", json.dumps([{"id": 7, "data": {}, "annotations": given}]))
    imported = LabelStudioImporter(classes=("sad", "happy")).read(path)
    assert [(a["annotator"], a["payload"]["class"]) for a in answers(imported.table)] == [("1", "sad"), ("3", "sad")]
    assert "1 reference annotations (ground truth), which are not votes" in imported.notes


@pytest.mark.parametrize("text", ['{"id": 1}', '"tasks"', "null", "3"])
def test_a_document_that_is_no_list_is_refused(written, text):
    with pytest.raises(BadTable, match="expected an array of tasks"):
        LabelStudioImporter().read(written("export.json", text))


@pytest.mark.parametrize(
    ("broken", "pointer"),
    [
        (3, "/1"),
        (None, "/1"),
        ({"id": 2, "annotations": {}}, "/1"),
        (task(2, 3), "/1/annotations/0"),
        (task(2, {"completed_by": 3}), "/1/annotations/0"),
        (task(2, annotation(choices("dog")), {"result": "x"}), "/1/annotations/1"),
        (task(2, annotation({**choices(), "value": {"choices": "dog"}})), "/1/annotations/0/result/0/value"),
        (task(2, annotation({**choices(), "value": {"choices": [1]}})), "/1/annotations/0/result/0/value"),
        (task(2, annotation({**choices(), "value": {"choices": []}})), "/1/annotations/0/result/0/value"),
        (task(2, annotation({**choices(), "value": ["dog"]})), "/1/annotations/0/result/0/value"),
        (task(2, annotation({"type": "choices"})), "/1/annotations/0/result/0/value"),
        (task(2, annotation(choices("dog"), rating("4"))), "/1/annotations/0/result/1/value"),
        (task(2, annotation(choices("dog"), rating(None))), "/1/annotations/0/result/1/value"),
        (task(2, annotation(choices("dog"), number(True))), "/1/annotations/0/result/1/value"),
    ],
)
def test_values_of_a_wrong_type_are_pointed_at(export, broken, pointer):
    path = export(task(1, annotation(choices("cat"))), broken)
    with pytest.raises(BadTable) as caught:
        LabelStudioImporter().read(path)
    assert caught.value.code == "bad-field"
    assert (caught.value.where.file, caught.value.where.column) == (str(path), pointer)


def test_a_file_that_is_no_json_names_its_line(written):
    with pytest.raises(BadFile) as caught:
        LabelStudioImporter().read(written("export.json", '[\n{"id": 1,\n oops}]'))
    assert (caught.value.code, caught.value.where.line) == ("bad-json", 3)


# Several controls


def test_two_choices_controls_are_not_mixed_up(export):
    both = annotation(choices("cat", control="animal"), choices("red", control="colour"))
    path = export(task(1, both), task(2, annotation(choices("dog", control="animal"))))
    with pytest.raises(BadTable, match="label=NAME") as caught:
        LabelStudioImporter().read(path)
    assert caught.value.where.column == "/0/annotations/0/result/1"
    imported = LabelStudioImporter(label="animal").read(path)
    assert payloads(imported) == [{"class": "cat"}, {"class": "dog"}]
    assert "1 answers to the control colour, not imported" in imported.notes


def test_a_control_answered_twice_is_refused(export):
    path = export(task(1, annotation(number(10, "cat"), number(20, "dog"), number(30, "cat"))))
    with pytest.raises(BadTable, match="a second value for 'cat'"):
        LabelStudioImporter(scale=100).read(path)
