"""What is shared cannot be linked by times to a platform's own record of who took part when.

The platform knows when each person started and ended, and how long that took; its clock is a few seconds off. Before a
person's first answer and after the last one there is an unknown time: instructions, and the way back.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sfumato.cli.share import command
from sfumato.tables.annotations import Annotations
from sfumato.tables.shifted_times import START_MS, are_shifted, shift_times
from sfumato.tables.soft_labels import SoftLabels

N_PEOPLE, N_ANSWERS = 60, 20
DAY = 86_400_000
BEGIN = 1_790_000_000_123
"""Milliseconds since 1970: when the study was published on the platform."""


@dataclass(frozen=True)
class Visit:
    """A row of the platform's own record."""

    person: str
    started_ms: float
    ended_ms: float


@dataclass(frozen=True)
class Collected:
    answers: Annotations
    platform: list[Visit]
    truth: dict[str, str]
    """Who is behind each pseudonym."""


def collected(seed: int = 0) -> Collected:
    """A study of one afternoon, and the platform's record of it."""
    rng = np.random.default_rng(seed)
    names = [f"A{rng.integers(36**8):010x}" for _ in range(N_PEOPLE)]
    columns: dict[str, list[object]] = {
        name: [] for name in ("item", "annotator", "trial", "started_at", "submitted_at", "seconds")
    }
    platform, truth = [], {}
    for k, name in enumerate(names):
        arrived = BEGIN + float(rng.uniform(0, 4 * 3_600_000))
        at = arrived + 1000 * float(rng.lognormal(math.log(90), 0.5))
        pace = float(rng.lognormal(math.log(6), 0.4))
        for trial, item in enumerate(rng.permutation(N_ANSWERS)):
            seconds = pace * float(rng.lognormal(0, 0.4))
            row = (f"i{item:02d}", name, trial + 1, round(at), round(at + 1000 * seconds), seconds)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
            at += 1000 * (seconds + 1)
        ended = at + 1000 * float(rng.uniform(2, 20))
        off = float(rng.uniform(-2000, 2000))
        platform.append(Visit(f"person{k}", arrived + off, ended + off))
        truth[name] = f"person{k}"
    stamp = pa.timestamp("ms", "UTC")
    table = {
        **columns,
        "started_at": pa.array(columns["started_at"], pa.int64()).cast(stamp),
        "submitted_at": pa.array(columns["submitted_at"], pa.int64()).cast(stamp),
        "kind": ["choice/1"] * len(columns["item"]),
        "payload": ['{"class":"cat"}'] * len(columns["item"]),
    }
    in_order = pa.table(table).sort_by("submitted_at")
    return Collected(Annotations.from_arrow(in_order, ["cat", "dog"]), platform, truth)


def share(of: Collected, folder: Path, form: str, *options: str) -> list[dict[str, object]]:
    """The rows of the answers that `sfumato share` writes, in their order, with times in milliseconds."""
    folder.mkdir()
    of.answers.write(folder / "answers.parquet")
    items = sorted(set(of.answers.item.names.to_pylist()))
    labels = SoftLabels.from_numpy(items, [[1.0, 0.0]] * len(items), ["cat", "dog"], N_PEOPLE)
    labels.write(folder / "labels.parquet")
    given = ["labels.parquet", "--as", form, "-o", "out", "--annotations", "answers.parquet", *options]
    runner = CliRunner()
    paths = [str(folder / each) if each in ("labels.parquet", "out", "answers.parquet") else each for each in given]
    done = runner.invoke(command, paths, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    if form == "csv":
        with (folder / "out/annotations.csv").open(encoding="utf-8") as file:
            rows = [dict(row) for row in csv.DictReader(file)]
        moments = {name: [row[name] for row in rows] for name in ("started_at", "submitted_at")}
    else:
        rows = pq.read_table(folder / "out/annotations").to_pylist()
        moments = {name: [str(row[name]) for row in rows] for name in ("started_at", "submitted_at")}
    for name, texts in moments.items():
        for row, text in zip(rows, texts, strict=True):
            row[name] = round(1000 * datetime.fromisoformat(text).timestamp())
    return rows


def spans(rows: Sequence[dict[str, object]]) -> dict[str, tuple[float, float]]:
    """The first start and the last end of each pseudonym."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows:
        name, start, end = str(row["annotator"]), float(row["started_at"]), float(row["submitted_at"])  # type: ignore[arg-type]
        low, high = found.get(name, (math.inf, -math.inf))
        found[name] = (min(low, start), max(high, end))
    return found


def linked_by_moment(rows: Sequence[dict[str, object]], platform: Sequence[Visit]) -> dict[str, str]:
    """Each pseudonym's person: the visit that ended soonest after the last answer."""
    guess = {}
    for name, (_, last) in spans(rows).items():
        after = [visit for visit in platform if visit.ended_ms >= last - 2000]
        guess[name] = min(after, key=lambda visit: visit.ended_ms, default=platform[0]).person
    return guess


def linked_by_order(rows: Sequence[dict[str, object]], platform: Sequence[Visit]) -> dict[str, str]:
    """The n-th pseudonym of the file is the n-th person who started."""
    names = list(dict.fromkeys(str(row["annotator"]) for row in rows))
    visits = sorted(platform, key=lambda visit: visit.started_ms)
    return {name: visit.person for name, visit in zip(names, visits, strict=True)}


def linked_by_duration(rows: Sequence[dict[str, object]], platform: Sequence[Visit]) -> dict[str, str]:
    """Each pseudonym's person: the visit whose duration is nearest, with the typical time before and after added."""
    own = {name: last - first for name, (first, last) in spans(rows).items()}
    lasted = {visit.person: visit.ended_ms - visit.started_ms for visit in platform}
    rest = float(np.median(list(lasted.values())) - np.median(list(own.values())))
    return {name: min(lasted, key=lambda each: abs(lasted[each] - ms - rest)) for name, ms in own.items()}


def share_right(guess: dict[str, str], truth: dict[str, str]) -> float:
    return sum(guess[name] == person for name, person in truth.items()) / len(truth)


@pytest.mark.parametrize("form", ["csv", "huggingface"])
def test_shared_answers_are_not_linked_by_moments_or_order(form: str, tmp_path: Path) -> None:
    of = collected()
    exact = share(of, tmp_path / "exact", form, "--exact-times")
    rows = share(of, tmp_path / "shared", form)
    # The attack works on exact times, so that it would notice a leak.
    assert share_right(linked_by_moment(exact, of.platform), of.truth) >= 0.8
    by_arrival = [{"annotator": name} for name in dict.fromkeys(of.answers.annotator.text().to_pylist())]
    assert share_right(linked_by_order(by_arrival, of.platform), of.truth) >= 0.3
    # One of 60 is right by chance; the seed is fixed. Durations remain, and tell a little more.
    for attack in (linked_by_moment, linked_by_order, linked_by_duration):
        assert share_right(attack(rows, of.platform), of.truth) <= 5 / N_PEOPLE, attack.__name__
    assert all(first == START_MS for first, _ in spans(rows).values())
    assert all(last < START_MS + DAY for _, last in spans(rows).values())


@pytest.mark.parametrize("form", ["csv", "huggingface"])
def test_rows_are_sorted_by_item_and_pseudonym(form: str, tmp_path: Path) -> None:
    rows = share(collected(), tmp_path / "shared", form)
    assert len(rows) == N_PEOPLE * N_ANSWERS
    keys = [(row["item"], row["annotator"]) for row in rows]
    assert keys == sorted(keys)


def test_the_order_and_the_length_of_ones_answers_are_kept() -> None:
    of = collected(1)
    moved = shift_times(of.answers)
    assert (are_shifted(moved), are_shifted(of.answers)) == (True, False)
    before, after = of.answers.to_arrow().to_pylist(), moved.to_arrow().to_pylist()
    first: dict[str, datetime] = {}
    for row in before:
        first[row["annotator"]] = min(first.get(row["annotator"], row["started_at"]), row["started_at"])
    for old, new in zip(before, after, strict=True):
        for name in ("started_at", "submitted_at"):
            seconds = (old[name] - first[old["annotator"]]).total_seconds()
            assert new[name].timestamp() == START_MS / 1000 + math.floor(seconds)
        assert new["seconds"] == round(old["seconds"], 1)
    same = ("item", "annotator", "kind", "payload", "trial", "purpose")
    assert [[row[name] for name in same] for row in after] == [[row[name] for name in same] for row in before]
    assert shift_times(moved).to_arrow().equals(moved.to_arrow())


def test_missing_times_stay_missing() -> None:
    stamp = pa.timestamp("ms", "UTC")
    table = {
        "item": ["a", "a", "b"],
        "annotator": ["x", "y", "y"],
        "kind": ["choice/1"] * 3,
        "payload": ['{"class":"cat"}'] * 3,
        "submitted_at": pa.array([None, BEGIN + 2500, BEGIN], stamp),
    }
    moved = shift_times(Annotations.from_arrow(pa.table(table), ["cat", "dog"]))
    assert moved.started_at.null_count == 3
    assert moved.submitted_at.cast(pa.int64()).to_pylist() == [None, START_MS + 2000, START_MS]
    assert np.isnan(moved.seconds).all()
