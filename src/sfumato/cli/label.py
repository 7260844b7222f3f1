"""`sfumato label`: answers into beliefs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import PATH, NameList, check_outputs, given, output_option
from sfumato.cli.output import say_written

LABELER_LINES = """\b
  one-hot             all mass on the class chosen (choice, top_two)
  top-two-clamp       both classes, rest where possible (top_two); --gamma --as-released
  top-two-uniform     both classes, rest over all others (top_two)
  top-one-clamp       first class only, rest where possible (top_two)
  top-one-uniform     first class only, rest over all others (top_two)
  select-top-two      half on each class named (top_two)
  top-two-similar     rest by class similarity (top_two); --similarity FILE
  plausible-equal     yes and unsure count alike (plausible)
  plausible-weighted  unsure counts half (plausible); --unsure
  sliders             each class its slider (sliders); --zero-is-uniform
  tokens              each class its tokens (tokens); --gamma
  typicality          the rating, rest over all others (typicality)
  mixture             two classes, smoothed by doubt (mixture); --gamma --rescaled"""


@click.command(
    "label",
    help="Turn the answers in ANNOTATIONS into beliefs, one distribution an answer.\n\n"
    f"Labelers (and the kind of question each reads):\n\n{LABELER_LINES}",
)
@click.argument("annotations", type=PATH)
@click.option("--by", "name", required=True, metavar="NAME", help="The labeler.")
@output_option("Where the Beliefs go: .parquet or .csv.")
@click.option("--classes", type=NameList(), help="The classes, in order, where the file does not name them.")
@click.option("--kind", help="Only answers of this kind: top_two/1.")
@click.option("--repeats", is_flag=True, help="Label repeated showings too; by default only purpose 'label'.")
@click.option("--screening", type=PATH, help="Leave out whoever this screening table sets aside.")
@click.option("--doubt", type=PATH, help="Also write what the doubt about each item is made of.")
@click.option("--skip-bad-percents", is_flag=True, help="Leave out answers without a first percent, or beyond 0..100.")
@click.option("--gamma", type=float, help="Share held back for classes not named, or smoothing (mixture).")
@click.option("--as-released", is_flag=True, help="The published code's rule, faults included (top_two).")
@click.option("--similarity", type=PATH, help="Class similarity: a matrix or embeddings, with a column 'class'.")
@click.option(
    "--ignore-impossible", is_flag=True, help="Let the rest go to classes marked impossible too (top-two-similar)."
)
@click.option("--only-first", is_flag=True, help="As if no second class had been asked for (top-two-similar).")
@click.option("--unsure", type=float, help="What an unsure counts beside a yes (plausible-weighted).")
@click.option("--none-class", help="The name of the extra class (plausible).")
@click.option("--zero-is-uniform", is_flag=True, help="All sliders at zero mean no idea (sliders).")
@click.option("--rescaled", is_flag=True, help="No smoothing at full confidence (mixture).")
def command(
    annotations: Path,
    name: str,
    output: Path,
    classes: tuple[str, ...] | None,
    kind: str | None,
    repeats: bool,
    screening: Path | None,
    doubt: Path | None,
    skip_bad_percents: bool,
    similarity: Path | None,
    ignore_impossible: bool,
    **settings: Any,
) -> None:
    from sfumato.labeling import ClassSimilarity, labeler_from_name, plausible_doubt
    from sfumato.labeling.screening import set_aside_in
    from sfumato.labeling.top_two_arrays import has_bad_percents
    from sfumato.tables.annotations import Annotations

    check_outputs(annotations, output=output, doubt=doubt)
    settings = given(settings)
    if similarity is not None:
        settings["similarity"] = ClassSimilarity.read(similarity)
    if ignore_impossible:
        settings["respect_impossible"] = False
    labeler = labeler_from_name(name, settings)
    everything = Annotations.read(annotations, classes or ())
    left_out = set_aside_in(screening) if screening else []
    chosen = everything.for_purposes("label", *(["repeat"] if repeats else [])).without(left_out)
    chosen = chosen.of_kind(kind) if kind else chosen
    chosen = chosen.take(~has_bad_percents(chosen)) if skip_bad_percents else chosen
    beliefs = labeler.label(chosen, classes or ())
    beliefs.write(output)
    n_left_out = len(everything) - len(chosen)
    notes = [f"{n_left_out:,} of {len(everything):,} answers not labelled (checks, repeats, set aside or skipped)"]
    people, items = len(beliefs.annotator.names), len(beliefs.item.names)
    what = f"{len(beliefs):,} beliefs of {people:,} annotators about {items:,} items"
    say_written(output, what, notes if len(chosen) < len(everything) else [])
    if doubt:
        table = plausible_doubt(chosen, beliefs, classes or ()) if "plausible" in labeler.kinds else beliefs.doubt()
        table.write(doubt)
        say_written(doubt, f"Doubt, {len(table):,} items")
