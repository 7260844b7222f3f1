"""The guide's pilot from an empty folder to a labeled table: its own commands, its own study, people in a browser."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
from accessibility_checks import views
from click.testing import CliRunner
from pilot import DOG_TOKENS, GUIDE, N_CAREFUL, Pilot, typed_in
from playwright.sync_api import Browser, Page

from sfumato import Beliefs
from sfumato.cli import group

PHOTOS = sorted(name for name in DOG_TOKENS if name.startswith("photo"))
BOTH_SCHEMES = (("desk", "light"), ("desk", "dark"))


def test_the_guide_leads_to_a_labelled_table(
    tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pilot = Pilot(tmp_path, chromium, run_here, look)
    pilot.run_guide()
    for what, seconds in pilot.seconds.items():
        print(f"{seconds:6.1f} s  {what}")
    everybody_answered_about_everything(tmp_path / "pets")
    the_careless_person_is_excluded_with_reasons(tmp_path / "pets")
    the_table_is_what_the_careful_people_said(tmp_path / "pets")
    shared_uncertainty_differs_from_disagreement(tmp_path / "pets")
    for typed in typed_in(GUIDE.read_text(encoding="utf-8")):
        printed = pilot.outputs[typed.command]
        assert without_what_varies(typed.output) == without_what_varies(printed), f"{typed.command}\n{printed}"


def run_here(words: list[str]) -> str:
    """A command of ours in this process, which has everything loaded, and any other in its own."""
    if words[0] != "sfumato":
        env = os.environ | {"LC_ALL": "C"}
        return subprocess.run(words, env=env, check=True, capture_output=True, text=True).stdout
    done = CliRunner().invoke(group, words[1:])
    assert done.exit_code == 0, done.output
    return done.stdout


def look(page: Page, name: str) -> None:
    """Save a picture of the page in light and dark, where pictures are asked for."""
    size = page.viewport_size
    if size is not None and "SFUMATO_SCREENSHOTS" in os.environ:
        list(views(page, f"pilot-{name}", BOTH_SCHEMES))
        page.set_viewport_size(size)


def without_what_varies(said: str) -> list[str]:
    """The printed lines of a command, in any order, without pseudonyms, addresses and numbers.

    Which pictures were asked about again is drawn by chance, so of test-retest only the name is left.
    """
    said = re.sub(r"sfumato study login \S+( --address \S+)?( --store \S+)?", "sfumato study login pets", said)
    said = re.sub(r"http://\S+|\bA[a-z0-9]{10}\b", "X", said)
    said = re.sub(r"(?m)^(retest-\S+|interval).*$", r"\1", said)
    lines = re.sub(r"\d[\d.,]*", "#", said).split("\n")
    return sorted({" ".join(line.split()) for line in lines})


def everybody_answered_about_everything(pets: Path) -> None:
    table = pl.read_parquet(pets / "annotations.parquet")
    counted = table.group_by("annotator", "purpose").len().group_by("purpose", "len").len("people").sort("purpose")
    assert counted.rows() == [("check", 2, 5), ("label", len(PHOTOS), 5), ("repeat", 2, 5)]


def the_careless_person_is_excluded_with_reasons(pets: Path) -> None:
    table = pl.read_csv(pets / "screening.csv")
    (aside,) = table.filter(pl.col("set_aside")).to_dicts()
    assert aside["reasons"] == "checks_passed; median_seconds; longest_run"
    assert (aside["checks_passed"], aside["longest_run"], aside["pay"]) == (0.5, 12, True)
    assert table.filter(~pl.col("set_aside"))["checks_passed"].to_list() == [1.0] * N_CAREFUL


def the_table_is_what_the_careful_people_said(pets: Path) -> None:
    labels = pl.read_csv(pets / "labels.csv").sort("item")
    assert labels["item"].to_list() == PHOTOS
    assert labels["n_annotators"].to_list() == [N_CAREFUL] * len(PHOTOS)
    assert labels["p:dog"].to_list() == pytest.approx([sum(DOG_TOKENS[name]) / 10 / N_CAREFUL for name in PHOTOS])
    assert (labels["p:cat"] + labels["p:dog"]).to_list() == pytest.approx([1.0] * len(PHOTOS))


def shared_uncertainty_differs_from_disagreement(pets: Path) -> None:
    doubt = Beliefs.read(pets / "beliefs.parquet").doubt()
    row = {name: i for i, name in enumerate(doubt.items.to_pylist())}
    shared, disputed = row["photo-4"], row["photo-5"]
    assert doubt.total[shared] == pytest.approx(doubt.total[disputed])
    assert doubt.within[shared] > 10 * doubt.between[shared]
    assert doubt.between[disputed] > doubt.within[disputed]
