"""Files that are not there, are no files, or cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

from badinput_cases.building import OSC, crowd
from badinput_cases.case import accepted, refused

SOUND = crowd("a,x,cat", "b,x,dog")
FILE = {"bad.csv": SOUND}
BELIEFS = {"bad.csv": b"item,annotator,p:cat,p:dog\na,x,1,0\n"}


def _read(source: str | bytes, output: str | bytes = "out.parquet", *options: str) -> tuple[str | bytes, ...]:
    return ("import", "crowd", source, *options, "-o", output)


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


SOURCES = (
    refused("place-no-such-file", FILE, _read("answers.csv"), "no-such-file", "answers.csv", "'bad.csv'"),
    refused("place-no-such-folder", FILE, _read("nowhere/answers.csv"), "no-such-file", "nowhere/answers.csv"),
    refused("place-folder", {"bad.csv": _folder}, _read("bad.csv"), "is-a-folder", "bad.csv"),
    refused("place-pipe", {"bad.csv": _pipe}, _read("bad.csv"), "unreadable", "bad.csv"),
    refused("place-ending-unknown", {"bad.xlsx": SOUND}, _read("bad.xlsx"), "file-kind", "bad.xlsx", ".csv"),
    refused("place-ending-none", {"bad": SOUND}, _read("bad"), "file-kind", "bad", ".csv"),
    refused("place-name-too-long", FILE, _read("a" * 300 + ".csv"), "no-such-file", "aaa"),
    refused("place-name-with-escape", FILE, _read(f"{OSC}.csv"), "no-such-file", "x1b"),
    refused(
        "place-name-with-line-break", FILE, _read("an\nswers.csv"), "no-such-file", "answers.csv".replace("an", "an\\n")
    ),
    refused("place-name-not-utf8", FILE, _read(b"\xff.csv"), "no-such-file"),
    refused(
        "place-folder-without-published-file",
        {"bad": _folder},
        ("import", "cifar-10s", "bad", "-o", "out.parquet"),
        "no-such-file",
        "bad",
        "elicitations.csv",
    ),
)

OUTPUTS = (
    refused(
        "place-output-folder-missing",
        FILE,
        _read("bad.csv", "nowhere/out.parquet"),
        "no-such-folder",
        "nowhere",
        output="nowhere/out.parquet",
    ),
    refused(
        "place-output-in-a-file",
        FILE,
        _read("bad.csv", "bad.csv/out.parquet"),
        "no-such-folder",
        "bad.csv/out.parquet",
        output="bad.csv/out.parquet",
    ),
    refused(
        "place-output-is-a-folder", FILE | {"out.parquet": _folder}, _read("bad.csv"), "cannot-write", "out.parquet"
    ),
    refused(
        "place-output-not-writable",
        FILE,
        _read("bad.csv", "/proc/out.parquet"),
        "cannot-write",
        "/proc/out.parquet",
        output="/proc/out.parquet",
    ),
    refused(
        "place-output-ending-unknown",
        FILE,
        _read("bad.csv", "out.xlsx"),
        "file-kind",
        "out.xlsx",
        ".parquet",
        output="out.xlsx",
    ),
    refused("place-output-name-too-long", FILE, _read("bad.csv", f"{'a' * 300}.parquet"), "cannot-write", "aaa"),
    refused(
        "place-second-output-folder-missing",
        {"bad.csv": b"item,annotator,label,truth\na,x,cat,cat\nb,x,dog,dog\n"},
        _read("bad.csv", "out.parquet", "--truth", "truth", "--original", "nowhere/truth.parquet"),
        "no-such-folder",
        "nowhere",
    ),
    refused(
        "place-two-outputs-in-one-file",
        {"bad.csv": b"item,annotator,label,truth\na,x,cat,cat\nb,x,dog,dog\n"},
        _read("bad.csv", "out.parquet", "--truth", "truth", "--original", "out.parquet"),
        "bad-setting",
        "--original",
    ),
    refused(
        "place-output-is-the-input",
        BELIEFS,
        ("transform", "bad.csv", "--by", "smooth", "--rate", "0.5", "-o", "bad.csv"),
        "bad-setting",
        "the source",
    ),
    accepted(
        "place-output-name-with-escape",
        FILE,
        _read("bad.csv", f"{OSC}.parquet"),
        {"item": ["a", "b"]},
        output=f"{OSC}.parquet",
    ),
)

CASES = (*SOURCES, *OUTPUTS)
