"""A datasheet as an HTML page for reading; the Markdown file is the one to complete."""

from __future__ import annotations

from sfumato.reporting.blocks import Block, Column, Commands, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.page import Page, Section
from sfumato.reporting.share.datasheet.datasheet import Answered, Datasheet
from sfumato.reporting.share.datasheet.questions import PARTS


def datasheet_page(sheet: Datasheet) -> Page:
    """The page of a datasheet."""
    parts = [
        Section(part.title, tuple(block for each in part.questions for block in _blocks(sheet.of(each.id))))
        for part in PARTS
    ]
    points = tuple(each.text for each in sheet.open_points)
    listed = Points(points) if points else Prose(("None: every question has an answer.",))
    facts = Facts((
        Fact(f"{len(sheet.answers) - len(points)}", "questions answered"),
        Fact(f"{len(points)}", "open questions"),
        Fact(f"{len(sheet.files)}", "source files", "with hashes at the end"),
    ))  # fmt: skip
    return Page(
        title=sheet.title,
        lead="How this labeled data set was made, what it contains, and what it should not be used for.",
        sections=(*parts, Section("Open points", (listed,)), Section("Sources", _sources(sheet))),
        kind="sfumato · datasheet",
        opening=(facts,),
        made=f"Written by `{sheet.command}`. The questions follow Gebru et al. (2021), Datasheets for datasets.",
    )


def _blocks(answered: Answered) -> list[Block]:
    facts = answered.facts
    blocks: list[Block] = [Prose((f"▸ {answered.question.text}",))]
    if facts.points:
        blocks.append(Points(facts.points))
    if facts.quote:
        blocks.append(Prose(tuple(line for line in facts.quote.splitlines() if line.strip())))
    if facts.grid is not None:
        columns = zip(facts.grid.heads, zip(*facts.grid.rows, strict=True), strict=True)
        listed = tuple(Column(head, tuple(value.strip("`") for value in values)) for head, values in columns)
        blocks.append(ReportTable(answered.question.id, answered.question.text, "", listed))
    text = answered.words or answered.to_fill_in
    if text:
        blocks.append(Prose(tuple(part.strip() for part in text.split("\n\n") if part.strip())))
    return blocks


def _sources(sheet: Datasheet) -> tuple[Block, ...]:
    files = sheet.files
    listed = ReportTable(
        "files",
        "Files",
        "The source files.",
        (
            Column("option", tuple(f"--{each.option}" for each in files)),
            Column("file", tuple(each.name for each in files)),
            Column("bytes", tuple(each.n_bytes for each in files)),
            Column("SHA-256", tuple(each.sha256 for each in files)),
        ),
    )
    commands = dict.fromkeys([sheet.command, *(each.facts.command for each in sheet.answers if each.facts.command)])
    return (*([listed] if files else []), Commands(tuple(commands)))
