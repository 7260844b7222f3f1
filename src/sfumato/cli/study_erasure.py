"""`sfumato study forget`: erases a participant, or what is past its date."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, server_packages, store_option
from sfumato.cli.output import counted, printable, say
from sfumato.study.study_file import read_study
from sfumato.tables.errors import BadSetting, listing

if TYPE_CHECKING:
    from sfumato.store.erasure import Expired
    from sfumato.store.location import StoreLocation
    from sfumato.study.study import Privacy, Study


@click.command("forget")
@click.argument("study", type=PATH)
@click.argument("annotator", required=False)
@click.option("--platform-id", help="The participant's id on the platform, instead of ANNOTATOR.")
@click.option("--expired", is_flag=True, help="Erase what is past its date, by [privacy] of the study, for everybody.")
@click.option("--dry-run", is_flag=True, help="With --expired: only say what would be erased.")
@click.option("--paid", type=PATH, multiple=True, help="With --expired: a list of sfumato study pay that was paid.")
@click.option("--unpaid", is_flag=True, help="With --expired: also erase people who are not known to be paid.")
@click.option("--answers", is_flag=True, help="Also leave their answers out of all exports from now on.")
@store_option
def forget(
    study: Path,
    annotator: str | None,
    platform_id: str | None,
    expired: bool,
    dry_run: bool,
    paid: tuple[Path, ...],
    unpaid: bool,
    answers: bool,
    store: str | None,
) -> None:
    """Erase ANNOTATOR (a pseudonym) of STUDY: delete their platform id and completion code, invalidate their link, and
    erase the records of their inputs and their exact times.

    Their answers stay under the pseudonym, so that counts and the chain of answers stay valid. Pay them first:
    afterwards they cannot be identified. Stop the server first if the store is a file; answers not yet sent stay in
    the browser.
    """
    with server_packages():
        from sfumato.elicitation.clock import Clock
        from sfumato.elicitation.researcher_actions import erase_expired, erase_participant, expired_of
        from sfumato.server.server import open_site
        from sfumato.store.database import reading
        from sfumato.store.erasure import expired as expired_in
        from sfumato.store.export import check_stored, stored_study
        from sfumato.store.location import StoreLocation
    asked = read_study(study)
    if dry_run and not expired:
        raise BadSetting("--dry-run without --expired", "both, or neither", "add --expired")
    if (paid or unpaid) and not expired:
        raise BadSetting(f"--{'paid' if paid else 'unpaid'} without --expired", "both, or neither", "add --expired")
    if expired and (annotator or platform_id or answers):
        found = "--expired together with a participant or --answers"
        raise BadSetting(found, "--expired, which is about everybody, or one participant", "remove one of them")
    if expired:
        _check_limits(asked.privacy)
    place = StoreLocation.of_study(asked, store)
    if dry_run:
        with reading(place) as connection:
            number = stored_study(connection, place, asked.name)["id"]
            past = expired_in(connection, number, asked.privacy, Clock().now())
        _say(past, "would be ")
        if owed := unpaid_people(place, asked, past, paid):
            say(_unpaid_note(owed))
        return
    # Opening the site would add the study to a store that does not hold it.
    with reading(place, any_version=True) as connection:
        check_stored(connection, place, asked.name)
    if expired:
        with open_site(asked, store) as site:
            past = site.writer.run(expired_of)
        owed = unpaid_people(place, asked, past, paid)
        if owed and not unpaid:
            command = shlex.join(["sfumato", "study", "pay", str(study), "--with-ids", "-o", "pay.csv"])
            fix = f"pay them first ({command}); give the list of what was paid with --paid FILE, or go on with --unpaid"
            raise BadSetting(_unpaid_note(owed), "people who were paid, or --unpaid", fix, "unpaid", study)
        with open_site(asked, store) as site:
            erased = site.writer.run(lambda running: erase_expired(running, "terminal"))
        _say(erased)
        if erased.n_people:
            click.echo("Backups and files exported before still contain them: delete these too.")
        return
    with open_site(asked, store) as site:
        who = site.writer.run(
            lambda running: erase_participant(
                running, "terminal", pseudonym=annotator, platform_id=platform_id, answers=answers
            )
        )
    kept = "answers left out of exports" if answers else "answers kept"
    click.echo(f"{printable(who)}: platform id deleted, link invalidated, records and exact times erased, {kept}")


def unpaid_people(place: StoreLocation, study: Study, found: Expired, paid: Sequence[Path]) -> list[str]:
    """The pseudonyms of people whose platform id would be deleted, who are owed pay (or may be), and are not in a list
    of what was paid; none for a study without [pay]."""
    from sfumato.recruitment.payment import read_paid
    from sfumato.recruitment.payment_inputs import PaymentSources, reconcile

    named = {row["pseudonym"] for row in found.ids if row["person"] is not None}
    if study.pay is None or not named:
        return []
    done = {each.annotator for each in read_paid(paid)}
    cases = reconcile(place, study, PaymentSources()).cases
    return sorted(case.annotator for case in cases if case.annotator in named - done and case.pay != "no")


def _unpaid_note(owed: Sequence[str]) -> str:
    people = counted(len(owed), "participant")
    verb = "is" if len(owed) == 1 else "are"
    return (
        f"{people} who {verb} not known to be paid ({listing([printable(each) for each in owed], 5)}): without their "
        "platform ids nobody can pay them"
    )


def expiry_note(found: Expired, arguments: Sequence[str]) -> str:
    """A line that reminds of data past its date; empty if there is none. `arguments` are the study, and its store."""
    if not found.n_people:
        return ""
    people = counted(found.n_people, "participant")
    command = shlex.join(["sfumato", "study", "forget", *arguments, "--expired"])
    return f"personal data of {people} is past its date; stop the server and run: {command}"


def _check_limits(privacy: Privacy) -> None:
    if privacy.keep_ids_days is None and privacy.keep_records_days is None:
        found, expected = "a study without [privacy]", "keep_ids_days or keep_records_days in its file"
        raise BadSetting(found, expected, "add [privacy] with keep_ids_days = 90", "no-retention")


def _say(found: Expired, verb: str = "") -> None:
    """What was erased, or would be, by kind."""
    n_ids = sum(row["person"] is not None for row in found.ids)
    n_answers = sum(row["n_answers"] for row in found.records)
    click.echo(f"{counted(n_ids, 'platform id')} {verb}deleted")
    click.echo(f"{counted(len(found.ids), 'link')} {verb}invalidated, and completion codes deleted")
    people = counted(len(found.records), "participant")
    click.echo(f"records of inputs and exact times of {people} ({n_answers:,} answers) {verb}erased")
