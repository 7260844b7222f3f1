"""Site: one study being served, and what its pages and its API say of it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from sfumato.elicit.kind import Item, Kind, folder_of
from sfumato.elicit.standing import Shown, Standing
from sfumato.elicit.writer import Writer
from sfumato.errors import SfumatoError
from sfumato.study import Study
from sfumato.web.keys import keys_for

TEMPLATES = Path(__file__).parent / "templates"
# Raw HTML stays text: whatever a study file says, a page of ours shows it and runs none of it.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(eq=False)
class Site:
    """A study with the writer that takes its answers and the engine that reads its store."""

    study: Study
    kind: Kind
    items: Mapping[str, Item]
    writer: Writer
    reader: sa.Engine
    number: int
    """The study's id in the store."""
    _templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        loader = FileSystemLoader([TEMPLATES, folder_of(self.kind)])
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
        form = self._templates.get_template("form.html").render(
            kind=self.kind,
            classes=config["classes"],
            study=self.study,
            framing=self.study.question.framing,
            prompt=config["prompt"],
        )
        return self.page("study.html", config=config, form=Markup(form), kind=self.kind.name)

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
            "kind": {"name": self.kind.name, "version": self.kind.version, "settings": asdict(self.kind)},  # type: ignore[call-overload]
            "prompt": study.question.prompt or self.kind.prompt(study.question.framing),
            "framing": study.question.framing,
        }


def pay_in_words(study: Study) -> str | None:
    """What taking part pays, as a sentence."""
    if study.pay is None:
        return None
    about = f" for about {study.pay.minutes:g} minutes" if study.pay.minutes else ""
    return f"{study.pay.amount:.2f} {study.pay.currency}{about}"


def _html(markdown: str) -> str:
    return MARKDOWN.render(markdown) if markdown else ""
