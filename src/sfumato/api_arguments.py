"""Arguments of the functions in `api.py`: files are read, answers become beliefs, names become strategies."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import in_order
from sfumato.tables.columns import check_classes
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadSetting, BadTable, SfumatoError, no_rows
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.table_file import class_names
from sfumato.tables.frame_votes import has_votes_per_class, is_frame
from sfumato.tables.label_argument import label_argument
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.option_words import worded
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import split_choices, strategy_from_name

if TYPE_CHECKING:
    from sfumato.evaluation.metric import Metric

READ_FIRST = ("missing-classes", "logits", "missing-column", "negative", "not-classes")
"""Errors in files of predictions that arguments of `sf.read` correct."""


def read_file(
    path: str | Path,
    classes: Sequence[str] = (),
    format: str = "auto",
    settings: Mapping[str, Any] | None = None,
    *,
    are_votes: bool = False,
    ordered: bool = False,
) -> Annotations | Beliefs | Counts | SoftLabels | Inputs:
    """What `sf.read` reads; `are_votes` means that the file holds votes, counts or labels, and not other facts."""
    from sfumato.importers import import_file

    given = {**(settings or {}), **({"classes": class_names(classes)} if classes else {})}
    result = import_file(path, format, given, are_votes=are_votes)
    for note in result.notes:
        logging.getLogger("sfumato").info("%s: %s", path, worded(note))
    table = in_order(result.table, classes) if ordered else result.table
    if isinstance(table, Annotations) and result.format_name != "annotations":
        return beliefs_of(table) if table.are_votes else table
    assert isinstance(table, (Annotations, Beliefs, Counts, SoftLabels, Inputs))
    return table


def beliefs_of(votes: Annotations | Beliefs, *, repeats: bool = False) -> Beliefs:
    """One distribution per item and annotator; answers that count (see `Annotations.counted`) are converted by the
    usual labeler of their question type."""
    from sfumato.labeling.default_labeler import label_by_default

    if isinstance(votes, Beliefs):
        return votes
    answers = votes.counted(repeats=repeats)
    if n := len(votes) - len(answers):
        what = "checks" if repeats else "checks or repeats"
        logging.getLogger("sfumato").info("%s of %s answers are not counted (%s)", f"{n:,}", f"{len(votes):,}", what)
    return label_by_default(answers)


def votes_of(votes: Any, classes: Sequence[str] = (), *, repeats: bool = False) -> Beliefs | Counts:
    """Votes as a step takes them: Counts as they are, answers as beliefs, files read, data frames converted.

    Of answers, those with purpose `label` count; `repeats` adds second answers.
    """
    if isinstance(votes, (str, Path)):
        path, votes = votes, read_file(votes, classes, are_votes=True)
        if isinstance(votes, Table) and not len(votes):
            raise no_rows(where=path)
    elif classes and isinstance(votes, Annotations):
        votes = replace(votes, classes=check_classes(class_names(classes)))
    elif classes and isinstance(votes, (Beliefs, Counts)):
        votes = votes.in_class_order(classes)
    elif classes:
        found, fix = f"classes= with a {type(votes).__name__}", "leave out classes="
        raise BadSetting(found, "classes for a file or a table", fix)
    if isinstance(votes, Counts):
        return votes
    if isinstance(votes, (Annotations, Beliefs)):
        return beliefs_of(votes, repeats=repeats)
    if is_frame(votes) and not isinstance(votes, Table):
        return Counts.from_pandas(votes) if has_votes_per_class(votes) else Beliefs.from_pandas(votes)
    soft = isinstance(votes, SoftLabels)
    found = "SoftLabels, one distribution per item" if soft else f"a {type(votes).__name__}"
    fix = (
        "give the votes or beliefs behind the labels"
        if soft
        else "read a file with sf.read, or make votes with sf.Beliefs.from_votes, from_numpy or from_pandas"
    )
    where = getattr(votes, "path", None) if isinstance(votes, Table) else None
    raise BadTable(found, "Annotations, Beliefs or Counts", fix, "not-votes", where)


def selectable(table: Any) -> Any:
    """A table of ours or Inputs; a path is read as by every other step."""
    from sfumato.tables.selection import read_own

    if not isinstance(table, (str, Path)):
        return table
    own = read_own(Path(table))
    return read_file(table) if own is None else own


def predictions(labels: Any, name: str, known: tuple[str, ...], call: str, classes: Sequence[str] = ()) -> SoftLabels:
    """The predictions of a call: a table, or the file with one; `known` are the classes of people's labels."""
    from sfumato.importers.prediction_file import FileOptions, read_predictions

    if not isinstance(labels, (str, Path)):
        return label_argument(labels, name, call)
    try:
        return read_predictions(labels, FileOptions(class_names(classes), known=known))
    except SfumatoError as error:
        if error.code in READ_FIRST:
            error.fix = f'{error.fix}; read the file first: {name}=sf.read("{labels}", format="predictions", ...)'
        raise


def original_labels(labels: Any, classes: tuple[str, ...], call: str) -> SoftLabels | None:
    """The original labels of a call, if there are any: a table, a data frame with item and label, classes by item, or
    the file with one of them."""
    from sfumato.importers.hard_labels import classes_of_frame, read_truth

    if isinstance(labels, (str, Path)):
        return read_truth(labels, classes)
    found = classes_of_frame(labels)
    if found is not None:
        return found.one_hot(classes, Estimand.TRUTH)
    return None if labels is None else label_argument(labels, "original", call)


def chosen_metrics(metrics: str | Sequence[str | Metric]) -> list[Metric]:
    """The metrics: a list of names and objects, or names in one text, as on the command line (`brier,ece:bins=10`)."""
    from sfumato.evaluation.metric_scores import metric_from_name
    from sfumato.evaluation.metrics import METRICS

    given = split_choices(metrics) if isinstance(metrics, str) else metrics
    many = list(given) if isinstance(given, (list, tuple, set)) else [given]
    return [
        metric_from_name(each) if isinstance(each, str) else chosen_strategy("metric", METRICS, each) for each in many
    ]


def chosen_strategies(family: str, members: tuple[Any, ...], given: Any) -> list[Any]:
    """Several strategies: a list of names and objects, or one of them."""
    many = list(given) if isinstance(given, (list, tuple, set)) else [given]
    return [chosen_strategy(family, members, each) for each in many]


def chosen_strategy(family: str, members: tuple[Any, ...], given: Any) -> Any:
    """The strategy that a text (`name:setting=value`) or a class describes; an object is returned as it is."""
    if isinstance(given, str):
        return strategy_from_name(family, members, given, {})
    if isinstance(given, type) and hasattr(given, "name"):
        return given()
    if not hasattr(given, "name"):
        found, fix = f"a {type(given).__name__} as {family}", f'write its name: "{members[0].name}"'
        raise BadSetting(
            found, f"{'an' if family[0] in 'aeiou' else 'a'} {family}, by name or as an object", fix, "wrong-argument"
        )
    return given
