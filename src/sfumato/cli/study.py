"""`sfumato study`: create and check a study, and make participant links."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import asked_as_planned, checked_study
from sfumato.cli.options import PATH, NameList, address_option, check_not_negative, server_packages, store_option
from sfumato.cli.output import counted, printable, say_written
from sfumato.cli.study_access import login, second_factor
from sfumato.cli.study_compare import compare, depth
from sfumato.cli.study_erasure import forget
from sfumato.cli.study_recruitment import entry, pay, reconcile
from sfumato.cli.study_reopen import reopen
from sfumato.elicitation.new_study import begin_study
from sfumato.study.study import Assignment, Framing
from sfumato.study.study_file import read_study

if TYPE_CHECKING:
    from sfumato.elicitation.study_check import StudyCheckResult
    from sfumato.study.study import Pay, Study


@click.group("study")
def command() -> None:
    """Create, check and manage a study."""


@command.command("new")
@click.argument("folder", type=PATH)
@click.option("--kind", "kind_name", default="tokens", show_default=True, help="The kind of question.")
@click.option("--classes", type=NameList(), help="The classes: cat,dog.")
@click.option(
    "--demo", is_flag=True, help="Include images of circles and squares, so that it can be served immediately."
)
def new(folder: Path, kind_name: str, classes: tuple[str, ...] | None, demo: bool) -> None:
    """Write a study.toml with comments on every key into FOLDER, and a folder for your images.

    An existing study.toml is never changed.
    """
    file = begin_study(folder, kind_name, classes, demo=demo)
    say_written(file, "a study file")
    place = shlex.quote(str(folder))
    if demo:
        click.echo(f"Serve it with: sfumato serve {place}")
    else:
        click.echo(f"Put your pictures into {printable(str(folder / 'images'))}, then: sfumato study check {place}")


@command.command("check")
@click.argument("study", type=PATH)
def check(study: Path) -> None:
    """Check STUDY (its folder or file): list every mistake with its line, or estimate participants and cost.

    Every image is opened. Exit code 2 if there is a mistake.
    """
    checked = checked_study(study, pictures=True)
    asked_as_planned(checked, None)
    _show(checked)
    click.echo(f"Serve it with: sfumato serve {shlex.quote(str(study))}")


def _show(checked: StudyCheckResult) -> None:
    study, people = checked.study, checked.study.people
    view = "their own view" if study.question.framing == Framing.OWN else "what others would say"
    what = "text" if checked.items[0].text is not None else "picture"
    deeper = f"; deeper: {study.deeper.question.kind}" if study.deeper else ""
    click.secho(f"{printable(' '.join(study.title.split()))}: no mistakes", bold=True)
    most = f" at most; adaptive, by {study.adaptive.index}" if people.assignment is Assignment.ADAPTIVE else ""
    answers = f"{len(checked.stimuli):,} questions x {people.answers_per_item} people = {checked.n_answers:,}{most}"
    rest = f", ... ({len(study.classes)} in total)" if len(study.classes) > 12 else ""
    between = " < " if study.ordered else ", "
    rows = [
        ("items", counted(len(checked.items), what)),
        ("classes", (between.join(printable(name, 30) for name in study.class_names[:12]) or "none") + rest),
        ("question", f"{study.question.kind}, {view}{deeper}"),
        ("answers", answers),
        ("people", f"{checked.n_people:,}, if each gives all {checked.n_per_person:,} answers"),
        ("each sees", ", ".join(_seen(checked))),
    ]
    rows.append(("kept", _kept(study)))
    if study.pay is not None and checked.cost is not None:
        rows.append(("cost", _cost(study.pay, study.fee, checked.cost, checked.n_people)))
    for name, value in rows:
        click.echo(f"  {name:10} {value}")
    for warning in checked.warnings:
        click.echo(f"warning: {warning}", err=True)


def _cost(pay: Pay, fee: float, base: float, n_people: int) -> str:
    """The estimated cost: base pay, the platform's fee, and the maximum bonus, on which the fee is due too."""
    text = f"about {base * (1 + fee):,.2f} {pay.currency}"
    text += f": base {base:,.2f} ({pay.amount:,.2f} per batch), platform fee {base * fee:,.2f}" if fee else ""
    text += "" if fee else f" ({pay.amount:,.2f} per batch)"
    if pay.bonus is not None:
        most = n_people * pay.bonus.most
        text += f"; bonuses at most {most:,.2f} more" + (f", {most * (1 + fee):,.2f} with the fee" if fee else "")
    return text


def _kept(study: Study) -> str:
    """How long personal data is kept, as [privacy] says."""
    days = (("ids and links", study.privacy.keep_ids_days), ("records and times", study.privacy.keep_records_days))
    return "; ".join(f"{what} {'without limit' if n is None else f'{n:,} days'}" for what, n in days)


def _seen(checked: StudyCheckResult) -> list[str]:
    """What one participant sees, in order."""
    study = checked.study
    parts = [
        "consent" if study.consent else "",
        "instructions" if study.instructions else "",
        _many(len(study.comprehension), "comprehension question"),
        _many(len(study.practice), "practice item"),
        _many(checked.n_per_person, "question") + _question_counts(checked),
    ]
    return [part for part in parts if part]


def _question_counts(checked: StudyCheckResult) -> str:
    """The questions by type, if there are repeats or checks."""
    study = checked.study
    n_checks = study.n_checks_per_person
    n_repeats = checked.n_per_person - checked.n_fresh - n_checks
    parts = [_many(checked.n_fresh, "item"), _many(n_repeats, "repeat"), _many(n_checks, "check")]
    return f" ({', '.join(part for part in parts if part)})" if n_repeats or study.checks else ""


def _many(n: int, what: str) -> str:
    return counted(n, what) if n else ""


@command.command("links")
@click.argument("study", type=PATH)
@click.option("-n", "--number", default=10, show_default=True, help="How many links.")
@click.option("--for", "annotator", help="One further link for this participant (a pseudonym), who lost theirs.")
@click.option("--platform-id", help="The same, by the participant's id on the platform instead of a pseudonym.")
@address_option
@store_option
def links(
    study: Path, number: int, annotator: str | None, platform_id: str | None, address: str, store: str | None
) -> None:
    """Print links to STUDY, one per participant and line. You can make links at any time, also while it is served.

    A link identifies a participant: anyone who has it can continue their session, on any device. It expires 30 days
    after it was made or last used (link_days in [limits] of the study file).
    """
    check_not_negative("number", number)
    with server_packages():
        from sfumato.elicitation.study_registration import link_for, new_links
    asked = read_study(study)
    if annotator is None and platform_id is None:
        tokens = new_links(asked, number, store)
    else:
        tokens = [link_for(asked, annotator, store, platform_id=platform_id)]
    for token in tokens:
        click.echo(f"{address}/s/{token}")


for each in (compare, depth, reopen, entry, reconcile, pay, forget, login, second_factor):
    command.add_command(each)
