"""`sfumato study entry`: the address for a platform; `reconcile` and `pay`: outcomes and payments, never sent."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, Function, address_option, check_outputs, server_packages, store_option
from sfumato.cli.output import printable, write_table
from sfumato.study.study_file import read_study

if TYPE_CHECKING:
    from sfumato.recruitment.payment import ChangedPayment, Payments
    from sfumato.recruitment.payment_inputs import PaymentSources
    from sfumato.recruitment.reconciliation import ReconciledParticipant, Reconciliation
    from sfumato.study.study import Study


@click.command("entry")
@click.argument("study", type=PATH)
@address_option
@store_option
def entry(study: Path, address: str, store: str | None) -> None:
    """Print the address of STUDY to enter on the platform in its [platform].

    Give it only to the platform: anyone who knows it can take part with an invented id, which is found when you
    reconcile with the platform's list.
    """
    with server_packages():
        from sfumato.recruitment.arrival import entry_address
    click.echo(entry_address(read_study(study), address, store))


SHOWN = 50
"""How many participants are listed; the table has all of them."""


def _sources(command: Function) -> Function:
    """The options for input and output."""
    options = (
        click.option("--submissions", type=PATH, help="The platform's list of submissions: its CSV, as downloaded."),
        click.option("--ask-platform", is_flag=True, help="Read it from the platform's API; needs a token."),
        click.option("--screening", type=PATH, help="The excluded annotators: a table written by sfumato screen."),
        click.option("--with-ids", is_flag=True, help="Also write platform ids."),
        store_option,
        click.option("-o", "--output", type=PATH, help="The whole table: .csv or .parquet."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("reconcile")
@click.argument("study", type=PATH)
@_sources
def reconcile(study: Path, with_ids: bool, store: str | None, output: Path | None, **sources: Any) -> None:
    """List the participants of STUDY: outcome, pay, why they are excluded, and mismatches with the platform's list.

    Nothing is approved, rejected, paid or changed.
    """
    from sfumato.recruitment.payment_inputs import reconcile as reconcile_study

    asked = _read(study, output)
    found = reconcile_study(_place(asked, store), asked, _sources_of(asked, **sources), with_ids=with_ids)
    _show_people(found)
    _show_mismatches(found)
    write_table(found, output, f"{len(found):,} participants")


@click.command("pay")
@click.argument("study", type=PATH)
@_sources
@click.option("--paid", type=PATH, multiple=True, help="An earlier list that was paid; its payments are left out.")
def pay(
    study: Path, with_ids: bool, store: str | None, output: Path | None, paid: tuple[Path, ...], **sources: Any
) -> None:
    """List what the participants of STUDY are owed: the base of [pay], and the bonus by the rule of [pay.bonus].

    Nothing is sent: you pay. One row per participant and reason, each with a key that is the same in every run.
    """
    from sfumato.recruitment.payment import read_paid
    from sfumato.recruitment.payment_inputs import pay as payments_of

    asked = _read(study, output)
    earlier = read_paid(paid)
    whole = payments_of(_place(asked, store), asked, _sources_of(asked, **sources), with_ids=with_ids)
    found = whole.without(earlier)
    _show_payments(found, asked, len(whole) - len(found))
    _show_changed(whole.changed(earlier), asked)
    write_table(found, output, f"{len(found):,} payments, none of them made")


def _read(path: Path, output: Path | None) -> Study:
    study = read_study(path)
    if study.path is not None:
        check_outputs(study.path, output=output)
    return study


def _place(study: Study, store: str | None) -> Any:
    with server_packages():
        from sfumato.store.location import StoreLocation
    return StoreLocation.of_study(study, store)


def _sources_of(study: Study, submissions: Path | None, ask_platform: bool, screening: Path | None) -> PaymentSources:
    from sfumato.recruitment.payment_inputs import PaymentSources, client_for

    return PaymentSources(submissions, client_for(study, os.environ) if ask_platform else None, screening)


def _show_people(found: Reconciliation) -> None:
    head = f"{'':14} {'people':>7} {'pay':>5} {'decide':>7} {'confirm':>7} {'no pay':>7} {'excluded':>10}"
    click.secho(head, bold=True)
    for outcome, own in _by_outcome(found).items():
        pays = Counter(case.pay for case in own)
        n_excluded = sum(bool(case.set_aside) for case in own)
        counts = f"{pays['yes']:>5,} {pays['decide']:>7,} {pays['confirm']:>7,} {pays['no']:>7,} {n_excluded:>10,}"
        click.echo(f"{outcome:14} {len(own):>7,} {counts}")
    excluded = [case for case in found.cases if case.set_aside]
    if excluded:
        click.secho("excluded: answers not used, pay unchanged", bold=True)
    for case in excluded[:SHOWN]:
        refuse = f"; refuse pay? {case.may_refuse}" if case.may_refuse else ""
        click.echo(f"  {case.annotator:14} pay {case.pay}: {printable(case.set_aside)}{refuse}")
    _say_more(len(excluded))


def _by_outcome(found: Reconciliation) -> dict[str, list[ReconciledParticipant]]:
    from sfumato.recruitment.participant_outcomes import OUTCOMES
    from sfumato.recruitment.reconciliation import NOT_HERE

    by = {outcome: [case for case in found.cases if case.outcome == outcome] for outcome in (*OUTCOMES, NOT_HERE)}
    return {outcome: own for outcome, own in by.items() if own}


def _show_mismatches(found: Reconciliation) -> None:
    from sfumato.recruitment.reconciliation import MISMATCHES

    wrong = [(case, code) for case in found.cases for code in case.mismatches.split()]
    click.secho(f"{len(wrong) or 'no'} mismatch{'es' * (len(wrong) != 1)}", bold=True)
    for case, code in wrong[:SHOWN]:
        who = case.annotator or f"row {case.row}"
        row = f" (row {case.row})" if case.annotator and case.row else ""
        click.echo(f"  {who:14} {code}: {MISMATCHES[code]}{row}")
    _say_more(len(wrong))


def _show_payments(found: Payments, study: Study, n_paid: int) -> None:
    from sfumato.recruitment.payment import BASE, BONUS, PART

    assert study.pay is not None
    currency = study.pay.currency
    for reason, due, words in (
        (BASE, "yes", "base, for finished participants"),
        (BONUS, "yes", f"bonus, by {study.pay.bonus.rule}" if study.pay.bonus else "bonus"),
        (PART, "decide", "part of the base, if you decide to pay"),
    ):
        own = [each for each in found.payments if each.reason == reason and each.amount > 0]
        if own:
            click.echo(f"{words:36} {len(own):>5,} people {found.total(reason, due=due):>12,.2f} {currency}")
    click.secho(f"{'total to pay (nothing was sent)':36} {'':>12} {found.total():>12,.2f} {currency}", bold=True)
    fee = float(study.recruiting.settings.get("fee", 0.0)) if study.recruiting else 0.0
    if fee:
        click.echo(f"{'platform fee':36} {'':>12} {found.total() * fee:>12,.2f} {currency}")
    unscored = [each for each in found.payments if each.reason == BONUS and not each.n_compared]
    if unscored:
        click.echo(f"{len(unscored):,} without a score: no other answers about their items yet")
    if n_paid:
        click.echo(f"{n_paid:,} left out, already paid")
    if found.n_unconfirmed:
        fix = "give the platform's list with --submissions or --ask-platform"
        click.echo(f"{found.n_unconfirmed:,} people not listed, because the platform has not confirmed them: {fix}")


def _show_changed(changed: list[ChangedPayment], study: Study) -> None:
    assert study.pay is not None
    for each in changed[:SHOWN]:
        click.echo(
            f"  {printable(each.annotator):14} {each.reason}: {each.paid:,.2f} was paid, "
            f"now {each.now:,.2f} {study.pay.currency}; not listed again"
        )
    _say_more(len(changed))


def _say_more(n: int) -> None:
    if n > SHOWN:
        click.echo(f"  and {n - SHOWN:,} more: use -o to write all")
