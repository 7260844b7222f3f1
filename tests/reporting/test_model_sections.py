"""Sections about models show what `sfumato evaluate` says, and what can be reckoned by hand."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reported
import toy_data
import trained
from click.testing import CliRunner

from sfumato.cli import evaluate
from sfumato.cli import map as map_command
from sfumato.cli import train as train_command
from sfumato.evaluation import RunPredictions, match_labels
from sfumato.evaluation.metric_scores import score
from sfumato.evaluation.metrics.brier import Brier
from sfumato.evaluation.metrics.calibration_error import ECE
from sfumato.evaluation.metrics.divergence import CrossEntropy
from sfumato.planning.plan_file import Plan
from sfumato.reporting import Chart, Points, Prose, ReportTable, Section
from sfumato.reporting.blocks import rows_of
from sfumato.reporting.findings import findings
from sfumato.reporting.missing_scores import score_models
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.phrases import metric_title
from sfumato.reporting.plan_page import plan_section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.calibration import calibration_section, risk_at
from sfumato.reporting.sections.cross_label import cross_label_section
from sfumato.reporting.sections.model_robustness import robustness_section
from sfumato.reporting.sections.model_uncertainty import model_uncertainty_section
from sfumato.reporting.sections.targets import single_scores_section, targets_section
from sfumato.reporting.sections.training_dynamics import stability, training_dynamics_section
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.scores import Differences, RunScores, Score, Scores
from sfumato.tables.soft_labels import SoftLabels

FEW = "ignore:people agree. found:sfumato.tables.errors.SfumatoWarning"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported.write_study(tmp_path_factory.mktemp("reported"))


@pytest.fixture(scope="module")
def models(folder: Path) -> ModelScores:
    found = score_models(ReportInputs.read(folder))
    assert found is not None
    return found


def made(section: Section | None) -> Section:
    assert section is not None
    return section


def chart(section: Section | None, name: str) -> Chart:
    return next(each for each in made(section).blocks if isinstance(each, Chart) and each.name == name)


def table(section: Section | None, name: str) -> ReportTable:
    return next(each for each in made(section).blocks if isinstance(each, ReportTable) and each.name == name)


def words(section: Section | None) -> str:
    prose = [" ".join(each.paragraphs) for each in made(section).blocks if isinstance(each, Prose)]
    points = [" ".join(each.points) for each in made(section).blocks if isinstance(each, Points)]
    return " ".join([*prose, *points]).replace("\u00a0", " ")


def evaluated(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[dict], list[dict]]:
    """What the command below a figure writes: its scores and its differences."""
    monkeypatch.chdir(folder)
    name, verb, *arguments = shlex.split(command)
    assert (name, verb) == ("sfumato", "evaluate")
    done = CliRunner().invoke(evaluate.command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    tables = []
    for path in ("scores.csv", "differences.csv"):
        with Path(path).open(newline="") as file:
            tables.append(list(csv.DictReader(file)))
        Path(path).unlink()
    return tables[0], tables[1]


def test_figures_are_those_of_the_command_below_them(
    models: ModelScores, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = targets_section(models)
    drawn = [chart(section, name) for name in ("right", "near")]
    assert drawn[0].source is not None
    scores, differences = evaluated(drawn[0].source.command, folder, monkeypatch)
    said = {(row["target"], metric_title(row["metric"])): row for row in scores}
    shown = 0
    for figure in drawn:
        c = figure.columns
        for i, target in enumerate(c["target"]):
            row = said[(target, c["metric"][i])]
            for column in ("value", "low", "high"):
                expected = pytest.approx(float(row[column]), abs=1e-12) if row[column] else None
                assert c[column][i] == expected, (target, c["metric"][i], column)
                shown += expected is not None
    assert shown > 3 * 6 * 2
    tests = table(section, "tests").data
    for i, row in enumerate(r for r in differences if r["metric"] != "entropy_pearson"):
        assert (tests["metric"][i], tests["target"][i]) in {
            (metric_title(r["metric"]), r["target"]) for r in differences
        }
        own = next(
            r
            for r in differences
            if (metric_title(r["metric"]), r["target"]) == (tests["metric"][i], tests["target"][i])
        )
        assert float(tests["difference"][i].replace("−", "-")) == pytest.approx(float(own["difference"]), abs=5.1e-4)
        none = f"not tested: {own['covers'].removeprefix('none: ')}"
        if own["p"]:
            none = f"no evidence of a difference (detectable: {float(own['detectable']):.2g})"
        assert tests["result"][i] == (own["verdict"] or none)
        assert row["baseline"] == "hard"
    apart = chart(section, "differences").columns
    for i, target in enumerate(apart["target"]):
        own = next(r for r in differences if (metric_title(r["metric"]), r["target"]) == (apart["metric"][i], target))
        for ours, theirs in (("difference", "difference"), ("p_corrected", "p_corrected")):
            assert apart[ours][i] == pytest.approx(float(own[theirs]), abs=1e-12)
        assert apart["low"][i] == pytest.approx(float(own["low"]), abs=1e-12)


def test_the_table_says_the_same_with_the_interval(models: ModelScores) -> None:
    listed = table(targets_section(models), "scores").data
    row = next(each for each in models.scores if (each.target, each.metric) == ("soft", "cross_entropy"))
    cell = listed["soft"][listed["metric"].index("cross-entropy")].replace("\u00a0", " ")
    assert cell == f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
    assert list(listed)[1] == "hard"


@pytest.mark.filterwarnings(FEW)
def test_strata_are_counted_from_votes(models: ModelScores, folder: Path) -> None:
    """Labels alone do not show who disagreed: there are strata only with votes, and they are those of the votes."""
    assert not any(isinstance(each, Chart) and each.name == "strata" for each in made(targets_section(models)).blocks)
    # Two annotators per item, who agree about the first ten, though the labels of these are smoothed.
    items = trained.ITEMS
    second = ["a" if i < 10 else "b" for i in range(len(items))]
    votes = Beliefs.from_votes(
        item=[*items, *items], annotator=["one"] * len(items) + ["two"] * len(items),
        label=["a"] * len(items) + second, classes=["a", "b"],
    )  # fmt: skip
    found = score_models(replace(ReportInputs.read(folder), beliefs=votes, shifted=None, attacked=None), resamples=100)
    assert found is not None
    figure = chart(targets_section(found), "strata")
    assert {row.condition: row.n_items for row in found.stratum_scores} == {"people agree": 10, "people disagree": 30}
    assert "people agree about 10 items, people disagree about 30 items" in figure.caption
    right = [
        trained.trained("soft", seed).predictions.probs[:10].argmax(axis=1)
        == trained.people().probs[:10].argmax(axis=1)
        for seed in range(4)
    ]
    own = [each for each in found.stratum_scores if (each.target, each.condition) == ("soft", "people agree")]
    assert next(each.value for each in own if each.metric == "accuracy") == pytest.approx(np.mean(right))
    assert any("too few" in note for note in found.notes)


def test_reliability_is_the_mean_over_seeds_of_what_bins_hold(models: ModelScores) -> None:
    columns = chart(calibration_section(models), "reliability").columns
    people = trained.people()
    confidence, right = [], []
    for seed in range(4):
        probs = trained.trained("soft", seed).predictions.probs
        confidence.append(probs.max(axis=1))
        right.append(probs.argmax(axis=1) == people.probs.argmax(axis=1))
    sure, hits = np.concatenate(confidence), np.concatenate(right)
    inside = (sure > 0.6) & (sure <= 0.7)
    rows = [i for i, target in enumerate(columns["target"]) if target == "soft"]
    row = next(i for i in rows if 0.6 < columns["confidence"][i] <= 0.7)
    assert columns["n_items"][row] == pytest.approx(inside.sum() / 4)
    assert columns["accuracy"][row] == pytest.approx(hits[inside].mean())
    assert columns["confidence"][row] == pytest.approx(sure[inside].mean())


def test_risk_at_a_coverage_is_the_share_wrong_of_the_surest() -> None:
    people, run = trained.people(), trained.trained("soft", 0)
    compared = match_labels(predicted=run.predictions, people=people)
    order = np.argsort(-compared.confidence)
    for n_kept in (8, 20, 40):
        by_hand = 1 - compared.right[order[:n_kept]].mean()
        assert risk_at(compared, np.array([n_kept / 40]))[0] == pytest.approx(by_hand)


def test_doubt_is_entropy_against_entropy(models: ModelScores) -> None:
    section = model_uncertainty_section(models)
    people = trained.people().probs

    def entropy(p: np.ndarray) -> np.ndarray:
        return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)

    by_seed = [entropy(trained.trained("soft", seed).predictions.probs) for seed in range(4)]
    r = np.mean([np.corrcoef(own, entropy(people))[0, 1] for own in by_seed])
    assert f"`soft` r = {r:.3f}" in words(section)
    columns = chart(section, "doubts").columns
    soft = [i for i, target in enumerate(columns["target"]) if target == "soft"]
    place = {item: k for k, item in enumerate(trained.ITEMS)}
    mean = np.mean(by_seed, axis=0)
    assert len(soft) == 40
    for i in soft:
        assert columns["predicted"][i] == pytest.approx(mean[place[columns["item"][i]]], abs=1e-4)
        assert columns["people"][i] == pytest.approx(entropy(people)[place[columns["item"][i]]], abs=1e-4)


def accuracy_of(target: str, worse: float) -> float:
    people = trained.people()
    runs = [trained.shifted(trained.trained(target, seed), "x", worse) for seed in range(4)]
    found = [match_labels(predicted=run.predictions, people=people).right.mean() for run in runs]
    return float(np.mean(found))


def cross_entropy_of(run: RunPredictions) -> float:
    q, p = trained.people().probs, run.predictions.probs
    return float(-(q * np.log(p)).sum(axis=1).mean())


def test_curves_over_severities_begin_with_pictures_as_they_are(models: ModelScores) -> None:
    section = robustness_section(models)
    columns = chart(section, "shifted-cross-entropy").columns
    own = [
        (columns["severity"][i], columns["value"][i])
        for i in range(len(columns["kind"]))
        if (columns["kind"][i], columns["target"][i]) == ("gaussian-noise", "soft")
    ]
    assert [at for at, _ in own] == [0, 1, 3]
    for at, value in own:
        worse = {0: 0.0, 1: 0.2, 3: 0.5}[at]
        runs = [trained.shifted(trained.trained("soft", seed), "x", worse) for seed in range(4)]
        assert value == pytest.approx(np.mean([cross_entropy_of(run) for run in runs]))
    assert set(columns["kind"]) == {"gaussian-blur", "gaussian-noise"}


def test_of_an_attack_with_steps_the_last_is_drawn(models: ModelScores) -> None:
    columns = chart(robustness_section(models), "attacked-cross-entropy").columns
    rows = [i for i, kind in enumerate(columns["kind"]) if kind.startswith("pgd") and columns["target"][i] == "hard"]
    assert [columns["eps"][i] for i in rows] == [0, 4]
    runs = [trained.shifted(trained.trained("hard", seed), "x", 0.6) for seed in range(4)]
    assert columns["value"][rows[1]] == pytest.approx(np.mean([cross_entropy_of(run) for run in runs]))
    assert "The strongest attack for `hard` is " in words(robustness_section(models))


def test_items_that_nobody_judged_are_left_out_and_said(folder: Path, tmp_path: Path) -> None:
    elsewhere = [SoftLabels.from_numpy([f"x{i}" for i in range(9)], np.full((9, 3), 1 / 3), trained.CLASSES, 0)]
    for seed in range(2):
        run = replace(trained.trained("soft", seed), predictions=elsewhere[0], condition="cinic")
        trained.write_run(tmp_path, run)
        trained.write_run(tmp_path, trained.shifted(trained.trained("soft", seed), "own-photos", 0.1))
    found = score_models(replace(ReportInputs.read(folder), shifted=tmp_path, attacked=None))
    assert found is not None
    assert "cinic: left out, because people judged none of its items" in found.notes
    listed = table(robustness_section(found), "elsewhere").data
    assert set(listed["condition"]) == {"own-photos"}
    assert listed["this condition"][listed["metric"].index("accuracy")] == pytest.approx(
        np.mean(
            [
                match_labels(predicted=trained.trained("soft", s).predictions, people=trained.people()).right.mean()
                for s in range(2)
            ]
        )
    )


def test_labels_across_and_the_parts_of_a_gain(models: ModelScores) -> None:
    section = cross_label_section(models)
    columns = chart(section, "across-accuracy").columns
    cell = next(
        columns["value"][i]
        for i in range(len(columns["target"]))
        if (columns["target"][i], columns["against"][i]) == ("soft", "original")
    )
    original = trained.original().probs.argmax(axis=1)
    by_hand = [(trained.trained("soft", seed).predictions.probs.argmax(axis=1) == original).mean() for seed in range(4)]
    assert cell == pytest.approx(np.mean(by_hand))
    gains = table(section, "mode-shift").data
    own = {
        part: float(gain.replace("−", "-"))
        for metric, against, part, gain in zip(
            gains["metric"], gains["scored against"], gains["part"], gains["difference"], strict=True
        )
        if (metric, against) == ("cross-entropy", "people's soft labels")
    }
    assert own["changed classes"] + own["uncertainty"] == pytest.approx(own["both"], abs=2e-3)
    means = {t: np.mean([cross_entropy_of(trained.trained(t, s)) for s in range(4)]) for t in ("hard", "soft")}
    assert own["both"] == pytest.approx(means["soft"] - means["hard"], abs=1e-3)


def test_runs_on_label_sets_are_scored_against_each(models: ModelScores, tmp_path: Path) -> None:
    equal = replace(trained.people(), probs=trained.people().probs / 2 + 1 / 6, n_annotators=None)
    (tmp_path / "label-sets").mkdir()
    equal.write(tmp_path / "label-sets" / "equal.parquet")
    of_sets = replace(models, evidence=replace(models.evidence, runs=tmp_path))
    columns = chart(cross_label_section(of_sets), "across-accuracy").columns
    assert list(dict.fromkeys(columns["against"])) == ["original", "majority", "people", "class-level", "equal"]
    renamed = {"majority": "hard@experts", "soft": "soft@equal"}
    scores = tuple(replace(each, target=renamed.get(each.target, each.target)) for each in models.scores)
    assert replace(models, scores=scores).treatment == "soft@equal"


def test_more_targets_than_can_be_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = {f"smoothing-{k:02}": 0.1 + 0.05 * k for k in range(10)} | {"hard": 0.3, "soft": 0.05}
    monkeypatch.setattr(trained, "NEARNESS", near)
    trained.people().write(tmp_path / "labels.parquet")
    for run in trained.grid(list(near), range(2)):
        trained.write_run(tmp_path / "runs", run)
    found = score_models(ReportInputs.read(tmp_path), resamples=100)
    assert found is not None
    drawn = found.shown_targets()
    assert len(drawn) == 8
    # The control first; `soft` though it is the worst; of the others those nearest to people, the nearest first.
    assert drawn == ["hard", *(f"smoothing-{k:02}" for k in (9, 8, 7, 6, 5, 4)), "soft"]
    assert len(found.shown_targets(6)) == 6
    section = targets_section(found)
    assert set(chart(section, "near").columns["target"]) == set(drawn)
    assert "8 of 12 targets are shown" in chart(section, "near").caption
    assert len(table(section, "scores").data["target"]) == 12
    assert len(set(table(section, "tests").data["metric"])) == 3


def test_tables_of_scores_do_where_there_are_no_runs(
    models: ModelScores, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = chart(targets_section(models), "near").source
    assert source is not None
    monkeypatch.chdir(folder)
    arguments = [*shlex.split(source.command)[2:]]
    arguments[arguments.index("scores.csv")] = str(tmp_path / "scores.csv")
    arguments[arguments.index("differences.csv")] = str(tmp_path / "differences.csv")
    CliRunner().invoke(evaluate.command, arguments, catch_exceptions=False)
    read = score_models(ReportInputs.read(tmp_path))
    assert read is not None
    assert table(targets_section(read), "scores").data == table(targets_section(models), "scores").data
    assert table(targets_section(read), "tests").data == table(targets_section(models), "tests").data
    assert [each.name for each in made(calibration_section(read)).blocks if isinstance(each, Chart)] == ["calibration"]
    assert cross_label_section(read) is None
    assert stability(read) == ()


def test_score_tables_are_used_instead_of_scoring_the_runs_again(
    models: ModelScores, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = Differences(tuple(replace(each, p_corrected=0.125) for each in models.differences))
    scores = {"scores": RunScores(tuple(replace(each, n_items=39) for each in models.scores))}
    evidence = replace(ReportInputs.read(folder), shifted=None, attacked=None)
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.reporting.missing_scores.measure_runs", None)
        read = score_models(replace(evidence, scores=scores, comparison=differences))
    assert read is not None
    assert {each.n_items for each in read.scores} == {39}
    assert {each.p_corrected for each in read.differences} == {0.125}
    # Sections that need predictions still have them.
    assert chart(calibration_section(read), "reliability").columns["n_items"]
    assert cross_label_section(read) is not None


def test_conditions_that_score_tables_lack_are_scored(models: ModelScores, folder: Path) -> None:
    scores = {"scores": RunScores(models.scores)}
    read = score_models(replace(ReportInputs.read(folder), scores=scores, comparison=Differences(models.differences)))
    assert read is not None
    assert read.scores == models.scores
    assert repr(read.condition_scores) == repr(models.condition_scores)
    assert repr(read.condition_differences) == repr(models.condition_differences)


def test_one_seed_has_intervals_over_items_alone(tmp_path: Path) -> None:
    reported.write_study(tmp_path, ("hard", "soft"), range(1))
    found = score_models(ReportInputs.read(tmp_path))
    assert found is not None
    columns = chart(targets_section(found), "near").columns
    assert None not in columns["low"]
    assert "With one seed, intervals are over items, and not over another training" in words(targets_section(found))
    assert "; 40 items, one prediction each; for these people)" in words(targets_section(found))


def test_predictions_of_others_say_nothing_of_training_and_are_paired_by_item(tmp_path: Path) -> None:
    rng, items = np.random.default_rng(0), [str(i) for i in range(40)]
    (tmp_path / "runs").mkdir()
    people = SoftLabels.from_numpy(items, rng.multinomial(5, [0.6, 0.4], 40) / 5, ["x", "y"], 5)
    people.write(tmp_path / "labels.parquet")
    for name in ("one", "other"):
        predicted = SoftLabels.from_numpy(items, rng.dirichlet([3, 2], 40), ["x", "y"], 0)
        predicted.write(tmp_path / "runs" / f"{name}.parquet")
    found = score_models(ReportInputs.read(tmp_path))
    assert found is not None
    section = targets_section(found)
    assert section is not None
    said = " ".join([words(section), chart(section, "differences").caption])
    for false in ("not used for training", "same weights", "by seed", "over seeds"):
        assert false not in said
    assert "Predictions of 2 models (`one`, `other`) are scored on 40 items" in said
    assert "Each model minus one, on the same items." in said
    everything = repr([section, calibration_section(found), model_uncertainty_section(found)])
    for false in ("'target'", "each target", "Means over seeds", "over seeds"):
        assert false not in everything
    assert not any("trained on" in each for each in findings(found.evidence, found))


def test_no_labels_no_models(folder: Path) -> None:
    assert score_models(replace(ReportInputs.read(folder), labels={})) is None


def test_scores_of_one_table_are_listed(folder: Path) -> None:
    scores = Scores.of([Score("accuracy", "all", 0.75, 0.6, 0.9, 40, np.nan, "x")])
    evidence = replace(ReportInputs.read(folder), scores={"scores": scores})
    listed = table(single_scores_section(evidence), "scores-of-scores")
    assert rows_of(listed.columns)[0][:3] == ("accuracy", "all", "0.750")
    assert single_scores_section(ReportInputs.read(folder)) is None


def test_a_floor_is_called_a_bound_only_if_it_is_one(folder: Path) -> None:
    shares, items = [[1, 0], [0.8, 0.2], [0.2, 0.8], [0.6, 0.4]] * 10, [str(i) for i in range(40)]
    people = SoftLabels.from_numpy(items, shares, ["x", "y"], [5] * 40)
    scores = score(predicted=people, people=people, metrics=[CrossEntropy(), Brier(), ECE()], resamples=100)
    said = words(single_scores_section(replace(ReportInputs.read(folder), scores={"scores": scores})))
    assert "best possible" not in said
    # The labels themselves are below the floor of votes, which is therefore no bound.
    brier = next(row for row in scores.rows() if row.metric == "brier")
    assert brier.value < brier.floor
    assert re.findall(r"Floor of (.*): a bound,", said) == ["cross-entropy"]
    assert re.search(r"Floor of .*Brier.*: the expected score of the crowd's own distribution", said)
    old = Scores.of([Score("brier", "all", 0.3, 0.2, 0.4, 40, 0.1, "x")])
    said = words(single_scores_section(replace(ReportInputs.read(folder), scores={"scores": old})))
    assert re.search(r"Floor of .*Brier.*: its meaning is not in the file", said)


def test_the_plan_is_told_with_what_money_buys(folder: Path, plan_with: Callable[..., Plan]) -> None:
    assert plan_section(ReportInputs.read(folder)) is None
    section = plan_section(replace(ReportInputs.read(folder), plan=plan_with()))
    columns = chart(section, "plan-cost").columns
    assert columns["money"] == tuple(10.3 * m for m in (1, 2, 3, 5, 7, 10, 20))
    # By hand: the first dearer point is 10 answers, for 103 and an error of .015.
    assert "USD 30.69 more would change the error by -0.0063" in chart(section, "plan-cost").caption
    assert {"plan-curve", "plan-alternatives"} <= {
        each.name for each in made(section).blocks if isinstance(each, Chart)
    }


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two targets, trained for three epochs, with all they can note."""
    place = tmp_path_factory.mktemp("learnt")
    toy_data.write_files(place)
    arguments = ["--inputs", place / "x.npz", "--labels", place / "labels.parquet", "--network", "simple-ffn"]
    arguments += ["--epochs", 3, "--batch-size", 16, "--processes", 1, "--seeds", 2, "--dynamics", "end"]
    arguments += ["--predictions-each-epoch", "-o", place / "runs"]
    done = CliRunner().invoke(train_command.command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return place


@pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")
def test_maps_and_stability_are_those_of_sfumato_map(learnt: Path, tmp_path: Path) -> None:
    found = score_models(ReportInputs.read(runs=learnt / "runs", labels=learnt / "labels.parquet"), resamples=100)
    assert found is not None
    arguments = [learnt / "runs", "--target", "soft", "-o", tmp_path / "map.csv", "--shifts", tmp_path / "shifts.csv"]
    CliRunner().invoke(map_command.command, list(map(str, arguments)), catch_exceptions=False)
    with (tmp_path / "map.csv").open(newline="") as file:
        mapped = {row["item"]: row for row in csv.DictReader(file)}
    section = training_dynamics_section(found)
    columns = chart(section, "data-maps").columns
    own = [i for i, target in enumerate(columns["target"]) if target == "soft"]
    assert len(own) == len(mapped)
    for i in own:
        row = mapped[columns["item"][i]]
        assert columns["confidence"][i] == pytest.approx(float(row["confidence"]), abs=1e-4)
        assert columns["variability"][i] == pytest.approx(float(row["variability"]), abs=1e-4)
        assert columns["doubt"][i] == pytest.approx(-0.8 * np.log(0.8) - 0.2 * np.log(0.2), abs=1e-4)
    regions = table(section, "regions").data
    for target, region, n in zip(regions["target"], regions["region"], regions["items"], strict=True):
        if target == "soft":
            assert n == sum(row["region"] == region for row in mapped.values())
    with (tmp_path / "shifts.csv").open(newline="") as file:
        shifts = [float(row["jsd"]) for row in csv.DictReader(file)]
    moved = chart(section, "stability").columns
    shown = [moved["jsd"][i] for i, target in enumerate(moved["target"]) if target == "soft"]
    assert shown == pytest.approx(shifts)


def test_a_table_a_target_is_enough(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    trained.people().write(tmp_path / "labels.parquet")
    for run in trained.grid(("hard", "soft"), range(2)):
        run.predictions.write(tmp_path / "runs" / f"{run.target}.seed-{run.seed}.parquet")
    found = score_models(ReportInputs.read(tmp_path), resamples=100)
    assert found is not None
    assert found.targets == ["hard", "soft"]
    assert training_dynamics_section(found) is None
