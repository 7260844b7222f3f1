"""`sfumato simulate`: send simulated annotators through a study, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import asked_as_planned, checked_study, truth_of
from sfumato.cli.options import PATH, check_not_negative, seeded
from sfumato.cli.output import drawing, say_written
from sfumato.study.study import Entry
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.elicitation.simulated_annotator import Truth
    from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
    from sfumato.server.simulated_visits import Summary
    from sfumato.study.stimulus import Item
    from sfumato.study.study import Study

ITEMS_LOOKED_AT = 2_000
"""Items used to compute which classes are similar."""
CHEATS_PACE = 0.02
"""With cheats people wait this share of their times, and the clock of the server runs faster by as much."""
ENDINGS = {
    "finished": "finished",
    "empty": "found nothing left to answer",
    "full": "came when the study was full",
    "refused": "were not known to the platform",
    "paused": "found the study paused",
    "excluded": "did not pass the comprehension questions or checks",
    "withdrawn": "had withdrawn",
    "dropped out": "left midway",
    "stuck": "gave up on a trial whose answer was refused",
    "trials": "were given no trials",
}


@click.command("simulate")
@click.argument("study", type=PATH)
@click.option("--annotators", default=200, show_default=True, help="Number of annotators.")
@click.option("--url", help="A running server, e.g. http://127.0.0.1:8000.  [default: one is started]")
@click.option("--store", help="The server's store: a file, or postgresql://...  [default: next to the study]")
@click.option("--plan", type=PATH, help="Run the study as in this plan.")
@click.option("--truth", type=PATH, help="SoftLabels of the items.  [default: simulated]")
@click.option("--links", type=PATH, help="A text file of participant links, one per line.  [default: new participants]")
@click.option("--dropouts", default=0.0, show_default=True, help="Share of annotators who leave midway.")
@click.option("--pace", default=0.0, show_default=True, help="1: realistic answer times. 0: no waiting.")
@click.option(
    "--cheats", is_flag=True, help="20% scripts, 10% double identities, 5% borrowed accounts; print how many are found."
)
@click.option("--seed", default=0, show_default=True, help="Random seed.")
def command(
    study: Path,
    annotators: int,
    url: str | None,
    store: str | None,
    plan: Path | None,
    truth: Path | None,
    links: Path | None,
    dropouts: float,
    pace: float,
    cheats: bool,
    seed: int,
) -> None:
    """Send simulated annotators through STUDY (study.toml, or its folder), with individual skill, bias, confidence,
    speed and attention.

    They join, read, practice and answer over HTTP, like people. Their answers are stored like real ones: use a separate
    store, not one with real answers.
    """
    from sfumato.elicitation.simulated_annotator import drawn_annotators
    from sfumato.elicitation.simulated_cheats import CheatShares, drawn_accounts
    from sfumato.server.browser_client import BrowserClient
    from sfumato.server.server import serve_study
    from sfumato.server.simulated_visits import check_visit, simulate, stimuli_in
    from sfumato.store.location import StoreLocation, default_location

    check_not_negative("annotators", annotators)
    rng = seeded(seed)
    check_visit(pace=pace, dropouts=dropouts)
    if cheats:
        pace = _pace_of_cheats(pace, url)
    if url is not None:
        BrowserClient(url).close()
    asked, items = asked_as_planned(checked_study(study), plan)
    place = store or str(default_location(asked))
    tokens = _tokens(links) if links else _new_tokens(asked, annotators, place)
    known = truth_of(truth, asked, items)
    shares = CheatShares() if _is_on_prolific(asked) else CheatShares(borrowers=0)
    accounts = drawn_accounts(annotators, len(asked.classes), shares, rng) if cheats else None
    if accounts is None:
        people = drawn_annotators(annotators, len(asked.classes), rng, fitted=_fitted(asked, known, items))
    else:
        people = [account.annotator for account in accounts]
    # The given server, or one that is started for the simulation.
    server = serve_study(asked, place, items, pace=pace) if url is None else nullcontext(url)
    with server as base_url, stimuli_in(place) as stimulus_of, drawing() as draw:

        def progress(n_done: int, n_all: int, n_answers: int) -> None:
            draw(n_done / max(n_all, 1), f"{n_done:,} of {n_all:,} annotators done, {n_answers:,} answers")

        summary = simulate(
            base_url, asked, people, known, stimulus_of, rng, pace=pace, tokens=tokens, dropouts=dropouts,
            progress=progress, accounts=accounts, entry=_entry(asked, base_url, place) if cheats else None,
        )  # fmt: skip
    for line in _summary_lines(summary):
        click.echo(line)
    if accounts is not None:
        from sfumato.server.cheat_detection import detection_lines, find_cheats

        for line in detection_lines(find_cheats(asked, StoreLocation.of(place), accounts, summary.tokens)):
            click.echo(line)
    say_written(StoreLocation.of(place), "the answers")


def _entry(study: Study, base_url: str, store: str) -> str | None:
    """The entry address of Prolific; None for studies without it."""
    from sfumato.recruitment.arrival import entry_address

    return entry_address(study, base_url, store) if _is_on_prolific(study) else None


def _is_on_prolific(study: Study) -> bool:
    """Whether simulated people can arrive from the platform: Prolific, without signatures, which nobody can forge."""
    named = study.recruiting
    return named is not None and named.platform == "prolific" and not named.settings.get("keys")


def _pace_of_cheats(pace: float, url: str | None) -> float:
    """The pace of a simulation with cheats, whose clock runs as much faster: the rules judge by time."""
    if url is not None:
        found, expected = "--cheats with --url", "a server that the simulation starts itself"
        raise BadSetting(found, expected, "leave --url out: its clock must run faster", "cheats-with-url")
    return pace or CHEATS_PACE


def _fitted(study: Study, truth: Truth, items: Sequence[Item]) -> SimulatedTopTwo | None:
    """A model of how CIFAR-10S annotators would answer, if the study asks the same question."""
    from sfumato.elicitation.kinds.top_two import TopTwoKind

    # The model covers no other form.
    if any(question.kind != TopTwoKind.name for question in study.questions):
        return None
    from sfumato.labeling.class_similarity import ClassSimilarity
    from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo

    alike = truth.alikeness(item.id for item in items[:ITEMS_LOOKED_AT])
    return SimulatedTopTwo(similarity=ClassSimilarity(study.class_names, alike))


def _tokens(path: Path) -> list[str]:
    """The tokens of participant links, one per line, with or without the address."""
    try:
        lines = path.read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        found = f"links that cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8 text'})"
        expected, fix = "a text file with one link per line", "give the file with the participant links"
        raise BadSetting(found, expected, fix, "bad-links", path) from error
    return [line.rstrip("/").rpartition("/s/")[2] for line in lines]


def _new_tokens(study: Study, number: int, store: str) -> list[str]:
    """New links, if participants can enter the study only by link."""
    if study.people.entry is not Entry.LINKS:
        return []
    from sfumato.elicitation.study_registration import new_links

    return new_links(study, number, store)


def _summary_lines(summary: Summary) -> Iterator[str]:
    ended = ", ".join(f"{n:,} {ENDINGS.get(how, how)}" for how, n in summary.ended.most_common())
    yield f"{summary.n_annotators:,} annotators in {summary.seconds:,.1f} s: {ended or 'nobody came'}"
    practice = f" ({summary.n_practice:,} of them practice)" if summary.n_practice else ""
    yield f"{summary.n_acknowledged:,} answers stored{practice}, {summary.answers_per_second:,.0f} per second"
    if summary.n_acknowledged:
        half, most = summary.latency_ms(50), summary.latency_ms(99)
        yield f"half of them acknowledged within {half:,.1f} ms, 99% within {most:,.1f} ms"
    for code, n in summary.refused.most_common():
        yield f"{n:,} answers refused: {code}"
    if summary.n_retries:
        yield f"{summary.n_retries:,} requests sent again"
