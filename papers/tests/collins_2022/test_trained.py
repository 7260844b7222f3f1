"""Trainings, end to end, on a cut of the data."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sfumato.training.networks import Small
from sfumato_papers.collins_2022 import protocol
from sfumato_papers.collins_2022.protocol import BLOCKS, METRICS, better, figures
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData

KEPT = ("hard", "10h m=1", "10s")


def test_from_pictures_to_figures(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(protocol.SEEDS, Scale.SMALL, 2)
    monkeypatch.setitem(protocol.EPOCHS, Scale.SMALL, 2)
    monkeypatch.setattr(protocol, "NAMED", {"small": Small(width=4)})
    monkeypatch.setitem(protocol.N_OTHERS, Scale.SMALL, 50)
    monkeypatch.setitem(protocol.N_TESTED, Scale.SMALL, 200)
    every = protocol.targets
    monkeypatch.setattr(protocol, "targets", lambda *given: {name: every(*given)[name] for name in KEPT})
    rerun = Rerun(PublishedData(published), Scale.SMALL, tmp_path, processes=1)
    found = figures(rerun)
    assert set(found) == {(name, block, metric) for name in KEPT for block in BLOCKS for metric in METRICS}
    for (name, block, metric), values in found.items():
        assert sorted(values) == [0, 1]
        assert all(math.isfinite(value) and value > 0 for value in values.values()), (name, block, metric)
    for name in KEPT:
        for seed in (0, 1):
            assert found[name, "10H", "FGSM Loss"][seed] > found[name, "10H", "CE"][seed]
    assert [each.row for each in better(found, "softer", "10s", "hard")] == ["10H: softer", "10S: softer"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("run.json")}
    assert len(before) == 3 * len(KEPT) * 2
    again = Rerun(PublishedData(published), Scale.SMALL, tmp_path, processes=1)
    assert figures(again) == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("run.json")} == before
