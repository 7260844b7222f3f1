"""Datasheets for labeled data sets. `datasheet(sources)` answers questions from the tables and marks the open ones,
`write_markdown` writes the file for people to complete, `words_in` reads their text back."""

from sfumato.reporting.share.datasheet.datasheet import Datasheet, datasheet, markdown, words_in, write_markdown
from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources
from sfumato.reporting.share.datasheet.questions import PARTS, QUESTIONS, DatasheetQuestion

__all__ = [
    "PARTS",
    "QUESTIONS",
    "Datasheet",
    "DatasheetQuestion",
    "DatasheetSources",
    "datasheet",
    "markdown",
    "words_in",
    "write_markdown",
]
