"""The printed output of `sfumato plan labels`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sfumato.cli.output import counted, say

if TYPE_CHECKING:
    from sfumato.planning.label_choice import LabelChoice
    from sfumato.planning.label_plan import LabelPlan
    from sfumato.planning.pilot_evidence import PilotEvidence


def show_plan(plan: LabelPlan) -> None:
    """The recommendation, the table, and what it rests on."""
    from sfumato.planning import label_words as words

    choice = plan.choice
    question = choice.question
    classes = f"{question.n_classes:,} classes"
    click.echo(f"{counted(question.n_items, 'item')} of {classes}, {choice.tradeoff.utility_name} utility")
    say(words.simulated(choice))
    for note in plan.notes:
        say(note, "  - ")
    click.echo()
    say(words.recommendation(choice))
    for sentence in words.against_ends(choice):
        say(sentence, "  - ")
    click.echo()
    _show_rows(choice)
    for sentence in words.sparsity(choice):
        say(sentence)
    say(words.at_equal_budget(choice))
    for heading, lines in (
        ("what beta means", words.conversions(choice)),
        ("what would change it", words.changes(plan)),
        ("what it rests on", words.rests_on(plan)),
    ):
        if lines:
            click.echo(f"\n{heading}:")
        for line in lines:
            say(line, "  - ")


def _show_rows(choice: LabelChoice) -> None:
    width = max(len(row.kind) for row in choice.rows)
    has_budget = any(abs(row.budget_times - 1) > 1e-9 for row in choice.rows) and bool(choice.question.noise)
    budget = "  at equal budget" if has_budget else ""
    click.echo(f"{'':<{width}}  {'price':>15}  {'':>20}  {'':>24}{budget}")
    head = f"{'kind':<{width}}  {'each':>6} {'total':>8}  {'rho (95% CI)':<20}  {'loss (95% CI)':<24}  best"
    click.echo(head + (f"  {'times':>6} {'rho':>5}" if has_budget else ""))
    for row in choice.rows:
        rho = f"{row.rho:.2f} ({row.rho_low:.2f} to {row.rho_high:.2f})"
        loss = f"{row.loss:.3g} ({row.loss_low:.3g} to {row.loss_high:.3g})"
        line = (
            f"{row.kind:<{width}}  {row.price:>6.3g} {row.total:>8,.0f}  {rho:<20}  {loss:<24}  {row.share_best:>4.0%}"
        )
        if has_budget:
            line += f"  {row.budget_times:>6.3g} {row.budget_rho:>5.2f}"
        click.echo(line + ("  <- recommended" if row.kind == choice.best.kind else ""))
    say("prices in hard labels; best: share of the worlds in which the kind has the lowest loss")


def show_rates(evidence: PilotEvidence) -> None:
    """What the pilot's answers are worth in votes, for every goal."""
    from sfumato.planning.exchange_rates import rate_sentence
    from sfumato.planning.goals import Goal

    click.echo("\nwhat answers of the pilot are worth in hard votes about the same items:")
    for note in evidence.notes:
        say(note, "  - ")
    for rates in evidence.rates.values():
        for goal in Goal:
            for rate in rates.of_goal(goal)[:1]:
                say(f"{goal}: {rate_sentence(rate)}", "  - ")
