"""Kill -9 during a migration: the store has the old or the new version, and all answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from migration_kill_trial import migration_kill_trial


def test_a_killed_migration_leaves_the_old_or_the_new_version(tmp_path: Path) -> None:
    report = migration_kill_trial(tmp_path, 1_000, 6, seed=1)
    print(report)
    assert report.clean, report


def test_control_a_migration_with_several_commits_is_detected(tmp_path: Path) -> None:
    for seed in range(2, 42):
        folder = tmp_path / str(seed)
        folder.mkdir()
        # On a busy machine few kills fall between two commits, so it is repeated until one does.
        if migration_kill_trial(folder, 1_000, 6, seed=seed, in_parts=True).broken:
            return
    pytest.fail("a migration with several commits left no broken store")
