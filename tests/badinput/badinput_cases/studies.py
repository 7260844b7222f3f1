"""Studies and stores that cannot be served, answered or exported. (Wrong fields of study files: tests/study.)"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from badinput_cases.building import OSC
from badinput_cases.case import Case, refused

STUDY = b"""\
title = "Texts"
name = "texts"
classes = ["cat", "dog"]
[items]
csv = "texts.csv"
[question]
kind = "choice"
"""
GOOD = {"study.toml": STUDY, "texts.csv": b"item,text\na,one\nb,two\n"}
NO_SERVER = "http://127.0.0.1:1"


def _folder(path: Path) -> None:
    path.mkdir()


def _store(version: str, *tables: str) -> object:
    """A maker of an SQLite file that says it is of `version`."""

    def make(path: Path) -> None:
        connection = sqlite3.connect(path)
        for table in (*tables, "CREATE TABLE alembic_version (version_num TEXT)"):
            connection.execute(table)
        connection.execute("INSERT INTO alembic_version VALUES (?)", (version,))
        connection.commit()
        connection.close()

    return make


def _serve(*options: str, study: str = "study.toml") -> tuple[str, ...]:
    return ("serve", study, "--port", "0", *options)


def _export(*options: str, output: str = "out.parquet") -> tuple[str, ...]:
    return ("export", "study.toml", "-o", output, *options)


def _simulate(*options: str, annotators: str = "2") -> tuple[str, ...]:
    return ("simulate", "study.toml", "--annotators", annotators, "--url", NO_SERVER, *options)


def _links(*options: str) -> tuple[str, ...]:
    return ("study", "links", "study.toml", *options)


STORE_COMMANDS = {"serve": _serve, "export": _export, "links": _links}
BAD_STORES = {
    # What stands there, how it is named, and the code of the error.
    "folder": ({"bad": _folder}, "bad", "bad-store"),
    "this-folder": ({}, ".", "bad-store"),
    "text": ({"bad": b"these are no answers, but more than a hundred bytes of words" * 9}, "bad", "bad-store"),
    "newer": ({"bad": _store("9999")}, "bad", "newer-store"),
    "unknown-scheme": ({}, "mysql://localhost/answers", "bad-store"),
    "port-no-number": ({}, "postgresql://user@127.0.0.1:x/answers", "bad-store"),
    "nobody-there": ({}, "postgresql://user@127.0.0.1:1/answers", "bad-store"),
    "escape": ({}, f"{OSC}://x", "bad-store"),
}
STORES: tuple[Case, ...] = tuple(
    refused(f"store-{name}-{command}", GOOD | files, make("--store", store), code)
    for name, (files, store, code) in BAD_STORES.items()
    for command, make in STORE_COMMANDS.items()
)

SERVING = (
    refused("serve-port-too-large", GOOD, ("serve", "study.toml", "--port", "70000"), "port-in-use", "70000"),
    refused("serve-port-negative", GOOD, ("serve", "study.toml", "--port", "-1"), "port-in-use", "-1"),
    refused("serve-port-text", GOOD, ("serve", "study.toml", "--port", "http"), "usage", "--port"),
    refused("serve-host-public", GOOD, _serve("--host", "0.0.0.0"), "not-public", "--public"),
    refused("serve-no-study", GOOD, _serve(study="nothing"), "no-such-file", "nothing"),
    refused("serve-folder-without-study", GOOD | {"bad": _folder}, _serve(study="bad"), "no-such-file", "study.toml"),
    refused("serve-no-items", {"study.toml": STUDY}, _serve(), "no-such-file", "texts.csv"),
    refused("serve-no-toml", {"study.toml": b"\x89PNG\r\n\x1a\n\0\0"}, _serve(), "nul-byte", "study.toml"),
    refused("serve-nothing-said", GOOD, ("serve",), "usage", "STUDY"),
    refused("check-no-study", GOOD, ("study", "check", "nothing"), "no-such-file", "nothing"),
    refused("check-nothing-said", GOOD, ("study", "check"), "usage", "STUDY"),
)

EXPORTS = (
    refused("export-nobody-came", GOOD, _export(), "no-store", "answers.sqlite"),
    refused("export-ending-unknown", GOOD, _export(output="out.xlsx"), "file-kind", "out.xlsx", output="out.xlsx"),
    refused("export-without-output", GOOD, ("export", "study.toml"), "usage", "--output"),
    refused("export-over-the-records", GOOD, _export("--records", "out.parquet"), "bad-setting", "--records"),
    refused("export-over-the-study", GOOD, _export("--records", "texts.csv"), "bad-setting", "texts.csv"),
)

SIMULATIONS = (
    refused("simulate-fewer-than-nobody", GOOD, _simulate(annotators="-1"), "bad-setting", "--annotators"),
    refused("simulate-seed-negative", GOOD, _simulate("--seed", "-1"), "bad-setting", "--seed"),
    refused("simulate-dropouts-above-all", GOOD, _simulate("--dropouts", "1.5"), "bad-setting", "dropouts"),
    refused("simulate-dropouts-no-number", GOOD, _simulate("--dropouts", "nan"), "bad-setting", "dropouts"),
    refused("simulate-pace-negative", GOOD, _simulate("--pace", "-1"), "bad-setting", "pace"),
    refused("simulate-no-links", GOOD, _simulate("--links", "links.txt"), "bad-links", "links.txt"),
    refused("simulate-links-no-text", GOOD | {"bad": b"\xff\xfe"}, _simulate("--links", "bad"), "bad-links", "bad"),
    refused("simulate-no-truth", GOOD, _simulate("--truth", "truth.csv"), "no-such-file", "truth.csv"),
    refused(
        "simulate-url-no-address", GOOD, ("simulate", "study.toml", "--url", "localhost:8000"), "bad-url", "localhost"
    ),
    refused("simulate-no-study", GOOD, ("simulate", "nothing"), "no-such-file", "nothing"),
)

LINKS = (
    refused("links-fewer-than-none", GOOD, _links("-n", "-1"), "bad-setting", "--number"),
    refused("links-number-text", GOOD, _links("-n", "many"), "usage", "many"),
    refused("links-no-study", GOOD, ("study", "links", "nothing"), "no-such-file", "nothing"),
)

CASES = (*STORES, *SERVING, *EXPORTS, *SIMULATIONS, *LINKS)
