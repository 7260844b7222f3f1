"""`sfumato plan`: what to ask, of how many, about which items. One file a question."""

from __future__ import annotations

import click

from sfumato.cli.lazy import LazyGroup

QUESTIONS = {
    "annotators": ("sfumato.cli.plan_annotators", "How many answers an item needs."),
    "replay": ("sfumato.cli.plan_replay", "Which item next: policies replayed on recorded answers."),
}


@click.command(cls=LazyGroup, members=QUESTIONS, heading="Questions")
def command() -> None:
    """Say what to ask, of how many, about which items, and what it is worth."""
