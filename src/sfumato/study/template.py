"""A study file to begin with: every key there is, with what it means; what can be left out is commented out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from string import Template
from typing import Any

from sfumato.study.study import ABOUT_ONE_ITEM

TEMPLATE = Template("""\
# A study. Check it with `sfumato study check $folder`, open it to people with `sfumato serve $folder`.
# Text in quotes; a line that begins with # is not read. Paths are read from the folder of this file.

title = $title
# name = "birds-2"            # its short name in the store; otherwise the name of the folder
# language = "en"             # of its pages: en, fr or de; several to choose from: languages = ["en", "fr"]

# What people choose from. Each class gets a key (1, 2, 3, ...) on the form.
classes = $classes
# To choose the keys yourself, or to show an example of each in the instructions, write instead of the line above,
# at the end of the file:
# [[classes]]
# name = "cat"
# key = "c"
# example = "examples/cat.png"

[items]
# One of three. A folder of pictures (PNG, JPEG, WebP, GIF, BMP), with or without folders in it; a first folder
# named as a class files its pictures under that class, which typicality and mixture need:
folder = "images"
# ... or a CSV with the columns item,text or item,image (and class, if known):
# csv = "items.csv"
# ... or a NumPy archive with images (uint8, items x height x width [x 3]) or texts, perhaps items (their ids):
# npz = "items.npz"
# upscale = "lanczos"         # how pictures smaller than `size` are made larger: lanczos, nearest or none
# size = 160                  # pixels of the longer side

[question]
kind = $kind
$kind_list
# framing = "own"             # own: what do you think? others: imagine 100 people are asked
# prompt = "What is it?"      # the sentence above the form, instead of the kind's own
$settings
[pages]
# Markdown, here or in a file: instructions = "instructions.md"
instructions = \"\"\"
$instructions
\"\"\"
consent = \"\"\"
Taking part is voluntary, and you can stop at any time. Your answers are stored without your name.
\"\"\"

# Items everybody sees first; their answers are not counted. The id is the path without its ending.
$practice
# Questions about the instructions; who fails all attempts does not begin.
# [[comprehension]]
# question = "What do you do when you cannot tell?"
# choices = ["I guess one class", "I say how likely each class is"]
# answer = "I say how likely each class is"
$checks
[people]
# entry = "open"              # open: anyone with the address; links: only who was given a link
answers_per_item = 5          # so many different people answer about each item
batch_size = $batch_size               # items one person sees in a row
# batches = 1                 # so many batches one person may do
# repeats = 0                 # items of each batch shown once more at its end, to see how steady people are
# repeat_distance = 8         # ... or so many items after the first time
$adaptive
# [limits]
# lease_minutes = 10          # so long an item is held for someone who does nothing
# remind_after_minutes = 60   # after such a gap the instructions come again
# comprehension_attempts = 3
# link_days = 30              # so long a link holds after it was made or last used; 0 for ever

# [pay]                       # shown before people begin
# amount = 2.50               # for one batch
# currency = "EUR"
# minutes = 8                 # how long it takes, as you tell people

# [pay.bonus]                 # more for good answers: computed and listed by sfumato study pay, never sent
# rule = "brier"              # agreement, brier or correlated-agreement
# most = 1.00                 # what the best answers earn
# floor = 0.5                 # a score up to this earns nothing

# [platform]                  # where people come from; sfumato study entry prints the address to enter there
# name = "prolific"           # prolific or mturk
# completed = "C1A2B3C4"      # the code for who has finished, as the platform shows it
# screened_out = "S5D6E7F8"   # for who was not let in
# no_consent = "N9G1H2J3"     # for who did not consent
# study = "65f0a1b2c3d4"      # the study's id there; people from another are then refused
# fee = 0.33                  # what it takes on top of the pay, as a share
""")

ADAPTIVE = Template("""\
# assignment = "adaptive"     # ask where an answer tells most; otherwise the item with the fewest answers is next

# [adaptive]                  # answers_per_item is then the most an item gets
# index = "kl"                # what an answer is to take down: kl (log-loss), l2 (squared error), ...
# target = 0.02               # an item is finished once this error is left to expect (kl: nats)
# lead = 8                    # ... or once one class is so many answers ahead
# fewest = 2                  # but never before so many answers
# answers = 2000              # so many in all, wherever they tell most
# audit = 0.05                # the share of choices drawn at random, whatever they are worth
# seconds = 2                 # what an answer takes, for weighing it against a deeper form

# [deeper]                    # a richer form; an adaptive study asks it where it tells more a second
# kind = $deeper
# votes = 1.07                # what its answer is then worth in plain votes (sfumato plan compare measures it)
# seconds = 44
$doors""")

DOORS = """\
# unsure = true               # it opens for who says "I am not sure"
# share = 0.1                 # ... and in this share of other answers, by chance (sfumato study depth weighs by it)
# disagreement = 0.4          # ... and where this share of an item's answers names another class than most do
"""

CHECKS = Template("""
# Items whose answer is known, shown in between without a word, after `at` answers or at a place of their own.
# [[checks]]
# item = "second"
# at = 10
# classes = [$first]           # the answer must lie here: so much of it on these classes together,
# at_least = 0.6
# none_on = [$last]           # none of it on these,
# near = { $first = 0.7, $last = 0.3 }
# within = 0.5                # and within this of that distribution (total variation)

# [quality]
# most_failed = 2             # who fails so many checks is marked
# stop = false                # ... and with true thanked, and asked nothing more; answers and pay stay
# rules = "standard"          # the screening rules whose flags the researcher's page shows (sfumato screen), or
#                             # numbers of your own: rules = { median_seconds = { crowd = 0.25 }, longest_run = {} }
""")

INSTRUCTIONS = """\
You will see one item after the other. Say what you think it is, and how sure you are.
There are no trick questions, and doubt is a good answer where there is doubt."""


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
    """A study file that asks the question `kind` (a member of `KINDS`) about the pictures in `images`."""
    return TEMPLATE.substitute(
        folder=folder,
        title=_quoted(title),
        classes=f"[{', '.join(map(_quoted, classes))}]",
        kind=_quoted(kind.name),
        kind_list=f"# The kinds there are: {', '.join(kinds)}",
        settings="".join(f"{line}\n" for line in _settings(kind, settings or {})),
        instructions=instructions,
        practice=practice
        or '# [[practice]]\n# item = "first"\n# feedback = "This one is hard to tell for everybody."\n',
        batch_size=batch_size,
        adaptive=_adaptive(kind.name),
        checks=_checks(kind.name, classes),
    )


def _adaptive(kind: str) -> str:
    """The keys of an adaptive study, where answers of this kind can guide one."""
    if kind not in ABOUT_ONE_ITEM:
        return ""
    doors = DOORS if kind == "choice" else ""
    return ADAPTIVE.substitute(deeper=_quoted("tokens" if kind == "top_two" else "top_two"), doors=doors)


def _checks(kind: str, classes: Sequence[str]) -> str:
    """The keys of checks, where answers of this kind say how likely each class is."""
    if kind not in ABOUT_ONE_ITEM or len(classes) < 2:
        return ""
    return CHECKS.substitute(first=_quoted(classes[0]), last=_quoted(classes[-1]))


def _settings(kind: Any, chosen: Mapping[str, int]) -> list[str]:
    """The settings of the kind: those chosen, and the others with their defaults, commented out."""
    lines = []
    for each in fields(kind):
        value = None if each.default is MISSING else each.default
        written = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
        default = f"# {each.name} = {'...' if value is None else written}"
        lines.append(f"{each.name} = {chosen[each.name]}" if each.name in chosen else default)
    return [f"# Settings of {kind.name}:", *lines] if lines else []


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's too, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
