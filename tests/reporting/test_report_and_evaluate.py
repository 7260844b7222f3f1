"""A report and `sfumato evaluate` compare the same runs in the same way, and a report never contradicts itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trained
from click.testing import CliRunner

from sfumato.cli.evaluate import command
from sfumato.evaluation import RunPredictions, compare_runs, measure_runs, metric_from_name, scores_over_seeds
from sfumato.evaluation.run_predictions import paired_runs, read_runs
from sfumato.labeling.agreement import agreement
from sfumato.reporting.blocks import Facts, Prose, ReportTable
from sfumato.reporting.findings import finding, findings
from sfumato.reporting.missing_scores import score_models
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.phrases import NOT_IDENTIFIABLE, number_text
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreement_section
from sfumato.reporting.sections.labels import labels_section
from sfumato.reporting.sections.targets import targets_section
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import SfumatoError, SfumatoWarning
from sfumato.tables.scores import RunScores

METRICS = "accuracy,second_best_accuracy,cross_entropy,kl_divergence,brier,ece,rms_calibration,aurc,entropy_pearson"


def scored(folder: Path) -> ModelScores:
    models = score_models(ReportInputs.read(folder))
    assert models is not None
    return models


def evaluate(folder: Path, *more: str) -> None:
    arguments = ["--people", str(folder / "labels.parquet"), "--metrics", METRICS]
    arguments += ["-o", str(folder / "scores.csv"), "--differences", str(folder / "differences.csv"), *more]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def single_predictions(folder: Path, targets: tuple[str, ...] = ("hard", "soft")) -> Path:
    trained.people().write(folder / "labels.parquet")
    (folder / "runs").mkdir()
    for run in trained.grid(targets, [3]):
        run.predictions.write(folder / "runs" / f"{run.target}.parquet")
    return folder


def unequal_seeds(folder: Path) -> Path:
    """`soft` is better than `hard` with each common seed, and worse in the mean over all seeds of each."""
    trained.people().write(folder / "labels.parquet")
    runs = [*trained.grid(["hard"], range(4)), *trained.grid(["soft"], range(4))]
    hard, soft = trained.trained("hard", 0), trained.trained("soft", 0)
    good = replace(hard, predictions=trained.people())
    bad = trained.shifted(replace(soft, predictions=hard.predictions), "", 0.9)
    runs += [replace(good, seed=seed) for seed in range(4, 9)] + [replace(bad, seed=seed) for seed in range(9, 15)]
    for run in runs:
        trained.write_run(folder / "runs", run)
    return folder


def test_single_predictions_are_compared_as_evaluate_does(tmp_path: Path) -> None:
    folder = single_predictions(tmp_path)
    computed = scored(folder)
    hard, soft = (str(folder / "runs" / f"{target}.parquet") for target in ("hard", "soft"))
    evaluate(folder, "--predicted", hard, "--predicted", soft)
    read = scored(folder)
    assert read.evidence.comparison is not None
    assert [each.metric for each in computed.differences] == METRICS.split(",")
    written = {each.metric: each for each in read.differences}
    for each in computed.differences:
        other = written[each.metric]
        assert (each.verdict, each.covers) == (other.verdict, other.covers), each.metric
        assert (each.p_corrected, each.low, each.high) == pytest.approx(
            (other.p_corrected, other.low, other.high), nan_ok=each.metric in ("accuracy", "rms_calibration")
        )
    told, read_again = findings(computed.evidence, computed), findings(read.evidence, read)
    assert [each.partition(" Scores are against")[0] for each in told] == [
        each.partition(" Scores are against")[0] for each in read_again
    ]
    (sentence,) = (each for each in findings(computed.evidence, computed) if "calibrat" in each)
    assert "not tested" not in sentence
    assert "40 items, one prediction each" in sentence


def answered(folder: Path, n_people: int = 6) -> Path:
    """Single answers and other labels in a folder with predictions."""
    single_predictions(folder)
    people, rng = trained.people(), np.random.default_rng(0)
    chosen = [rng.choice(len(people.classes), p=row) for row in people.probs for _ in range(n_people)]
    items = [item for item in people.items.to_pylist() for _ in range(n_people)]
    names = [f"p{k}" for _ in range(len(people)) for k in range(n_people)]
    Beliefs.from_numpy(items, names, np.array(chosen), list(people.classes)).write(folder / "beliefs.parquet")
    return folder


def test_single_answers_in_the_folder_are_what_models_are_scored_against(tmp_path: Path) -> None:
    """As `sfumato evaluate --people beliefs.parquet` does, although there are labels too; and the report says so."""
    folder = answered(tmp_path)
    models = scored(folder)
    beliefs = Beliefs.read(folder / "beliefs.parquet")
    runs = read_runs(folder / "runs")
    measured = measure_runs(runs, people=beliefs, metrics=[metric_from_name("cross_entropy")])
    expected = {each.target: (each.value, each.se_people) for each in scores_over_seeds(measured).scores}
    found = {each.target: (each.value, each.se_people) for each in models.of_metric("cross_entropy")}
    assert found == {target: pytest.approx(each) for target, each in expected.items()}
    section = targets_section(models)
    assert section is not None
    prose = " ".join(next(block for block in section.blocks if isinstance(block, Prose)).paragraphs)
    assert "All scores are against the single answers of 6 people in `beliefs.parquet`." in prose
    assert "Intervals are for people at large" in prose
    assert "--people beliefs.parquet" in models.source().command
    titles = [str(getattr(block, "title", "")) for block in section.blocks]
    assert any("people's single answers" in each for each in titles), titles
    assert not any("people's labels" in each for each in titles)
    said = findings(models.evidence, models)
    assert "for people at large" in said[0]
    sure = [replace(each, verdict="better") for each in models.differences if each.metric == "cross_entropy"]
    (sentence,) = [finding(each, models.level, "predictions of", models.scored) for each in sure]
    assert "are closer to people's single answers than predictions of" in sentence
    assert all("for people at large)" in each for each in said if "difference" in each and "not tested" not in each)


def test_labels_that_the_user_names_are_scored_against_with_the_crowd_fixed(tmp_path: Path) -> None:
    folder = answered(tmp_path)
    models = score_models(ReportInputs.read(folder, people=folder / "labels.parquet"))
    assert models is not None
    section = targets_section(models)
    assert section is not None
    prose = " ".join(next(block for block in section.blocks if isinstance(block, Prose)).paragraphs)
    assert "All scores are against people's labels in `labels.parquet`" in prose
    assert "Intervals are for these people: the crowd is taken as fixed" in prose
    said = findings(models.evidence, models)
    assert any("40 items, one prediction each; for these people)" in each for each in said)


def test_answers_about_some_items_leave_the_labels_in_place(tmp_path: Path) -> None:
    folder = answered(tmp_path)
    beliefs = Beliefs.read(folder / "beliefs.parquet")
    beliefs.take(np.arange(len(beliefs)) < 60).write(folder / "beliefs.parquet")
    evidence = ReportInputs.read(folder)
    assert (evidence.people_name, evidence.people_answers) == ("labels", None)


def test_people_may_be_single_answers(tmp_path: Path) -> None:
    folder = answered(tmp_path)
    named = ReportInputs.read(runs=folder / "runs", people=folder / "beliefs.parquet")
    assert (named.notes, named.people_part) == ((), "beliefs")
    assert named.people_answers is not None
    with pytest.raises(SfumatoError, match="two files with beliefs"):
        ReportInputs.read(people=folder / "beliefs.parquet", beliefs=folder / "beliefs.parquet")


def test_one_answer_per_item_identifies_no_entropy(tmp_path: Path) -> None:
    folder = answered(tmp_path, n_people=1)
    section = labels_section(ReportInputs.read(folder, people=folder / "beliefs.parquet"))
    assert section is not None
    (facts,) = (block for block in section.blocks if isinstance(block, Facts))
    assert {each.label: each.value for each in facts.facts}["mean entropy of the labels"] == "unknown"
    said = " ".join(text for block in section.blocks if isinstance(block, Prose) for text in block.paragraphs)
    assert NOT_IDENTIFIABLE in said
    assert "estimate how people judge" not in said


def test_the_text_leads_with_the_ordinal_alpha_of_ordered_classes(tmp_path: Path) -> None:
    beliefs = Beliefs.read(answered(tmp_path) / "beliefs.parquet").as_ordered()
    section = agreement_section(ReportInputs(beliefs=beliefs))
    assert section is not None
    said = " ".join(next(block for block in section.blocks if isinstance(block, Prose)).paragraphs)
    found = agreement(beliefs)
    ordinal, nominal = (f"{found.value[found.measure.index(f'alpha-{each}')]:.3f}" for each in ("ordinal", "nominal"))
    assert f"Krippendorff's alpha for ordered classes is {ordinal}" in said
    assert said.index(ordinal) < said.index(f"is ignored, it is {nominal}")


def test_more_than_four_single_predictions_are_tested_too() -> None:
    runs = [replace(run, target=f"{run.target}-{run.seed}", seed=0) for run in trained.grid(["hard", "soft"], range(3))]
    measured = measure_runs(runs, people=trained.people(), metrics=[metric_from_name("ece")], resamples=100)
    found = compare_runs(measured).differences
    assert len(found) == 5
    assert all(each.p == each.p for each in found)


def test_scores_without_comparisons_are_compared_from_the_runs(tmp_path: Path) -> None:
    folder = single_predictions(tmp_path)
    evaluate(folder, "--runs", str(folder / "runs"))
    (folder / "differences.csv").unlink()
    models = scored(folder)
    assert isinstance(models.evidence.scores["scores"], RunScores)
    assert {each.metric for each in models.differences} == set(METRICS.split(","))


def test_summary_and_tables_use_the_same_seeds(tmp_path: Path) -> None:
    folder = unequal_seeds(tmp_path)
    models = scored(folder)
    found = models.difference("cross_entropy")
    assert found is not None
    assert found.verdict == "better"
    scores = {each.target: each for each in models.of_metric("cross_entropy")}
    assert (scores["soft"].value, scores["hard"].value) == (found.value, found.baseline_value)
    assert {each.n_seeds for each in models.scores} == {found.n_seeds} == {4}
    section = targets_section(models)
    assert section is not None
    prose = next(block for block in section.blocks if isinstance(block, Prose))
    assert "11 runs with other seeds left out" in " ".join(prose.paragraphs)
    table = next(block for block in section.blocks if isinstance(block, ReportTable) and block.name == "scores")
    assert table.caption.startswith("Means over 4 seeds")
    column = {column.title: column.values for column in table.columns}
    row = column["metric"].index("cross-entropy")
    assert str(column["soft"][row]).startswith(number_text(found.value))
    assert any("over seeds 0, 1, 2, 3, which all targets have" in note for note in models.notes)


def test_evaluate_uses_the_same_seeds_for_scores_and_comparisons(tmp_path: Path) -> None:
    folder = unequal_seeds(tmp_path)
    with pytest.warns(SfumatoWarning, match=r"seeds 4, 5, 6, 7, 8 of hard, seeds 9, .* of soft left out"):
        evaluate(folder, "--runs", str(folder / "runs"))
    models = scored(folder)
    assert models.differences
    for each in models.differences:
        values = {row.target: row.value for row in models.scores if row.metric == each.metric}
        assert (values["soft"], values["hard"]) == (each.value, each.baseline_value)


def test_comparisons_of_other_seeds_than_the_scores_are_left_out(tmp_path: Path) -> None:
    folder = unequal_seeds(tmp_path)
    runs = read_runs(folder / "runs")
    measured = measure_runs(runs, people=trained.people(), resamples=100)
    scores_over_seeds(measured).write(folder / "scores.csv")
    with pytest.warns(SfumatoWarning, match="only on one side"):
        compare_runs(measured, baseline="hard").write(folder / "differences.csv")
    models = scored(folder)
    assert not models.differences
    assert any("of other seeds or items than the scores" in note for note in models.notes)


def test_a_pretrained_network_is_paired_with_every_seed() -> None:
    once = replace(trained.trained("hard", 0), target="pretrained")
    runs = [*trained.grid(["hard", "soft"], range(4)), once]
    assert paired_runs(runs) == runs
    measured = measure_runs(runs, people=trained.people(), resamples=100)
    found = compare_runs(measured).differences
    assert {each.target: each.n_seeds for each in found} == {"soft": 4, "pretrained": 4}
    scores = {(each.target, each.metric): each.value for each in scores_over_seeds(measured).scores}
    for each in found:
        assert each.value == pytest.approx(scores[each.target, each.metric], nan_ok=True)
        assert each.baseline_value == pytest.approx(scores["hard", each.metric], nan_ok=True)


def test_targets_without_a_common_seed_are_compared_unpaired() -> None:
    runs: list[RunPredictions] = [*trained.grid(["hard"], [0, 1]), *trained.grid(["soft"], [2, 3])]
    assert paired_runs(runs) == runs
    measured = measure_runs(runs, people=trained.people(), resamples=100)
    with pytest.warns(SfumatoWarning, match="soft and hard .* have no seed in common: .* without pairing"):
        found = compare_runs(measured).differences
    assert {each.target for each in found} == {"soft"}
