"""Markdown pages: one per paper, with its tables and figures in its own order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.tables.errors import one_line
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import BEYOND, Part
from sfumato_papers.verdict import MARKS, Judged, Verdict

if TYPE_CHECKING:
    from sfumato_papers.reproduction import Reproduction

SHOWN = (Verdict.REPRODUCED, Verdict.SAME_DIRECTION, Verdict.NOT_REPRODUCED, Verdict.NEEDS_DATA)
NO_BREAK = "\N{NO-BREAK SPACE}"


def page_of(reproduction: Reproduction) -> str:
    parts = reproduction.parts
    blocks = [
        *_head(reproduction),
        "\n".join(_contents(parts)),
        *(block for part in parts for block in _part(part, reproduction.paper.name)),
        "## The data, and how this was run",
        markdown_table(
            ["data", "license", "home", "as released"],
            [[_safe(each.set), _safe(each.licence), each.home, _safe(each.state)] for each in reproduction.described],
        ),
        reproduction.cost,
    ]
    return "\n\n".join(blocks) + "\n"


def tally_in_words(tally: Mapping[Verdict, int]) -> str:
    """`12 reproduced, 3 of the same direction, 2 not reproduced, 4 need data that is not public`."""
    words = {
        Verdict.REPRODUCED: "{n} reproduced",
        Verdict.SAME_DIRECTION: "{n} of the same direction",
        Verdict.NOT_REPRODUCED: "{n} not reproduced",
        Verdict.NEEDS_DATA: f"{{n}} need{'s' * (tally.get(Verdict.NEEDS_DATA) == 1)} data that is not public",
    }
    return ", ".join(text.format(n=tally[verdict]) for verdict, text in words.items() if tally.get(verdict))


def _head(reproduction: Reproduction) -> Iterator[str]:
    paper = reproduction.paper
    yield f"# {paper.title}"
    yield f"{paper.authors} ({paper.year}). {paper.venue}."
    tally = sum((part.tally() for part in reproduction.parts), Counter[Verdict]())
    yield f"**{tally_in_words(tally)[:1].upper()}{tally_in_words(tally)[1:]}.** Written by"
    yield f"```\n{reproduction.command}\n```"
    yield (
        "Each cell is what the paper prints, then ours (ours alone where it prints nothing), ± half of its 95% "
        "interval where it varies from training to training or from draw to draw. Verdicts are computed: "
        f"{MARKS[Verdict.REPRODUCED]} reproduced (rounds to what is printed, or the printed figure lies in our "
        f"interval), {MARKS[Verdict.SAME_DIRECTION]} same direction (differs from its reference the same way, by an "
        f"interval without 0), {MARKS[Verdict.NOT_REPRODUCED]} not reproduced, {MARKS[Verdict.NEEDS_DATA]} needs data "
        "that is not public. Where a protocol is scaled down, the change from the reference is compared and not the "
        "figure itself; the reference then has no mark. What was counted from released data has no interval: it comes "
        "out the same each time."
    )


def _contents(parts: Sequence[Part]) -> Iterator[str]:
    yield "| where in the paper | what | came out |"
    yield "| --- | --- | --- |"
    for part in parts:
        where = f"[{_safe(part.place)}](#{anchor_of(part)})"
        tally = part.tally()
        marked = " ".join(f"{MARKS[each]} {tally[each]}" for each in SHOWN if tally.get(each)) or "–"
        yield f"| {where} | {_safe(part.title)} | {marked}{', scaled down' if part.scaled_down else ''} |"


def anchor_of(part: Part) -> str:
    """The anchor of a part's heading, as Markdown tools make it."""
    words = re.sub(r"[^\w\s-]", "", f"{part.place}: {part.title}".lower()).strip()
    return re.sub(r"[-\s]+", "-", words)


def _part(part: Part, paper: str) -> Iterator[str]:
    yield f"## {part.place}: {part.title}"
    if part.about:
        yield part.about
    if part.scaled_down:
        yield f"*Scaled down: {part.scaled_down}.*"
    both = list(zip(part.findings, part.judged, strict=True))
    figures = [(each, judged) for each, judged in both if isinstance(each, Finding)]
    sentences = [(each, judged) for each, judged in both if isinstance(each, Statement)]
    if len({each.column for each, _ in figures}) > 1:
        yield _across(figures)
        told = [(each, judged) for each, judged in figures if each.published or each.needs or each.how]
        if told:
            name = part.title if part.place == BEYOND else part.place
            title = f"{name}: interval, verdict and reason of each cell"
            table = _listed(told, with_column=True)
            yield f'<details markdown="1"><summary>{title}</summary>\n\n{table}\n\n</details>'
    elif figures:
        yield _listed(figures, with_column=False)
    for chart in part.charts:
        light, dark = (f"images/{paper}-{chart.name}{mode}.svg" for mode in ("", "-dark"))
        alt = one_line(chart.text_alternative).replace('"', "'")
        yield (
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{alt}"></picture>'
        )
        yield f"*{chart.title}.* {chart.caption}"
    if sentences:
        yield _sentences(sentences)
    if part.after:
        yield part.after


def _across(figures: Sequence[tuple[Finding, Judged]]) -> str:
    """The paper's own layout: its rows down, its columns across."""
    rows = list(dict.fromkeys(each.row for each, _ in figures))
    columns = list(dict.fromkeys(each.column for each, _ in figures))
    cells = {(each.row, each.column): _cell(each, judged) for each, judged in figures}
    lines = [[_safe(row), *(cells.get((row, column), "") for column in columns)] for row in rows]
    return markdown_table(["", *columns], lines)


def _cell(finding: Finding, judged: Judged) -> str:
    """What is printed, ours, and the mark, on one line; ours alone where nothing is printed."""
    ours = "–"
    if finding.ours is not None:
        places, half = finding.places, (finding.ours.high - finding.ours.low) / 2
        interval = f"{NO_BREAK}±{NO_BREAK}{half:.{places}f}" if half == half else ""
        ours = f"**{finding.ours.value:,.{places}f}{interval}**"
    if finding.published is None:
        return MARKS[judged.verdict] or ours
    return f"{finding.published} / {ours} {MARKS[judged.verdict]}".rstrip().replace(" ", NO_BREAK)


def _listed(figures: Sequence[tuple[Finding, Judged]], *, with_column: bool) -> str:
    rows = []
    for each, judged in figures:
        ours, places = each.ours, each.places
        has_interval = ours is not None and ours.low == ours.low
        unit = each.published.unit if each.published else ""
        rows.append(
            [
                _safe(each.row),
                *[_safe(each.column)] * with_column,
                str(each.published) if each.published else "–",
                "–" if ours is None else f"**{ours.value:,.{places}f}**{unit}",
                f"{ours.low:,.{places}f} to {ours.high:,.{places}f}" if ours is not None and has_interval else "",
                _said(judged),
                _safe(" · ".join(filter(None, (judged.why, each.how)))),
            ]
        )
    return markdown_table(["", *[""] * with_column, "published", "ours", "95% interval", "verdict", "why"], rows)


def _sentences(sentences: Sequence[tuple[Statement, Judged]]) -> str:
    rows = [
        [_safe(each.row), _safe(each.says), _safe(each.ours or "–"), _said(judged), _safe(each.how)]
        for each, judged in sentences
    ]
    head = ["", "the paper says", "here", "verdict", ""]
    if not any(row[4] for row in rows):
        head, rows = head[:4], [row[:4] for row in rows]
    return markdown_table(head, rows)


def _said(judged: Judged) -> str:
    return f"{MARKS[judged.verdict]} {judged.verdict.value}".strip() if judged.verdict in SHOWN else "–"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[_safe(cell) for cell in head], ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _safe(text: str) -> str:
    """A text as a cell of a table holds it."""
    return one_line(text).replace("|", "\\|")
