"""Label Studio exports that are broken JSON, or JSON of another shape."""

from __future__ import annotations

from badinput_cases.building import OSC, annotation, choice, document, gzipped, task
from badinput_cases.case import accepted, refused

READ = ("import", "label-studio", "bad.json", "-o", "out.parquet")
SOUND = document(task(annotation()), task(annotation(choice("dog")), id=2))
DOG = task(annotation(choice("dog")), id=3)
RESULT = "/1/annotations/0/result/0/value"


def _rating(value: object) -> dict[str, object]:
    return {"type": "rating", "from_name": "cat", "value": {"rating": value}}


BROKEN = tuple(
    refused(f"json-{name}", {"bad.json": content}, READ, code, place, *says)
    for name, content, code, place, says in (
        ("empty", b"", "empty-file", "bad.json", ()),
        ("blank", b"  \n ", "bad-json", "bad.json", ()),
        ("truncated", SOUND[:-20], "bad-json", "bad.json:1", ("truncated",)),
        ("nan", b'[\n{"id": NaN}]', "bad-json", "bad.json:2", ()),
        ("key-doubled", SOUND.replace(b'"id": 2', b'"id": 2, "id": 3'), "bad-json", "bad.json", ("'id'",)),
        ("100000-deep", b"[" * 100_000 + b"]" * 100_000, "bad-json", "bad.json", ("nested",)),
        ("100000-digits", SOUND.replace(b'"id": 2', b'"id": ' + b"2" * 100_000), "bad-json", "bad.json", ()),
        ("number-too-large", SOUND.replace(b'"id": 2', b'"id": 1e400'), "bad-json", "bad.json", ()),
        ("trailing-bytes", SOUND + b"\n[]", "bad-json", "bad.json:2", ()),
        ("one-task-a-line", SOUND[1:-1].replace(b"}, {", b"}\n{"), "bad-json", "bad.json", ()),
        ("latin-1", SOUND.replace(b'"dog"', b'"D\xf6g"'), "not-utf8", "bad.json:1", ("UTF-8",)),
        ("utf-16", SOUND.decode().encode("utf-16"), "not-utf8", "bad.json", ("UTF-8",)),
        ("surrogate-alone", SOUND.replace(b'"dog"', b'"\\ud800"'), "bad-json", "bad.json", ()),
        ("nul-byte", SOUND.replace(b'"dog"', b'"d\0g"'), "nul-byte", "bad.json:1", ()),
        ("html-in-disguise", b"<!doctype html><title>Log in</title>", "bad-json", "bad.json:1", ()),
    )
)

SHAPES = tuple(
    refused(
        f"json-{name}",
        {"bad.json": document(task(annotation()), second, DOG)},
        READ,
        "bad-field",
        f"bad.json:{pointer}",
        *says,
    )
    for name, second, pointer, says in (
        ("task-of-another-type", 5, "/1", ("5",)),
        ("annotations-no-array", task(annotations={}), "/1", ("annotations",)),
        ("annotation-no-object", task(7), "/1/annotations/0", ("7",)),
        ("result-no-array", task({"completed_by": 7, "result": {}}), "/1/annotations/0", ("result",)),
        ("result-no-object", task(annotation("cat")), "/1/annotations/0/result/0", ()),
        ("choices-as-text", task(annotation({"type": "choices", "value": {"choices": "dog"}})), RESULT, ("'dog'",)),
        ("choices-of-numbers", task(annotation(choice(3))), RESULT, ("3",)),
        ("choices-none", task(annotation(choice())), RESULT, ("[]",)),
        ("value-of-another-type", task(annotation({"type": "choices", "value": "dog"})), RESULT, ()),
        ("rating-as-text", task(annotation(_rating("5"))), RESULT, ("'5'",)),
        ("annotator-missing", task({"result": [choice("dog")]}), "/1/annotations/0/completed_by", ("None",)),
        ("annotator-of-another-type", task(annotation(completed_by=[7])), "/1/annotations/0/completed_by", ("[7]",)),
        ("id-of-another-type", task(annotation(), id=None), "/1/id", ("None",)),
        ("predictions-of-another-type", task(annotation(), id=2, predictions=5), "/1/predictions", ("5",)),
        ("seconds-of-another-type", task(annotation(lead_time="12"), id=2), "/1/annotations/0/lead_time", ("'12'",)),
        ("time-of-another-type", task(annotation(created_at=5), id=2), "/1/annotations/0/created_at", ("5",)),
        ("answer-of-another-shape", task(annotation(_rating(3)), id=2), "/1/annotations/0", ()),
    )
)

MEANING = (
    refused(
        "json-seconds-negative",
        {"bad.json": document(DOG, task(annotation(lead_time=-3)))},
        READ,
        "bad-field",
        "bad.json:/1/annotations/0/lead_time",
        "-3",
    ),
    refused(
        "json-time-broken",
        {"bad.json": document(DOG, task(annotation(created_at="soon")))},
        READ,
        "bad-field",
        "bad.json:/1/annotations/0/created_at",
        "'soon'",
    ),
    refused("json-no-array", {"bad.json": b'{"tasks": []}'}, READ, "bad-field", "bad.json", "array"),
    refused("json-no-task", {"bad.json": b"[]"}, READ, "bad-field", "bad.json", "annotation"),
    refused(
        "json-data-of-another-type",
        {"bad.json": document(task(annotation(), data=[1]))},
        (*READ, "--item", "image"),
        "bad-field",
        "bad.json:/0/data",
    ),
    refused(
        "json-class-unknown",
        {"bad.json": document(task(annotation()), task(annotation(choice("dgo")), id=2))},
        (*READ, "--classes", "cat,dog"),
        "unknown-class",
        "bad.json:/1/annotations/0",
        "did you mean 'dog'?",
    ),
    refused(
        "json-answer-twice",
        {"bad.json": document(task(annotation(), annotation(choice("dog"))))},
        READ,
        "duplicate-answer",
        "bad.json:/0/annotations/1",
        "--repeats",
    ),
    refused("json-one-class", {"bad.json": document(task(annotation()))}, READ, "bad-classes", "bad.json", "1 class"),
    refused(
        "json-rating-above-scale",
        {"bad.json": document(task(annotation(_rating(9))))},
        READ,
        "bad-field",
        "bad.json:/0/annotations/0",
        "--scale",
    ),
    accepted(
        "json-ids-kept-as-text",
        {"bad.json": document(task(annotation(), id=9007199254740993), task(annotation(choice("dog")), id="007"))},
        READ,
        {"item": ["9007199254740993", "007"], "annotator": ["7", "7"]},
    ),
    accepted(
        "json-proto-as-class",
        {"bad.json": document(task(annotation(choice("__proto__"))), task(annotation(choice("dog")), id=2))},
        READ,
        {"payload": ['{"class": "__proto__"}', '{"class": "dog"}']},
    ),
    accepted(
        "json-escape-in-type-noted",
        {"bad.json": document(task(annotation(choice("cat"), {"type": OSC})), task(annotation(choice("dog")), id=2))},
        READ,
        {"item": ["1", "2"]},
    ),
    accepted("json-byte-order-mark", {"bad.json": b"\xef\xbb\xbf" + SOUND}, READ, {"item": ["1", "2"]}),
    # 63 MB in 90 kB: under the size that any file may grow to, yet 21 million Python objects.
    refused(
        "json-bomb-of-empty-objects",
        {"bad.json.gz": gzipped(b"[{}", b",{}", 21_000_000, b"]")},
        ("import", "label-studio", "bad.json.gz", "-o", "out.parquet"),
        "bomb",
        "bad.json.gz",
    ),
)

CASES = (*BROKEN, *SHAPES, *MEANING)
