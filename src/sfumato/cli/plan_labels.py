"""`sfumato plan labels`: which kind of label to collect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_outputs, given, same_rows_option, seeded, typed_command
from sfumato.cli.output import counting, say_written, write_table
from sfumato.cli.plan_options import pairs, read_answers, stored_answers
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.elicitation.study_check import StudyCheckResult


@click.command("labels")
@click.option("--items", "n_items", type=int, help="Number of items to label.  [default: the study's, pilot's]")
@click.option("--classes", "n_classes", type=int, help="Number of classes.  [default: the study's, pilot's]")
@click.option("--study", type=PATH, help="A study: its items, classes and pay; answers in its store are a pilot.")
@click.option("--store", help="The study's store, if not the default.")
@click.option(
    "--pilot", "pilots", type=PATH, multiple=True, help="Answers so far, of one kind or more; may be repeated."
)
@click.option("--features", type=PATH, help="Features of the items, to estimate the number of dimensions: .npz.")
@click.option("--kinds", type=NameList(), help="Kinds to compare, see above.  [default: hard,soft,sparse:2..10]")
@click.option("--cost", type=NameList(), default=(), help="Prices: soft=10 (hard labels), hard=0.02USD (money).")
@click.option("--worth", metavar="STEP=MONEY", help="Value of a step of recovery: 0.5:0.9=200.")
@click.option("--beta", type=float, help="Utility that the dearest kind costs, instead of --worth.  [default: 1]")
@click.option("--utility", default="linear", show_default=True, help="Value of recovery: linear, sigmoid or logit.")
@click.option("--budget", metavar="AMOUNT", help="For the comparison at equal budget: 500 (money), or '1600 labels'.")
@click.option(
    "--dimensions", type=NameList(), metavar="NUMBERS", help="Latent dimensions.  [default: the pilot's, 5,25,125]"
)
@click.option(
    "--noise", type=float, help="Noise of perceived distances, in standard deviations.  [default: the pilot's, 0]"
)
@click.option("--error", "errors", type=NameList(), default=(), metavar="KIND=SHARE", help="Shares of false triplets.")
@click.option("--words", type=float, help="Mean words per item, for texts.  [default: the study's, 0]")
@click.option("--wage", type=float, help="Pay per hour.  [default: 12]")
@click.option("--fee", type=float, help="Platform fee as a share of the pay.  [default: a third]")
@click.option("--currency", help="Currency of all amounts.  [default: the study's, USD]")
@click.option(
    "--embedder", default="auto", show_default=True, help="gnmds, spectral, or auto: the better one per kind."
)
@click.option("--worlds", type=int, help="Number of simulated worlds.  [default: 12 to 48, by their size]")
@click.option("--votes", type=PATH, help="Hard votes on the pilot's items, to measure what its answers are worth.")
@click.option("--similarities", type=PATH, help="Similarity judgments of the pilot's items, with --votes.")
@click.option("--truth", type=PATH, help="The true class of the pilot's items, with --votes.")
@click.option("--rates", type=PATH, help="Write the votes per answer that the pilot shows, for sfumato plan --rates.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--cache/--no-cache", default=True, help="Whether to use simulations of earlier calls.")
@click.option("-o", "--output", type=PATH, help="Write the comparison: .csv or .parquet.")
@click.option("--map", "map_output", type=PATH, help="Simulate other numbers of items and classes, and write the map.")
@click.option("--page", type=PATH, help="Write a page with figures: .html.")
@same_rows_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    pilots: tuple[Path, ...],
    study: Path | None,
    store: str | None,
    features: Path | None,
    dimensions: tuple[str, ...] | None,
    errors: tuple[str, ...],
    wage: float | None,
    fee: float | None,
    currency: str | None,
    words: float | None,
    n_items: int | None,
    n_classes: int | None,
    kinds: tuple[str, ...] | None,
    seed: int,
    output: Path | None,
    map_output: Path | None,
    page: Path | None,
    rates: Path | None,
    **settings: Any,
) -> None:
    """Compare kinds of label by what they recover of the items' similarities, and by price.

    \b
    hard           the most relevant class
    soft           a share for every class
    sparse:H       shares for the H most relevant classes of each item; sparse:2..10 for several H
    top:H          shares for the same H classes of every item
    similarity     the similarity of every pair of items
    triplet        "is a more similar to b or to c?", as many questions as soft labels take judgments

    \b
    sfumato plan labels --items 80 --classes 20 --worth 0.5:0.9=200 --cost hard=0.02USD
    sfumato plan labels --study study.toml --budget 100 --page plan.html

    Simulated for your own numbers of items and classes. Noise, dimensions and prices come from your pilot if there is
    one; everything assumed is listed, with the pilot that would settle it.
    """
    from sfumato.cli.plan_labels_output import show_plan
    from sfumato.planning.costs import CostModel
    from sfumato.planning.label_plan import plan_labels
    from sfumato.tables.row_numbers import check_same_rows

    seeded(seed)
    check_outputs(*pilots[:1], output=output, map=map_output, rates=rates)
    _check_page(page)
    votes = {name: settings.pop(name) for name in ("votes", "similarities", "truth")}
    _check_votes(pilots, rates, votes)
    checked = _checked(study)
    tables = [read_answers(path) for path in pilots]
    reference = _reference(votes)
    check_same_rows(*tables, *reference.values())
    if checked is not None:
        n_items, n_classes = _of_study(checked, n_items, n_classes)
        stored = stored_answers(checked, store) if not pilots else None
        tables += [stored] if stored is not None else []
        pay = checked.study.pay
        currency = currency or (pay.currency if pay is not None else None)
        words = _mean_words(checked) if words is None else words
    with counting("worlds simulated") as progress:
        plan = plan_labels(
            items=n_items,
            classes=n_classes,
            pilot=tables,
            features=_features(features),
            kinds=kinds or (),
            dimensions=_numbers(dimensions),
            error=pairs("error", errors),
            words=words or 0.0,
            costs=CostModel(**given({"wage": wage, "fee": fee, "currency": currency})),
            seed=seed,
            with_map=page is not None or map_output is not None,
            progress=progress,
            **settings,
        )
    show_plan(plan)
    if rates is not None or reference:
        _show_rates(tables, reference, rates, seed)
    write_table(plan.choice, output, f"{len(plan.choice)} kinds of label")
    if map_output is not None and plan.map is not None:
        write_table(plan.map, map_output, f"the map, {len(plan.map):,} rows")
    if page is not None:
        from sfumato.reporting.label_plan_page import label_plan_page

        drawn = label_plan_page(plan, command=typed_command(context, "sfumato plan labels"))
        drawn.write(page)
        say_written(page, f"{len(drawn.charts)} figures")


def _check_page(page: Path | None) -> None:
    from sfumato.tables.files.atomic_write import check_place

    if page is None:
        return
    if page.suffix.lower() not in (".html", ".htm"):
        raise BadSetting(f"--page {page.name!r}", "a name that ends in .html", "choose another name")
    check_place(page)


def _check_votes(pilots: tuple[Path, ...], rates: Path | None, votes: dict[str, Path | None]) -> None:
    named = [name for name, path in votes.items() if path is not None] + ["rates"] * (rates is not None)
    if named and not pilots:
        raise BadSetting(f"--{named[0]} without --pilot", "answers of the kind to compare", "add --pilot")


def _checked(study: Path | None) -> StudyCheckResult | None:
    if study is None:
        return None
    from sfumato.cli.checked_study import checked_study

    return checked_study(study)


def _of_study(checked: StudyCheckResult, n_items: int | None, n_classes: int | None) -> tuple[int, int | None]:
    n_found = len({stimulus.item for stimulus in checked.stimuli})
    names = checked.study.class_names
    if n_classes is not None and names and n_classes != len(names):
        raise BadSetting(f"--classes {n_classes}", f"the study's {len(names)} classes", "omit --classes")
    return n_found if n_items is None else n_items, len(names) or n_classes


def _mean_words(checked: StudyCheckResult) -> float:
    texts = [item.text for item in checked.items if item.text is not None]
    return sum(len(text.split()) for text in texts) / len(texts) if texts else 0.0


def _features(path: Path | None) -> Any:
    if path is None:
        return None
    from sfumato.tables.model_inputs import Inputs

    inputs = Inputs.read(path)
    if inputs.features is None:
        raise BadSetting(f"{inputs.kind} in {path.name}", "features", "save an array `features` (np.savez)", where=path)
    features: Any = inputs.features
    return features.toarray() if hasattr(features, "toarray") else features


def _numbers(texts: tuple[str, ...] | None) -> tuple[int, ...]:
    for text in texts or ():
        if not text.isdecimal() or not int(text):
            raise BadSetting(f"--dimensions {','.join(texts or ())}", "whole numbers, 1 or more: 5,25", "correct them")
    return tuple(dict.fromkeys(int(text) for text in texts or ()))


def _reference(votes: dict[str, Path | None]) -> dict[str, Any]:
    """The tables that the pilot's answers are compared with, by option."""
    from sfumato.importers.label_file import read_labels

    found = {name: path for name, path in votes.items() if path is not None}
    return {name: read_labels(path) if name == "truth" else read_answers(path) for name, path in found.items()}


def _show_rates(tables: list[Any], reference: dict[str, Any], rates: Path | None, seed: int) -> None:
    """What the pilot's answers are worth in hard votes, for every goal, and the table of rates."""
    from sfumato.cli.plan_labels_output import show_rates
    from sfumato.planning.exchange_rates import ExchangeRates
    from sfumato.planning.label_quality import Similarities
    from sfumato.planning.pilot_evidence import evidence_of
    from sfumato.tables.annotations import Annotations

    rich = [table for table in tables if isinstance(table, Annotations)]
    if not rich:
        raise BadSetting("a pilot without kinds of question", "Annotations", "give the answers, not labels")
    alike = reference.get("similarities")
    evidence = evidence_of(
        rich,
        votes=reference.get("votes"),
        similarities=None if alike is None else Similarities.of(alike),
        truth=reference.get("truth"),
        rng=seeded(seed),
    )
    found = ExchangeRates(tuple(rate for each in evidence.rates.values() for rate in each.rates))
    if not len(found):
        raise BadSetting("a pilot of choices only", "answers of a richer kind", "add --pilot with such answers")
    show_rates(evidence)
    write_table(found, rates, f"{len(found):,} exchange rates")
