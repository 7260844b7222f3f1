"""Inputs of payment and reconciliation, from a study's store and its platform.

`reconcile` and `pay` are the calls behind `sfumato study reconcile` and `sfumato study pay`. Bonus rules see answers as
distributions over the classes, per form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from sfumato.labeling.default_labeler import kinds_in, label_by_default
from sfumato.labeling.screening import read_excluded
from sfumato.recruitment import platform_of
from sfumato.recruitment.bonus_rules import PeerAnswers, rule_of
from sfumato.recruitment.participant_outcomes import ParticipantOutcomes, outcomes_of
from sfumato.recruitment.payment import Payments, payments
from sfumato.recruitment.platform import Platform, PlatformSubmission, read_export
from sfumato.recruitment.platform_api import PlatformClient, request_key
from sfumato.recruitment.reconciliation import Reconciliation, reconcile_participants
from sfumato.store.export import read_answers
from sfumato.store.location import StoreLocation
from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadSetting, BadTable
from sfumato.tables.files.table_file import check_columns, read_rows


@dataclass(frozen=True, eq=False)
class _FormBeliefs:
    """The answers in one form, as distributions over the study's classes."""

    items: list[str]
    annotators: list[str]
    probs: Float[np.ndarray, "answers classes"]


def peer_answers(
    annotations: Annotations, classes: Sequence[str], people: Sequence[str], excluded: Collection[str] = ()
) -> PeerAnswers:
    """The answers for a label of `people`, to be scored; nobody is compared with `excluded` annotators.

    Annotators are compared only within the same form, since forms differ in how much uncertainty they can express.
    Answers without probability on any class are left out.
    """
    number = {name: n for n, name in enumerate(people)}
    item: dict[tuple[int, str], int] = {}
    rows: list[tuple[int, int]] = []
    probs = [np.zeros((0, len(classes)))]
    for form, beliefs in enumerate(_beliefs_by_form(annotations.for_purposes("label"), classes)):
        known = [name in number for name in beliefs.annotators]
        for name, annotator, is_known in zip(beliefs.items, beliefs.annotators, known, strict=True):
            if is_known:
                rows.append((item.setdefault((form, name), len(item)), number[annotator]))
        probs.append(beliefs.probs[np.array(known, bool)])
    codes = np.array(rows, np.int64).reshape(-1, 2)
    is_peer = np.array([name not in excluded for name in people], bool)
    return PeerAnswers(codes[:, 0], codes[:, 1], np.concatenate(probs), is_peer)


def failed_checks(annotations: Annotations, study: Study) -> Counter[str]:
    """How many checks each annotator failed: answers outside of the region in the study file."""
    regions = {check.item: check.region for check in study.checks}
    failed: Counter[str] = Counter()
    if regions:
        for beliefs in _beliefs_by_form(annotations.for_purposes("check"), study.class_names):
            for name, annotator, row in zip(beliefs.items, beliefs.annotators, beliefs.probs.tolist(), strict=True):
                belief = dict(zip(study.class_names, row, strict=True))
                failed[annotator] += name in regions and not regions[name].has(belief)
    return failed


def _beliefs_by_form(annotations: Annotations, classes: Sequence[str]) -> Iterator[_FormBeliefs]:
    for label in annotations.kind.names.to_pylist():
        own = annotations.of_kind(label)
        if kinds_in(own)[0] not in ABOUT_ONE_ITEM or not len(own):
            continue
        beliefs = label_by_default(own, classes)
        # "None of these" is not a class: the rest of the answer is normalized.
        within = np.asarray(beliefs.probs[:, : len(classes)], np.float64)
        mass = within.sum(axis=1)
        kept = beliefs.take(mass > 0)
        items, annotators = kept.item.text().to_pylist(), kept.annotator.text().to_pylist()
        yield _FormBeliefs(items, annotators, within[mass > 0] / mass[mass > 0, None])


@dataclass(frozen=True)
class PaymentSources:
    """Sources in addition to the store: the platform's export as a CSV, or its API (`client_for`), and a screening
    table with the excluded annotators."""

    submissions: Path | None = None
    client: PlatformClient | None = None
    screening: Path | None = None


@dataclass(frozen=True, eq=False)
class _Inputs:
    outcomes: ParticipantOutcomes
    annotations: Annotations
    excluded: Mapping[str, str]
    reconciliation: Reconciliation


def reconcile(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool = False) -> Reconciliation:
    """All participants of a study with their platform records; the store is only read."""
    return _inputs(place, study, sources, with_ids=with_ids).reconciliation


def pay(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool = False) -> Payments:
    """What each participant of a study is owed; nothing is paid, and the store is only read."""
    known = _inputs(place, study, sources, with_ids=with_ids)
    people = [person.annotator for person in known.outcomes.people]
    answers = peer_answers(known.annotations, study.class_names, people, known.excluded)
    cases = known.reconciliation.cases
    return payments(cases, study, known.outcomes.secret, rule_of(study), answers, with_ids=with_ids)


def _inputs(place: StoreLocation, study: Study, sources: PaymentSources, *, with_ids: bool) -> _Inputs:
    outcomes = outcomes_of(place, study)
    annotations = read_answers(place, study.name)
    submissions = _submissions(study, outcomes, sources)
    excluded = _excluded(sources.screening) if sources.screening else {}
    found = reconcile_participants(
        outcomes.people,
        study,
        submissions=submissions,
        platform=platform_of(study),
        excluded=excluded,
        n_failed=failed_checks(annotations, study),
        with_ids=with_ids,
    )
    return _Inputs(outcomes, annotations, excluded, found)


def client_for(study: Study, environment: Mapping[str, str]) -> PlatformClient:
    """The API client of the study's platform, with the token of the environment; an error if there is none."""
    platform = _needed_platform(study)
    client = platform.client(environment)
    if client is None:
        found = f"no token for {platform.title} in the environment"
        fix = "set it for this command only, or give the platform's export with --submissions"
        raise BadSetting(found, f"{platform.token_names} in the environment", fix, "no-token")
    return client


def _submissions(
    study: Study, outcomes: ParticipantOutcomes, sources: PaymentSources
) -> list[PlatformSubmission] | None:
    if sources.submissions is not None:
        platform, rows = _needed_platform(study), read_export(sources.submissions)
        try:
            return platform.submissions(rows)
        except BadTable as error:
            error.where = replace(error.where, file=str(sources.submissions))
            raise
    if sources.client is None:
        return None
    arrivals = [person.arrival for person in outcomes.people if person.arrival is not None]
    ids = _needed_platform(study).study.split() or sorted({arrival.study for arrival in arrivals if arrival.study})
    return [
        submission
        for each in ids
        for submission in sources.client.submissions(each, request_key(outcomes.secret, "", f"submissions {each}"))
    ]


def _needed_platform(study: Study) -> Platform:
    platform = platform_of(study)
    if platform is None:
        found, fix = "a study without [platform]", "add [platform] to the study file, or omit the platform's list"
        raise BadSetting(found, "the platform that participants came from", fix, "no-platform", study.path)
    return platform


def _excluded(path: Path) -> dict[str, str]:
    """The excluded annotators in a screening table, with reasons."""
    rows = read_rows(path)
    check_columns(rows, ("annotator", "set_aside", "reasons"))
    why = {str(row["annotator"]): str(row["reasons"] or "") for chunk in rows.chunks for row in chunk.to_pylist()}
    return {name: why.get(name) or "excluded" for name in read_excluded(path)}
