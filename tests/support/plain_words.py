"""Finds phrases we do not use in texts a person reads: docs, pages, help, messages, docstrings and comments.

`python tests/support/plain_words.py PATH...` lists them, with what to write instead.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PER = (
    "annotator|answer|arm|bar|batch|belief|cell|class|column|command|concept|condition|core|corruption|curve|day|draw|"
    "epoch|figure|file|fold|form|format|group|hour|image|item|key|kind|label|line|metric|minute|month|network|"
    "operation|option|page|pair|paper|part|participant|person|picture|platform|question|row|rule|run|second|section|"
    "seed|session|set|stage|step|stratum|study|table|target|test|trial|visit|vote|week|worker|world|year"
)
NOUNS = (
    "answers|beliefs|bytes|calls|cells|cents|classes|codes?|draws|entry|entries|errors?|figures?|files?|floats?|folder|"
    "hours|image|items|keys?|labels|lines?|links?|minutes|models?|names?|networks?|numbers?|pages?|pay|people|"
    "pictures?|points?|processes|questions|requests|rows?|runs|scores?|seconds|sentences?|threads?|time|times|tokens|"
    "trials?|values?|votes|words?"
)
RULES: tuple[tuple[str, str], ...] = (
    (rf"\bone [a-z-]+(?: (?!(?:of|in|on|after|from|for|to|with|by|at)\b)[a-z-]+)? an? (?:{PER})\b", "one X per Y"),
    (rf"\b(?:{NOUNS}) an? (?:{PER})\b(?! (?:is|has|was|can|may|gave|of))", "X per Y"),
    (r"\b[Tt]old\b", "reported, said, given, known"),
    (r"\b[Bb]esides?\b", "next to, with, compared with, in addition"),
    (r"\b(?:for|of|by|to|with|from|at|than|as|but|and|or|asks?|says?|know|knows) who\b", "people who"),
    (r"(?:^|[.;:(] )[Ww]ho (?![^.?]*\?)", "People who, the person who"),
    (r"\b[Ww]hoever\b|\bwhomever\b|\bwhosoever\b", "anyone who"),
    (r"\bset(?:s|ting)? aside\b", "excluded"),
    (r"\bdealt out\b|\bdeals? out\b", "assigned, shuffled"),
    (r"\bgone home\b|\bgoes home\b|\bat it now\b|\bat work\b", "exited, active"),
    (r"\banew\b|\bonce more\b", "again"),
    (r"\bhow far (?:people|they|it|apart)\b", "how much; progress"),
    (r"\bso (?:many|much|long|often) (?:an?|the|answers|items|people|of|it|is|at)\b", "this many; state the number"),
    (r"\bmade of\b[^.]{0,30}\bdoubt|\bdoubt\b[^.]{0,30}\bmade of\b", "where the uncertainty comes from"),
    (r"\bstands? (?:in|at|for|on|there|here|above|below|alone|under|among|as)\b", "is"),
    (r"\bhold(?:s|ing)? (?:good|dear)\b|\bfor ever\b|\bby and by\b|\bmeans to\b", "plain word"),
    (r"\blearnt\b|\bspelt\b|\bburnt\b", "learned"),
    (r"\b(?:un|re|mis)?label+ed\b(?<!labeled)|\blabelling\b|\blabeller\b", "labeled, labeling (one l)"),
    (r"\b(?:colour|behaviour|neighbour|favour|honour)\w*", "-or"),
    (r"\b(?:optim|normal|organ|recogn|summar|initial|general|minim|maxim|extrem)is(?:e|ed|es|ing|ation)\b", "-iz-"),
    (r"\bgrey\b|\bcentre\b|\blicence\b|\bprogramme\b|\bwhilst\b|\bamongst\b", "American spelling"),
    (r"(?<![\w.)\]/*:,+>{\"\\-])-?\.\d+\b(?!%|~| ?\w*\()", "0.14, not .14"),
)  # fmt: skip
COMPILED = tuple((re.compile(pattern, re.MULTILINE), instead) for pattern, instead in RULES)


@dataclass(frozen=True)
class Hit:
    """A phrase that is written differently here."""

    file: Path
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.phrase!r} (write: {self.instead})"


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with the line each begins at; of Python, its strings and comments."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, source
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            yield token.start[0], token.string


def hits(path: Path) -> list[Hit]:
    """Every phrase in a file that is written differently here."""
    found = []
    for start, text in texts(path):
        for pattern, instead in COMPILED:
            for match in pattern.finditer(text):
                line = start + text.count("\n", 0, match.start())
                found.append(Hit(path, line, match.group().strip(), instead))
    return sorted(found, key=lambda hit: hit.line)


def files(paths: list[Path]) -> Iterator[Path]:
    """The files with texts below `paths`."""
    for path in paths:
        if path.is_dir():
            kinds = (".py", ".md", ".html", ".js", ".toml", ".css")
            yield from (each for each in sorted(path.rglob("*")) if each.suffix in kinds and each.is_file())
        else:
            yield path


if __name__ == "__main__":
    listed = [hit for path in files([Path(each) for each in sys.argv[1:]]) for hit in hits(path)]
    print(*listed, sep="\n")
    print(f"{len(listed)} phrases")
