"""For building the site: pages are written as GitHub reads Markdown, and the site's reader differs in two places.

It wants an empty line before a list, and takes the backslash of an escaped bar in a table's code for part of the code.
"""

from __future__ import annotations

import re
from typing import Any

LIST = re.compile(r"\s*([-*]|\d+\.) ")
CODE = re.compile(r"`[^`]*`")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page as the site's reader wants it; blocks of code are left as they are."""
    lines: list[str] = []
    in_block = False
    for line in markdown.split("\n"):
        in_block ^= line.lstrip().startswith("```")
        before = lines[-1] if lines else ""
        begins = LIST.match(line) and before.strip() and not LIST.match(before) and not before.startswith(" ")
        if begins and not in_block:
            lines.append("")
        in_table = line.startswith("|") and not in_block
        lines.append(CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if in_table else line)
    return "\n".join(lines)
