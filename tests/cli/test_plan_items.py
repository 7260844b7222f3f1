"""`sfumato plan items` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato import Annotations, Beliefs, Plan, SoftLabels
from sfumato.cli.plan import command
from sfumato.tables.errors import SfumatoError, SfumatoWarning

CLASSES = ["cat", "dog", "emu"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labels of 60 items by eight people each, and how two networks learned the items."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(8, p) for p in rng.dirichlet([3, 0.5, 0.2], 60)])
    items = [str(i) for i in range(60)]
    SoftLabels.from_numpy(items, counts / 8, CLASSES, 8).write(tmp_path / "labels.parquet")
    for seed in range(2):
        rows = [
            (str(i), epoch, gold, gold > 0.5)
            for i in range(60)
            for epoch in range(4)
            for gold in [float(np.clip(0.95 if i >= 20 else rng.random(), 0, 1))]
        ]
        pl.DataFrame(rows, schema=["item", "epoch", "gold", "correct"], orient="row").write_csv(
            tmp_path / f"run{seed}.csv"
        )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["items", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 120
    return done.output


def test_by_answers() -> None:
    shown = run("--answers", "labels.parquet", "-o", "items.csv")
    assert "60 items, 0 of them for top_two" in shown
    assert "no item for top_two" in shown
    table = pl.read_csv("items.csv", schema_overrides={"item": pl.String}).sort("rank")
    assert table.columns == ["item", "risk", "worth_a_second:choice", "worth_a_second:top_two", "form", "rank"]
    assert table["worth_a_second:choice"].is_sorted(descending=True)
    # The same votes one by one, in any order, give every item the same.
    labels = SoftLabels.read("labels.parquet")
    votes = [
        (item, f"a{a}", CLASSES[k])
        for item, p in zip(labels.items.to_pylist(), labels.probs, strict=True)
        for a, k in enumerate(np.repeat(range(3), np.round(8 * p).astype(int)))
    ]
    shuffled = [votes[i] for i in np.random.default_rng(1).permutation(len(votes))]
    item, annotator, label = (list(column) for column in zip(*shuffled, strict=True))
    Beliefs.from_votes(item=item, annotator=annotator, label=label, classes=CLASSES).write("beliefs.parquet")
    run("--answers", "beliefs.parquet", "-o", "again.csv")
    again = pl.read_csv("again.csv", schema_overrides={"item": pl.String})
    both = table.join(again, on="item", suffix=":again")
    assert len(both) == 60
    assert both["risk"].to_list() == pytest.approx(both["risk:again"].to_list(), rel=0.05)


def test_a_price_at_which_the_richer_form_wins() -> None:
    shown = run("--answers", "labels.parquet", "-o", "items.csv", "--seconds", "top_two=3", "--votes", "top_two=3")
    assert "60 of 60 items for top_two" in shown


def test_the_number_of_items_is_in_the_plan() -> None:
    run("--answers", "labels.parquet", "--deeper", 7, "-o", "items.csv")
    done = CliRunner().invoke(
        command,
        ["--pilot", "labels.parquet", "--goal", "geometry", "--kinds", "choice", "--budget", "20", "--items-file",
         "items.csv", "-o", "plan.json"],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0
    deeper = set(pl.read_csv("items.csv", schema_overrides={"item": pl.String}).filter(form="top_two")["item"])
    assert len(deeper) == 7
    assert set(Plan.read("plan.json").deeper_items) == deeper


def test_by_how_models_learnt_them() -> None:
    given = ("--runs", "run0.csv", "--runs", "run1.csv", "--labels", "labels.parquet")
    with pytest.warns(SfumatoWarning, match="used all available items"):
        shown = run(*given, "--quota", "ambiguous=all,hard=all,easy=2", "--fill", "-o", "items.csv")
    table = pl.read_csv("items.csv", schema_overrides={"item": pl.String})
    doubtful = table.filter(pl.col("region").is_in(["ambiguous", "hard"]))
    assert set(doubtful["form"]) == {"top_two"}
    assert all(int(item) < 20 for item in doubtful["item"])
    assert set(table.filter(region="easy")["form"]) == {"choice"}
    assert max(table.filter(region="easy")["label"].value_counts()["count"]) <= 2
    assert "ambiguous" in shown


def test_labels_may_be_a_table_of_item_and_label() -> None:
    people = SoftLabels.read("labels.parquet")
    chosen = [CLASSES[k] for k in people.probs.argmax(axis=1)]
    pl.DataFrame({"item": people.items.to_pylist(), "label": chosen}).write_csv("hard.csv")
    for labels in ("labels.parquet", "hard.csv"):
        run("--runs", "run0.csv", "--labels", labels, "-o", f"{labels}.csv")
    assert Path("hard.csv.csv").read_text() == Path("labels.parquet.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("", "bad-setting"),
        ("--answers labels.parquet --runs run0.csv", "bad-setting"),
        ("--runs run0.csv", "bad-setting"),
        ("--runs run0.csv --labels labels.parquet --quota sure=3", "unknown-region"),
        ("--runs run0.csv --labels labels.parquet --quota easy=some", "bad-setting"),
        ("--runs run0.csv --labels labels.parquet --quota easy=1000", "quota"),
        ("--answers labels.parquet --forms choice", "bad-setting"),
        ("--answers labels.parquet --forms choice,top_too", "unknown-kind"),
        ("--answers labels.parquet --forms choice,triplet", "no-rate"),
        ("--answers labels.parquet --index entropy", "no-risk"),
        ("--answers labels.parquet --index k1", "unknown-policy"),
        ("--answers labels.parquet --goal beauty", "unknown-goal"),
        ("--answers labels.parquet --deeper 61", "bad-setting"),
        ("--answers labels.parquet --seconds choice=0", "bad-setting"),
        ("--answers nowhere.parquet", "no-such-file"),
    ],
)
def test_bad_input(arguments: str, code: str) -> None:
    done = CliRunner().invoke(command, ["items", *arguments.split(), "-o", "items.csv"])
    assert isinstance(done.exception, SfumatoError), done.output
    assert done.exception.code == code, done.exception
    assert not Path("items.csv").exists()


def test_top_up_after_screening() -> None:
    rows = {"item": list("aabb"), "annotator": list("xyxy"), "kind": ["choice/1"] * 4}
    answers = pa.table(rows | {"payload": ['{"class": "cat"}'] * 4})
    Annotations.from_arrow(answers, CLASSES).write("answers.parquet")
    Path("screening.csv").write_text("annotator,set_aside\nx,true\ny,false\n")
    given = ("--answers", "answers.parquet", "--screening", "screening.csv", "-o", "top.csv")
    with pytest.raises(SfumatoError, match="without --answers-per-item"):
        run(*given)
    shown = " ".join(run(*given, "--answers-per-item", 2).split())
    assert "Without 1 excluded annotator, 2 of 2 items have fewer than 2 answers: ask for 2 answers again" in shown
    assert "from 1 new person" in shown
    assert pl.read_csv("top.csv")["missing"].to_list() == [1, 1]
    assert "nothing to top up" in run(*given, "--answers-per-item", 1)
    with pytest.raises(SfumatoError, match="--study without --screening"):
        run("--study", "study.toml", "-o", "top.csv")
