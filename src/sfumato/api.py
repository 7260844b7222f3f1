"""The functions of `import sfumato as sf`: one per step, each a short call into the package behind it.

Strategies are given by name, with settings (`"dawid-skene:prior=20"`), or as objects. A package is imported when a
function first needs it, so that reading a file loads neither PyTorch nor Altair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.api_arguments import (
    chosen_metrics,
    chosen_strategies,
    chosen_strategy,
    original_labels,
    predictions,
    read_file,
    selectable,
    votes_of,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.call_arguments import check_kind, explained
from sfumato.tables.class_order import in_order
from sfumato.tables.counts import Counts
from sfumato.tables.doubt import Doubt
from sfumato.tables.errors import BadSetting, warn
from sfumato.tables.label_argument import model_arguments
from sfumato.tables.mean_doubt import MeanDoubt
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.scores import Scores
from sfumato.tables.setting_checks import number
from sfumato.tables.soft_labels import SoftLabels

if TYPE_CHECKING:
    import numpy as np

    from sfumato.aggregation.aggregation import Aggregator
    from sfumato.evaluation.metric import Metric
    from sfumato.evaluation.model_scorer import ModelScorer
    from sfumato.evaluation.prediction_sets import CalibratedSets
    from sfumato.labeling.agreement.agreement_table import AgreementTable
    from sfumato.labeling.agreement.measure_protocol import AgreementMeasure
    from sfumato.labeling.camps import Camps
    from sfumato.planning.costs import CostModel
    from sfumato.planning.model_power import ModelPlan
    from sfumato.planning.plan_file import Plan
    from sfumato.reporting.report import Report
    from sfumato.tables.scores import Differences

Votes = Annotations | Beliefs | Counts


@explained
def read(
    path: str | Path, classes: Sequence[str] = (), *, ordered: bool = False, format: str = "auto", **settings: Any
) -> Annotations | Beliefs | Counts | SoftLabels | Inputs:
    """Read votes, counts, labels or images from any file, zip or folder that `sfumato import` reads.

    Without `format`, it is recognized; `logging` at level INFO says by what. `settings` are those of the format:
    `sf.read("records.json", label="mood")`. Single votes are returned as Beliefs, other answers as Annotations. The
    classes are a scale if `ordered`.
    """
    fix = "a data frame becomes votes with sf.Beliefs.from_pandas, from_polars or from_hf"
    check_kind("path", path, (str, Path), "the path of a file or folder", fix)
    return read_file(path, classes, format, settings, ordered=ordered)


@explained
def doubt(votes: Votes, *, classes: Sequence[str] = (), repeats: bool = False) -> Doubt:
    """Uncertainty per item, within and between annotators; `repeats` also counts second answers of an annotator.

    `classes` names the classes if the file or the answers do not.
    """
    return votes_of(votes, classes, repeats=repeats).doubt()


@explained
def mean_doubt(votes: Votes, *, classes: Sequence[str] = (), repeats: bool = False, level: float = 0.95) -> MeanDoubt:
    """Mean uncertainty over items: how often two people give different answers, with an interval over people and items.

    `classes` and `repeats` are as in `doubt`.
    """
    from sfumato.aggregation.adaptive_study import study_doubt

    return study_doubt(votes_of(votes, classes, repeats=repeats), level=level)


@explained
def agreement(
    votes: Votes,
    measures: Sequence[str | AgreementMeasure] = (),
    *,
    classes: Sequence[str] = (),
    level: float = 0.95,
) -> AgreementTable:
    """Inter-annotator agreement with confidence intervals over annotators and items; without `measures`, those that
    apply. `print` shows where the width of the intervals comes from.

    Second answers of an annotator are used for test-retest only. `classes` names the classes if the votes do not.
    """
    from sfumato.aggregation.adaptive_agreement import study_agreement
    from sfumato.labeling.agreement import MEASURES

    chosen = chosen_strategies("measure", MEASURES, measures)
    return study_agreement(votes_of(votes, classes, repeats=True), measures=chosen, level=level)


@explained
def camps(votes: Votes, *, classes: Sequence[str] = (), rng: np.random.Generator | None = None) -> Camps:
    """Two camps of annotators, if some answer the same items differently from the others in the same way.

    `.sentence()` says what was found, `.members` who belongs to which camp, and `.items` where they differ.
    """
    import numpy as np

    from sfumato.labeling.camps import camps

    return camps(votes_of(votes, classes), rng=rng or np.random.default_rng(0))


@explained
def aggregate(
    votes: Votes, by: str | Aggregator = "mean", *, classes: Sequence[str] = (), repeats: bool = False
) -> SoftLabels:
    """One distribution per item from all annotators; the labels record their estimand. `repeats` also counts second
    answers of an annotator; `classes` names the classes if the votes do not."""
    from sfumato.aggregation import AGGREGATORS

    aggregator: Aggregator = chosen_strategy("aggregator", AGGREGATORS, by)
    return aggregator.aggregate(votes_of(votes, classes, repeats=repeats)).labels


@explained
def evaluate(
    *,
    predicted: SoftLabels | Path | str,
    people: SoftLabels | Votes | Path | str,
    original: SoftLabels | Path | str | None = None,
    metrics: str | Sequence[str | Metric] = (),
    classes: Sequence[str] = (),
    ordered: bool = False,
    rng: np.random.Generator | None = None,
    common: bool = False,
    any_estimand: bool = False,
) -> Scores:
    """Score predictions against people's labels; without `metrics`, all that apply. Each is a table, or its file.

    With people's single answers (Beliefs, Annotations, votes in a data frame) intervals hold for people at large, with
    labels or counts for these people. Labels that record another estimand than how people judge are an error, unless
    `any_estimand`. `common` skips predicted items that people did not judge. `classes` are the classes in order, of
    people's votes in a file and of predictions without names; with `ordered` they are a scale.
    """
    from sfumato.evaluation.metric_scores import score
    from sfumato.labeling.people_labels import people_labels

    judged = people_labels(people, "sf.evaluate", classes)
    judged = in_order(judged, classes) if ordered else judged
    return score(
        predicted=predictions(predicted, "predicted", judged.classes, "sf.evaluate", classes),
        people=judged,
        original=original_labels(original, judged.classes, "sf.evaluate"),
        metrics=chosen_metrics(metrics),
        rng=rng,
        common=common,
        any_estimand=any_estimand,
    )


@explained
def compare(
    predicted: Mapping[str, SoftLabels | Path | str | Sequence[SoftLabels | Path | str]],
    *,
    people: SoftLabels | Votes | Path | str,
    original: SoftLabels | Path | str | None = None,
    metrics: str | Sequence[str | Metric] = (),
    classes: Sequence[str] = (),
    ordered: bool = False,
    baseline: str | None = None,
    rng: np.random.Generator | None = None,
    common: bool = False,
    any_estimand: bool = False,
) -> Differences:
    """Paired differences between models on the same items: each against `baseline`, by default the first.

    A model is one table of predictions, or a list of tables, one per seed, in the same order for every model. Intervals
    and verdicts are over items, over seeds if there are several, and over people if `people` are single answers.
    `classes` and `ordered` are as in `evaluate`.
    """
    from sfumato.evaluation.comparison import compare_runs
    from sfumato.evaluation.run_predictions import RunPredictions, paired_runs
    from sfumato.evaluation.run_scores import measure_runs
    from sfumato.labeling.people_labels import people_labels

    models = model_arguments(predicted, "sf.compare")
    judged = people_labels(people, "sf.compare", classes)
    judged = in_order(judged, classes) if ordered else judged
    runs = [
        RunPredictions(name, "", seed, predictions(each, f"predicted[{name!r}]", judged.classes, "sf.compare", classes))
        for name, own in models.items()
        for seed, each in enumerate(own)
    ]
    first = baseline or next(iter(models))
    measured = measure_runs(
        paired_runs(runs, first),
        people=judged,
        original=original_labels(original, judged.classes, "sf.compare"),
        metrics=chosen_metrics(metrics),
        rng=rng,
        common=common,
        any_estimand=any_estimand,
    )
    return compare_runs(measured, baseline=first)


@explained
def prediction_sets(
    *,
    predicted: SoftLabels | Path | str,
    people: SoftLabels | Counts | Path | str,
    coverage: float = 0.9,
    original: SoftLabels | Path | str | None = None,
    rng: np.random.Generator | None = None,
    common: bool = False,
    any_estimand: bool = False,
) -> CalibratedSets:
    """Sets of classes that contain a person's answer with probability `coverage`, calibrated on people's votes.

    `.sets` has the set of every item, `.coverage` how often sets contain a person's answer, overall and by how much the
    other people agree, next to sets calibrated on the most frequent class.
    """
    from sfumato.evaluation.matched_labels import match_labels
    from sfumato.evaluation.people_jackknife import PeopleLabels
    from sfumato.evaluation.prediction_sets import calibrate_sets
    from sfumato.labeling.people_labels import people_labels

    judged = PeopleLabels.of(people_labels(people, "sf.prediction_sets")).labels
    matched = match_labels(
        predicted=predictions(predicted, "predicted", judged.classes, "sf.prediction_sets"),
        people=judged,
        original=original_labels(original, judged.classes, "sf.prediction_sets"),
        common=common,
        any_estimand=any_estimand,
    )
    return calibrate_sets(matched, number("coverage", coverage), rng=rng)


@explained
def scorer(metric: str | Metric) -> ModelScorer:
    """A scorer for scikit-learn's `cross_val_score(model, X, distributions, scoring=sf.scorer("brier"))`."""
    from sfumato.evaluation.model_scorer import ModelScorer

    return ModelScorer(chosen_metrics([metric])[0])


@explained
def plan(
    *,
    pilot: Votes | SoftLabels | Path | str,
    budget: float | None = None,
    goal: str = "distribution",
    items: int | None = None,
    costs: CostModel | None = None,
    models: Mapping[str, SoftLabels | Path | str] | None = None,
    metric: str | Metric = "cross_entropy",
    power: float = 0.8,
    rng: np.random.Generator | None = None,
) -> Plan | ModelPlan:
    """Which labels to collect for a budget in money, from what a pilot shows; `items` items like those of the pilot.

    With `models`, the predictions of two models on the items of the pilot: how many items and answers per item tell
    them apart by `metric` with probability `power`, and what a budget in money reaches; then `items` is the number that
    can be labeled at most. `goal` and `rng` are not used then.
    """
    from sfumato.planning.costs import CostModel

    terms = costs or CostModel()
    if models is not None:
        from sfumato.labeling.people_labels import people_labels
        from sfumato.planning.model_power import pilot_difference, plan_models

        people = people_labels(pilot, "sf.plan")
        fix = 'write models={"a": predictions_a, "b": predictions_b}'
        check_kind("models", models, (Mapping,), "two models' predictions by name", fix)
        pair = {
            name: predictions(each, f"models[{name!r}]", people.classes, "sf.plan") for name, each in models.items()
        }
        difference = pilot_difference(people, pair, chosen_metrics([metric])[0])
        bought = None if budget is None else terms.affordable("choice", number("budget", budget))
        return plan_models(difference, power=number("power", power), budget=bought, most_items=items)
    import numpy as np

    from sfumato.planning.decision import decide
    from sfumato.planning.goals import goal_named
    from sfumato.planning.pilot_answers import Pilot
    from sfumato.planning.plan_file import Budget

    if budget is None:
        raise BadSetting("no budget", "the money to spend", "give budget=500, or models= to compare two models")
    answers = pilot if isinstance(pilot, SoftLabels) else votes_of(pilot)
    source, terms = Pilot.of(answers), terms.for_task(len(answers.classes))
    return decide(
        source,
        goal=goal_named(goal),
        costs=terms,
        classes=answers.classes,
        n_items=items or source.n_items,
        budget=Budget(amount=number("budget", budget), unit=terms.currency),
        rng=rng or np.random.default_rng(0),
    )


@explained
def select(
    table: Table | Inputs | str | Path,
    *,
    items: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per_class: int | None = None,
    split: Mapping[str, float] | str | None = None,
    stratify: str | None = None,
    seed: int = 0,
    labels: Table | str | Path | None = None,
) -> Any:
    """A part of `table`, or with `split` its parts by name: see `Selection`. What was left out is a warning.

    `labels` is a table that gives the class, entropy or number of annotators of items instead of `table`. Both may be
    files. A split may be text, as on the command line: `"train=0.8,test=0.2"`.
    """
    from sfumato.tables.selection import WHOLE, Selection, split_shares, take, values_of

    if isinstance(items, str) or isinstance(leave_out, str):
        fix = "give a list of ids; sfumato.tables.item_list.read_item_list reads a file"
        raise BadSetting("a single text for items", "a list of item ids", fix)
    fix = 'write where="n_annotators>=5", or give the ids as items'
    check_kind("where", where, (str, Sequence), "a condition as text, or a list of them", fix)
    conditions = (where,) if isinstance(where, str) else tuple(where)
    parts_of = split_shares(split) if isinstance(split, str) else split
    if parts_of is not None:
        fix = 'write split={"train": 0.8, "test": 0.2}'
        check_kind("split", parts_of, (Mapping,), "parts by name with their shares", fix)
    chosen = Selection(items, leave_out, conditions, per_class, parts_of, stratify, seed)
    other = None if labels is None else values_of(selectable(labels))
    table = selectable(table)
    found = chosen.of(replace(values_of(table), labels=other))
    for note in found.notes:
        warn(note)
    parts = {name: take(table, rows) for name, rows in found.rows.items()}
    return parts if split is not None else parts[WHOLE]


@explained
def report(folder: str | Path, title: str = "") -> Report:
    """A report on everything that a folder holds: labels, runs, scores, plan; `.save("report.html")` writes it."""
    from sfumato.reporting.report import Report
    from sfumato.reporting.report_inputs import ReportInputs

    fix = "write the table to a folder, labels.write('study/labels.parquet'), and give the folder"
    check_kind("folder", folder, (str, Path), "the path of a folder", fix)
    return Report(ReportInputs.read(folder), title=title)
