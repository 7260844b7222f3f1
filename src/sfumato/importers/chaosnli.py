"""ChaosNLI: 100 votes on each of 4,645 pairs of sentences (Nie, Zhou and Bansal 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import FIX, bad_field, id_text
from sfumato.importers.importer import ImportResult, find_file
from sfumato.tables.counts import Counts
from sfumato.tables.errors import SfumatoError, raise_together, show
from sfumato.tables.files.json import JsonContent, read_json
from sfumato.tables.soft_labels import SoftLabels

KEYS = ("uid", "label_counter", "label_count", "example")
FILES = tuple(f"chaosNLI_{part}.jsonl{end}" for part in ("snli", "mnli_m", "alphanli") for end in ("", ".gz"))
ENTAILMENT = {"e": "entailment", "n": "neutral", "c": "contradiction"}
"""The classes of SNLI and MNLI by their letters, in the order of `label_count`."""
HYPOTHESES = {"1": "hypothesis 1", "2": "hypothesis 2"}


@dataclass(frozen=True)
class ChaosNliImporter:
    """The votes per class in `label_count` as Counts; `old_label` is the original label. The five votes in
    `old_labels` are not added to the 100. The items were chosen for low agreement: they are no random sample.
    """

    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "chaosnli"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if not preview.all_have(*KEYS):
            return None
        return Evidence("each line has uid, label_counter, label_count and example")

    def read(self, source: str | Path) -> ImportResult:
        content = read_json(find_file(source, FILES))
        records = content.records()
        pairs = isinstance(records[0].get("example"), dict) and "obs1" in records[0]["example"]
        letters = HYPOTHESES if pairs else ENTAILMENT
        names = tuple(letters.values())
        faults: list[SfumatoError] = []
        for number, record in enumerate(records):
            if (fault := _fault(content, number, record, letters)) is not None:
                faults.append(fault)
        raise_together(faults)
        items = [id_text(record["uid"], "an item id", content.where(number)) for number, record in enumerate(records)]
        votes = np.array([record["label_count"] for record in records], np.int64)
        table = Counts.from_numpy(items, votes, names, place=lambda row, column: content.where(row, column or ""))
        known = {item: str(each.get("old_label")) for item, each in zip(items, records, strict=True)}
        known = {item: letters[label] for item, label in known.items() if label in letters}
        original = SoftLabels.one_hot(list(known), list(known.values()), names) if known else None
        notes = (
            f"{len(table):,} items, {int(votes.sum()):,} votes, classes {', '.join(names)}, in the order of the file",
            "items were chosen for low agreement of their first labels: they are no random sample",
            "not read: label_dist and entropy (they follow from the counts), old_labels (five earlier votes)",
        )
        return ImportResult(table, notes, original)


def _fault(content: JsonContent, number: int, record: dict[str, Any], letters: dict[str, str]) -> SfumatoError | None:
    """The fault of a record whose votes are not one whole number per class, or contradict each other."""
    counts, counter = record.get("label_count"), record.get("label_counter")
    where = content.where(number)
    if not isinstance(counts, list) or len(counts) != len(letters) or not all(type(n) is int for n in counts):
        return bad_field(show(counts), f"label_count with {len(letters)} numbers of votes", where)
    if isinstance(counter, dict) and [counter.get(letter, 0) for letter in letters] != counts:
        found = f"label_count {counts} with label_counter {show(counter)}"
        return bad_field(found, "the same votes in both", where, f"{FIX}; the order is {', '.join(letters)}")
    return None
