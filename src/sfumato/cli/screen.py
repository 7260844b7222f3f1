"""`sfumato screen`: who is set aside, and why."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, NameList, check_outputs, output_option, refuse_empty
from sfumato.cli.output import printable, say_written

if TYPE_CHECKING:
    from sfumato.labeling.screening import Screening

SET_LINES = """\b
  standard     checks, repeats that disagree, too fast, long identical runs
  cifar-10h    at least 75% of attention checks passed
  cifar-10s    no more than two contradictions; with one or two, 75% accuracy
  soft-digits  every attention check passed"""


@click.command(
    "screen",
    help="List every annotator in ANNOTATIONS, who is set aside and why; nothing is deleted.\n\n"
    f"Rule sets:\n\n{SET_LINES}",
)
@click.argument("annotations", type=PATH)
@click.option("--by", "name", metavar="NAME", help="The rule set.  [default: the study's, or standard]")
@click.option("--study", type=PATH, help="The study the answers are of: its checks are judged by its own regions.")
@click.option("--gold", type=PATH, help="SoftLabels with the right class of checks (or of items, for cifar-10s).")
@click.option("--classes", type=NameList(), help="The classes, in order, where the file does not name them.")
@click.option("--kind", help="Only answers of this kind: top_two/1.")
@output_option("Where the table goes: .csv or .parquet.")
def command(
    annotations: Path,
    name: str | None,
    study: Path | None,
    gold: Path | None,
    classes: tuple[str, ...] | None,
    kind: str | None,
    output: Path,
) -> None:
    from sfumato.labeling.checks import check_results
    from sfumato.labeling.screening import screen
    from sfumato.labeling.screening_rules import rules_of
    from sfumato.study import read_study
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.soft_labels import SoftLabels

    check_outputs(annotations, output=output)
    asked = read_study(study) if study else None
    rules = rules_of(name or (asked.quality.rules if asked else ""))
    answers = Annotations.read(annotations, classes or ())
    answers = answers.of_kind(kind) if kind else answers
    refuse_empty(answers, annotations)
    checks = check_results(asked, answers) if asked else None
    screening = screen(answers, rules, gold=SoftLabels.read(gold) if gold else None, checks=checks)
    screening.write(output)
    who = screening.annotators.to_pylist()
    aside = [i for i, why in enumerate(screening.reasons) if why]
    notes = [f"{printable(who[i])}: {_counted(screening, i)}" for i in aside[:10]]
    idle = [rule for rule, value in screening.findings.items() if bool((value != value).all())]
    if idle:
        notes.append(f"nothing to go by for {', '.join(idle)}: no such checks, repeats, times or trials in this file")
    if len(aside) > 10:
        notes.append(f"... and {len(aside) - 10:,} more")
    say_written(output, f"{len(aside):,} of {len(screening):,} annotators set aside", notes)
    if aside:
        left_out = f"sfumato label {shlex.quote(str(annotations))} --screening {shlex.quote(str(output))}"
        click.echo(f"Nothing is deleted; leave their answers out with: {left_out} ...")


def _counted(screening: Screening, row: int) -> str:
    """Why somebody is set aside, and what the rule counted."""
    return "; ".join(f"{why} {screening.findings[why][row]:.3g}" for why in screening.reasons[row].split("; "))
