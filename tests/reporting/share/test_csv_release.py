"""The CSV folder, read back by our own reader and by Python's csv module."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from sfumato.reporting.share import WideCsv
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_our_reader_finds_the_same_labels(grey, tmp_path):
    WideCsv().write(grey, tmp_path / "out")
    read = SoftLabels.read(tmp_path / "out" / "labels.csv")
    assert read.items.to_pylist() == grey.labels.items.to_pylist()
    assert read.classes == grey.labels.classes
    assert np.array_equal(read.probs, grey.labels.probs)
    assert np.array_equal(read.n_annotators, grey.labels.n_annotators)


def test_python_reads_the_same_cells(grey, tmp_path):
    WideCsv().write(grey, tmp_path / "out")
    rows = rows_in(tmp_path / "out" / "labels.csv")
    assert list(rows[0]) == [
        "item", "image", "split", "label", "p:cat, black", 'p:say "dog"', "p:=ship", "p:never",
        "n_annotators", "entropy", "estimand",
    ]  # fmt: skip
    assert [float(row['p:say "dog"']) for row in rows] == grey.labels.probs[:, 1].tolist()
    assert [float(row["entropy"]) for row in rows] == entropy(grey.labels.probs).tolist()
    assert [row["split"] for row in rows] == [("train", "test", "held_out")[i % 3] for i in range(16)]
    classes = [name.replace("=ship", "'=ship") for name in grey.labels.classes]
    assert [row["label"] for row in rows] == [classes[k] for k in grey.labels.probs.argmax(axis=1)]
    for i, row in enumerate(rows):
        with Image.open(tmp_path / "out" / row["image"]) as image:
            assert np.array_equal(np.asarray(image), grey.inputs.images[i])


def test_no_cell_is_a_formula(written_texts, tmp_path):
    WideCsv().write(written_texts, tmp_path / "out")
    rows = rows_in(tmp_path / "out" / "labels.csv")
    texts = [row[name] for row in rows for name in ("item", "text", "label")]
    assert sum(text.startswith("'=") for text in texts) > 16
    assert not [text for text in texts if text[:1] in tuple("=+-@\t\r")]
    assert tuple(row["text"].removeprefix("'") for row in rows) == written_texts.inputs.texts


def test_what_stands_beside_comes_back(written_texts, tmp_path):
    shared = WideCsv().write(written_texts, tmp_path / "out")
    beliefs = Beliefs.read(tmp_path / "out" / "beliefs.csv")
    assert np.array_equal(beliefs.probs, written_texts.beliefs.probs)
    assert beliefs.item.text().to_pylist() == written_texts.beliefs.item.text().to_pylist()
    answers = Annotations.read(tmp_path / "out" / "annotations.csv")
    assert answers.to_arrow().column("payload").to_pylist() == ['{"class": "=ship"}'] * 16
    assert set(shared.files) == {
        "README.md", "annotations.csv", "beliefs.csv", "codebook.md", "labels.csv", "sfumato.json"
    }  # fmt: skip


def test_the_codebook_names_every_column(grey, tmp_path):
    WideCsv().write(grey, tmp_path / "out")
    book = (tmp_path / "out" / "codebook.md").read_text()
    for name in ("item", "image", "split", "label", "p:CLASS", "n_annotators", "entropy", 'p:say "dog"', "p:never"):
        assert f"| `{name}` |" in book
    assert "| `p:never` | 0 | 0.0000 |" in book
    assert "text" not in [line.split("`")[1] for line in book.splitlines() if line.startswith("| `")]
