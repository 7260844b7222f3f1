"""`sfumato plan replay` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sfumato import Beliefs, SoftLabels
from sfumato.cli import plan_replay
from sfumato.planning.answer_value import INDICES
from sfumato.tables.errors import SfumatoError

CLASSES = ("cat", "dog", "owl")


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(12, rng.dirichlet(np.full(3, 0.3), 40))
    SoftLabels.from_numpy([f"i{i}" for i in range(40)], counts / 12, CLASSES, 12).write("labels.parquet")
    item = np.repeat(np.arange(40), 6)
    Beliefs.from_numpy(item, np.tile(np.arange(6), 40), rng.integers(0, 3, 240), CLASSES).write("beliefs.parquet")


def run(*arguments: object) -> str:
    done = CliRunner().invoke(plan_replay.command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 100
    return done.output


def refused(*arguments: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(plan_replay.command, list(map(str, arguments)), catch_exceptions=False)
    return caught.value


def test_a_replay_of_every_policy() -> None:
    names = [member.name for member in INDICES]
    shown = run(
        "--answers", "labels.parquet", "--policies", ",".join(names), "--splits", 2, "--lead", 3, "--budget", 3,
        "-o", "replay.csv",
    )  # fmt: skip
    assert "replay.csv: Replay of 6 policies on 40 items, 2 splits" in shown
    assert "answers per item that match uniform, add-constant, at 3 (" in shown
    assert "most frequent label only, stopping at a lead of 3" in shown
    table = pl.read_csv("replay.csv")
    assert table["policy"].unique(maintain_order=True).to_list() == names
    assert table.columns[:6] == ["policy", "estimator", "answers_per_item", "log_loss", "low", "high"]
    of_uniform = table.filter((pl.col("policy") == "uniform") & (pl.col("estimator") == "bayes"))
    assert of_uniform["answers_per_item"].to_list() == [1, 2, 3]
    assert (table["low"] <= table["log_loss"]).all()
    assert f"{of_uniform['log_loss'][-1]:.4f}" in shown


def test_the_same_seed_gives_the_same_table() -> None:
    for name in ("one.csv", "two.csv"):
        run(
            "--answers", "beliefs.parquet", "--policies", "kl", "--budget", 2, "--splits", 1, "--keep-order", "-o", name
        )
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert Path("one.csv").read_text().count("uniform") == 4


def test_a_policy_that_wants_no_more_says_so() -> None:
    shown = run("--answers", "labels.parquet", "--policies", "lead", "--lead", 2, "--splits", 1, "-o", "replay.parquet")
    assert "lead stopped after " in shown
    assert "uniform wanted" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--policies", "entorpy"), "unknown-policy", "did you mean 'entropy'"),
        (("--budget", 7), "budget-too-large", "at most 6"),
        (("--budget", 0), "bad-setting", "budget"),
        (("--splits", 0), "bad-setting", "splits"),
        (("--policies", "lead", "--lead", 0), "bad-setting", "lead"),
        (("--seed", -1), "bad-setting", "seed"),
    ],
)
def test_replays_that_cannot_be(arguments: tuple[object, ...], code: str, says: str) -> None:
    error = refused("--answers", "labels.parquet", *arguments, "-o", "none.csv")
    assert error.code == code
    assert says in str(error)
    assert not Path("none.csv").exists()


def test_answers_that_cannot_be_replayed() -> None:
    Path("empty.csv").write_text("item,annotator,p:cat,p:dog\n")
    assert refused("--answers", "empty.csv", "-o", "none.csv").code == "no-rows"
    Path("one.csv").write_text("item,annotator,p:cat\ni,a,1\ni,b,1\n")
    assert refused("--answers", "one.csv", "-o", "none.csv").code == "bad-classes"
    assert refused("--answers", "labels.parquet", "-o", "labels.parquet").code == "bad-setting"
    Path("topics.csv").write_text('item,annotator,kind,payload\ni,a,plausible/1,"{""cat"": ""yes""}"\n')
    assert refused("--answers", "topics.csv", "-o", "none.csv").code == "wrong-kind"
