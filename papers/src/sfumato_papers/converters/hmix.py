"""H-Mix: three studies of mixed pictures, their people numbered throughout, and the authors' summaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sfumato.importers.importer import CIFAR_10
from sfumato_papers.converters.released_files import numbered, read_document, read_table, write_document, write_table

STUDIES = ("infer_mixing_factor", "construct_midpoint", "select_shuffled_midpoint")
DOCUMENTS = ("processed_hmix_inferences.json", "hmix_individ_soft_labels.json")
PAIR = ("annotator", "task", "label1", "index1", "label2", "index2")
NUMBERS = {name.title(): number for number, name in enumerate(CIFAR_10)}


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    inferred, constructed, selected = (read_table(files[f"hmix_{study}.csv"]) for study in STUDIES)
    people = numbered(row["subject"] for row in [*inferred, *constructed, *selected])
    write_table(
        folder / "infer_mixing_factor.csv.gz",
        (*PAIR, "true_mixing", "response_mixing_pct_raw", "confidence_pct", "rt_ms", "trial_index"),
        [(*_pair(row, people), *_inferred(row), row["rt"], row["trial_index"]) for row in inferred],
    )
    write_table(
        folder / "construct_midpoint.csv.gz",
        (*PAIR, "start_value", "final_value", "rt_ms"),
        [(*_pair(row, people), row["start_value"], row["final_value"], row["rt"]) for row in constructed],
    )
    write_table(
        folder / "select_shuffled_midpoint.csv.gz",
        (*PAIR, "selected_mixing", "rt_ms"),
        [(*_pair(row, people), _selected(row), row["rt"]) for row in selected],
    )
    for name in DOCUMENTS:
        write_document(folder / f"{name}.gz", read_document(files[name]))


def _pair(row: Mapping[str, str], people: Mapping[str, int]) -> tuple[object, ...]:
    """Who answered what about which two pictures: `Dog_2205_Frog_6908.png` is test picture 2205, a dog, with 6908."""
    first, index_1, second, index_2 = row["class_pair"].removesuffix(".png").split("_")
    return people[row["subject"]], row["task"], NUMBERS[first], index_1, NUMBERS[second], index_2


def _inferred(row: Mapping[str, str]) -> tuple[object, ...]:
    given = json.loads(row["responses"])
    return row["mixtureCoeff"], given["mixingcoeff"], given["confidence"]


def _selected(row: Mapping[str, str]) -> str:
    chosen: str = json.loads(row["response"])["select"]
    return chosen.removeprefix("select")
