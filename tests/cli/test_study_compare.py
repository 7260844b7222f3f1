"""Forms compared and depth weighed from the command line, end to end: a study file, simulated people, the figures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sfumato_command import sfumato

from sfumato import SoftLabels

CLASSES = ("cat", "dog", "fox")
N_ITEMS = 24

STUDY = """
title = "Pets"
classes = ["cat", "dog", "fox"]
items = {{ csv = "items.csv" }}
[people]
answers_per_item = {answers}
batch_size = {size}
{more}
"""
ARMS = '[[arms]]\nkind = "choice"\n[[arms]]\nname = "ten tokens"\nkind = "tokens"\n[[arms]]\nkind = "plausible"\n'
DEEPER = '[question]\nkind = "choice"\n[deeper]\nkind = "tokens"\nshare = 0.2\n'


def write(folder: Path, more: str, *, answers: int) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(4)
    names = [f"i{n}" for n in range(N_ITEMS)]
    (folder / "items.csv").write_text("item,text\n" + "".join(f"{name},text {name}\n" for name in names))
    truth = rng.dirichlet((0.7, 0.7, 0.7), N_ITEMS)
    SoftLabels.from_numpy(names, truth, CLASSES).write(folder / "truth.parquet")
    (folder / "study.toml").write_text(STUDY.format(answers=answers, size=N_ITEMS, more=more))
    return folder


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("cli") / "arms", ARMS, answers=6)
    said = sfumato("simulate", folder, "--annotators", 18, "--truth", folder / "truth.parquet", "--seed", 3).stdout
    assert "18 finished" in said
    return folder


def test_the_forms_are_compared(arms: Path, tmp_path: Path) -> None:
    figures = tmp_path / "forms.csv"
    said = sfumato("study", "compare", arms, "-o", figures, "--chart", tmp_path / "forms.svg").stdout
    assert all(name in (tmp_path / "forms.svg").read_text() for name in ("choice", "ten tokens", "annotator-seconds"))
    assert "bad-setting" in sfumato("study", "compare", arms, "--chart", tmp_path / "forms.pdf", code=2).stderr
    assert f"total variation from the pooled label, {N_ITEMS} items" in said
    assert "KL divergence from the pooled label" in said
    table = pl.read_csv(figures)
    assert set(table["form"]) == {"choice", "ten tokens", "plausible"}
    assert set(table["n_annotators"]) == {6}
    assert set(table["n_answers"]) == {1, 2, 3, 4, 5}
    # Everybody believes as much whatever they are asked: a form that takes all of the belief must lie nearer than one
    # that takes the largest part of it.
    one = {row["form"]: row for row in table.filter(n_answers=1, measure="total variation").to_dicts()}
    assert one["ten tokens"]["high"] < one["choice"]["low"]
    assert one["ten tokens"]["divergence"] < one["plausible"]["divergence"] < one["choice"]["divergence"]
    assert one["choice"]["more"] == 0
    # Tokens take as much longer as they are known to take of people.
    assert 4 < one["ten tokens"]["seconds"] / one["choice"]["seconds"] < 12
    for row in table.to_dicts():
        assert row["low"] <= row["divergence"] <= row["high"]
        assert row["per_second_low"] <= row["per_second"] <= row["per_second_high"]
    sfumato("study", "compare", arms, "-o", tmp_path / "again.csv")
    assert pl.read_csv(tmp_path / "again.csv").equals(table)


def test_a_study_without_arms_has_nothing_to_compare(tmp_path: Path) -> None:
    folder = write(tmp_path / "deeper", DEEPER, answers=4)
    error = sfumato("study", "compare", folder, code=2).stderr
    assert error.startswith("error[no-arms] ")


def test_before_anybody_came_it_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path / "arms", ARMS, answers=4)
    assert sfumato("study", "compare", folder, code=2).stderr.startswith("error[no-store] ")


@pytest.mark.slow
def test_depth_is_weighed(tmp_path: Path) -> None:
    folder = write(tmp_path / "deeper", DEEPER, answers=12)
    sfumato("simulate", folder, "--annotators", 12, "--truth", folder / "truth.parquet", "--seed", 3)
    labels, figures = tmp_path / "labels.parquet", tmp_path / "figures.csv"
    said = sfumato("study", "depth", folder, "-o", labels, "--estimates", figures).stdout
    found = re.search(r"([\d,]+) answers; the deeper form opened ([\d,]+) times: (.*)", said)
    assert found is not None
    assert int(found[1]) == N_ITEMS * 12
    assert {word.split()[0] for word in found[3].split(", ")} == {"unsure", "random"}
    doubt = pl.read_csv(figures).filter(quantity="own doubt").to_dicts()[0]
    # It opens for who is not sure: the plain mean of what it says has more doubt than people have.
    assert doubt["naive"] > doubt["high"]
    assert len(SoftLabels.read(labels)) == N_ITEMS
    # The study is exported as any other: one answer a person and item, in the form that was answered last.
    export = tmp_path / "answers.parquet"
    assert f"{N_ITEMS * 12} answers" in sfumato("export", folder, "-o", export).stdout
    assert set(pl.read_parquet(export)["kind"]) == {"choice/1", "tokens/1"}
