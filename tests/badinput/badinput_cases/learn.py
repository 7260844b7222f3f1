"""Inputs, labels and splits that nothing can be learnt from. What is wrong with data is said before torch is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from badinput_cases.case import Content, refused

HEAD = "item,p:cat,p:dog"
IMAGES = np.zeros((3, 8, 8), np.uint8)


def npz(**arrays: Any) -> Callable[[Path], None]:
    """An npz with sound images of the items 0, 1 and 2, and the arrays given in their place (None: left out)."""
    kept = {name: value for name, value in ({"images": IMAGES} | arrays).items() if value is not None}

    def make(path: Path) -> None:
        np.savez(path, **kept)

    return make


def npy(values: Any) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        np.save(path, np.array(values))

    return make


def labels(*rows: str, head: str = HEAD) -> bytes:
    return "".join(f"{row}\n" for row in (head, *rows)).encode()


SOUND = labels("0,1,0", "1,0.5,0.5", "2,0,1")


def files(inputs: Content | None = None, said: bytes = SOUND, **others: Content) -> dict[str, Content]:
    named = {name.replace("_", "."): content for name, content in others.items()}
    return {"x.npz": inputs or npz(), "l.csv": said, **named}


def learn(*options: str) -> tuple[str, ...]:
    return ("learn", "--inputs", "x.npz", "--labels", "l.csv", *options, "-o", "runs")


GIVEN = ("--split", "given:train=a.npy:test=b.npy")

INPUTS = (
    refused("learn-no-images", files(npz(images=None, data=IMAGES)), learn(), "no-images", "x.npz"),
    refused("learn-images-float", files(npz(images=IMAGES / 255)), learn(), "bad-images", "float64", "0..255"),
    refused("learn-images-flat", files(npz(images=IMAGES.reshape(3, 64))), learn(), "bad-images", "(3, 64)"),
    refused("learn-images-pickled", files(npz(images=np.array([None] * 3))), learn(), "pickle", "x.npz"),
    refused("learn-images-none", files(npz(images=IMAGES[:0])), learn(), "no-items"),
    refused("learn-texts", files(npz(images=None, texts=["a", "b", "c"])), learn(), "no-images", "texts"),
    refused("learn-items-doubled", files(npz(items=["0", "1", "1"])), learn(), "doubled-item", "'1'"),
    refused("learn-items-too-few", files(npz(items=["0", "1"])), learn(), "wrong-shape", "2 ids for 3"),
    refused("learn-inputs-not-there", {"l.csv": SOUND}, learn(), "no-such-file", "x.npz"),
    refused("learn-inputs-damaged", files(b"PK\x03\x04nothing"), learn(), "damaged", "x.npz"),
    refused(
        "learn-inputs-not-named", files(), ("learn", "--labels", "l.csv", "-o", "runs"), "missing-source", "--inputs"
    ),
    refused(
        "learn-class-number-too-large",
        files(npz(labels=np.array([0, 1, 2]), class_names=["cat", "dog"])),
        learn(),
        "unknown-class",
        "number 2",
    ),
)

LABELS = (
    refused("learn-no-labels", files(), ("learn", "--inputs", "x.npz", "-o", "runs"), "missing-source", "--labels"),
    refused("learn-labels-sum-2", files(said=labels("0,1,1")), learn(), "bad-sum", "l.csv:2"),
    refused("learn-labels-negative", files(said=labels("0,1.5,-0.5")), learn(), "negative", "l.csv:2"),
    refused("learn-labels-nan", files(said=labels("0,nan,1")), learn(), "bad-number", "l.csv:2"),
    refused("learn-labels-empty", files(said=labels()), learn(), "no-rows"),
    refused(
        "learn-items-without-inputs",
        files(said=labels("0,1,0", "7,0,1", "8,0,1")),
        learn(),
        "missing-input",
        "'7'",
        "2 such",
    ),
    refused(
        "learn-teacher-of-other-classes",
        files(t_csv=labels("0,1,0", "1,1,0", "2,1,0", head="item,p:cat,p:emu")),
        learn("--teacher", "t.csv"),
        "bad-classes",
        "emu",
        "dog",
        "t.csv",
    ),
    refused(
        "learn-teacher-too-short",
        files(t_csv=labels("0,1,0")),
        learn("--teacher", "t.csv"),
        "missing-item",
        "'1'",
        "t.csv",
    ),
    refused(
        "learn-beliefs-of-other-classes",
        files(b_csv=labels("0,x,1,0", head="item,annotator,p:cat,p:emu")),
        learn("--beliefs", "b.csv"),
        "bad-classes",
        "emu",
    ),
    refused(
        "learn-original-misspelt",
        files(o_csv=b"item,label\n0,cat\n1,dgo\n2,dog\n"),
        learn("--original", "o.csv"),
        "unknown-class",
        "did you mean 'dog'?",
    ),
    refused(
        "learn-original-missing",
        files(o_csv=b"item,label\n0,cat\n"),
        learn("--original", "o.csv"),
        "missing-item",
        "'1'",
    ),
    refused(
        "learn-original-doubled",
        files(o_csv=b"item,label\n0,cat\n0,dog\n"),
        learn("--original", "o.csv"),
        "doubled-item",
        "o.csv:3",
    ),
    refused("learn-original-soft", files(), learn("--original", "l.csv"), "not-one-hot", "'1'"),
)

SPLITS = (
    refused("learn-split-unknown", files(), learn("--split", "fair"), "unknown-split", "k-fold"),
    refused(
        "learn-split-setting", files(), learn("--split", "share:tset=0.3"), "unknown-setting", "did you mean 'test'?"
    ),
    refused("learn-split-share-2", files(), learn("--split", "share:test=2"), "bad-setting", "test = 2"),
    refused("learn-folds-too-many", files(), learn("--folds", "4"), "too-few-items", "3 items"),
    refused("learn-folds-1", files(), learn("--folds", "1"), "bad-setting", "at least 2"),
    refused(
        "learn-split-overlaps", files(a_npy=npy([0, 1]), b_npy=npy([1, 2])), learn(*GIVEN), "overlapping-split", "'1'"
    ),
    refused(
        "learn-split-beyond", files(a_npy=npy([0, 3]), b_npy=npy([1])), learn(*GIVEN), "missing-input", "a.npy", "3"
    ),
    refused("learn-split-of-floats", files(a_npy=npy([0.5]), b_npy=npy([1])), learn(*GIVEN), "wrong-type", "a.npy"),
    refused(
        "learn-split-test-without-labels",
        files(said=labels("0,1,0", "1,0,1"), a_npy=npy([0]), b_npy=npy([2])),
        learn(*GIVEN),
        "missing-item",
        "'2'",
    ),
    refused("learn-split-file-not-there", files(a_npy=npy([0])), learn(*GIVEN), "no-such-file", "b.npy"),
)

GRIDS = (
    refused(
        "learn-grid-no-toml", {"g.toml": b"[data\n"}, ("learn", "--grid", "g.toml", "-o", "runs"), "bad-toml", "g.toml"
    ),
    refused(
        "learn-grid-unknown-section",
        {"g.toml": b"[data]\ninputs = 'x.npz'\n[gird]\n"},
        ("learn", "--grid", "g.toml", "-o", "runs"),
        "unknown-key",
        "g.toml:3",
        "did you mean 'grid'?",
    ),
    refused(
        "learn-grid-unknown-key",
        {"g.toml": b"[data]\ninput = 'x.npz'\n"},
        ("learn", "--grid", "g.toml", "-o", "runs"),
        "unknown-key",
        "g.toml:2",
        "did you mean 'inputs'?",
    ),
    refused(
        "learn-grid-not-utf8", {"g.toml": b"[data]\n# \xff\n"}, ("learn", "--grid", "g.toml", "-o", "runs"), "not-utf8"
    ),
    refused("learn-output-is-a-file", {**files(), "runs": b"mine\n"}, learn(), "not-a-folder", "runs"),
    refused(
        "learn-output-nowhere",
        files(),
        ("learn", "--inputs", "x.npz", "--labels", "l.csv", "-o", "no/runs"),
        "no-such-folder",
        "no",
    ),
)

CASES = (*INPUTS, *LABELS, *SPLITS, *GRIDS)
