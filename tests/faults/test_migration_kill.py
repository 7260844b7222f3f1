"""Kill -9 while a store is brought up to date: it is of the old version or of the new, and every answer is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from migration_kill_trial import migration_kill_trial


def test_a_killed_migration_leaves_the_old_store_or_the_new(tmp_path: Path) -> None:
    report = migration_kill_trial(tmp_path, 1_000, 6, seed=1)
    print(report)
    assert report.clean, report


def test_a_migration_in_parts_is_found_out(tmp_path: Path) -> None:
    for seed in range(2, 42):
        folder = tmp_path / str(seed)
        folder.mkdir()
        # On a busy machine few kills fall between two parts, so it is killed until one does.
        if migration_kill_trial(folder, 1_000, 6, seed=seed, in_parts=True).broken:
            return
    pytest.fail("a migration in parts left no broken store")
