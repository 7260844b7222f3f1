"""One served study: its pages, its page configuration, and a participant's state as the API sends it."""

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
from sfumato.elicitation.page_messages import ParticipantState, Redirect, SessionStart, ShownTrial
from sfumato.elicitation.running_study import RunningStudy
from sfumato.recruitment import platform_of, signature_keys
from sfumato.server.dashboard_access import Dashboard
from sfumato.server.http_responses import own_words
from sfumato.server.picture_cache import PictureCache
from sfumato.server.translations import Translations, translations_for
from sfumato.store.location import StoreLocation
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import LANGUAGES, Study, StudyClass
from sfumato.tables.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.planning.adaptive_assignment import AdaptiveSelector

KEYS = "1234567890qwertyasdghjkzxcvbpilm"
"""Keys of classes, in this order, without those that forms use themselves (`o` others, `n` none, `f` full, `u`)."""
TEMPLATES = Path(__file__).parent / "templates"
# Raw HTML in a study file is shown as text.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
CUT = Markup("\0")
"""Marks the parts of a page that are filled in per participant."""


@dataclass(eq=False)
class ServedStudy:
    """A study with the writer that stores its answers and the engine that reads its store."""

    study: Study
    kinds: Sequence[Kind]
    """The kind of each of the study's questions."""
    items: Mapping[str, Item]
    writer: Writer[RunningStudy]
    reader: sa.Engine
    place: StoreLocation
    number: int
    """The study's id in the store."""
    selector: AdaptiveSelector | None = None
    """Chooses the next item in an adaptive study."""
    public: bool = False
    """Whether other machines reach it, over https."""
    clock: Clock = field(default_factory=Clock)
    """The clock for the expiry of links."""
    stimuli: Sequence[Stimulus] = ()
    """What can be shown, for the pictures to prepare."""
    dashboard: Dashboard = field(init=False)
    pictures: PictureCache = field(init=False)
    _templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        forms = PrefixLoader({kind.name: FileSystemLoader(folder_of(kind)) for kind in self.kinds})
        loader = ChoiceLoader([FileSystemLoader(TEMPLATES), forms])
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        self._feedback = {each.item: _html(each.feedback) for each in self.study.practice}
        self._judged = frozenset(each.item for each in self.study.practice if each.region is not None)
        stimuli = self.kinds[0].stimuli(list(self.items.values()), self.study)
        n_labeled = sum(each.item not in self.study.special_items for each in stimuli)
        self.n_batches = self.study.people.most_batches(n_labeled)
        """Batches that a participant who does everything is paid for."""
        self._shared_config = {name: self._study_config(translations_for(name)) for name in self.study.languages}
        self.platform = platform_of(self.study)
        self.signature_keys = signature_keys(self.study)
        self._shared_parts = {name: self._page_parts(translations_for(name)) for name in self.study.languages}
        self.dashboard = Dashboard(self, public=self.public)
        self.pictures = PictureCache(self.study.items, self.items, self.place)

    def page(self, template: str, language: str | None = None, **values: Any) -> str:
        """A template filled in, in a language of the study, or in English."""
        texts = translations_for(language or LANGUAGES[0])
        common = {"title": self.study.title, "language": texts.language, "say": texts.say}
        return self._templates.get_template(template).render(**common, **values)

    def error_page(
        self, error: SfumatoError, status: int, language: str | None = None, template: str = "error.html", **more: Any
    ) -> str:
        """The page of an error; without a language it shows the error's own message, for the researcher."""
        platform = self.platform.title if self.platform else ""
        message, fix = translations_for(language).error(error, platform) if language else own_words(error)
        return self.page(template, language, status=status, message=message, fix=fix, **more)

    def study_page(self, token: str, start: SessionStart, *, keeps_cookies: bool = True) -> str:
        """The study page of a participant, in their language and with their order of classes. `keeps_cookies`: whether
        the browser sent a cookie of the entry from a platform."""
        config, texts = self.config(token, start), translations_for(start.language)
        if self.platform is not None:
            config["keeps_cookies"] = keeps_cookies
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
        before, *after = self._shared_parts[start.language]
        return before + "".join(mine + rest for mine, rest in zip(own, after, strict=True))

    def _page_parts(self, texts: Translations) -> list[str]:
        """The study page without a participant's own parts, split at those parts; made once per language."""
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

    def config(self, token: str, start: SessionStart) -> dict[str, Any]:
        """The configuration in the study page: classes in this participant's order, keys, questions and texts."""
        base = f"/s/{token}"
        order = list(enumerate(self.study.classes))
        rng = random.Random(start.seed)
        if not self.study.ordered:
            rng.shuffle(order)
        keys = class_keys([each for _, each in order])
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
        questions = [
            {"question": each.question, "choices": rng.sample(each.choices, len(each.choices))}
            for each in self.study.comprehension
        ]
        shared = self._shared_config[start.language]
        own = {"base": base, "classes": classes, "keys_by": by, "study": shared["study"] | {"comprehension": questions}}
        declined = {"declined": self._redirect(start.declined)} if start.declined else {}
        return {**shared, **own, **declined}

    def state(self, token: str, current: ParticipantState) -> dict[str, Any]:
        """A participant's state as JSON; it contains nothing about other participants."""
        state: dict[str, Any] = {
            "stage": current.stage,
            "answered": current.answered,
            "wanted": current.wanted,
            # Equal parts of all trials: a batch of the study file would show how many trials are checks.
            "batch_size": -(-current.wanted // self.study.people.batches),
        }
        if current.stage == "trials":
            state["trials"] = [self._trial(token, each) for each in current.trials]
        if current.stage == "comprehension":
            state |= {"failed": current.failed, "attempts_left": current.attempts_left}
        if current.code:
            state["code"] = current.code
        if current.back:
            state["back"] = self._redirect(current.back)
        return state

    def _redirect(self, back: Redirect) -> dict[str, Any]:
        assert self.platform is not None, "only platforms have redirects"
        return {"platform": self.platform.title, "code": back.code, "url": back.url, "fields": dict(back.fields)}

    def _trial(self, token: str, shown: ShownTrial) -> dict[str, Any]:
        stimulus = shown.stimulus
        # A mixed picture is not an item: it is made from the items in `of`.
        first = self.items.get(stimulus.item)
        is_text = first is not None and first.text is not None
        pictures = [f"/s/{token}/pictures/{shown.handle}/{n}" for n in range(len(stimulus.shown))]
        return {
            "trial": shown.handle,
            "number": shown.number,
            "practice": shown.practice,
            "question": shown.question,
            "deeper": shown.deeper,
            "feedback": self._feedback[stimulus.item] if shown.practice else "",
            "judged": shown.practice and stimulus.item in self._judged,
            "pictures": [] if is_text else pictures,
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
                "pay": texts.pay(study, self.n_batches),
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


def class_keys(classes: Sequence[StudyClass]) -> list[str]:
    """A key for each class in the order shown: the study's own, or the next free one; empty if there are not enough."""
    used = {each.key.lower() for each in classes if each.key}
    free = iter([key for key in KEYS if key not in used])
    return [each.key.lower() if each.key else next(free, "") for each in classes]


def _html(markdown: str) -> str:
    return MARKDOWN.render(markdown) if markdown else ""
