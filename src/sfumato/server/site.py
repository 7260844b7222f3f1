"""Which key stands for which class: the study's own, else digits and letters by the place a class is shown at.

Site: one study being served, and what its pages and its API say of it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markdown_it import MarkdownIt
from markupsafe import Markup

from sfumato.elicitation.clock import Clock
from sfumato.elicitation.kind import Kind, folder_of
from sfumato.elicitation.participant_state import ParticipantState, Redirect, SessionStart, ShownTrial
from sfumato.elicitation.running_study import RunningStudy
from sfumato.recruitment import platform_of
from sfumato.server.dashboard import Dashboard
from sfumato.server.translations import Translations, texts_in
from sfumato.store.location import StoreLocation
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Item
from sfumato.study.study import LANGUAGES, Study, StudyClass
from sfumato.tables.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.planning.adaptive_assignment import AdaptiveSelector


FREE = "1234567890qwertyasdghjkzxcvbpilm"
"""Keys handed out in this order; those that forms use themselves (`o` others, `n` none, `f` full, `u`) are left out."""


def keys_for(classes: Sequence[StudyClass]) -> list[str]:
    """A key for each class in the order shown; an empty text where there are more classes than keys."""
    given = {each.key.lower() for each in classes if each.key}
    free = iter([key for key in FREE if key not in given])
    return [each.key.lower() if each.key else next(free, "") for each in classes]


TEMPLATES = Path(__file__).parent / "templates"
# Raw HTML stays text: whatever a study file says, a page of ours shows it and runs none of it.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
CUT = Markup("\0")
"""Where a page is filled in later."""


@dataclass(eq=False)
class Site:
    """A study with the writer that takes its answers and the engine that reads its store."""

    study: Study
    kinds: Sequence[Kind]
    """The kind of each of the study's questions."""
    items: Mapping[str, Item]
    writer: Writer[RunningStudy]
    reader: sa.Engine
    place: StoreLocation
    number: int
    """The study's id in the store."""
    guide: AdaptiveSelector | None = None
    """Who says what to ask next, in an adaptive study."""
    public: bool = False
    """Whether others than this machine may reach it, which they do by https."""
    clock: Clock = field(default_factory=Clock)
    """The clock that people's links are judged by."""
    desk: Dashboard = field(init=False)
    _templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        forms = PrefixLoader({kind.name: FileSystemLoader(folder_of(kind)) for kind in self.kinds})
        loader = ChoiceLoader([FileSystemLoader(TEMPLATES), forms])
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        self._feedback = {each.item: _html(each.feedback) for each in self.study.practice}
        self._judged = frozenset(each.item for each in self.study.practice if each.region is not None)
        self._fixed = {name: self._study_config(texts_in(name)) for name in self.study.languages}
        self.platform = platform_of(self.study)
        self._around = {name: self._around_person(texts_in(name)) for name in self.study.languages}
        self.desk = Dashboard(self, public=self.public)

    def page(self, template: str, language: str | None = None, **values: Any) -> str:
        """A template filled in, in a language of the study; without one, in the researcher's English."""
        texts = texts_in(language or LANGUAGES[0])
        said = {"title": self.study.title, "language": texts.language, "say": texts.say}
        return self._templates.get_template(template).render(**said, **values)

    def error_page(
        self, error: SfumatoError, status: int, language: str | None = None, template: str = "error.html"
    ) -> str:
        """What somebody sees who came the wrong way; without a language, in the error's own words."""
        message, fix = texts_in(language).error(error) if language else _own_words(error)
        return self.page(template, language, status=status, message=message, fix=fix)

    def study_page(self, token: str, welcome: SessionStart) -> str:
        """The page on which a person takes the study, in their language, classes in their own order."""
        config, texts = self.config(token, welcome), texts_in(welcome.language)
        own = [str(htmlsafe_json_dumps(config))]
        own += [
            self._templates.get_template(f"{kind.name}/form.html").render(
                kind=kind,
                classes=config["classes"],
                study=self.study,
                framing=question["framing"],
                prompt=question["prompt"],
                say=texts.within(f"kinds.{kind.name}"),
            )
            for kind, question in zip(self.kinds, config["questions"], strict=True)
        ]
        before, *after = self._around[welcome.language]
        return before + "".join(mine + rest for mine, rest in zip(own, after, strict=True))

    def _around_person(self, texts: Translations) -> list[str]:
        """The study page but for what is a person's own: the parts before, between and after it, made once."""
        kinds = [kind.name for kind in self.kinds]
        page = self.page(
            "study.html",
            texts.language,
            config=CUT,
            forms=[CUT] * len(kinds),
            kinds=kinds,
            texts=htmlsafe_json_dumps(texts.for_script(kinds), ensure_ascii=False),
            platform=self.platform.title if self.platform else "",
        )
        return page.split(CUT)

    def config(self, token: str, welcome: SessionStart) -> dict[str, Any]:
        """What the page needs to know before it asks for anything."""
        base = f"/s/{token}"
        order = list(enumerate(self.study.classes))
        random.Random(welcome.seed).shuffle(order)
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
        declined = {"declined": self._back(welcome.declined)} if welcome.declined else {}
        return {"base": base, "classes": classes, "keys_by": by, **self._fixed[welcome.language], **declined}

    def state(self, token: str, standing: ParticipantState) -> dict[str, Any]:
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
        if standing.back:
            state["back"] = self._back(standing.back)
        return state

    def _back(self, back: Redirect) -> dict[str, Any]:
        assert self.platform is not None, "there is a way back to a platform only"
        return {"platform": self.platform.title, "code": back.code, "url": back.url, "fields": dict(back.fields)}

    def _trial(self, token: str, shown: ShownTrial) -> dict[str, Any]:
        stimulus = shown.stimulus
        # A mixed picture is one picture, made of those named in `of`, and no item of its own.
        first = self.items.get(stimulus.item)
        is_text = first is not None and first.text is not None
        return {
            "trial": shown.handle,
            "number": shown.number,
            "practice": shown.practice,
            "question": shown.question,
            "deeper": shown.deeper,
            "feedback": self._feedback[stimulus.item] if shown.practice else "",
            "judged": shown.practice and stimulus.item in self._judged,
            "pictures": []
            if is_text
            else [f"/s/{token}/pictures/{shown.handle}/{n}" for n in range(len(stimulus.shown))],
            "texts": [self.items[id].text for id in stimulus.shown] if is_text else [],
            "told": {name: stimulus.context[name] for name in ("class", "classes") if name in stimulus.context},
        }

    def _study_config(self, texts: Translations) -> dict[str, Any]:
        study = self.study
        return {
            "study": {
                "title": study.title,
                "consent_html": _html(study.consent),
                "instructions_html": _html(study.instructions),
                "comprehension": [{"question": q.question, "choices": q.choices} for q in study.comprehension],
                "pay": texts.pay(study),
                "bonus": texts.bonus(study),
                "size": study.items.size,
                "upscale": study.items.upscale,
            },
            "unsure": study.deeper is not None and study.deeper.unsure,
            "questions": [
                {
                    "kind": kind.name,
                    "version": kind.version,
                    "settings": asdict(kind),  # type: ignore[call-overload]
                    "prompt": question.prompt or texts.prompt(kind, question.framing),
                    "framing": question.framing,
                }
                for kind, question in zip(self.kinds, study.questions, strict=True)
            ],
        }


def _html(markdown: str) -> str:
    return MARKDOWN.render(markdown) if markdown else ""


def _own_words(error: SfumatoError) -> tuple[str, str]:
    """What was found and what to do, as sentences."""
    found = error.found.removeprefix("found ")
    return f"{found[:1].upper()}{found[1:]}.", f"{error.fix[:1].upper()}{error.fix[1:]}."
