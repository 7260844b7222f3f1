"""The page says what the Markdown says, and takes nothing of it for HTML."""

from __future__ import annotations

from sfumato.reporting.share.datasheet import PARTS, QUESTIONS, datasheet
from sfumato.reporting.share.datasheet.datasheet_page import datasheet_page


def test_the_page_holds_every_question_number_and_word(folder):
    sources = folder.sources("annotations", "study", "beliefs", "inputs", "screening", "scores")
    sheet = datasheet(sources, title="Cats <script>", words={"purpose": "To see.\n\nTwo <b>parts</b>."})
    html = datasheet_page(sheet).html()
    for title in (*(part.title for part in PARTS), "Open points", "Sources"):
        assert f">{title}</h2>" in html
    assert all(question.text in html for question in QUESTIONS)
    assert "<td>83.33%</td>" in html
    assert "&lt;script&gt;" in html
    assert "<p>Two &lt;b&gt;parts&lt;/b&gt;.</p>" in html
    assert sheet.files[0].sha256 in html
    assert html.count("[TO FILL IN") == len(sheet.open_points)
