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


def train(*options: str) -> tuple[str, ...]:
    return ("train", "--inputs", "x.npz", "--labels", "l.csv", "--same-rows", *options, "-o", "runs")


GIVEN = ("--split", "given:train=a.npy:test=b.npy")

INPUTS = (
    refused("train-no-images", files(npz(images=None, data=IMAGES)), train(), "no-images", "x.npz"),
    refused("train-images-float", files(npz(images=IMAGES / 255)), train(), "bad-images", "float64", "0..255"),
    refused("train-images-flat", files(npz(images=IMAGES.reshape(3, 64))), train(), "bad-images", "(3, 64)"),
    refused("train-images-pickled", files(npz(images=np.array([None] * 3))), train(), "pickle", "x.npz"),
    refused("train-images-none", files(npz(images=IMAGES[:0])), train(), "no-items"),
    refused(
        "train-texts",
        files(npz(images=None, texts=["a", "b", "c"])),
        train("--model", "lenet"),
        "wrong-inputs",
        "texts",
    ),
    refused("train-items-doubled", files(npz(items=["0", "1", "1"])), train(), "doubled-item", "'1'"),
    refused("train-items-too-few", files(npz(items=["0", "1"])), train(), "wrong-shape", "2 ids for 3"),
    refused("train-inputs-not-there", {"l.csv": SOUND}, train(), "no-such-file", "x.npz"),
    refused("train-inputs-damaged", files(b"PK\x03\x04nothing"), train(), "damaged", "x.npz"),
    refused(
        "train-inputs-not-named", files(), ("train", "--labels", "l.csv", "-o", "runs"), "missing-source", "--inputs"
    ),
    refused(
        "train-class-number-too-large",
        files(npz(labels=np.array([0, 1, 2]), class_names=["cat", "dog"])),
        train(),
        "unknown-class",
        "number 2",
    ),
)

LABELS = (
    refused("train-no-labels", files(), ("train", "--inputs", "x.npz", "-o", "runs"), "missing-source", "--labels"),
    refused("train-labels-sum-2", files(said=labels("0,1,1")), train(), "bad-sum", "l.csv:2"),
    refused("train-labels-negative", files(said=labels("0,1.5,-0.5")), train(), "negative", "l.csv:2"),
    refused("train-labels-nan", files(said=labels("0,nan,1")), train(), "bad-number", "l.csv:2"),
    refused("train-labels-empty", files(said=labels()), train(), "no-rows"),
    refused(
        "train-items-without-inputs",
        files(said=labels("0,1,0", "7,0,1", "8,0,1")),
        train(),
        "missing-input",
        "'7'",
        "2 such",
    ),
    refused(
        "train-teacher-of-other-classes",
        files(t_csv=labels("0,1,0", "1,1,0", "2,1,0", head="item,p:cat,p:emu")),
        train("--teacher", "t.csv"),
        "bad-classes",
        "emu",
        "dog",
        "t.csv",
    ),
    refused(
        "train-teacher-too-short",
        files(t_csv=labels("0,1,0")),
        train("--teacher", "t.csv"),
        "missing-item",
        "'1'",
        "t.csv",
    ),
    refused(
        "train-beliefs-of-other-classes",
        files(b_csv=labels("0,x,1,0", head="item,annotator,p:cat,p:emu")),
        train("--beliefs", "b.csv"),
        "bad-classes",
        "emu",
    ),
    refused(
        "train-original-misspelt",
        files(o_csv=b"item,label\n0,cat\n1,dgo\n2,dog\n"),
        train("--original", "o.csv"),
        "unknown-class",
        "did you mean 'dog'?",
    ),
    refused(
        "train-original-missing",
        files(o_csv=b"item,label\n0,cat\n"),
        train("--original", "o.csv"),
        "missing-item",
        "'1'",
    ),
    refused(
        "train-original-doubled",
        files(o_csv=b"item,label\n0,cat\n0,dog\n"),
        train("--original", "o.csv"),
        "doubled-item",
        "o.csv:3",
    ),
    refused("train-original-soft", files(), train("--original", "l.csv"), "not-one-hot", "'1'"),
)

SPLITS = (
    refused("train-split-unknown", files(), train("--split", "fair"), "unknown-split", "k-fold"),
    refused(
        "train-split-setting", files(), train("--split", "share:tset=0.3"), "unknown-setting", "did you mean 'test'?"
    ),
    refused("train-split-share-2", files(), train("--split", "share:test=2"), "bad-setting", "test = 2"),
    refused("train-folds-too-many", files(), train("--folds", "4"), "too-few-items", "3 items"),
    refused("train-folds-1", files(), train("--folds", "1"), "bad-setting", "at least 2"),
    refused(
        "train-split-overlaps", files(a_npy=npy([0, 1]), b_npy=npy([1, 2])), train(*GIVEN), "overlapping-split", "'1'"
    ),
    refused(
        "train-split-beyond", files(a_npy=npy([0, 3]), b_npy=npy([1])), train(*GIVEN), "missing-input", "a.npy", "3"
    ),
    refused("train-split-of-floats", files(a_npy=npy([0.5]), b_npy=npy([1])), train(*GIVEN), "wrong-type", "a.npy"),
    refused(
        "train-split-test-without-labels",
        files(said=labels("0,1,0", "2,0,1"), a_npy=npy([0]), b_npy=npy([1])),
        train(*GIVEN),
        "missing-item",
        "'1'",
    ),
    refused("train-split-file-not-there", files(a_npy=npy([0])), train(*GIVEN), "no-such-file", "b.npy"),
)

GRIDS = (
    refused(
        "train-grid-no-toml", {"g.toml": b"[data\n"}, ("train", "--grid", "g.toml", "-o", "runs"), "bad-toml", "g.toml"
    ),
    refused(
        "train-grid-unknown-section",
        {"g.toml": b"[data]\ninputs = 'x.npz'\n[gird]\n"},
        ("train", "--grid", "g.toml", "-o", "runs"),
        "unknown-key",
        "g.toml:3",
        "did you mean 'grid'?",
    ),
    refused(
        "train-grid-unknown-key",
        {"g.toml": b"[data]\ninput = 'x.npz'\n"},
        ("train", "--grid", "g.toml", "-o", "runs"),
        "unknown-key",
        "g.toml:2",
        "did you mean 'inputs'?",
    ),
    refused(
        "train-grid-not-utf8", {"g.toml": b"[data]\n# \xff\n"}, ("train", "--grid", "g.toml", "-o", "runs"), "not-utf8"
    ),
    refused("train-output-is-a-file", {**files(), "runs": b"mine\n"}, train(), "not-a-folder", "runs"),
    refused(
        "train-output-nowhere",
        files(),
        ("train", "--inputs", "x.npz", "--labels", "l.csv", "-o", "no/runs"),
        "no-such-folder",
        "no",
    ),
)

CASES = (*INPUTS, *LABELS, *SPLITS, *GRIDS)
