"""What is known of a labelled set -> its datasheet: tables fill in what they know, and mark what only a person can say.

`datasheet(sources)` gathers it, `write_markdown` writes what a person completes, `words_in` finds their words again.
"""

from sfumato.reporting.share.datasheet.markdown_sheet import markdown, words_in, write_markdown
from sfumato.reporting.share.datasheet.questions import PARTS, QUESTIONS, DatasheetQuestion
from sfumato.reporting.share.datasheet.sheet import Datasheet, datasheet
from sfumato.reporting.share.datasheet.sources import DatasheetSources

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
