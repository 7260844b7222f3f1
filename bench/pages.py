"""Tables of a benchmark as Markdown, and into the page that shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown writes it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(page: Path, name: str, table: str) -> None:
    """Put `table` between the page's markers of `name`."""
    text = page.read_text()
    found = re.search(rf"(<!-- evidence: {name} -->\n).*?(<!-- end -->)", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{page} has no place for {name}: expected <!-- evidence: {name} --> ... <!-- end -->")
    page.write_text(f"{text[: found.end(1)]}\n{table}\n\n{text[found.start(2) :]}")
