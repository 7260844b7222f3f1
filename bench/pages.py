"""Writes benchmark tables as Markdown into documentation pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(page: Path, name: str, table: str) -> None:
    """Write `table` between the page's markers for `name`."""
    text = page.read_text()
    found = re.search(rf"(<!-- evidence: {name} -->\n).*?(<!-- end -->)", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{page} has no markers for {name}; expected <!-- evidence: {name} --> ... <!-- end -->")
    page.write_text(f"{text[: found.end(1)]}\n{table}\n\n{text[found.start(2) :]}")
