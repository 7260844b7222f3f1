"""Site: one study being served, and what its pages and its API say of it."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from sfumato.elicit.kind import Item, Kind, folder_of
from sfumato.elicit.standing import Shown, Standing
from sfumato.elicit.writer import Writer
from sfumato.errors import SfumatoError
from sfumato.study import Study
from sfumato.web.keys import keys_for

if TYPE_CHECKING:
    from sfumato.web.adaptive import AdaptiveGuide

TEMPLATES = Path(__file__).parent / "templates"
# Raw HTML stays text: whatever a study file says, a page of ours shows it and runs none of it.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(eq=False)
class Site:
    """A study with the writer that takes its answers and the engine that reads its store."""

    study: Study
    kinds: Sequence[Kind]
    """The kind of each of the study's questions."""
    items: Mapping[str, Item]
    writer: Writer
    reader: sa.Engine
    number: int
    """The study's id in the store."""
    guide: AdaptiveGuide | None = None
    """Who says what to ask next, in an adaptive study."""
    studio_key: str = field(default_factory=partial(secrets.token_urlsafe, 24))
    """Who has it is the researcher."""
    _templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        forms = PrefixLoader({kind.name: FileSystemLoader(folder_of(kind)) for kind in self.kinds})
        loader = ChoiceLoader([FileSystemLoader(TEMPLATES), forms])
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        self._feedback = {each.item: _html(each.feedback) for each in self.study.practice}
        self._fixed = self._study_config()

    def page(self, template: str, **values: Any) -> str:
        """A template filled in."""
        return self._templates.get_template(template).render(title=self.study.title, **values)

    def error_page(self, error: SfumatoError, status: int) -> str:
        """What a person sees who came the wrong way."""
        found = error.found.removeprefix("found ")
        message, fix = (f"{text[:1].upper()}{text[1:]}." for text in (found, error.fix))
        return self.page("error.html", status=status, message=message, fix=fix)

    def study_page(self, token: str, seed: int) -> str:
        """The page on which a person takes the study, classes in their own order."""
        config = self.config(token, seed)
        forms = [
            self._templates.get_template(f"{kind.name}/form.html").render(
                kind=kind,
                classes=config["classes"],
                study=self.study,
                framing=question["framing"],
                prompt=question["prompt"],
            )
            for kind, question in zip(self.kinds, config["questions"], strict=True)
        ]
        kinds = [kind.name for kind in self.kinds]
        return self.page("study.html", config=config, forms=[Markup(form) for form in forms], kinds=kinds)

    def config(self, token: str, seed: int) -> dict[str, Any]:
        """What the page needs to know before it asks for anything."""
        base = f"/s/{token}"
        order = list(enumerate(self.study.classes))
        random.Random(seed).shuffle(order)
        keys = keys_for([each for _, each in order])
        classes = [
            {
                "name": each.name,
                "key": key,
                "index": index,
                "example": f"{base}/examples/{index}" if each.example else None,
            }
            for (index, each), key in zip(order, keys, strict=True)
        ]
        by = "class" if all(each.key for each in self.study.classes) else "position"
        return {"base": base, "classes": classes, "keys_by": by, **self._fixed}

    def state(self, token: str, standing: Standing) -> dict[str, Any]:
        """Where a person stands, as the API says it: nothing in it but what is theirs."""
        state: dict[str, Any] = {
            "stage": standing.stage,
            "answered": standing.answered,
            "wanted": standing.wanted,
            "batch_size": self.study.people.batch_size + self.study.people.repeats,
        }
        if standing.stage == "trials":
            state["trials"] = [self._trial(token, each) for each in standing.trials]
        if standing.stage == "comprehension":
            state |= {"wrong": standing.wrong, "attempts_left": standing.attempts_left}
        if standing.code:
            state["code"] = standing.code
        return state

    def _trial(self, token: str, shown: Shown) -> dict[str, Any]:
        stimulus = shown.stimulus
        # A mixed picture is one picture, made of those named in `of`, and no item of its own.
        first = self.items.get(stimulus.item)
        is_text = first is not None and first.text is not None
        return {
            "trial": shown.handle,
            "number": shown.number,
            "practice": shown.practice,
            "question": shown.question,
            "feedback": self._feedback[stimulus.item] if shown.practice else "",
            "pictures": []
            if is_text
            else [f"/s/{token}/pictures/{shown.handle}/{n}" for n in range(len(stimulus.shown))],
            "texts": [self.items[id].text for id in stimulus.shown] if is_text else [],
            "told": {name: stimulus.told[name] for name in ("class", "classes") if name in stimulus.told},
        }

    def _study_config(self) -> dict[str, Any]:
        study = self.study
        return {
            "study": {
                "title": study.title,
                "consent_html": _html(study.consent),
                "instructions_html": _html(study.instructions),
                "comprehension": [{"question": q.question, "choices": q.choices} for q in study.comprehension],
                "pay": pay_in_words(study),
                "size": study.items.size,
                "upscale": study.items.upscale,
            },
            "questions": [
                {
                    "kind": kind.name,
                    "version": kind.version,
                    "settings": asdict(kind),  # type: ignore[call-overload]
                    "prompt": question.prompt or kind.prompt(question.framing),
                    "framing": question.framing,
                }
                for kind, question in zip(self.kinds, study.questions, strict=True)
            ],
        }


def pay_in_words(study: Study) -> str | None:
    """What taking part pays, as a sentence."""
    if study.pay is None:
        return None
    about = f" for about {study.pay.minutes:g} minutes" if study.pay.minutes else ""
    return f"{study.pay.amount:.2f} {study.pay.currency}{about}"


def _html(markdown: str) -> str:
    return MARKDOWN.render(markdown) if markdown else ""
