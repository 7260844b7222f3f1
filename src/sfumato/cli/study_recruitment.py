"""`sfumato study entry`: the address to give to a platform; `sfumato study forget`: who somebody is, erased.

`sfumato study reconcile` and `sfumato study pay`: who is owed what, listed and never sent.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.options import PATH, check_outputs
from sfumato.cli.output import printable, say_written
from sfumato.cli.serve import STORE_HELP, missing_extra

if TYPE_CHECKING:
    from sfumato.recruitment.payment import ChangedPayment, Payments
    from sfumato.recruitment.payment_inputs import PaymentSources
    from sfumato.recruitment.reconciliation import ReconciledParticipant, Reconciliation
    from sfumato.study.study import Study


@click.command("entry")
@click.argument("study", type=PATH)
@click.option("--address", default="http://127.0.0.1:8000", show_default=True, help="Where people reach the server.")
@click.option("--store", help=STORE_HELP)
def entry(study: Path, address: str, store: str | None) -> None:
    """Print the address at which people come to STUDY from the platform in its [platform], to be entered there.

    Give it to the platform alone: whoever knows it can come in under an id they made up, which shows when the people
    are reconciled with the platform's list.
    """
    try:
        from sfumato.recruitment.arrival import entry_address
    except ImportError as error:
        raise missing_extra(error) from error
    from sfumato.study import read_study

    click.echo(entry_address(read_study(study), address, store))


@click.command("forget")
@click.argument("study", type=PATH)
@click.argument("annotator", required=False)
@click.option("--platform-id", help="The person by what the platform calls them, instead of ANNOTATOR.")
@click.option("--answers", is_flag=True, help="Leave their answers out of every export from now on, too.")
@click.option("--store", help=STORE_HELP)
def forget(study: Path, annotator: str | None, platform_id: str | None, answers: bool, store: str | None) -> None:
    """Erase who ANNOTATOR (a pseudonym) of STUDY is: what the platform calls them goes, their link is dead.

    Answers stay, as numbers of nobody, so that counts and the chain of answers hold. Pay them first: afterwards nobody
    can tell who they are. A file that is being served must be let go of first; browsers keep what is not yet sent.
    """
    try:
        from sfumato.elicitation.researcher_actions import erase_participant
        from sfumato.server.server import open_site
    except ImportError as error:
        raise missing_extra(error) from error
    from sfumato.study import read_study

    with open_site(read_study(study), store) as site:
        who = site.writer.run(
            lambda running: erase_participant(
                running, "terminal", pseudonym=annotator, platform_id=platform_id, answers=answers
            )
        )
    kept = "their answers are in no export from now on" if answers else "their answers stay"
    click.echo(f"{printable(who)}: who they are elsewhere is forgotten, their link is dead, {kept}")


Function = TypeVar("Function", bound=Callable[..., Any])
SHOWN = 50
"""People named one by one; of more there is the number, and all are in the table."""


def _sources(command: Function) -> Function:
    """The options that say where to look."""
    for option in reversed(
        (
            click.option(
                "--submissions", type=PATH, help="The platform's list of submissions: its CSV, as downloaded."
            ),
            click.option("--ask-platform", is_flag=True, help="Ask the platform's API for it; needs its token."),
            click.option("--screening", type=PATH, help="Who is set aside and why: what sfumato screen wrote."),
            click.option("--with-ids", is_flag=True, help="Write what the platform calls each person, too."),
            click.option("--store", help=STORE_HELP),
            click.option("-o", "--output", type=PATH, help="The whole table: .csv or .parquet."),
        )
    ):
        command = option(command)
    return command


@click.command("reconcile")
@click.argument("study", type=PATH)
@_sources
def reconcile(
    study: Path,
    submissions: Path | None,
    ask_platform: bool,
    screening: Path | None,
    with_ids: bool,
    store: str | None,
    output: Path | None,
) -> None:
    """List everybody of STUDY: who finished, who is to be paid, who is set aside and why, and all that does not fit
    with the platform's list.

    Nothing is approved, rejected, paid or changed, here or there. Without the platform's list only what is known here
    is told.
    """
    from sfumato.recruitment.payment_inputs import reconcile as reconciled

    asked = _read(study, output)
    given = _given(asked, submissions, ask_platform, screening)
    found = reconciled(_place(asked, store), asked, given, with_ids=with_ids)
    _show_people(found)
    _show_mismatches(found)
    if output is not None:
        found.write(output)
        say_written(output, f"{len(found):,} people")


@click.command("pay")
@click.argument("study", type=PATH)
@_sources
@click.option("--paid", type=PATH, multiple=True, help="A list of an earlier run that was paid; left out of this one.")
def pay(
    study: Path,
    submissions: Path | None,
    ask_platform: bool,
    screening: Path | None,
    with_ids: bool,
    store: str | None,
    output: Path | None,
    paid: tuple[Path, ...],
) -> None:
    """List what everybody of STUDY is owed: the base of [pay], and the bonus by the rule of [pay.bonus].

    Nothing is sent: you pay. One row a person and reason, each with a key that is the same in every run.
    """
    from sfumato.recruitment.payment import read_paid
    from sfumato.recruitment.payment_inputs import pay as payments_of

    asked = _read(study, output)
    earlier = read_paid(paid)
    given = _given(asked, submissions, ask_platform, screening)
    whole = payments_of(_place(asked, store), asked, given, with_ids=with_ids)
    found = whole.without(earlier)
    _show_payments(found, asked, len(whole) - len(found))
    _show_changed(whole.changed(earlier), asked)
    if output is not None:
        found.write(output)
        say_written(output, f"{len(found):,} payments, none of them made")


def _read(path: Path, output: Path | None) -> Study:
    from sfumato.study import read_study

    study = read_study(path)
    if study.path is not None:
        check_outputs(study.path, output=output)
    return study


def _place(study: Study, store: str | None) -> Any:
    try:
        from sfumato.store.location import StoreLocation, default_location
    except ImportError as error:
        raise missing_extra(error) from error
    return StoreLocation.of(store or default_location(study))


def _given(study: Study, submissions: Path | None, ask_platform: bool, screening: Path | None) -> PaymentSources:
    from sfumato.recruitment.payment_inputs import PaymentSources, caller_for

    return PaymentSources(submissions, caller_for(study, os.environ) if ask_platform else None, screening)


def _show_people(found: Reconciliation) -> None:
    click.secho(f"{'':14} {'people':>7} {'pay':>5} {'decide':>7} {'no pay':>7} {'set aside':>10}", bold=True)
    for outcome, own in _by_outcome(found).items():
        pays = Counter(case.pay for case in own)
        n_aside = sum(bool(case.set_aside) for case in own)
        counts = f"{pays['yes']:>5,} {pays['decide']:>7,} {pays['no']:>7,} {n_aside:>10,}"
        click.echo(f"{outcome:14} {len(own):>7,} {counts}")
    aside = [case for case in found.cases if case.set_aside]
    if aside:
        click.secho("set aside: answers not used, pay untouched", bold=True)
    for case in aside[:SHOWN]:
        refuse = f"; refuse pay? {case.may_refuse}" if case.may_refuse else ""
        click.echo(f"  {case.annotator:14} pay {case.pay}: {printable(case.set_aside)}{refuse}")
    _say_more(len(aside))


def _by_outcome(found: Reconciliation) -> dict[str, list[ReconciledParticipant]]:
    from sfumato.recruitment.reconciliation import NOT_HERE
    from sfumato.recruitment.turnout import OUTCOMES

    by = {outcome: [case for case in found.cases if case.outcome == outcome] for outcome in (*OUTCOMES, NOT_HERE)}
    return {outcome: own for outcome, own in by.items() if own}


def _show_mismatches(found: Reconciliation) -> None:
    from sfumato.recruitment.reconciliation import MISMATCHES

    wrong = [(case, code) for case in found.cases for code in case.mismatches.split()]
    click.secho(f"{len(wrong) or 'no'} mismatch{'es' * (len(wrong) != 1)}", bold=True)
    for case, code in wrong[:SHOWN]:
        who = case.annotator or f"row {case.row}"
        click.echo(
            f"  {who:14} {code}: {MISMATCHES[code]}" + (f" (row {case.row})" if case.annotator and case.row else "")
        )
    _say_more(len(wrong))


def _show_payments(found: Payments, study: Study, n_paid: int) -> None:
    from sfumato.recruitment.payment import BASE, BONUS, PART

    assert study.pay is not None
    currency = study.pay.currency
    for reason, due, words in (
        (BASE, "yes", "base, to who has finished"),
        (BONUS, "yes", f"bonus, by {study.pay.bonus.rule}" if study.pay.bonus else "bonus"),
        (PART, "decide", "part of the base, if you decide so"),
    ):
        own = [each for each in found.payments if each.reason == reason and each.amount > 0]
        if own:
            click.echo(f"{words:36} {len(own):>5,} people {found.total(reason, due=due):>12,.2f} {currency}")
    click.secho(f"{'to be paid, and not paid by this':36} {'':>12} {found.total():>12,.2f} {currency}", bold=True)
    fee = float(study.recruiting.settings.get("fee", 0.0)) if study.recruiting else 0.0
    if fee:
        click.echo(f"{'what the platform takes on top':36} {'':>12} {found.total() * fee:>12,.2f} {currency}")
    unscored = [each for each in found.payments if each.reason == BONUS and not each.n_compared]
    if unscored:
        click.echo(f"{len(unscored):,} without a score: nobody else has answered about their items yet")
    if n_paid:
        click.echo(f"{n_paid:,} left out, paid before")


def _show_changed(changed: list[ChangedPayment], study: Study) -> None:
    assert study.pay is not None
    for each in changed[:SHOWN]:
        click.echo(
            f"  {printable(each.annotator):14} {each.reason}: {each.paid:,.2f} was paid, "
            f"{each.now:,.2f} {study.pay.currency} would be now; it is not listed again"
        )
    _say_more(len(changed))


def _say_more(n: int) -> None:
    if n > SHOWN:
        click.echo(f"  and {n - SHOWN:,} more: -o writes them all")
