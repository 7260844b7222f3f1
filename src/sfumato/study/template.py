"""The text of a new study file: every key with a comment; optional keys are commented out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from string import Template
from typing import Any

from sfumato.study.study import ABOUT_ONE_ITEM

TEMPLATE = Template("""\
# A study. Check it with `sfumato study check $folder`, serve it with `sfumato serve $folder`.
# Text is in quotes; lines that begin with # are comments. Paths are relative to the folder of this file.

title = $title
# name = "birds-2"            # short name in the store; default: the name of the folder
# language = "en"             # language of the pages: en, fr or de; several: languages = ["en", "fr"]

# The classes. Each gets a key (1, 2, 3, ...) on the form.
classes = $classes
# ordered = true              # the classes are a scale, from the lowest to the highest: forms keep their order
# To choose the keys yourself, or to show an example of each class in the instructions, remove the line above and
# write at the end of the file:
# [[classes]]
# name = "cat"
# key = "c"
# example = "examples/cat.png"

[items]
# One of four sources. A folder of pictures (PNG, JPEG, WebP, GIF, BMP), with or without subfolders; a subfolder
# with the name of a class gives its pictures that class, which typicality and mixture need:
folder = "images"
# ... or a CSV with the columns item,text or item,image (and class, if known):
# csv = "items.csv"
# ... or a NumPy archive with images (uint8, items x height x width [x 3]) or texts, and optionally items (ids):
# npz = "items.npz"
# ... or texts in Parquet, JSON Lines or TSV; `text` names the column, if it is not called text:
# texts = "items.jsonl"
# upscale = "lanczos"         # how pictures smaller than `size` are enlarged: lanczos, nearest or none
# size = 160                  # pixels of the longer side

[question]
kind = $kind
$kind_list
# framing = "own"             # own: what do you think? others: imagine 100 people are asked
# prompt = "What is it?"      # the sentence above the form, instead of the default
$settings
[pages]
# Markdown, here or in a file: instructions = "instructions.md"
instructions = \"\"\"
$instructions
\"\"\"
consent = \"\"\"
Taking part is voluntary, and you can stop at any time. Your answers are stored without your name, under a random code.
Until they are stored, your browser keeps a copy. If a platform sent you, your id there is stored separately from your
answers and deleted 90 days after your last visit.
\"\"\"

# Items that everyone sees first; these answers are not counted. The id is the path without its ending.
$practice
# Questions about the instructions; people who fail all attempts cannot begin.
# [[comprehension]]
# question = "What do you do when you cannot tell?"
# choices = ["I guess one class", "I say how likely each class is"]
# answer = "I say how likely each class is"
$checks
[people]
# entry = "open"              # open: anyone with the address; links: only people with a personal link
answers_per_item = 5          # different people who answer each item
batch_size = $batch_size               # items per batch
# batches = 1                 # most batches per person
# repeats = 0                 # items per batch shown again at its end, to measure test-retest reliability
# repeat_distance = 8         # ... or this many items after the first time
$adaptive
# [limits]
# lease_minutes = 10          # how long an item stays reserved for an inactive person
# remind_after_minutes = 60   # after a break this long the instructions are shown again
# comprehension_attempts = 3
# link_days = 30              # how long a link works after it was made or last used; 0: no limit

[privacy]                     # what sfumato study forget --expired erases; state the same days in the consent
keep_ids_days = 90            # days after a person's last visit: their platform id and link
# keep_records_days = 365     # ... and how they made their answers (inputs, screen), and the exact times

# [pay]                       # shown before people begin
# amount = 2.50               # for one batch
# currency = "EUR"
# minutes = 8                 # expected time, as stated to participants

# [pay.bonus]                 # extra pay for good answers: computed by sfumato study pay, never sent
# rule = "brier"              # agreement, brier or correlated-agreement
# most = 1.00                 # what the best answers earn
# floor = 0.5                 # scores up to this earn nothing

# [platform]                  # recruitment platform; sfumato study entry prints the address to enter there
# name = "prolific"           # prolific or mturk
# completed = "C1A2B3C4"      # the code for people who finished, as the platform shows it
# screened_out = "S5D6E7F8"   # for people who were screened out
# no_consent = "N9G1H2J3"     # for people who did not consent
# full = "F4K5L6M7"           # for people who come when no more answers are needed
# failed_checks = "A8P9Q1R2"  # for people who failed too many checks
# study = "65f0a1b2c3d4e5f6a7b8c9d0"  # the study's id there; people from other studies are rejected
# keys = "prolific-keys.json" # Prolific's public keys: only arrivals that Prolific signed are accepted
# fee = 0.33                  # the platform's fee, as a share of the pay
""")

ADAPTIVE = Template("""\
# assignment = "adaptive"     # ask where an answer is worth most; default: the item with the fewest answers

# [adaptive]                  # answers_per_item is then the maximum
# index = "kl"                # the error to reduce: kl (log loss), l2 (squared error), ...
# target = 0.02               # an item is finished when its expected error is this small (kl: nats)
# lead = 8                    # ... or when one class is this many answers ahead
# fewest = 2                  # but never before this many answers
# answers = 2000              # answers in total
# audit = 0.1                 # the share of items that two more people judge, to test the model
# seconds = 2                 # time per answer, to compare with the deeper form

# [deeper]                    # a more detailed form; an adaptive study uses it where it is worth more per second
# kind = $deeper
# votes = 1.07                # one answer is worth this many votes (sfumato plan labels measures it)
# seconds = 44
$conditions""")

OPENING_CONDITIONS = """\
# unsure = true               # opens after the answer "I am not sure"
# share = 0.1                 # ... and at random after this share of other answers (sfumato study depth uses it)
# disagreement = 0.4          # ... and where this share of an item's answers differs from the majority
"""

CHECKS = Template("""
# Attention checks: items with a known answer, shown unmarked after `at` answers or at a random position.
# [[checks]]
# item = "second"
# at = 10
# classes = [$first]           # the answer must have at least this share on these classes,
# at_least = 0.6
# none_on = [$last]           # nothing on these,
# near = { $first = 0.7, $last = 0.3 }
# within = 0.5                # and at most this distance to that distribution (total variation)

# [quality]
# checks_per_person = 1       # drawn at random for each person from all [[checks]]; default: everybody sees all
# most_failed = 2             # people who fail this many checks are marked
# stop = false                # true: their session ends; answers and pay are kept
# rules = "standard"          # screening rules whose flags the dashboard shows (sfumato screen), or
#                             # your own limits: rules = { median_seconds = { crowd = 0.25 }, longest_run = {} }
""")

INSTRUCTIONS = """\
You will see one item after the other. Say what you think it is, and how sure you are.
There are no trick questions. If you are not sure, say so: that is a good answer."""


def template(
    *,
    folder: str,
    title: str,
    classes: Sequence[str],
    kind: Any,
    kinds: Sequence[str],
    instructions: str = INSTRUCTIONS,
    practice: str = "",
    settings: Mapping[str, int] | None = None,
    batch_size: int = 25,
) -> str:
    """A study file with the question type `kind` (a member of `KINDS`) and the pictures in `images`."""
    return TEMPLATE.substitute(
        folder=folder,
        title=_quoted(title),
        classes=f"[{', '.join(map(_quoted, classes))}]",
        kind=_quoted(kind.name),
        kind_list=f"# Question types: {', '.join(kinds)}",
        settings="".join(f"{line}\n" for line in _settings(kind, settings or {})),
        instructions=instructions,
        practice=practice or '# [[practice]]\n# item = "first"\n# feedback = "This one is hard for everyone."\n',
        batch_size=batch_size,
        adaptive=_adaptive(kind.name),
        checks=_checks(kind.name, classes),
    )


def _adaptive(kind: str) -> str:
    """The keys of adaptive assignment, if answers of this kind can be used for it."""
    if kind not in ABOUT_ONE_ITEM:
        return ""
    conditions = OPENING_CONDITIONS if kind == "choice" else ""
    return ADAPTIVE.substitute(deeper=_quoted("tokens" if kind == "top_two" else "top_two"), conditions=conditions)


def _checks(kind: str, classes: Sequence[str]) -> str:
    """The keys of checks, if answers of this kind are distributions."""
    if kind not in ABOUT_ONE_ITEM or len(classes) < 2:
        return ""
    return CHECKS.substitute(first=_quoted(classes[0]), last=_quoted(classes[-1]))


def _settings(kind: Any, chosen: Mapping[str, int]) -> list[str]:
    """The settings of the kind: the chosen ones, and the others commented out with their defaults."""
    lines = []
    for each in fields(kind):
        value = None if each.default is MISSING else each.default
        written = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
        default = f"# {each.name} = {'...' if value is None else written}"
        lines.append(f"{each.name} = {chosen[each.name]}" if each.name in chosen else default)
    return [f"# Settings of {kind.name}:", *lines] if lines else []


def _quoted(text: str) -> str:
    # JSON escapes are valid in TOML, except that TOML also needs DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
