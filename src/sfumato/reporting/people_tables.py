"""The tables about people in the files of a report, sorted by what they hold; and score tables that are out of date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.evaluation.run_predictions import PREDICTIONS
from sfumato.importers.crowd import KNOWN_NAMES, CrowdImporter
from sfumato.importers.label_file import read_labels, recognized
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.columns import WIDE_PREFIX
from sfumato.tables.counts import COUNT_PREFIX, Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels

PEOPLE = ("annotations", "beliefs", "counts", "votes", "labels")
"""The inputs that are tables about people."""
READERS: dict[str, Callable[[Path], Annotations | Beliefs | Counts | SoftLabels]] = {
    "annotations": Annotations.read,
    "beliefs": Beliefs.read,
    "votes": Beliefs.read,
    "counts": Counts.read,
    "labels": read_labels,
}
HOLDS = {Annotations: "annotations", Beliefs: "beliefs", Counts: "counts", SoftLabels: "labels"}


@dataclass(frozen=True, eq=False)
class PeopleTables:
    """The tables of a report about people. `places` are the files of all inputs under the name of what they hold, which
    may differ from the name of the file; `notes` say so."""

    annotations: Annotations | None
    beliefs: Beliefs | None
    counts: Counts | None
    labels: Mapping[str, SoftLabels]
    places: Mapping[str, Path]
    notes: tuple[str, ...]

    @property
    def has_people(self) -> bool:
        """Whether there is anything of people that models can be scored against."""
        return bool(self.labels) or any(each is not None for each in (self.annotations, self.beliefs, self.counts))

    @classmethod
    def read(cls, places: Mapping[str, Path]) -> PeopleTables:
        """Read the tables about people in `places`.

        A table of counts called `labels.csv` is counts. Predictions are not labels of people and are left out.
        """
        own_parts = {part: part.partition("/")[0] for part in places}
        read = {part: people_table(places[part], own) for part, own in own_parts.items() if own in PEOPLE}
        # Files whose names say what they hold come first.
        order = sorted(read, key=lambda part: HOLDS[type(read[part])] != part.partition("/")[0])
        found: dict[str, Annotations | Beliefs | Counts | SoftLabels] = {}
        sorted_places = {part: path for part, path in places.items() if part not in read}
        notes = []
        for part in order:
            table, path = read[part], places[part]
            holds = HOLDS[type(table)]
            own = part if part.partition("/")[0] == holds else holds
            if isinstance(table, SoftLabels) and table.estimand is Estimand.PREDICTION:
                notes.append(f"{path.name} holds predictions, not labels of people: it is left out")
            elif own in found:
                notes.append(f"{path.name} holds {holds}, and there are others already: it is left out")
            else:
                found[own], sorted_places[own] = table, path
                notes += [] if own == part or part == "votes" else [f"{path.name} holds {holds}, and is used as such"]
        labels = {key.rpartition("/")[2]: table for key, table in found.items() if isinstance(table, SoftLabels)}
        annotations, beliefs, counts = (found.get(name) for name in ("annotations", "beliefs", "counts"))
        assert isinstance(annotations, Annotations | None)
        assert isinstance(beliefs, Beliefs | None)
        assert isinstance(counts, Counts | None)
        return cls(annotations, beliefs, counts, labels, sorted_places, tuple(notes))


def people_table(path: Path, part: str) -> Annotations | Beliefs | Counts | SoftLabels:
    """The table in a file of answers, beliefs, votes, counts or labels, by its columns; if they do not tell, `part`."""
    if (importer := recognized(path)) is not None:
        found = importer.read(path).table
        assert isinstance(found, (Annotations, Beliefs, Counts, SoftLabels))
        return found
    if ".json" in path.name.lower():
        return read_labels(path)
    names = set(read_rows(path, guarded=False).schema.names)
    if {"kind", "payload"} <= names:
        return Annotations.read(path)
    if "probs" in names or any(name.startswith(WIDE_PREFIX) for name in names):
        return Beliefs.read(path) if "annotator" in names else SoftLabels.read(path)
    if all(names & set(known) for known in KNOWN_NAMES.values()):
        table = CrowdImporter().read(path).table
        assert isinstance(table, Annotations)
        return table
    if "counts" in names or any(name.startswith(COUNT_PREFIX) for name in names):
        return Counts.read(path)
    return READERS[part](path)


def kind_of(place: str | Path) -> str:
    """What a file about people holds: `annotations`, `beliefs`, `counts` or `labels`."""
    return HOLDS[type(people_table(Path(place), "labels"))]


OUT_OF_DATE = {
    True: "it is not used, and the runs are scored again",
    False: "its numbers may be of other runs or labels",
}
"""What happens to scores that are out of date: whether they are computed again."""


def out_of_date(places: Mapping[str, Path], runs: Path | None) -> list[str]:
    """The score tables in `places` that are older than the predictions of `runs` or than the labels."""
    newest = [path for key, path in places.items() if key.partition("/")[0] in PEOPLE]
    newest += runs.rglob(PREDICTIONS) if runs is not None else ()
    changed = max((path.stat().st_mtime_ns for path in newest), default=0)
    tables = [key for key in places if key.partition("/")[0] in ("scores", "comparison")]
    return [key for key in tables if places[key].stat().st_mtime_ns < changed]
