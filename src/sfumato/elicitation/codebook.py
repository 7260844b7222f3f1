"""The codebook: what every field of an export means, written beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.elicitation.kind import Kind, label_of
from sfumato.study.study import Framing, Question, Study

ANNOTATIONS = {
    "item": "what was shown: the id of the item",
    "annotator": "who answered: a pseudonym drawn at random, the same in every export of the study",
    "kind": "how it was asked, with the version of the form",
    "payload": "the answer exactly as given, as JSON (its fields below)",
    "trial": "position in that person's sequence, from 1, practice counted",
    "purpose": "why it was shown: `label`, `repeat` of an item answered before, or `check`; practice is left out",
    "started_at": "when the picture stood on the screen (server's clock, UTC)",
    "submitted_at": "when the person pressed submit (server's clock, UTC)",
    "seconds": "time on the answer: from the first painted frame to submit, hidden and idle time taken out",
}
RECORDS = {
    "item, annotator, trial, purpose": "the answer this row belongs to",
    "elapsed_seconds": "from the first painted frame to submit, everything counted",
    "hidden_seconds": "time in which the page was not visible",
    "idle_seconds": "time without any input, beyond the first thirty seconds of each stretch",
    "pointer": "the pointing device last used: `mouse`, `touch`, `pen` or `none`",
    "width, height, pixel_ratio": "size of the page in CSS pixels, and device pixels to one of them",
    "shortcuts": "whether shortcut keys were on",
    "resumed": "whether the page was loaded anew during the trial",
    "order": "the classes (or sides) in the order this person saw them, as JSON",
    "keys": "which key stood for which class, as JSON",
    "probability": "how probable this item was to be asked about, in an adaptive study: weigh by its inverse",
    "audit": "whether the item was drawn at random, whatever an answer was worth",
    "deeper": "why the deeper form was asked: `unsure`, `uncertain`, `random`, `listed`, `worth`; else empty",
    "deeper_probability": "how probable that was once the choice was made: weigh by its inverse",
    "first": "the choice made before the deeper form opened, as JSON; empty for who was not sure",
    "events": "every input: milliseconds since the picture was painted, what happened, to which control, key or value",
}


def codebook(study: Study, kinds: Sequence[Kind]) -> str:
    """The codebook of a study's export, as Markdown."""
    asked = [line for kind, question in zip(kinds, study.questions, strict=True) for line in _asked(kind, question)]
    return "\n".join(
        [
            f"# Codebook: {study.title}",
            "",
            *asked,
            f"- classes: {', '.join(study.class_names) or 'none'}",
            "",
            *_section("Annotations", ANNOTATIONS),
            *(line for kind in kinds for line in _section(f"Payload of `{label_of(kind)}`", kind.meanings)),
            *_section("Records (`--records`)", RECORDS),
        ]
    )


def _asked(kind: Kind, question: Question) -> list[str]:
    view = "their own view" if question.framing is Framing.OWN else "what others would say"
    return [
        f"- kind of question: `{label_of(kind)}`, asking for {view}",
        f"- prompt: {question.prompt or kind.prompt(question.framing)}",
    ]


def _section(title: str, meanings: Mapping[str, str]) -> list[str]:
    rows = [f"| {name} | {meaning} |" for name, meaning in meanings.items()]
    return [f"## {title}", "", "| field | meaning |", "|---|---|", *rows, ""]
