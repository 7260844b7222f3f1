"""`sfumato label`: convert answers into beliefs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_outputs, given, ordered_option, output_option, put_in_order
from sfumato.cli.output import write_table
from sfumato.cli.strategy_help import FamilyCommand, Member, family_members
from sfumato.tables.errors import BadTable

if TYPE_CHECKING:
    from sfumato.tables.annotations import Annotations


def _labelers() -> dict[str, list[Member]]:
    """All labelers, by the question types they read."""
    groups: dict[str, list[Member]] = {}
    for member in family_members("labeling/__init__.py", "LABELERS"):
        kinds = ", ".join(ast.literal_eval(member.constants["kinds"]))
        groups.setdefault(f"Labelers of {kinds} answers", []).append(member)
    return groups


@click.command(
    "label",
    cls=FamilyCommand,
    help="Convert the answers in ANNOTATIONS into beliefs, one distribution per answer.",
    groups=_labelers,
)
@click.argument("annotations", type=PATH)
@click.option("--by", "name", required=True, metavar="NAME", help="The labeler.")
@output_option("Output file for the Beliefs: .parquet or .csv.")
@click.option("--classes", type=NameList(), help="The classes in order, if the file does not name them.")
@ordered_option
@click.option("--kind", help="Only answers of this kind: top_two/1.")
@click.option("--repeats", is_flag=True, help="Also label repeated trials; by default only purpose 'label'.")
@click.option("--screening", type=PATH, help="Exclude the annotators that this screening table excludes.")
@click.option("--doubt", type=PATH, help="Also write the uncertainty per item, within and between annotators.")
@click.option("--skip-bad-percents", is_flag=True, help="Skip answers without a first percent, or outside 0..100.")
@click.option("--gamma", type=float, help="Share for classes not named, or smoothing (mixture).")
@click.option("--as-released", is_flag=True, help="The rule of the published code, errors included (top_two).")
@click.option("--similarity", type=PATH, help="Class similarity: a matrix or embeddings, with a column 'class'.")
@click.option(
    "--ignore-impossible", is_flag=True, help="Also spread the rest over impossible classes (top-two-similar)."
)
@click.option("--only-first", is_flag=True, help="Ignore the second class (top-two-similar).")
@click.option("--unsure", type=float, help="Weight of an unsure, relative to a yes (plausible-weighted).")
@click.option("--none-class", help="The name of the extra class (plausible).")
@click.option("--zero-is-uniform", is_flag=True, help="All sliders at zero give the uniform distribution (sliders).")
@click.option("--rescaled", is_flag=True, help="No smoothing at full confidence (mixture).")
def command(
    annotations: Path,
    name: str,
    output: Path,
    classes: tuple[str, ...] | None,
    ordered: bool,
    kind: str | None,
    repeats: bool,
    screening: Path | None,
    doubt: Path | None,
    skip_bad_percents: bool,
    similarity: Path | None,
    ignore_impossible: bool,
    **settings: Any,
) -> None:
    from sfumato.labeling import labeler_from_name, labelers_of
    from sfumato.labeling.class_similarity import ClassSimilarity
    from sfumato.labeling.default_labeler import kinds_in
    from sfumato.labeling.kind_labelers import plausible_doubt
    from sfumato.labeling.screening import read_excluded
    from sfumato.labeling.top_two_labelers import has_bad_percents
    from sfumato.tables.annotations import Annotations

    check_outputs(annotations, output=output, doubt=doubt)
    settings = given(settings)
    if similarity is not None:
        settings["similarity"] = ClassSimilarity.read(similarity)
    if ignore_impossible:
        settings["respect_impossible"] = False
    labeler = labeler_from_name(name, settings)
    everything = Annotations.read(annotations, classes or ())
    if ordered:
        everything = put_in_order(everything, classes or ())
    excluded = read_excluded(screening) if screening else []
    asked = everything.counted(repeats=repeats)
    asked = asked.of_kind(kind) if kind else asked
    used = asked.without(excluded)
    chosen = used.take(~has_bad_percents(used)) if skip_bad_percents else used
    if len(everything) and not len(chosen):
        raise _nothing_left(annotations, screening, everything, asked, used)
    present = kinds_in(chosen)
    if len(present) == 1 and present[0] not in labeler.kinds and (others := labelers_of(present[0])):
        found = f"answers of kind {chosen.kind.names[0].as_py()}"
        expected = f"answers of kind {' or '.join(labeler.kinds)}, for {name}"
        raise BadTable(found, expected, f"use --by {' or --by '.join(others)}", "wrong-kind", annotations)
    beliefs = labeler.label(chosen, everything.classes)
    n_skipped = len(everything) - len(chosen)
    notes = [f"{n_skipped:,} of {len(everything):,} answers not labeled (checks, repeats, excluded or skipped)"]
    if excluded and len(used) == len(asked):
        notes.append(f"none of the {len(excluded):,} annotators excluded in {screening} gave any of these answers")
    people, items = len(beliefs.annotator.names), len(beliefs.item.names)
    what = f"{len(beliefs):,} beliefs of {people:,} annotators about {items:,} items"
    write_table(beliefs, output, what, notes if n_skipped else notes[1:])
    if doubt:
        table = (
            plausible_doubt(chosen, beliefs, everything.classes) if "plausible" in labeler.kinds else beliefs.doubt()
        )
        write_table(table, doubt, f"Doubt, {len(table):,} items")


def _nothing_left(
    path: Path, screening: Path | None, everything: Annotations, asked: Annotations, used: Annotations
) -> BadTable:
    """The error for a choice that leaves no answer: what was left out by which rule, and how to go on."""
    from sfumato.labeling.screening import Screened

    parts = []
    fix = "choose others with --kind or --repeats"
    if n := len(everything) - len(asked):
        purposes = ", ".join(everything.purpose.names.to_pylist())
        parts.append(f"{n:,} have another purpose or kind (purposes: {purposes})")
    if n := len(asked) - len(used):
        assert screening is not None, "only a screening excludes annotators"
        left_out = set(asked.annotator.names.to_pylist()) - set(used.annotator.names.to_pylist())
        try:
            reasons = Screened.read(screening).reasons_for(left_out)
        except BadTable:
            # A table made by hand may have no reasons.
            reasons = []
        rules = ", ".join(f"{rule} {n_people:,}" for rule, n_people in reasons) or "no reasons stated"
        parts.append(f"{n:,} are by the {len(left_out):,} annotators excluded in {screening} ({rules})")
        fix = (
            "look at the values in the screening table, screen with other rules (sfumato screen --by, or "
            "[quality.rules] in the study file), or label without --screening"
        )
    if n := len(used):
        parts.append(f"{n:,} have bad percents (--skip-bad-percents)")
        fix = "label without --skip-bad-percents to see the first of them"
    found = f"no answer left of {len(everything):,}: {'; '.join(parts)}"
    return BadTable(found, "at least one answer to label", fix, "nothing-left", path)
