"""The codebook: what every field of an export means, written next to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.elicitation.kind import Kind, label_of
from sfumato.study.study import Framing, Question, Study
from sfumato.tables.shifted_times import RULE

ANNOTATIONS = {
    "item": "id of the item shown",
    "annotator": "random pseudonym of the annotator, the same in every export of the study",
    "kind": "kind of question, with the version of the form",
    "payload": "the answer exactly as given, as JSON (its fields below)",
    "trial": "position in the annotator's sequence, from 1, practice included",
    "purpose": "why it was shown: `label`, `repeat` of an item answered before, or `check`; practice is left out",
    "started_at": f"when the item appeared on the screen, {RULE}",
    "submitted_at": "when the annotator pressed submit, by the same rule",
    "seconds": "time on the answer: from the first painted frame to submit, without hidden and idle time",
}
RECORDS = {
    "item, annotator, trial, purpose": "the answer this row belongs to",
    "claimed_seconds": "time on the answer by the browser, without hidden and idle time; `seconds` is at most this",
    "server_seconds": "from the assignment of the item to the receipt of the answer, by the server's clock",
    "n_inputs": "number of clicks and key presses",
    "network": "a keyed hash of the network address of the first visit: equal for annotators with the same address",
    "elapsed_seconds": "from the first painted frame to submit, with hidden and idle time",
    "hidden_seconds": "time in which the page was not visible",
    "idle_seconds": "time without any input, beyond the first 30 seconds of each interval",
    "pointer": "the pointing device last used: `mouse`, `touch`, `pen` or `none`",
    "width, height, pixel_ratio": "size of the page in CSS pixels, and device pixels per CSS pixel",
    "shortcuts": "whether shortcut keys were on",
    "resumed": "whether the page was reloaded during the trial",
    "order": "the classes (or sides) in the order shown, as JSON",
    "keys": "the key of each class, as JSON",
    "probability": "probability of this choice among items worth the same, in an adaptive study",
    "audit": "whether the answer is an audit: about a random item, and without effect on what is asked",
    "deeper": "why the deeper form was asked: `unsure`, `uncertain`, `random`, `listed`, `worth`; else empty",
    "deeper_probability": "probability of that, given the choice: weight by its inverse",
    "first": "the choice before the deeper form opened, as JSON; empty for annotators who were not sure",
    "events": "every input: milliseconds since the image was painted, type of event, control, key or value",
}


EXACT_TIMES = {
    "started_at": "when the item appeared on the screen (server's clock, UTC)",
    "submitted_at": "when the annotator pressed submit (server's clock, UTC)",
}


def codebook(study: Study, kinds: Sequence[Kind], *, exact_times: bool = False) -> str:
    """The codebook of a study's export, as Markdown."""
    annotations = ANNOTATIONS | EXACT_TIMES if exact_times else ANNOTATIONS
    pairs = zip(kinds, study.questions, strict=True)
    questions = [line for kind, question in pairs for line in _question_lines(kind, question)]
    return "\n".join(
        [
            f"# Codebook: {study.title}",
            "",
            *questions,
            f"- classes: {', '.join(study.class_names) or 'none'}{' (ordered)' if study.ordered else ''}",
            "",
            *_section("Annotations", annotations),
            *(line for kind in kinds for line in _section(f"Payload of `{label_of(kind)}`", kind.meanings)),
            *_section("Records (`--records`)", RECORDS),
        ]
    )


def _question_lines(kind: Kind, question: Question) -> list[str]:
    view = "their own view" if question.framing is Framing.OWN else "what others would say"
    return [
        f"- kind of question: `{label_of(kind)}`, asking for {view}",
        f"- prompt: {question.prompt or kind.prompt(question.framing)}",
    ]


def _section(title: str, meanings: Mapping[str, str]) -> list[str]:
    rows = [f"| {name} | {meaning} |" for name, meaning in meanings.items()]
    return [f"## {title}", "", "| field | meaning |", "|---|---|", *rows, ""]
