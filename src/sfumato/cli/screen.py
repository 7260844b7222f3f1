"""`sfumato screen`: list annotators to exclude, with reasons."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from sfumato.cli.options import PATH, NameList, check_outputs, output_option, refuse_empty
from sfumato.cli.output import printable, write_table
from sfumato.study.study_file import read_study

SET_LINES = """\b
  standard     failed checks, changed repeats, too fast, long identical runs
  cifar-10h    at least 75% of attention checks passed
  cifar-10s    no more than two contradictions; with one or two, 75% accuracy
  soft-digits  every attention check passed
  paid         standard without repeats, and signs of scripts and of several
               accounts of one person (some need --records)"""


@click.command(
    "screen",
    help="List every annotator in ANNOTATIONS, whether to exclude them and why; nothing is deleted.\n\n"
    f"Rule sets:\n\n{SET_LINES}",
)
@click.argument("annotations", type=PATH)
@click.option("--by", "name", metavar="NAME", help="The rule set.  [default: the study's, or standard]")
@click.option("--study", type=PATH, help="The study of the answers: its regions decide on checks.")
@click.option("--gold", type=PATH, help="SoftLabels with the correct class of checks (or of items, for cifar-10s).")
@click.option("--records", type=PATH, help="The records of the answers, written by sfumato export --records.")
@click.option("--classes", type=NameList(), help="The classes in order, if the file does not name them.")
@click.option("--kind", help="Only answers of this kind: top_two/1.")
@output_option("Output file: .csv or .parquet.")
def command(
    annotations: Path,
    name: str | None,
    study: Path | None,
    gold: Path | None,
    records: Path | None,
    classes: tuple[str, ...] | None,
    kind: str | None,
    output: Path,
) -> None:
    from sfumato.importers.label_file import read_labels
    from sfumato.labeling.answer_records import read_records
    from sfumato.labeling.attention_checks import screen_study
    from sfumato.labeling.record_rules import NEED_RECORDS
    from sfumato.labeling.screening import screen
    from sfumato.labeling.screening_rules import rules_of
    from sfumato.tables.annotations import Annotations

    check_outputs(annotations, output=output)
    the_study = read_study(study) if study else None
    rules = rules_of(name) if name else None
    answers = Annotations.read(annotations, classes or ())
    answers = answers.of_kind(kind) if kind else answers
    refuse_empty(answers, annotations)
    known = read_labels(gold) if gold else None
    made = read_records(records, answers) if records else None
    if the_study is None:
        screening = screen(answers, rules or rules_of(""), gold=known, records=made)
    else:
        screening = screen_study(the_study, answers, rules, gold=known, records=made)
    names = screening.annotators.to_pylist()
    excluded = [i for i, why in enumerate(screening.reasons) if why]
    notes = []
    for i in excluded[:10]:
        reasons = [f"{why} {screening.findings[why][i]:.3g}" for why in screening.reasons[i].split("; ")]
        notes.append(f"{printable(names[i])}: {'; '.join(reasons)}")
    unused = [rule for rule, value in screening.findings.items() if bool((value != value).all())]
    if unused:
        needs_records = [rule for rule in unused if rule in NEED_RECORDS]
        others = [rule for rule in unused if rule not in needs_records]
        if others:
            notes.append(f"no data for {', '.join(others)}: no such checks, repeats, times or trials, or too few")
        if needs_records:
            no_records = "give --records, written by sfumato export --records"
            why = no_records if records is None else "the records are erased, or their addresses not known"
            notes.append(f"no data for {', '.join(needs_records)}: {why}")
    if made is not None and made.n_of_one_address:
        shared = f"{made.n_of_one_address:,} annotators have the same network address"
        notes.append(f"{shared} (a proxy that does not report addresses, or one place): addresses are not compared")
    n_signs = sum(bool(sign and not why) for sign, why in zip(screening.signs, screening.reasons, strict=True))
    if n_signs:
        found = sorted({rule for each in screening.signs for rule in each.split("; ") if rule})
        notes.append(f"{n_signs:,} more have signs that exclude nobody ({', '.join(found)}); look at their answers")
    if len(excluded) > 10:
        notes.append(f"... and {len(excluded) - 10:,} more")
    write_table(screening, output, f"{len(excluded):,} of {len(screening):,} annotators excluded", notes)
    if excluded:
        label = f"sfumato label {shlex.quote(str(annotations))} --screening {shlex.quote(str(output))}"
        click.echo(f"Nothing is deleted; label without their answers: {label} ...")
