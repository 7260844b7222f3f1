"""What is known of a labelled set -> its datasheet: tables fill in what they know, and mark what only a person can say.

`datasheet(sources)` gathers it, `write_markdown` writes what a person completes, `words_in` finds their words again.
"""

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
