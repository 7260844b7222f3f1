"""A study's answers as bonus rules and checks look at them: distributions over its classes, form by form.

From a study's store, and from the platform, to who is owed what: the one call behind each command.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.labeling.default_labeler import kinds_in, label_by_default
from sfumato.labeling.screening import set_aside_in
from sfumato.recruitment import platform_of
from sfumato.recruitment.bonus_rules import PeerAnswers, rule_of
from sfumato.recruitment.payment import Payments, payments
from sfumato.recruitment.platform import Platform, PlatformSubmission, read_export
from sfumato.recruitment.platform_api import PlatformClient, request_key
from sfumato.recruitment.reconciliation import Reconciliation, reconciled
from sfumato.recruitment.turnout import ParticipantRecord, Turnout, turnout_of
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadSetting, ErrorLocation
from sfumato.tables.files import read_rows
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True, eq=False)
class _Said:
    """Answers in one form: what each says of the study's classes."""

    items: list[str]
    annotators: list[str]
    probs: Float[np.ndarray, "answers classes"]


def compared(
    annotations: Annotations, classes: Sequence[str], people: Sequence[str], set_aside: Collection[str] = ()
) -> PeerAnswers:
    """The answers for a label of `people`, to be scored; with those of `set_aside` nobody is compared.

    People are compared with those who were asked in the same form: who could only choose one class is not held to the
    doubt of others. An answer that says nothing of the classes is left out.
    """
    number = {name: n for n, name in enumerate(people)}
    item: dict[tuple[int, str], int] = {}
    rows: list[tuple[int, int]] = []
    probs = [np.zeros((0, len(classes)))]
    for form, said in enumerate(_said(annotations.for_purposes("label"), classes)):
        known = [name in number for name in said.annotators]
        for name, who, is_known in zip(said.items, said.annotators, known, strict=True):
            if is_known:
                rows.append((item.setdefault((form, name), len(item)), number[who]))
        probs.append(said.probs[np.array(known, bool)])
    codes = np.array(rows, np.int64).reshape(-1, 2)
    aside = set(set_aside)
    is_peer = np.array([name not in aside for name in people], bool)
    return PeerAnswers(codes[:, 0], codes[:, 1], np.concatenate(probs), is_peer)


def failed_checks(annotations: Annotations, study: Study) -> Counter[str]:
    """How many checks each annotator failed: answers outside of the region the study file gives."""
    regions = {check.item: check.region for check in study.checks}
    failed: Counter[str] = Counter()
    if regions:
        for said in _said(annotations.for_purposes("check"), study.class_names):
            for name, who, row in zip(said.items, said.annotators, said.probs.tolist(), strict=True):
                belief = dict(zip(study.class_names, row, strict=True))
                failed[who] += name in regions and not regions[name].has(belief)
    return failed


def _said(annotations: Annotations, classes: Sequence[str]) -> Iterator[_Said]:
    for label in annotations.kind.names.to_pylist():
        own = annotations.of_kind(label)
        if kinds_in(own)[0] not in ABOUT_ONE_ITEM or not len(own):
            continue
        beliefs = label_by_default(own, classes)
        # "None of these" is in none of the classes: what is left of an answer counts.
        within = np.asarray(beliefs.probs[:, : len(classes)], np.float64)
        mass = within.sum(axis=1)
        kept = beliefs.take(mass > 0)
        yield _Said(_names(kept.item), _names(kept.annotator), within[mass > 0] / mass[mass > 0, None])


def _names(column: CodedText) -> list[str]:
    names: list[str] = column.names.take(pa.array(column.codes)).to_pylist()
    return names


@dataclass(frozen=True)
class PaymentSources:
    """Where to look beside the store: the platform's export as a CSV, or its API (`caller_for`); and a screening
    table that says who is set aside."""

    submissions: Path | None = None
    caller: PlatformClient | None = None
    screening: Path | None = None


@dataclass(frozen=True, eq=False)
class _Known:
    turnout: Turnout
    annotations: Annotations
    set_aside: Mapping[str, str]
    reconciliation: Reconciliation


def reconcile(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool = False) -> Reconciliation:
    """Everybody of a study beside what the platform says of them; the store is only read."""
    return _known(place, study, sources, with_ids=with_ids).reconciliation


def pay(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool = False) -> Payments:
    """What everybody of a study is owed; nothing is paid, and the store is only read."""
    known = _known(place, study, sources, with_ids=with_ids)
    people = [person.annotator for person in known.turnout.people]
    answers = compared(known.annotations, study.class_names, people, known.set_aside)
    cases = known.reconciliation.cases
    return payments(cases, study, known.turnout.secret, rule_of(study), answers, with_ids=with_ids)


def _known(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool) -> _Known:
    turnout = turnout_of(place, study)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.parquet"
        export(place, study.name, file)
        annotations = Annotations.read(file)
    submissions = _submissions(study, turnout, sources)
    aside = _set_aside(sources.screening) if sources.screening else {}
    found = reconciled(
        turnout.people,
        study,
        submissions=submissions,
        platform=platform_of(study),
        set_aside=aside,
        n_failed=failed_checks(annotations, study),
        with_ids=with_ids,
    )
    return _Known(turnout, annotations, aside, found)


def caller_for(study: Study, environment: Mapping[str, str]) -> PlatformClient:
    """Whom to ask at the study's platform, with the token of the environment; an error where there is none."""
    platform = _needed(study)
    caller = platform.caller(environment)
    if caller is None:
        raise BadSetting(
            f"found no token for {platform.title} in the environment",
            expected=f"{platform.token_names} in the environment",
            fix="set it for this command alone, or give the platform's export with --submissions",
            code="no-token",
        )
    return caller


def _submissions(study: Study, turnout: Turnout, sources: PaymentSources) -> list[PlatformSubmission] | None:
    if sources.submissions is not None:
        return _needed(study).submissions(read_export(sources.submissions))
    if sources.caller is None:
        return None
    ids = _needed(study).study.split() or sorted(_studies(turnout.people))
    return [
        submission
        for each in ids
        for submission in sources.caller.submissions(each, request_key(turnout.secret, "", f"submissions {each}"))
    ]


def _needed(study: Study) -> Platform:
    platform = platform_of(study)
    if platform is None:
        raise BadSetting(
            "found a study without [platform]",
            expected="the platform people came from",
            fix="add [platform] to the study file, or leave out what the platform says",
            code="no-platform",
            where=ErrorLocation(str(study.path) if study.path else None),
        )
    return platform


def _studies(people: tuple[ParticipantRecord, ...]) -> set[str]:
    """The platform's ids for the study, as people brought them."""
    return {person.arrival.study for person in people if person.arrival is not None and person.arrival.study}


def _set_aside(path: Path) -> dict[str, str]:
    """Who is set aside in a screening table, and why."""
    rows = read_rows(path)
    check_columns(rows, ("annotator", "set_aside", "reasons"))
    why = {str(row["annotator"]): str(row["reasons"] or "") for chunk in rows.chunks for row in chunk.to_pylist()}
    return {name: why.get(name) or "set aside" for name in set_aside_in(path)}
