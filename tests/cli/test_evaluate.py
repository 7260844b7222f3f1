"""`sfumato evaluate` as a user types it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import trained
from click.testing import CliRunner

import sfumato as sf
from sfumato import Beliefs, SoftLabels
from sfumato.cli import group
from sfumato.cli.evaluate import _strata, command
from sfumato.cli.evaluate_output import ShownInterval, show_uncertainty
from sfumato.evaluation import STRATA
from sfumato.evaluation.variance_components import VarianceComponents
from sfumato.tables.errors import SfumatoError, SfumatoWarning, warnings_off
from sfumato.tables.scores import Scores

SFUMATO = Path(sys.executable).parent / "sfumato"
ONE = ("--predicted", "p.parquet", "--people", "people.parquet")
RUNS = ("--runs", "runs", "--people", "people.parquet", "--metrics", "brier,cross_entropy")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    trained.people().write(folder / "people.parquet")
    trained.original().write(folder / "original.csv")
    trained.trained("soft", 0).predictions.write(folder / "p.parquet")
    for run in trained.grid(("hard", "majority", "soft")):
        trained.write_run(folder / "runs", run)
    return folder


@pytest.fixture(autouse=True)
def folder(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*arguments: object, output: str = "scores.csv") -> str:
    result = CliRunner().invoke(command, [*map(str, arguments), "-o", output], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 100
    return result.stdout


def refused(*arguments: object, output: str = "scores.csv") -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(command, [*map(str, arguments), "-o", output], catch_exceptions=False, standalone_mode=False)
    assert output != "scores.csv" or not Path("scores.csv").exists()
    return caught.value


def test_one_table(folder: Path) -> None:
    shown = evaluate(*ONE, "--metrics", "brier,cross-entropy", "--level", 0.9)
    lines = shown.splitlines()
    assert lines[0].split() == ["all", "items", "value", "90%", "interval", "floor", "items"]
    assert lines[1].split()[0] == "brier"
    assert lines[1].split()[-1] == "40"
    assert "90% bootstrap of t over items, 1,000 resamples" in shown
    scores = Scores.read("scores.csv")
    assert scores.metric == ("brier", "cross_entropy")
    by_hand = (trained.trained("soft", 0).predictions.probs - trained.people().probs) ** 2
    assert scores.value_of("brier") == pytest.approx(by_hand.sum(1).mean())
    assert pl.read_csv("scores.csv").columns[:6] == ["metric", "condition", "value", "low", "high", "n_items"]


def test_every_metric_there_is(folder: Path) -> None:
    evaluate(*ONE, "--original", "original.csv", "--resamples", 100, output="scores.parquet")
    assert {"brier", "accuracy_original", "ece"} <= set(Scores.read("scores.parquet").metric)


def test_strata(folder: Path) -> None:
    Path("parts.csv").write_text("item,stratum\n" + "".join(f"i{i},part {i // 20}\n" for i in range(40)))
    parts = "agree,entropy:quantiles=2,class:by=original,parts.csv"
    with pytest.warns(SfumatoWarning, match="too few"):
        shown = evaluate(*ONE, "--metrics", "brier", "--original", "original.csv", "--strata", parts)
    assert "people disagree" in shown
    scores = Scores.read("scores.csv")
    assert scores.condition == (
        "all", "people agree", "people disagree", "entropy 1 of 2", "entropy 2 of 2", "class cat", "class dog",
        "class emu", "part 0", "part 1",
    )  # fmt: skip
    assert scores.n_items[:3].tolist() == [40, 10, 30]


def test_a_grid(folder: Path) -> None:
    tables = ("--table", "t.md", "--differences", "d.csv", "--mode-shift", "shift.tex", "--cross-label", "cross.csv")
    shown = evaluate(*RUNS, "--original", "original.csv", *tables, "--against", "soft=p.parquet")
    lines = shown.splitlines()
    assert lines[0] == "brier, ffn: lower is better; 40 items"
    assert lines[1].split() == ["target", "value", "±", "floor", "difference", "±", "p", "result"]
    assert [line.split()[0] for line in lines[2:5]] == ["hard", "majority", "soft"]
    assert lines[4].split()[-2:] == ["<0.001", "better"]
    assert "±: 95% interval over trainings (seeds) and items" in shown
    assert "holm over 2 comparisons" in " ".join(shown.split())
    scores = pl.read_csv("scores.csv")
    assert scores.columns[:9] == [
        "target", "network", "n_seeds", "metric", "condition", "value", "low", "high", "n_items"
    ]  # fmt: skip
    assert Scores.read("scores.csv").metric == ("brier", "cross_entropy") * 3
    assert pl.read_csv("d.csv")["verdict"].to_list()[-1] == "better"
    assert Path("t.md").read_text().startswith("| target |")
    assert r"\toprule" in Path("shift.tex").read_text()
    assert "class-level" in Path("cross.csv").read_text().splitlines()[0]
    assert ",soft," in Path("cross.csv").read_text().splitlines()[0] + ","


def test_people_are_a_sample_if_their_answers_are_given(folder: Path) -> None:
    rng = np.random.default_rng(0)
    votes = [
        (item, f"person-{j}", trained.CLASSES[rng.choice(3, p=probs)])
        for item, probs in zip(trained.ITEMS, trained.people().probs, strict=True)
        for j in range(6)
    ]
    frame = pl.DataFrame(votes, schema=["item", "annotator", "label"], orient="row")
    frame.write_csv("votes.csv")
    answers = Beliefs.from_polars(frame, classes=trained.CLASSES)
    answers.write("beliefs.parquet")
    sf.aggregate(answers).write("mean.parquet")
    for target in ("hard", "soft"):
        trained.trained(target, 0).predictions.write(f"{target}.parquet")
    several = ("--predicted", "hard.parquet", "--predicted", "soft.parquet", "--metrics", "brier,cross_entropy")
    found = {}
    for people in ("votes.csv", "beliefs.parquet", "mean.parquet"):
        shown = " ".join(evaluate(*several, "--people", people, "--differences", "d.csv").split())
        found[people] = pl.read_csv("d.csv")
        assert ("6 people are taken as a sample" in shown) == (people != "mean.parquet")
        assert ("the crowd is taken as fixed" in shown) == (people == "mean.parquet")
        assert ("another crowd of this size" in shown) == (people != "mean.parquet")
    assert found["votes.csv"].equals(found["beliefs.parquet"])
    known, fixed = found["beliefs.parquet"], found["mean.parquet"]
    assert known["difference"].to_list() == pytest.approx(fixed["difference"].to_list())
    assert known["se_people"].null_count() == 0
    assert fixed["se_people"].null_count() == len(fixed)
    assert known["covers"][0] == "other items and other people: 95% t interval, holm over 1"
    compared = sf.compare({name: f"{name}.parquet" for name in ("hard", "soft")}, people=frame, metrics="brier")
    assert compared.differences[0].p == pytest.approx(known["p"][0])
    # The interval of one score is wider by what people add.
    one = [
        sf.evaluate(predicted="soft.parquet", people=each, metrics="brier").rows()[0]
        for each in (frame, "mean.parquet")
    ]
    assert one[0].value == pytest.approx(one[1].value)
    assert one[0].high - one[0].low > one[1].high - one[1].low
    assert one[0].covers.startswith("other items and other people: ")
    shown = " ".join(evaluate("--predicted", "soft.parquet", "--people", "votes.csv", "--metrics", "brier").split())
    assert "Uncertainty of brier of the predictions" in shown


def test_a_curve_over_conditions(folder: Path) -> None:
    for condition, worse in (("jpeg/10", 0.6), ("clean", 0.0), ("jpeg/2", 0.3)):
        for run in trained.grid(("hard", "soft"), range(3)):
            trained.write_run(folder / "shifted", trained.shifted(run, condition, worse))
    arguments = ("--runs", "shifted", "--people", "people.parquet", "--metrics", "brier,cross_entropy")
    shown = evaluate(*arguments, "--differences", "d.csv", "--table", "t.md", "--cross-label", "c.md")
    lines = shown.splitlines()
    assert lines[0] == "brier, ffn: lower is better; 40 items"
    assert [line.split()[0] for line in lines[1:5]] == ["condition", "clean", "jpeg/2", "jpeg/10"]
    assert lines[1].split()[1:] == ["hard", "soft"]
    scores = pl.read_csv("scores.csv").filter(pl.col("metric") == "brier")
    assert scores["condition"].to_list() == ["clean", "clean", "jpeg/2", "jpeg/2", "jpeg/10", "jpeg/10"]
    values = [float(word.rstrip("*")) for line in lines[2:5] for word in line.split()[1:]]
    assert values == pytest.approx(scores["value"].to_list(), abs=6e-5)
    assert lines[2].endswith("*")
    assert "*: differs from hard under that condition; interval and p for another training and other items" in shown
    assert "holm over 3 comparisons" in " ".join(shown.split())
    assert pl.read_csv("d.csv")["condition"].to_list() == ["clean"] * 2 + ["jpeg/2"] * 2 + ["jpeg/10"] * 2
    assert "| jpeg/2 |" in Path("t.md").read_text()
    assert "| condition | trained on |" in Path("c.md").read_text()
    with pytest.warns(SfumatoWarning, match="people agree: found 10"):
        shown = evaluate(*arguments, "--strata", "agree")
    assert "brier, ffn, people disagree: lower is better; 30 items" in shown
    assert "jpeg/2: people disagree" in Path("scores.csv").read_text()
    # One condition by itself is a grid like any other.
    shown = evaluate("--runs", "shifted/jpeg-2", *arguments[2:])
    assert shown.startswith("brier, ffn, jpeg/2: lower is better; 40 items\ntarget ")


def test_another_baseline_and_none(folder: Path) -> None:
    shown = evaluate(*RUNS, "--baseline", "soft", "--correction", "benjamini-hochberg", "--family", "table")
    assert "difference: from soft" in shown
    assert "benjamini-hochberg over 4 comparisons" in " ".join(shown.split())
    assert shown.splitlines()[2].split()[0] == "soft"
    for run in Path("runs").glob("majority.*"):
        (run / "run.json").unlink()
    with pytest.warns(SfumatoWarning):
        assert "needs runs of hard, majority, soft" in str(
            refused(*RUNS, "--original", "original.csv", "--mode-shift", "m.md", output="other.csv")
        )
    assert not Path("other.csv").exists()
    for run in Path("runs").glob("hard.*"):
        (run / "run.json").unlink()
    with pytest.warns(SfumatoWarning, match="skipped 12 unfinished trainings"):
        assert "difference" not in evaluate(*RUNS)


def test_five_seeds_and_one(folder: Path) -> None:
    for run in Path("runs").glob("*.seed-5.*"):
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
    shown = evaluate(*RUNS)
    assert "±: 95% interval over trainings (seeds) and items" in shown
    assert "the crowd is taken as fixed, so that results hold for these people" in " ".join(shown.split())
    Path("one").mkdir()
    for target in ("hard", "soft"):
        trained.trained(target, 0).predictions.write(f"one/{target}.parquet")
    shown = evaluate("--runs", "one", "--people", "people.parquet", "--metrics", "brier")
    assert "One prediction per model does not show the variation between trainings" in shown
    assert "(seeds)" not in shown
    assert "target" not in shown
    assert "difference: from hard, on the same items; interval and p for other items, holm over 1" in shown
    assert shown.splitlines()[1].split() == [
        "model", "value", "low", "to", "high", "floor", "difference", "±", "p", "result"
    ]  # fmt: skip
    # The interval of one prediction is a bootstrap, which is not symmetric: both ends are those of the file.
    row = pl.read_csv("scores.csv").row(1, named=True)
    assert f"{row['value']:.4f}   {row['low']:.4f} to  {row['high']:.4f}" in shown.splitlines()[3]
    assert "low to high: 95% interval over items" in shown
    assert shown.splitlines()[3].split()[-1] == "better"
    assert "brier: lower is better; 40 items" in shown


def test_several_predictions_are_compared(folder: Path) -> None:
    for target in ("hard", "soft"):
        trained.trained(target, 0).predictions.write(f"{target}.parquet")
    several = ("--predicted", "old=hard.parquet", "--predicted", "soft.parquet", "--people", "people.parquet")
    shown = evaluate(*several, "--metrics", "brier,ece", "--differences", "d.csv")
    assert "difference: from old, on the same items" in shown
    found = pl.read_csv("d.csv")
    assert found["target"].to_list() == ["soft", "soft"]
    assert found["low"].null_count() == 0
    assert refused(*several, "--predicted", "soft.parquet", output="x.csv").code == "doubled-name"


def test_printed_results_are_those_of_the_command(folder: Path) -> None:
    trained.trained("hard", 0).predictions.write(folder / "q.parquet")
    given = ("--predicted", "p.parquet", "--predicted", "q.parquet", "--people", "people.parquet", "--baseline", "p")
    shown = evaluate(*given, "--metrics", "brier").splitlines()
    found = sf.compare({"p": "p.parquet", "q": "q.parquet"}, people="people.parquet", metrics="brier")
    printed = str(found).splitlines()
    assert printed[0] == "brier: 40 items"
    assert printed[1].split() == ["model", "value", "difference", "±", "p", "result"]
    # The command has two more columns in the middle, the interval and the floor of each model.
    by_command = next(line.split() for line in shown if line.startswith("q "))
    q = printed[3].split()
    assert len(q) == 6
    assert q == [*by_command[:2], *by_command[-4:]]
    notes = printed[printed.index("") + 1 :]
    start = shown.index(notes[0])
    assert shown[start : start + len(notes)] == notes
    assert repr(found) == "<Differences: 1 rows>"
    sets = sf.prediction_sets(predicted="p.parquet", people="people.parquet", coverage=0.8)
    shown = evaluate(*ONE, "--metrics", "brier", "--sets", 0.8).splitlines()
    assert shown[0] == "prediction sets of p for 80% of people's answers"
    assert str(sets).splitlines() == ["prediction sets for 80% of people's answers", *shown[1 : shown.index("")]]
    assert repr(sets) == "<CalibratedSets: 40 items, for 80% of people's answers>"
    assert "nan" not in str(sets)


def test_prediction_sets(folder: Path) -> None:
    shown = evaluate(*ONE, "--metrics", "brier", "--sets", 0.8, "--sets-items", "sets.csv", "--sets-table", "cover.csv")
    assert "prediction sets of p for 80% of people's answers" in shown
    sets, figures = pl.read_csv("sets.csv"), pl.read_csv("cover.csv")
    assert len(sets) == 40
    inside = [json.loads(each) for each in sets["classes"]]
    assert [len(each) for each in inside] == sets["size"].to_list()
    assert {name for each in inside for name in each} <= set(trained.CLASSES)
    people = trained.people()
    mass = [sum(row[people.classes.index(name)] for name in own) for row, own in zip(people.probs, inside, strict=True)]
    row = figures.row(0, named=True)
    assert (row["calibrated_on"], row["others"]) == ("labels", "any")
    assert row["coverage"] == pytest.approx(np.mean(mass))
    assert f"{row['coverage']:.1%}" in shown
    assert "calibrated on votes" not in shown


def test_sets_of_few_items(folder: Path) -> None:
    """Five items with ten votes each: all classes for 90%, and a dash for groups without items."""
    items, probs = [f"i{i}" for i in range(5)], np.tile([0.7, 0.2, 0.1], (5, 1))
    sf.Counts.from_numpy(items, [[5, 5, 0]] * 5, trained.CLASSES).write("c.csv")
    SoftLabels.from_numpy(items, probs, trained.CLASSES, estimand="prediction").write("few.parquet")
    with warnings_off():
        shown = evaluate("--predicted", "few.parquet", "--people", "c.csv", "--sets", 0.9, "--sets-items", "s.csv")
    assert pl.read_csv("s.csv")["size"].to_list() == [3] * 5
    assert "nan" not in shown
    assert "0% of the sets calibrated on votes have one class" in shown
    assert [line.split()[-4:] for line in shown.splitlines() if "all agree" in line] == [["-", "-", "-", "0"]] * 2


def test_one_annotator_is_not_asked_for_single_answers(folder: Path) -> None:
    names = trained.people().items.to_pylist()
    Beliefs.from_numpy(names, ["a"] * len(names), np.arange(len(names)) % 3, trained.CLASSES).write("b.parquet")
    with warnings_off():
        shown = " ".join(evaluate("--predicted", "p.parquet", "--people", "b.parquet", "--metrics", "brier").split())
    assert "one annotator, which cannot show how people differ" in shown
    assert "give their single answers" not in shown


@pytest.mark.parametrize("several", [False, True])
def test_the_table_and_its_explanation_have_the_same_interval(folder: Path, several: bool) -> None:
    labels, rng = trained.people(), np.random.default_rng(2)
    names = labels.items.to_pylist()
    said = np.concatenate([rng.choice(3, 8, p=row / row.sum()) for row in labels.probs])
    who = [f"a{p}" for _ in names for p in range(8)]
    Beliefs.from_numpy([name for name in names for _ in range(8)], who, said, trained.CLASSES).write("b.parquet")
    given = ("--runs", "runs") if several else ("--predicted", "p.parquet")
    shown = evaluate(*given, "--people", "b.parquet", "--metrics", "cross_entropy").splitlines()
    explained = next(line for line in shown if "as it is" in line).split("as it is")[1].split()
    if several:
        first = next(line for line in shown if line.startswith("majority")).split()
        assert explained == [f"±{first[5]}"]
    else:
        assert explained == next(line for line in shown if line.startswith("cross_entropy")).split()[2:5]


def test_a_wider_projection_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """With three items, fewer degrees of freedom can outweigh a smaller variance over seeds."""
    parts = VarianceComponents(0.5, 1.0, 3, seeds=0.1, seeds_df=1000)
    assert parts.with_more(seeds=2).half_width(0.95) > parts.half_width(0.95)
    show_uncertainty(SimpleNamespace(parts=parts, what="brier"), ShownInterval(0.5, -1, 2), 0.95)  # type: ignore[arg-type]
    lines = {line[:40].strip(): line[40:].strip() for line in capsys.readouterr().out.splitlines()}
    assert lines["as it is"] == "±1.5000"
    assert lines["with twice the seeds"] == "no narrower"


def test_an_option_given_twice_is_refused(folder: Path) -> None:
    with pytest.raises(SfumatoError, match="--people 2 times") as caught:
        group.main(["evaluate", *ONE, "--people", "people.parquet", "-o", "x.csv"], standalone_mode=False)
    assert caught.value.code == "repeated-option"


def test_strata_hold_for_the_mode_shift(folder: Path) -> None:
    files = ("--mode-shift", "m.csv", "--cross-label", "c.csv")
    with warnings_off():  # of few items
        evaluate(*RUNS, "--original", "original.csv", "--strata", "agree", *files)
    for file in ("m.csv", "c.csv"):
        assert {"all", "people agree", "people disagree"} <= set(pl.read_csv(file)["condition"])


def test_seeds_that_do_not_pair(folder: Path) -> None:
    (Path("runs") / "hard.ffn.seed-0.fold-0" / "predictions.parquet").unlink()
    with pytest.warns(SfumatoWarning) as said:
        evaluate(*RUNS)
    texts = " ".join(str(each.message) for each in said)
    assert "hard.ffn.seed-0 (no predictions)" in texts
    assert (
        "over seeds 1, 2, 3, 4, 5, which all targets have (ffn): seed 0 of majority, seed 0 of soft left out" in texts
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--people", "people.parquet"), "neither --predicted nor --runs"),
        ((*ONE, "--runs", "runs"), "both --predicted and --runs"),
        ((*ONE, "--baseline", "hard"), "--baseline together with one --predicted"),
        ((*ONE, "--metrics", "breir"), "did you mean 'brier'"),
        ((*ONE, "--metrics", "brier:bins=3"), "unknown-setting"),
        ((*ONE, "--metrics", "brier,brier"), "found brier twice"),
        ((*ONE, "--strata", "agrees"), "did you mean 'agree'"),
        ((*ONE, "--strata", "entropy:quantiles=1"), "2 or more"),
        ((*ONE, "--strata", "class:by=original"), "no original labels"),
        ((*ONE, "--strata", "nowhere.csv"), "no-such-file"),
        ((*ONE, "--level", "1.5"), "level = 1.5"),
        ((*ONE, "--resamples", "5"), "at least 100"),
        ((*ONE, "--seed", "-1"), "0 or more"),
        ((*RUNS, "--baseline", "sofd"), "did you mean 'soft'"),
        ((*RUNS, "--correction", "bonferroni"), "holm, benjamini-hochberg, none"),
        ((*RUNS, "--family", "all"), "metric, table"),
        ((*RUNS, "--table", "t.docx"), ".md, .tex, .csv"),
        ((*RUNS, "--table", "scores.csv"), "the same file"),
        ((*RUNS, "--mode-shift", "m.md"), "--mode-shift without --original"),
        ((*RUNS, "--against", "x=p.parquet"), "--against without --cross-label"),
        ((*ONE, "--sets", "90"), "between 0 and 1"),
        ((*ONE, "--sets-items", "sets.csv"), "--sets-items without --sets"),
        ((*ONE, "--sets", "0.9", "--sets-items", "p.parquet"), "bad-setting"),
        ((*RUNS, "--sets", "0.9"), "--sets together with --runs"),
        ((*RUNS, "--cross-label", "c.md", "--against", "people=p.parquet"), "NAME=FILE"),
        (("--runs", "nowhere", "--people", "people.parquet"), "no such folder"),
        (("--runs", ".", "--people", "p.csv"), "no-such-file"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], says: str) -> None:
    assert says in str(refused(*arguments))


def test_other_items_classes_and_numbers(folder: Path) -> None:
    table = trained.people()
    SoftLabels.from_numpy(["x"], [[1, 0, 0]], trained.CLASSES).write("p.parquet")
    assert "people judged none" in str(refused(*ONE))
    SoftLabels.from_numpy(["i0"], [[1, 0, 0]], ["a", "b", "c"]).write("p.parquet")
    assert "other-classes" in str(refused(*ONE))
    SoftLabels.from_numpy(["i0", "x"], [[1, 0, 0]] * 2, trained.CLASSES).write("p.parquet")
    assert "--common" in str(refused(*ONE))
    with pytest.warns(SfumatoWarning, match="found 1 items"):
        evaluate(*ONE, "--common", "--metrics", "brier")
    assert Scores.read("scores.csv").n_items.tolist() == [1]
    Path("scores.csv").unlink()
    for bad in ("0.5,0.6,0", "nan,1,0"):
        Path("p.csv").write_text(f"item,p:cat,p:dog,p:emu\ni0,{bad}\n")
        assert "p.csv:2" in str(refused("--predicted", "p.csv", "--people", "people.parquet"))
    turned = SoftLabels.from_numpy(trained.ITEMS[::-1], table.probs[::-1, ::-1], trained.CLASSES[::-1])
    turned.write("p.parquet")
    evaluate(*ONE, "--metrics", "brier")
    assert Scores.read("scores.csv").value_of("brier") == pytest.approx(0, abs=1e-15)


def test_nothing_is_overwritten(folder: Path) -> None:
    before = Path("p.parquet").read_bytes()
    for output in ("p.parquet", "people.parquet", "runs/soft.ffn.seed-0.fold-0/predictions.parquet"):
        arguments = ONE if output == "p.parquet" else RUNS
        assert "bad-setting" in str(refused(*arguments, output=output))
    assert Path("p.parquet").read_bytes() == before
    Path("flat").mkdir()
    trained.trained("soft", 0).predictions.write("flat/soft.parquet")
    found = refused("--runs", "flat", "--people", "people.parquet", output="flat/scores.csv")
    assert "among the predictions" in str(found)


def test_half_finished_runs_and_damage(folder: Path) -> None:
    place = Path("runs/soft.ffn.seed-0.fold-0")
    (place / "predictions.parquet").write_bytes(b"PAR1 and no more")
    assert "damaged" in str(refused(*RUNS))
    (place / "run.json").write_text(json.dumps({"target": "soft"}))
    assert "bad-run" in str(refused(*RUNS))


def test_the_help_lists_every_stratum() -> None:
    listed = [each.name for members in _strata().values() for each in members]
    assert listed == [*(member.name for member in STRATA), "FILE"]


def test_in_a_process_of_its_own(folder: Path) -> None:
    arguments = [SFUMATO, "evaluate", *ONE, "--strata", "agree", "--metrics", "brier", "-o", "s.csv"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == "warning: people agree: found 10 items, which is too few for a reliable interval\n"
    assert np.isfinite(Scores.read("s.csv").value).all()
    done = subprocess.run([*arguments, "--level", "2", "--json"], capture_output=True, text=True)
    assert done.returncode == 2
    assert json.loads(done.stderr)["code"] == "bad-setting"
