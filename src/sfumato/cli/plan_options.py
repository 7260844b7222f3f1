"""Options shared by the plan commands: pilot, study and prior; prices; budgets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.options import refuse_empty, server_packages
from sfumato.tables.errors import BadSetting, SfumatoError, listing
from sfumato.tables.setting_checks import above_0

if TYPE_CHECKING:
    from sfumato.aggregation.dirichlet_mixture import DirichletMixture
    from sfumato.elicitation.study_check import StudyCheckResult
    from sfumato.planning.answers_per_item import ErrorThreshold
    from sfumato.planning.costs import CostModel
    from sfumato.planning.decision import DeeperItems
    from sfumato.planning.pilot_answers import Pilot
    from sfumato.planning.plan_file import Budget, PilotFile
    from sfumato.tables.annotations import Annotations


@dataclass(frozen=True, eq=False)
class PlanSource:
    """What a plan is based on: a pilot or a prior, the classes, the pilot's items, and its answers if there are any."""

    of: Pilot | DirichletMixture
    classes: tuple[str, ...]
    items: tuple[str, ...] = ()
    answers: Annotations | None = None
    file: PilotFile | None = None


def read_source(
    pilot: Path | None,
    prior: str | None,
    classes: Sequence[str] | None,
    checked: StudyCheckResult | None,
    store: str | None,
) -> PlanSource:
    """The pilot, the study's own answers, or the prior; an error if there is none, or two."""
    names = checked.study.class_names if checked is not None else ()
    if pilot is not None and prior is not None:
        raise BadSetting("both --pilot and --prior", "one of them", "give only the pilot")
    if pilot is not None:
        source = pilot_of(pilot, names or tuple(classes or ()))
    elif prior is not None:
        source = _assumed(prior, classes, names)
    else:
        answers = stored_answers(checked, store) if checked is not None else None
        if answers is None:
            found = "a study without answers, and neither --pilot nor --prior" if checked else "no pilot and no prior"
            fix = "add --pilot FILE, or --prior dirichlet:0.1 with --classes"
            raise BadSetting(found, "a pilot, or an assumed prior", fix)
        source = _of_table(answers)
    if names and sorted(source.classes) != sorted(names):
        found = f"a pilot over the classes {listing(source.classes)}"
        raise BadSetting(found, f"those of the study: {listing(names)}", "give answers to the same question")
    return source


def pilot_of(path: Path, classes: Sequence[str] = ()) -> PlanSource:
    """The pilot in a file; its columns determine which table it is. Answers may need `classes`."""
    from sfumato.planning.plan_file import PilotFile

    source = _of_table(read_answers(path, classes))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return PlanSource(source.of, source.classes, source.items, source.answers, PilotFile(file=path.name, sha256=digest))


def read_answers(path: Path, classes: Sequence[str] = ()) -> Any:
    """Annotations, Beliefs, Counts or SoftLabels, by the columns of the file, as `sf.read` reads it."""
    from sfumato.api_arguments import read_file

    table = read_file(path, classes, are_votes=True)
    refuse_empty(table, path)
    return table


def threshold_of(error: float | None, share: float | None, probability: float) -> ErrorThreshold | None:
    """The required precision of `--threshold`, `--share` and `--probability`."""
    from sfumato.planning.answers_per_item import ErrorThreshold

    if error is None and share is not None:
        expected = "the error that these items may not exceed"
        raise BadSetting("--share without --threshold", expected, "add --threshold")
    return None if error is None else ErrorThreshold(error, share, probability)


def costs_of(
    source: PlanSource,
    checked: StudyCheckResult | None,
    *,
    seconds: Sequence[str],
    wage: float | None = None,
    fee: float | None = None,
    overhead: float | None = None,
    currency: str | None = None,
) -> tuple[CostModel, list[str]]:
    """The prices, and notes about them: measured times, then the study's pay, then options."""
    from sfumato.planning.answer_times import measured_times
    from sfumato.planning.costs import CostModel

    given = {name: value for name, value in (("fee", fee), ("overhead", overhead)) if value is not None}
    study = checked.study if checked is not None else None
    if study is not None:
        given["batch_size"] = study.people.batch_size
    if currency or (study is not None and study.pay is not None):
        given["currency"] = currency or study.pay.currency  # type: ignore[union-attr, assignment]
    costs, notes = CostModel(**given), []  # type: ignore[arg-type]
    if source.answers is not None:
        try:
            costs = costs.with_times(measured_times(source.answers))
        except SfumatoError as error:
            if error.code != "no-times":
                raise
            notes.append("the pilot has no times: published times of other data are used, see the assumptions")
    for kind, value in pairs("seconds", seconds).items():
        costs = costs.with_kind(kind, value)
    costs = costs.for_task(len(source.classes))
    if wage is None and study is not None and study.pay is not None:
        hours = study.people.batch_size * costs.seconds(study.question.kind) / 3600
        wage = study.pay.amount / hours if hours else None
        notes.append(f"a batch pays {study.pay.amount:g} {study.pay.currency}: {wage or 0:.3g} per hour")
    from dataclasses import replace

    return (costs if wage is None else replace(costs, wage=wage)), notes


def costs_of_answers(seconds: float | None, wage: float | None) -> CostModel:
    """The prices of single-choice answers, with these seconds per answer and this wage if given."""
    from dataclasses import replace

    from sfumato.planning.costs import CostModel

    costs = CostModel() if seconds is None else CostModel().with_kind("choice", above_0("seconds", seconds))
    return costs if wage is None else replace(costs, wage=above_0("wage", wage))


def budget_of(text: str | None, currency: str) -> Budget | None:
    """`500` or `500 USD` is money, `5000 answers` is a number of answers."""
    from sfumato.planning.plan_file import Budget

    if text is None:
        return None
    number, _, unit = text.strip().partition(" ")
    try:
        amount = float(number.replace(",", ""))
    except ValueError:
        amount = float("nan")
    if amount != amount or unit.strip() not in ("", "answers", currency):
        expected = f"500, '500 {currency}' or '5000 answers'"
        raise BadSetting(f"--budget {text!r}", expected, "choose another --budget")
    return Budget(amount=above_0("budget", amount), unit=unit.strip() or currency)


def deeper_items_of(path: Path | None) -> DeeperItems | None:
    """The items for which `sfumato plan items` advises another form than a choice."""
    if path is None:
        return None
    import pyarrow as pa

    from sfumato.planning.decision import DeeperItems
    from sfumato.tables.files.table_file import read_rows

    rows = read_rows(path)
    columns = rows.schema.names
    if "item" not in columns or "form" not in columns:
        fix = "give the file of sfumato plan items -o"
        raise BadSetting(f"the columns {', '.join(columns)}", "item and form", fix)
    richer: dict[str, str] = {}
    for chunk in rows.chunks:
        try:
            pairs_of = [chunk[name].cast(pa.string()).to_pylist() for name in ("item", "form")]
        except pa.ArrowException as error:
            fix = "give the file of sfumato plan items -o"
            raise BadSetting("items or forms that are no texts", "texts", fix, where=path) from error
        richer |= {item: form for item, form in zip(*pairs_of, strict=True) if form != "choice"}
    kinds = sorted({str(form) for form in richer.values()})
    if len(kinds) > 1:
        raise BadSetting(f"the forms {', '.join(kinds)}", "one richer form", "rank the items with two forms")
    return DeeperItems(kinds[0], tuple(richer)) if kinds else None


def pairs(option: str, given: Sequence[str]) -> dict[str, float]:
    """`KIND=NUMBER`, any number of times."""
    result = {}
    for text in given:
        kind, equals, number = text.partition("=")
        try:
            result[kind.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals or not kind.strip():
            raise BadSetting(f"--{option} {text!r}", f"--{option} choice=2.3", f"give --{option} KIND=NUMBER")
    return result


def _of_table(table: Any) -> PlanSource:
    """The pilot in a table, with the items in the order of its counts."""
    import pyarrow as pa

    from sfumato.labeling.default_labeler import as_votes
    from sfumato.planning.item_prior import check_counts
    from sfumato.planning.pilot_answers import Pilot
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.counts import Counts
    from sfumato.tables.soft_labels import SoftLabels

    answers = table.for_purposes("label") if isinstance(table, Annotations) else None
    table_of_votes = table if answers is None else as_votes(answers)
    pilot = Pilot.of(table_of_votes)
    check_counts(pilot.counts)
    if isinstance(table_of_votes, SoftLabels):
        assert table_of_votes.n_annotators is not None, "a pilot has counts"
        items = table_of_votes.items.filter(pa.array(table_of_votes.n_annotators > 0)).to_pylist()
    elif isinstance(table_of_votes, Counts):
        items = table_of_votes.items.to_pylist()
    else:
        items = table_of_votes.item.names.to_pylist()
    assert len(items) == pilot.n_items
    return PlanSource(pilot, tuple(table_of_votes.classes), tuple(items), answers)


def stored_answers(checked: StudyCheckResult, store: str | None) -> Annotations | None:
    """The answers in the study's store; None if there is none yet."""
    with server_packages():
        from sfumato.store.export import read_answers as read_stored
        from sfumato.store.location import StoreLocation, default_location
    if store is None and not default_location(checked.study).is_file():
        return None
    answers = read_stored(StoreLocation.of_study(checked.study, store), checked.study.name)
    return answers if len(answers) else None


def _assumed(prior: str, classes: Sequence[str] | None, of_study: tuple[str, ...]) -> PlanSource:
    from sfumato.planning.pilot_answers import dirichlet

    alpha = parse_prior(prior)
    names = of_study or _class_names(classes, len(alpha))
    return PlanSource(dirichlet(alpha, len(names)), names)


def parse_prior(prior: str) -> list[float]:
    """The parameters of a prior as typed: `uniform`, or `dirichlet:0.5,...`."""
    name, _, given = prior.partition(":")
    try:
        alpha = [1.0] if name == "uniform" and not given else [float(each) for each in given.split(",")]
    except ValueError:
        alpha = []
    if name not in ("uniform", "dirichlet") or not alpha:
        raise BadSetting(f"--prior {prior!r}", "uniform, or dirichlet:0.5,0.5,...", "choose another --prior")
    return alpha


def _class_names(classes: Sequence[str] | None, n_alpha: int) -> tuple[str, ...]:
    if not classes:
        if n_alpha > 1:
            return tuple(str(k) for k in range(n_alpha))
        raise BadSetting("a prior without classes", "their names, or their number", "add --classes")
    if len(classes) == 1 and classes[0].isdigit():
        if int(classes[0]) > 10_000:
            raise BadSetting(f"--classes {classes[0]}", "at most 10,000", "choose fewer classes")
        return tuple(str(k) for k in range(int(classes[0])))
    return tuple(classes)
