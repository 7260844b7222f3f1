"""The list of all papers that were run again, from the outcomes that stand next to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sfumato.tables.files.atomic_write import atomic_write
from sfumato_papers import PAPERS
from sfumato_papers.outcome import Outcomes
from sfumato_papers.verdict import MARKS, Verdict

INDEX = "index.md"
HEAD = """# The published results, run again

A published number that nobody can run again is hearsay. `sfumato reproduce PAPER` prints and writes a paper's own \
tables next to ours, from the released data, with verdicts that are computed: of every cell, \
every sentence with a figure in it.
"""
FOOT = """
What is counted from released data is exact, and comes out the same at every scale. What is trained is smaller here than
in the papers unless a page says otherwise: `--scale small` takes minutes, `--scale cpu` up to an hour on two cores, and
`--scale full` is the published protocol, for a graphics card. Every page names what was scaled down, gives the command
that wrote it, and has every verdict with its reason in a CSV next to it."""
"""The last sentences of the list."""
COLUMNS = (Verdict.REPRODUCED, Verdict.SAME_DIRECTION, Verdict.NOT_REPRODUCED, Verdict.NEEDS_DATA)


def write_index(folder: Path) -> None:
    """Write `index.md` about the papers whose outcomes are in `folder`."""
    lines = ["| paper | " + " | ".join(f"{MARKS[each]} {each.value}" for each in COLUMNS) + " |"]
    lines.append("| --- " * (1 + len(COLUMNS)) + "|")
    for name, title in PAPERS.items():
        path = folder / f"{name}.csv"
        if not path.exists():
            continue
        tally: Counter[Verdict] = Outcomes.read(path).tally()
        lines.append(f"| [{title}]({name}.md) | " + " | ".join(str(tally[each]) for each in COLUMNS) + " |")
    with atomic_write(folder / INDEX) as file:
        file.write_text("\n".join([HEAD, *lines, FOOT]) + "\n", "utf-8")
