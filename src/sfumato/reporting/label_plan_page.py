"""The page of `sfumato plan labels`: recommendation, loss and recovery of every kind, the best number of classes, maps
over items and classes with the user's own marked, and what the recommendation rests on."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.planning import label_words as words
from sfumato.reporting.blocks import Block, Column, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve, heat_map
from sfumato.reporting.charts.comparison import dots
from sfumato.reporting.charts.curve import Marked
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.page import Page, Section
from sfumato.reporting.phrases import capitalized

if TYPE_CHECKING:
    from sfumato.planning.label_choice import KindResult, LabelChoice
    from sfumato.planning.label_map import LabelMap, MapCell
    from sfumato.planning.label_plan import LabelPlan

ITEMS, CLASSES = Field("n", "items (n)", ",d"), Field("k", "classes (k)", ",d")
RHO = Field("rho", "rank correlation with the true similarities (rho)", ".2f", domain=(0.0, 1.0))
FAMILIES = {"sparse": "sparse", "top": "top-class"}
PAPER = "Sucholutsky et al. (2023), On the informativeness of supervision signals, UAI"


def label_plan_page(plan: LabelPlan, *, command: str = "") -> Page:
    """The page; `command` made it."""
    choice = plan.choice
    question = choice.question
    source = DataSource(command, "", f"Simulated: {words.simulated(choice)}.")
    sections = [
        Section("Loss and recovery by kind", _kinds(choice, source)),
        Section("Number of classes per label", _sparsity(choice, source)),
        Section("The same budget", _budget(choice, source)),
        Section("What would change it", _changes(plan, source)),
        Section("Other numbers of items and classes", _maps(plan, source)),
        Section("What it rests on", _rests_on(plan, source)),
    ]
    again = f"`{command}`" if command else ""
    return Page(
        title=words.headline(choice),
        lead=f"For {question.n_items:,} items of {question.n_classes:,} classes. {words.recommendation(choice)}",
        sections=tuple(section for section in sections if section.blocks),
        kind="sfumato · plan · labels",
        opening=(_facts(plan),),
        made=f"After {PAPER}. Made with sfumato{f': {again}' if again else ''}.",
    )


def _facts(plan: LabelPlan) -> Facts:
    choice = plan.choice
    best, rival = choice.best, choice.rival or choice.next_best
    money = choice.prices.in_money(best.total)
    price = f"{best.total:,.0f} hard labels" if money is None else f"{choice.prices.currency} {money:,.2f}"
    facts = [
        Fact(best.kind, "recommended", words.kind_words(best.kind)),
        Fact(f"{best.rho:.2f}", "recovery (rho)", f"95% CI {best.rho_low:.2f} to {best.rho_high:.2f}"),
        Fact(price, "price of all labels", f"{best.price:.3g} hard labels each"),
    ]
    if rival is not None:
        note = f"of {choice.n_worlds} simulated worlds: lower loss than {rival.kind}"
        facts.append(Fact(f"{rival.share_beaten:.0%}", "how sure", note))
    return Facts(tuple(facts))


def _kinds(choice: LabelChoice, source: DataSource) -> tuple[Block, ...]:
    shown = _leading(choice)
    tradeoff = choice.tradeoff
    chart = dots(
        "loss",
        title="Loss of each kind: cost minus utility, lower is better",
        caption=f"Loss = beta c - u(rho) with beta = {tradeoff.beta:.3g} and {tradeoff.utility_name} utility. "
        f"{capitalized(words.conversions(choice)[0])}. Of sparse and top-class labels the best number of classes is "
        f"shown. Lines are 95% intervals over {choice.n_worlds} worlds.",
        data={
            "kind": [row.kind for row in shown],
            "loss": [row.loss for row in shown],
            "low": [row.loss_low for row in shown],
            "high": [row.loss_high for row in shown],
            "rho": [row.rho for row in shown],
        },
        of="kind",
        value=Field("loss", "loss", ".3~g"),
        low="low",
        high="high",
        emphasized=choice.best.kind,
        tooltip=(Field("rho", "rho", ".2f"),),
        source=source,
    )
    rows = choice.rows
    place = next(i for i, row in enumerate(rows) if row.kind == choice.best.kind)
    over = "items" if choice.question.items_only else "items and classes"
    table = ReportTable(
        "kinds",
        "Every kind that was compared",
        f"Prices in hard labels. Rho is the mean over worlds, over {over}, with its 95% interval. Best: share of the "
        "worlds in which the kind has the lowest loss. Higher: share of the worlds in which its loss is higher than "
        "that of the recommended kind.",
        (
            Column("kind", tuple(row.kind for row in rows)),
            Column("price each", tuple(row.price for row in rows), 2),
            Column("price of all", tuple(row.total for row in rows), 0),
            Column("rho", tuple(f"{row.rho:.2f} ({row.rho_low:.2f} to {row.rho_high:.2f})" for row in rows)),
            Column("loss", tuple(f"{row.loss:.3g} ({row.loss_low:.3g} to {row.loss_high:.3g})" for row in rows)),
            Column("best", tuple(f"{row.share_best:.0%}" for row in rows)),
            Column("higher", tuple(f"{row.share_beaten:.0%}" for row in rows)),
            Column("recovered by", tuple(row.embedder for row in rows)),
        ),
        source,
        emphasized=place,
    )
    return (chart, Points(tuple(capitalized(each) + "." for each in words.against_ends(choice))), table)


def _leading(choice: LabelChoice) -> list[KindResult]:
    """The best row of every family, lowest loss first."""
    families: dict[str, KindResult] = {}
    for row in choice.rows:
        family = row.kind.partition(":")[0]
        if family not in families or row.loss < families[family].loss:
            families[family] = row
    return sorted(families.values(), key=lambda row: row.loss)


def _sparsity(choice: LabelChoice, source: DataSource) -> tuple[Block, ...]:
    """Figures 3 and 6 of the paper for the user's own numbers."""
    counted = {
        name: [row for row in choice.rows if row.kind.startswith(f"{family}:")] for family, name in FAMILIES.items()
    }
    numbers = sorted({_named(row) for rows in counted.values() for row in rows})
    if len(numbers) < 2:
        return ()
    lines: list[tuple[str, int, KindResult]] = []
    for name, rows in counted.items():
        lines += [(name, _named(row), row) for row in rows]
    ends = (numbers[0], numbers[-1])
    for kind in ("soft", "hard"):
        lines += [(kind, number, row) for row in choice.rows if row.kind == kind for number in ends]
    best = min((line for line in lines if line[0] in counted), key=lambda line: line[2].loss)
    columns: dict[str, list[Any]] = {
        "labels": [name for name, _, _ in lines],
        "kept": [number for _, number, _ in lines],
        "rho": [row.rho for _, _, row in lines],
        "rho_low": [row.rho_low for _, _, row in lines],
        "rho_high": [row.rho_high for _, _, row in lines],
        "loss": [row.loss for _, _, row in lines],
        "loss_low": [row.loss_low for _, _, row in lines],
        "loss_high": [row.loss_high for _, _, row in lines],
    }
    kept = Field("kept", "classes per label", ",d")
    level = "Soft labels name every class and hard labels one, so they are level."
    recovery = curve(
        "sparsity",
        title="What labels of fewer classes recover",
        caption=f"{level} Sparse: each item's own most relevant classes; top-class: the same classes for all items. "
        "Bands are 95% intervals (figure 3 of the paper, for your numbers).",
        data=columns, x=kept, y=RHO, low="rho_low", high="rho_high", series="labels", source=source,
    )  # fmt: skip
    loss = curve(
        "sparsity-loss",
        title="The best number of classes to ask about",
        caption=f"{' '.join(capitalized(each) + '.' for each in words.sparsity(choice))} {level} (Figure 6 of the "
        "paper, for your numbers.)",
        data=columns, x=kept, y=Field("loss", "loss", ".3~g"), low="loss_low", high="loss_high", series="labels",
        marked=Marked(best[1], best[2].loss, best[2].kind), source=source,
    )  # fmt: skip
    return (recovery, loss)


def _named(row: KindResult) -> int:
    return int(row.kind.partition(":")[2])


def _budget(choice: LabelChoice, source: DataSource) -> tuple[Block, ...]:
    said = Prose((words.at_equal_budget(choice),))
    if not choice.question.noise:
        return (said,)
    rows = sorted(choice.rows, key=lambda row: -row.budget_rho)
    shown = [row for row in rows if row in _leading(choice) or row is rows[0]]
    chart = dots(
        "budget",
        title="Recovery for the same money",
        caption=f"With {words.money_words(choice, choice.budget)} each. Cheaper kinds are answered by more people, "
        "whose answers are averaged.",
        data={
            "kind": [f"{row.kind}, {words.times_words(row)}" for row in shown],
            "rho": [row.budget_rho for row in shown],
            "low": [row.budget_low for row in shown],
            "high": [row.budget_high for row in shown],
        },
        of="kind",
        value=RHO,
        low="low",
        high="high",
        emphasized=f"{shown[0].kind}, {words.times_words(shown[0])}",
        source=source,
    )
    return (said, chart)


def _changes(plan: LabelPlan, source: DataSource) -> tuple[Block, ...]:
    choice = plan.choice
    ranges = choice.beta_ranges
    here = next((i for i, each in enumerate(ranges) if each.kind == choice.best.kind), None)
    step = words.EXAMPLE_STEP
    tradeoff = choice.tradeoff
    gain = (tradeoff.utility(step[1]) - tradeoff.utility(step[0])) * tradeoff.unit
    hard = choice.prices.in_money(1.0)
    unit = choice.prices.currency if hard is not None else "hard labels"

    def worth(beta: float) -> str:
        return "any" if not beta else f"{gain / beta * (hard or 1.0):,.3g}"

    table = ReportTable(
        "beta",
        "The recommended kind by the weight of the cost",
        f"The last column says the same in {unit}: the least that going from rho {step[0]} to {step[1]} must be worth.",
        (
            Column("recommended", tuple(each.kind for each in ranges)),
            Column("beta from", tuple(f"{each.low:.3g}" for each in ranges)),
            Column("to", tuple("any" if isinf(each.high) else f"{each.high:.3g}" for each in ranges)),
            Column(
                f"worth at least, {unit}",
                tuple("0" if isinf(each.high) else worth(each.high) for each in ranges),
            ),
        ),
        source,
        emphasized=here,
    )
    return (Points(tuple(capitalized(each) + "." for each in words.changes(plan))), table)


def _maps(plan: LabelPlan, source: DataSource) -> tuple[Block, ...]:
    """Figures 1 and 2 of the paper, with the user's cell marked."""
    drawn = plan.map
    if drawn is None:
        return ()
    question, tradeoff = plan.choice.question, plan.choice.tradeoff
    yours = (question.n_items, question.n_classes)
    marked = f"The red frame is your data, {yours[0]:,} items of {yours[1]:,} classes."
    over = "items" if question.items_only else "items and classes"
    by_size = [cell for cell in drawn.cells if cell.d and cell.kind in ("soft", "hard")]
    recovery = heat_map(
        "recovery-map",
        title="Recovery from soft and from hard labels",
        caption=f"Mean rho over {over} (figure 1, middle, of the paper). {marked}",
        data=_columns(by_size, ("labels", lambda cell: f"{cell.kind} · {cell.d} dimensions")),
        x=ITEMS, y=CLASSES, value=RHO, panel="labels", marked=yours, source=source,
    )  # fmt: skip
    advantage = _advantage_map(drawn, plan.choice, marked, source)
    blocks: list[Block] = [advantage, recovery]
    known = [cell for cell in drawn.cells if cell.d and cell.kind == "soft" and not isnan(cell.needed)]
    if known:
        caption = (
            "The fewest principal components that recover as much as soft labels do (figure 2 of the paper); up to "
        )
        in_reach = any((cell.n, cell.k) == yours for cell in known)
        needed = heat_map(
            "dimensionality-map",
            title="Effective dimensionality of soft labels",
            caption=f"{caption}200 items and classes. {marked if in_reach else ''}".strip(),
            data=_columns(known, ("dimensions", lambda cell: f"{cell.d} dimensions")),
            x=ITEMS, y=CLASSES, value=Field("needed", "principal components", ",.3~r"), panel="dimensions",
            marked=yours if in_reach else None, source=source,
        )  # fmt: skip
        blocks.append(needed)
    said = (
        f"The same prices per judgment and the same worth of recovery as for your data (beta = {tradeoff.beta:.3g} "
        "there); only the numbers of items and classes differ."
    )
    return (Prose((said,)), *blocks)


def _advantage_map(drawn: LabelMap, choice: LabelChoice, marked: str, source: DataSource) -> Chart:
    """Figure 1, bottom: whether soft labels are worth their price."""
    yours = (choice.question.n_items, choice.question.n_classes)
    gains = {size: drawn.advantage(*size) for size in drawn.sizes}
    # One large corner would leave all other cells pale.
    limit = float(np.quantile(np.abs(list(gains.values())), 0.75)) or 1.0
    preferred = "soft" if gains[yours] > 0 else "hard"
    return heat_map(
        "advantage-map",
        title="Loss of hard minus loss of soft labels",
        caption=f"Blue where soft labels are preferred to hard ones, brown where hard ones are; colors end at a "
        f"difference of {limit:.2g} (figure 1, bottom, of the paper). {marked} There {preferred} labels are preferred "
        f"of the two, by {abs(gains[yours]):.2g}.",
        data={
            "n": [n for n, _ in gains],
            "k": [k for _, k in gains],
            "shown": [min(max(gain, -limit), limit) for gain in gains.values()],
            "gain": list(gains.values()),
        },
        x=ITEMS,
        y=CLASSES,
        value=Field("shown", "advantage of soft labels", "+.2g", domain=(-limit, limit)),
        tooltip=(Field("gain", "difference of loss", "+.3f"),),
        about=0.0,
        marked=yours,
        source=source,
    )  # fmt: skip


def _columns(cells: Sequence[MapCell], panel: tuple[str, object]) -> dict[str, list[object]]:
    name, of = panel
    assert callable(of)
    columns: dict[str, list[object]] = {name: [of(cell) for cell in cells]}
    return columns | {each: [getattr(cell, each) for cell in cells] for each in ("n", "k", "rho", "needed")}


def _rests_on(plan: LabelPlan, source: DataSource) -> tuple[Block, ...]:
    blocks: list[Block] = [Prose((f"Simulated: {words.simulated(plan.choice)}.",))]
    if plan.notes:
        blocks.append(Points(tuple(capitalized(note) + "." for note in plan.notes)))
    if plan.assumptions:
        blocks.append(
            ReportTable(
                "assumptions",
                "Values that were not measured on your data",
                "The last column says what another value would change.",
                (
                    Column("assumption", tuple(each.what for each in plan.assumptions)),
                    Column("value", tuple(each.value for each in plan.assumptions)),
                    Column("source", tuple(each.source for each in plan.assumptions)),
                    Column("would change it", tuple(each.change or "-" for each in plan.assumptions)),
                ),
                source,
            )
        )
    if plan.advice is not None:
        blocks.append(Prose((capitalized(words.rests_on(plan)[-1]) + ".",)))
    return (*blocks, *_means(plan))


def _means(plan: LabelPlan) -> tuple[Block, ...]:
    return (Points(tuple(capitalized(each) + "." for each in words.conversions(plan.choice))),)
