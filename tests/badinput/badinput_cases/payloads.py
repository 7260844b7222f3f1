"""Answers whose JSON is broken, or is no answer of its kind."""

from __future__ import annotations

import json

from badinput_cases.building import OSC, answers
from badinput_cases.case import accepted, refused
from badinput_cases.csv_shape import OWN

SOUND = {
    "choice/1": '{"class":"cat"}',
    "top_two/1": '{"first":"cat","first_percent":70,"second":null,"second_percent":null,"impossible":[]}',
    "sliders/1": '{"cat":0.5,"dog":0.5}',
    "tokens/1": '{"tokens":{"cat":3},"others":false}',
    "typicality/1": '{"class":"cat","typicality":0.5}',
    "plausible/1": '{"cat":"yes","dog":"no"}',
}
LABELERS = {
    "choice/1": "one-hot",
    "top_two/1": "top-two-clamp",
    "sliders/1": "sliders",
    "tokens/1": "tokens",
    "typicality/1": "typicality",
    "plausible/1": "plausible-equal",
}


def _label(kind: str, classes: str = "cat,dog") -> tuple[str, ...]:
    return ("label", "bad.csv", "--by", LABELERS[kind], "--classes", classes, "-o", "out.parquet")


def _top_two(**fields: object) -> str:
    return json.dumps({**json.loads(SOUND["top_two/1"]), **fields})


# Broken already as JSON, whatever the kind: refused where the table is read, with the line.
BROKEN = tuple(
    refused(
        f"payload-{name}", {"bad.csv": answers(SOUND["choice/1"], text)}, OWN, "bad-payload", "bad.csv:3:payload", *says
    )
    for name, text, says in (
        ("truncated", '{"class":"ca', ("truncated",)),
        ("nan", '{"class":NaN}', ()),
        ("infinity", '{"class":-Infinity}', ()),
        ("100000-deep", '{"class":' + "[" * 100_000 + "]" * 100_000 + "}", ("nested",)),
        ("trailing-bytes", '{"class":"cat"} x', ()),
        ("two-documents", '{"class":"cat"}{"class":"dog"}', ()),
        ("python-quotes", "{'class': 'cat'}", ("double quotes",)),
        ("comment", '{"class":"cat" /* sure */}', ()),
        ("trailing-comma", '{"class":"cat",}', ()),
        ("bare-word", "cat", ()),
        ("text", '"cat"', ("object",)),
        ("array", '["cat"]', ("object",)),
        ("null", "null", ("object",)),
        ("surrogate-alone", '{"class":"\\ud800"}', ()),
        ("line-break-in-text", '{"class":"c\nat"}', ()),
    )
)

# JSON, but no answer of its kind: refused where it is labelled, naming the person and the item.
WRONG = tuple(
    refused(
        f"payload-{name}",
        {"bad.csv": answers(SOUND[kind], text, kind=kind)},
        _label(kind),
        code,
        "bad.csv",
        "item 'b'",
        "annotator 'x'",
        *says,
    )
    for name, kind, text, code, says in (
        ("key-doubled", "choice/1", '{"class":"cat","class":"dog"}', "bad-payload", ("'class'",)),
        ("key-doubled-in-spelling", "sliders/1", '{"cat":1,"c\\u0061t":0,"dog":0}', "bad-payload", ("'cat'",)),
        ("key-doubled-inside", "tokens/1", '{"tokens":{"cat":1,"cat":2},"others":false}', "bad-payload", ("'cat'",)),
        ("text-for-number", "top_two/1", _top_two(first_percent="70"), "bad-payload", ("first_percent",)),
        ("true-for-number", "top_two/1", _top_two(first_percent=True), "bad-payload", ("first_percent",)),
        ("number-for-text", "choice/1", '{"class":1}', "bad-payload", ("class",)),
        ("text-for-list", "top_two/1", _top_two(impossible="dog"), "bad-payload", ("impossible",)),
        ("number-in-list", "top_two/1", _top_two(impossible=["dog", 3]), "bad-payload", ("impossible",)),
        ("number-for-true", "tokens/1", '{"tokens":{"cat":1},"others":1}', "bad-payload", ("others",)),
        ("token-fractional", "tokens/1", '{"tokens":{"cat":1.5},"others":false}', "bad-payload", ("tokens",)),
        ("token-negative", "tokens/1", '{"tokens":{"cat":-1},"others":false}', "bad-payload", ("tokens",)),
        ("tokens-none", "tokens/1", '{"tokens":{},"others":false}', "all-zero", ("token",)),
        ("tokens-of-400-digits", "tokens/1", '{"tokens":{"cat":' + "9" * 400 + '},"others":false}', "bad-payload", ()),
        (
            "tokens-that-overflow",
            "tokens/1",
            '{"tokens":{"cat":1' + "0" * 308 + ',"dog":1' + "0" * 308 + '},"others":false}',
            "bad-payload",
            (),
        ),
        ("number-of-100000-digits", "top_two/1", _top_two().replace("70", "7" * 100_000), "bad-payload", ()),
        ("number-too-large", "top_two/1", _top_two().replace("70", "1e400"), "bad-payload", ()),
        ("percent-above-100", "top_two/1", _top_two(first_percent=150), "bad-percent", ("sfumato screen",)),
        ("percent-missing", "top_two/1", _top_two(first_percent=None), "bad-percent", ()),
        ("slider-above-1", "sliders/1", '{"cat":1.5,"dog":0}', "bad-payload", ("1",)),
        ("sliders-all-zero", "sliders/1", '{"cat":0,"dog":0}', "all-zero", ("--zero-is-uniform",)),
        ("slider-missing", "sliders/1", '{"cat":1}', "missing-class", ("dog",)),
        ("field-missing", "typicality/1", '{"class":"cat"}', "bad-payload", ("typicality",)),
        ("field-unknown", "choice/1", '{"class":"cat","sure":true}', "bad-payload", ("sure",)),
        ("field-unknown-with-escape", "choice/1", json.dumps({"class": "cat", OSC: 1}), "bad-payload", ()),
        ("class-unknown", "choice/1", '{"class":"dgo"}', "unknown-class", ("did you mean 'dog'?",)),
        ("class-with-escape", "choice/1", json.dumps({"class": f"{OSC}dog"}), "unknown-class", ("\\x1b",)),
        (
            "class-impossible-unknown",
            "top_two/1",
            _top_two(impossible=["dgo"]),
            "unknown-class",
            ("did you mean 'dog'?",),
        ),
        ("mark-unknown", "plausible/1", '{"cat":"maybe","dog":"no"}', "bad-payload", ("cat", "maybe")),
        ("proto-key", "sliders/1", '{"cat":1,"dog":0,"__proto__":1}', "unknown-class", ("'__proto__'",)),
        ("proto-field", "choice/1", '{"class":"cat","__proto__":{"class":"dog"}}', "bad-payload", ("__proto__",)),
    )
)

SOUND_CASES = (
    accepted(
        "payload-proto-as-class",
        {"bad.csv": answers('{"__proto__":1,"dog":0}', kind="sliders/1")},
        _label("sliders/1", "__proto__,dog"),
        {"probs": [[1.0, 0.0]]},
    ),
    accepted(
        "payload-colon-in-class",
        {"bad.csv": answers('{"class":"a:b"}', '{"class":"{\\"class\\":"}')},
        _label("choice/1", 'a:b,{"class":'),
        {"probs": [[1.0, 0.0], [0.0, 1.0]]},
    ),
    accepted(
        "payload-with-spaces-and-escapes",
        {"bad.csv": answers(' {\n "class" : "\\u0063at" }\t')},
        _label("choice/1"),
        {"probs": [[1.0, 0.0]]},
    ),
)

CASES = (*BROKEN, *WRONG, *SOUND_CASES)
