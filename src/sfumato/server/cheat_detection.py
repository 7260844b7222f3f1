"""How many simulated cheats the screening rules of a study find, and how many honest people they exclude."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.elicitation.participant_link import hash_of
from sfumato.elicitation.simulated_cheats import Account
from sfumato.labeling.answer_records import read_records
from sfumato.labeling.attention_checks import screen_study
from sfumato.labeling.screening_rules import rule_set
from sfumato.store import queries
from sfumato.store.database import reading
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.store.schema import Row
from sfumato.study.study import Study
from sfumato.tables.annotations import Annotations


@dataclass(frozen=True)
class Finding:
    """An account of a simulated study, why it was stopped or excluded (empty: it was not), and signs that exclude
    nobody."""

    account: Account
    reasons: tuple[str, ...]
    signs: tuple[str, ...] = ()


def find_cheats(
    study: Study, place: StoreLocation, accounts: Sequence[Account], tokens: Sequence[str]
) -> list[Finding]:
    """Screen the answers of a simulated study by the rules for paid studies. An account without counted answers was
    stopped before: by the checks during the study, or at the entrance."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.parquet" for name in ("answers", "records")]
        export(place, study.name, *files, exact_times=True)
        answers = Annotations.read(files[0])
        screening = screen_study(
            study, answers, rule_set("paid"), records=read_records(files[1], answers), must_apply=False
        )
    names = screening.annotators.to_pylist()
    reasons, signs = (dict(zip(names, each, strict=True)) for each in (screening.reasons, screening.signs))
    with reading(place) as connection:
        row = queries.study_row(connection, study.name)
        assert row is not None, "exported a moment ago"
        people = [queries.annotator_by_token(connection, row["id"], hash_of(token)) for token in tokens]
    return [
        Finding(account, tuple(_reasons(person, reasons)), _split(signs, person))
        for account, person in zip(accounts, people, strict=True)
    ]


def _reasons(person: Row | None, reasons: dict[str, str]) -> Iterator[str]:
    if person is None:
        yield "refused at the entrance"
        return
    if person["excluded_at"] is not None:
        yield "stopped during the study"
    yield from _split(reasons, person)


def _split(listed: dict[str, str], person: Row | None) -> tuple[str, ...]:
    return () if person is None else tuple(filter(None, listed.get(person["pseudonym"], "").split("; ")))


ROLES = {"script": "scripts", "double": "double identities", "borrower": "borrowed accounts", "honest": "honest people"}


def detection_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """A table: per kind of account and family of scripts, how many were found and by which rules."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.account.role, ""), []).append(each)
        if each.account.family:
            groups.setdefault((each.account.role, each.account.family), []).append(each)
    order = list(ROLES)
    for (role, family), members in sorted(groups.items(), key=lambda each: (order.index(each[0][0]), each[0][1])):
        found = [each for each in members if each.reasons]
        counts: dict[str, int] = {}
        for reason in (reason for each in found for reason in each.reasons):
            counts[reason] = counts.get(reason, 0) + 1
        by = ", ".join(f"{reason} {n}" for reason, n in sorted(counts.items(), key=lambda each: -each[1]))
        verb = "falsely excluded" if role == "honest" else "found"
        name = f"  {family}" if family else ROLES[role]
        line = f"{name:<44}{len(found):>5} of {len(members):>4} {verb} ({len(found) / len(members):.1%})  {by}".rstrip()
        n_signs = sum(bool(each.signs and not each.reasons) for each in members)
        yield f"{line}; {n_signs} more with signs" if n_signs else line
