"""`sfumato screen`: who is set aside, and why."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, NameList, check_outputs, output_option, refuse_empty
from sfumato.cli.showing import printable, say_written

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
@click.option("--by", "name", default="standard", show_default=True, metavar="NAME", help="The rule set.")
@click.option("--gold", type=PATH, help="SoftLabels with the right class of checks (or of items, for cifar-10s).")
@click.option("--classes", type=NameList(), help="The classes, in order, where the file does not name them.")
@click.option("--kind", help="Only answers of this kind: top_two/1.")
@output_option("Where the table goes: .csv or .parquet.")
def command(
    annotations: Path, name: str, gold: Path | None, classes: tuple[str, ...] | None, kind: str | None, output: Path
) -> None:
    from sfumato.annotations import Annotations
    from sfumato.label.rules import rules_named
    from sfumato.label.screening import screen
    from sfumato.soft_labels import SoftLabels

    check_outputs(annotations, output=output)
    rules = rules_named(name)
    answers = Annotations.read(annotations, classes or ())
    answers = answers.of_kind(kind) if kind else answers
    refuse_empty(answers, annotations)
    screening = screen(answers, rules, gold=SoftLabels.read(gold) if gold else None)
    screening.write(output)
    aside = [(who, why) for who, why in zip(screening.annotators.to_pylist(), screening.reasons, strict=True) if why]
    notes = [f"{printable(who)}: {why}" for who, why in aside[:10]]
    idle = [rule for rule, value in screening.findings.items() if bool((value != value).all())]
    if idle:
        notes.append(f"nothing to go by for {', '.join(idle)}: no such checks, repeats, times or trials in this file")
    if len(aside) > 10:
        notes.append(f"... and {len(aside) - 10:,} more")
    say_written(output, f"{len(aside):,} of {len(screening):,} annotators set aside", notes)
