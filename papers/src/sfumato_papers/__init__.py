"""The published results, run again: `reproduce` prints and writes a paper's own tables next to ours.

A paper is a folder here: `paper.py` says what it is and lists its parts, one file per table or figure. Nothing is
loaded before a paper is asked for: names and titles alone are here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.tables.errors import unknown

if TYPE_CHECKING:
    from sfumato_papers.paper import Paper

PAPERS = {
    "peterson-2019": "Human uncertainty makes classification more robust (CIFAR-10H)",
    "collins-2022": "Eliciting and learning with soft labels from every annotator (CIFAR-10S)",
    "collins-mixup": "Human judgments over mixed images (H-Mix)",
    "soft-digits": "Human against model uncertainty in soft-label learning and calibration",
    "sucholutsky-2023": "On the informativeness of supervision signals",
}


def paper_named(name: str) -> Paper:
    if name not in PAPERS:
        raise unknown("paper", name, list(PAPERS))
    paper: Paper = import_module(f"sfumato_papers.{name.replace('-', '_')}.paper").PAPER
    return paper
