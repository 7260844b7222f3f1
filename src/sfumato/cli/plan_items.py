"""`sfumato plan items`: which items to ask about with the richer form, or more often."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_one_given, check_outputs, output_option, seeded
from sfumato.cli.output import bar, printable, say, write_table
from sfumato.cli.plan_options import costs_of, pairs, pilot_of
from sfumato.planning.goals import goal_named
from sfumato.tables.errors import BadSetting, unknown

if TYPE_CHECKING:
    from sfumato.evaluation.data_map import MapRegion
    from sfumato.planning.allocation import Form
    from sfumato.planning.item_priority import ItemPriority, MapPriority

SHOWN = 10


@click.command("items")
@click.option("--answers", type=PATH, help="Answers so far: Annotations, Beliefs, Counts or SoftLabels.")
@click.option("--study", type=PATH, help="Or a study: the answers in its store.")
@click.option("--store", help="The study's store, if not the default.")
@click.option("--screening", type=PATH, help="Excluded annotators, from sfumato screen: which items to top up.")
@click.option("--answers-per-item", type=int, help="With --screening: answers wanted.  [default: the study's]")
@click.option("--runs", type=PATH, multiple=True, help="Or training dynamics: folders of sfumato train.")
@click.option(
    "--labels", type=PATH, help="With --runs: the class of each item: SoftLabels, or a table with item and label."
)
@click.option(
    "--quota", type=NameList(), metavar="REGION=N", help="With --runs: ambiguous=all,hard=all,easy=20 per class."
)
@click.option("--target", metavar="NAME", help="With --runs: the target, if there are several.")
@click.option("--network", metavar="NAME", help="With --runs: the network, if there are several.")
@click.option("--last", type=int, help="With --runs: only this many last epochs.")
@click.option("--fill", is_flag=True, help="With --runs: accept fewer items if a quota cannot be filled.")
@click.option("--goal", default="distribution", show_default=True, help="distribution, class, geometry or calibration.")
@click.option("--forms", type=NameList(), default="choice,top_two", show_default=True, help="The plain and the richer.")
@click.option("--index", default="kl", show_default=True, help="The error to reduce: kl or l2.")
@click.option("--deeper", type=int, help="Advise the richer form for this many items, regardless of its value.")
@click.option("--seconds", multiple=True, metavar="KIND=S", help="Mean seconds per answer, instead of known values.")
@click.option("--votes", multiple=True, metavar="KIND=V", help="Plain votes per answer, instead of known values.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@output_option("Output table: .csv or .parquet.")
def command(
    answers: Path | None, study: Path | None, store: str | None, screening: Path | None, answers_per_item: int | None,
    runs: tuple[Path, ...], labels: Path | None, quota: tuple[str, ...] | None,
    target: str | None, network: str | None, last: int | None, fill: bool, goal: str, forms: tuple[str, ...],
    index: str, deeper: int | None, seconds: tuple[str, ...], votes: tuple[str, ...], seed: int, output: Path,
) -> None:  # fmt: skip
    """Rank items by the value of another answer, and advise a form for each.

    With --answers: by the expected error reduction per second of the next answer. With --runs: by how a model learned
    them, with the richer form for ambiguous and hard items. Use the table with sfumato plan --items-file. With
    --screening: the items that have too few answers left, how many people are needed, and the cost.
    """
    from sfumato.planning.answer_value import index_named
    from sfumato.planning.item_priority import rank_items, rank_items_by_map
    from sfumato.planning.pilot_answers import Pilot

    rng = seeded(seed)
    check_one_given(answers=answers, study=study, runs=runs)
    if screening is not None:
        from sfumato.cli.plan_top_up import show_top_up

        show_top_up(answers, study, store, screening, answers_per_item, seconds, output)
        return
    if study is not None:
        fix = "add --screening screening.csv, or export the answers and give --answers"
        raise BadSetting("--study without --screening", "the screening after which items are topped up", fix)
    if len(forms) != 2 or forms[0] == forms[1]:
        fix = "give --forms choice,top_two"
        raise BadSetting(f"--forms {','.join(forms)}", "two forms, the plain one first", fix)
    check_outputs(answers or runs[0], output=output)
    by, wanted = index_named(index), _quota(quota)
    if answers is not None:
        source = pilot_of(answers)
        assert isinstance(source.of, Pilot)
        priced = _forms(forms, goal, source, seconds, votes)
        table = rank_items(source.items, source.of.counts, priced, index=by)
        table = table if deeper is None else table.with_deeper_form(deeper)
        what = f"{len(table):,} items, {len(table.items_for(forms[1])):,} of them for {forms[1]}"
        write_table(table, output, what)
        _show(table, index)
        return
    drawn, classes = _map(runs, labels, target, network, last)
    mapped = rank_items_by_map(drawn, classes, wanted, plain=forms[0], richer=forms[1], fill=fill, rng=rng)
    write_table(mapped, output, f"{len(mapped):,} items, {mapped.form.count(forms[1]):,} of them for {forms[1]}")
    _show_regions(mapped)


def _forms(
    names: tuple[str, ...], goal: str, source: Any, seconds: tuple[str, ...], votes: tuple[str, ...]
) -> dict[str, Form]:
    """The forms with the votes and seconds per answer, known or given."""
    from sfumato.planning.allocation import Form
    from sfumato.planning.vote_rates import TaskSize, vote_rates

    costs, notes = costs_of(source, None, seconds=seconds)
    for note in notes:
        click.echo(f"  - {note}")
    size = TaskSize(len(source.items), len(source.classes))
    worths = vote_rates(goal_named(goal), names, costs, size=size, given=pairs("votes", votes))
    for worth in worths:
        if not worth.is_own:
            say(f"{worth.kind} is taken to be worth {worth.votes:.3g} votes: {worth.source}", "  - ")
    return {worth.kind: Form(worth.votes, costs.seconds(worth.kind)) for worth in worths}


def _map(
    runs: tuple[Path, ...], labels: Path | None, target: str | None, network: str | None, last: int | None
) -> tuple[Any, dict[str, str]]:
    from sfumato.evaluation.data_map import data_map
    from sfumato.evaluation.epoch_predictions import TrainingDynamics, find_runs, runs_of_model
    from sfumato.importers.label_file import read_labels
    from sfumato.training.item_join import first_choices

    if labels is None:
        raise BadSetting("--runs without --labels", "the original class of each item", "add --labels labels.parquet")
    classes = first_choices(read_labels(labels))
    chosen = runs_of_model(find_runs(runs), target, network)
    return data_map([TrainingDynamics.read(run.path) for run in chosen], last=last), classes


def _quota(given: tuple[str, ...] | None) -> dict[MapRegion, int | None]:
    """`ambiguous=all,hard=all,easy=20`, items per class."""
    from sfumato.evaluation.data_map import REGIONS, MapRegion

    result: dict[MapRegion, int | None] = {}
    for text in given or ("ambiguous=all", "hard=all"):
        name, _, number = text.partition("=")
        if name.strip() not in list(REGIONS):
            raise unknown("region", name.strip(), [str(each) for each in REGIONS])
        if number.strip() != "all" and not number.strip().isdigit():
            expected = "REGION=all, or REGION=20 (items per class)"
            raise BadSetting(f"--quota {text!r}", expected, "correct the quota")
        result[MapRegion(name.strip())] = None if number.strip() == "all" else int(number)
    return result


def _show(table: ItemPriority, index: str) -> None:
    """The items with the highest priority, and the price at which the richer form would be better."""
    import numpy as np

    order = np.argsort(table.rank)[:SHOWN]
    width = max([len(printable(table.items[i], 24)) for i in order] + [4])
    heads = "  ".join(f"{f'{name}, per second':>20}" for name in table.forms)
    click.echo(f"{'rank':>4}  {'item':<{width}}  {f'{index} left':>9}  {heads}  form")
    scale = float(table.risk.max()) or 1.0
    for i in order:
        cells = "  ".join(f"{worth:>20.6f}" for worth in table.worth[i])
        drawn = bar([(table.risk[i] / scale, "█")], 12)
        form = table.forms[table.form[i]]
        item = printable(table.items[i], 24)
        click.echo(f"{table.rank[i]:>4}  {item:<{width}}  {table.risk[i]:>9.4f}  {cells}  {form:<9}  {drawn}".rstrip())
    richer, plain = table.forms[-1], table.forms[0]
    n = len(table.items_for(richer))
    if n:
        click.echo(f"{n:,} of {len(table):,} items for {richer}")
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        short = float(np.nanmin(table.worth[:, 0] / table.worth[:, -1]))
    click.echo(f"no item for {richer}: {plain} reduces the error of every item more per second. {richer} would be")
    click.echo(f"better for some items if an answer took {short:.2g} times less time. To use it anyway, see --deeper.")


def _show_regions(mapped: MapPriority) -> None:
    from collections import Counter

    counted = Counter(zip(mapped.selection.regions, mapped.form, strict=True))
    for (region, form), n in counted.most_common():
        click.echo(f"{region:<10} {n:>8,}  {bar([(n / len(mapped), '█')])}  {form}")
