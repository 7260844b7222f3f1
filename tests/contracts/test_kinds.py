"""What every kind of question must do. A kind is tested by standing in `KINDS`; each contract rejects a wrong one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import jinja2
import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato import Annotations
from sfumato.elicitation.kind import Kind, folder_of, label_of
from sfumato.elicitation.kinds import KINDS, ChoiceKind, MixtureKind, TokensKind, TopTwoKind, kind_named, kind_of
from sfumato.labeling import LABELERS, ClassSimilarity
from sfumato.server.translations import translations_for
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, ItemSource, Question, Study, StudyClass
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, InvalidAnswer, UnknownName
from sfumato.tables.payloads import PAYLOAD_KINDS, payload_kind

CLASSES = ("cat", "dog", "fox", "owl", "eel")
SIMILARITY = ClassSimilarity(CLASSES, np.random.default_rng(1).random((5, 5)))
ITEMS = [Item(f"item-{n}", picture=Path("pictures.npz"), row=n, given=CLASSES[n % 5]) for n in range(25)]
CLASS_FIELD = "each class"
"""How `meanings` calls the fields of a payload that has one for every class."""

VARIANTS = (
    ChoiceKind(submit_at_once=True),
    TokensKind(tokens=4),
    TokensKind(tokens=37, drag=True),
    MixtureKind(drag=True),
)
ALL = [*(kind() for kind in KINDS), *VARIANTS]
over_kinds = pytest.mark.parametrize("kind", ALL, ids=repr)


def study_of(kind: Kind, classes: Sequence[str] = CLASSES) -> Study:
    settings = {field.name: getattr(kind, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    question = Question(kind.name, settings=settings)
    return Study("pets", "Pets", tuple(map(StudyClass, classes)), ItemSource(), question)


def stimuli_of(kind: Kind) -> list[Stimulus]:
    return kind.stimuli(ITEMS, study_of(kind))


def beliefs_about(stimulus: Stimulus, rng: np.random.Generator) -> list[list[float]]:
    return [[float(p) for p in rng.dirichlet(np.full(len(CLASSES), 0.5))] for _ in stimulus.shown]


def one_hot(name: str) -> list[float]:
    return [float(each == name) for each in CLASSES]


def simulated(kind: Kind, seed: int) -> tuple[Stimulus, dict[str, Any]]:
    """A question of this kind and what somebody answered."""
    rng = np.random.default_rng(seed)
    stimuli = stimuli_of(kind)
    stimulus = stimuli[int(rng.integers(len(stimuli)))]
    return stimulus, kind.simulate(beliefs_about(stimulus, rng), stimulus, study_of(kind), rng)


def payload_of(kind: Kind, stimulus: Stimulus, raw: Any) -> str:
    return msgspec.json.encode(kind.parse(raw, stimulus, study_of(kind))).decode()


# The form as the server renders it.


class FormParser(HTMLParser):
    """The elements of a form: for each its tag, its attributes, and the attributes of what is around it."""

    VOID: ClassVar[set[str]] = {"input", "img", "br", "hr"}

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[dict[str, str | None]]]] = []
        self.around: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), [each for _, each in self.around]))
        if tag not in self.VOID:
            self.around.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.around, f"</{tag}> closes nothing"
        assert self.around.pop()[0] == tag


HOSTILE = '"><script>alert(1)</script>'
FRAMINGS = (Framing.OWN, Framing.OTHERS)


def rendered(kind: Kind, framing: Framing, classes: Sequence[str]) -> str:
    shown = [{"name": name, "key": str(n + 1), "example": None} for n, name in enumerate(reversed(classes))]
    template = (folder_of(kind) / "form.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    say = translations_for("en").within(f"kinds.{kind.name}")
    return environment.from_string(template).render(
        kind=kind, classes=shown, study=study_of(kind, classes), framing=framing, prompt=kind.prompt(framing), say=say
    )


def elements(kind: Kind) -> list[tuple[str, dict[str, str | None], list[dict[str, str | None]]]]:
    return [
        each
        for framing in FRAMINGS
        for classes in (CLASSES, (*CLASSES, HOSTILE))
        for each in FormParser(rendered(kind, framing, classes)).found
    ]


# The contracts: each takes a kind, and fails for one that breaks it.


def has_its_files(kind: Kind) -> None:
    folder, element = folder_of(kind), f"sfumato-{kind.name.replace('_', '-')}"
    assert f"customElements.define('{element}'" in (folder / "form.js").read_text(encoding="utf-8")
    assert element in (folder / "form.css").read_text(encoding="utf-8")
    tag, attributes, _ = elements(kind)[0]
    assert tag == element
    assert "form" in (attributes["class"] or "").split()


def has_a_form_without_defaults(kind: Kind) -> None:
    for tag, attributes, _ in elements(kind):
        assert not {"checked", "selected"} & set(attributes), attributes
        assert "true" not in (attributes.get("aria-pressed"), attributes.get("aria-checked")), attributes
        # The value of a radio button or a box is its meaning; that of any other field would be an answer.
        if tag == "input" and attributes.get("type") not in ("radio", "checkbox"):
            assert "value" not in attributes, attributes
        assert tag not in ("textarea", "select"), "a list has always something chosen"


def has_a_form_that_the_policy_allows(kind: Kind) -> None:
    """No script, style or handler in the page, nothing from elsewhere, and nothing of the names unescaped."""
    for tag, attributes, _ in elements(kind):
        assert tag not in ("script", "style", "link", "iframe", "object", "embed"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        assert "//" not in (attributes.get("src") or ""), attributes


def names_every_control(kind: Kind) -> None:
    controls = 0
    for tag, attributes, around in elements(kind):
        if tag in ("button", "input", "a") or attributes.get("role") in ("radio", "slider", "button", "checkbox"):
            controls += 1
            own = attributes.get("data-name")
            assert own or any(each.get("data-name") for each in around), (tag, attributes)
            assert tag != "button" or attributes.get("type") == "button", attributes
    assert controls > 1, "a question with nothing to choose from"


def has_the_payload_of_its_name(kind: Kind) -> None:
    stored = payload_kind(label_of(kind))
    assert stored.payload == kind.payload
    named = getattr(kind.payload, "__struct_encode_fields__", (CLASS_FIELD,))
    assert set(kind.meanings) == set(named)
    assert all(meaning.strip() for meaning in kind.meanings.values())


def asks_in_both_framings(kind: Kind) -> None:
    own, others = (kind.prompt(framing) for framing in FRAMINGS)
    assert own.endswith((".", "?"))
    assert "100 people" in others
    assert own != others


def asks_the_same_when_started_again(kind: Kind) -> None:
    stimuli = stimuli_of(kind)
    assert stimuli == stimuli_of(kind)
    asked = [(stimulus.item, stimulus.others, msgspec.json.encode(stimulus.context)) for stimulus in stimuli]
    assert len(set(asked)) == len(asked) > 0
    assert all(len(set(stimulus.shown)) == len(stimulus.shown) for stimulus in stimuli)


def accepts_what_it_simulates(kind: Kind) -> None:
    """From belief to answer to payload and back, and the same answer for the same seed."""
    for seed in range(40):
        stimulus, raw = simulated(kind, seed)
        assert (stimulus, raw) == simulated(kind, seed)
        sent = json.loads(json.dumps(raw))
        assert sent == raw, "not plain JSON values"
        text = payload_of(kind, stimulus, sent)
        decoded = payloads.decode([text], payload_kind(label_of(kind)))
        assert decoded == [kind.parse(sent, stimulus, study_of(kind))]


def refuses_what_is_no_answer(kind: Kind) -> None:
    """Every field missing, of a wrong type or too many, and values that are no object: refused, naming the field."""
    for seed in range(5):
        stimulus, raw = simulated(kind, seed)
        for field in raw:
            _refused(kind, stimulus, {name: value for name, value in raw.items() if name != field}, field)
            for wrong in ([[]], {"a": {}}, "\x00 nonsense", -7, 1e300, float("nan"), True if field != "others" else 3):
                _refused(kind, stimulus, {**raw, field: wrong}, field)
        _refused(kind, stimulus, {**raw, "extra": 1}, "extra")
        for wrong in (None, 3, "cat", [], [raw], True):
            _refused(kind, stimulus, wrong, None)


def refuses_unknown_classes(kind: Kind) -> None:
    """An unknown class name is refused in every field."""
    for seed in range(10):
        stimulus, raw = simulated(kind, seed)
        text = json.dumps(raw)
        for name in CLASSES:
            if f'"{name}"' in text:
                _refused(kind, stimulus, json.loads(text.replace(f'"{name}"', '"gnu"')), None)


def _refused(kind: Kind, stimulus: Stimulus, raw: Any, field: str | None) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        kind.parse(raw, stimulus, study_of(kind))
    error = caught.value
    assert error.where.column, "the error names no field"
    assert field is None or error.where.column.startswith(field), (raw, error.where.column)
    assert error.expected
    assert error.fix


def answers_as_it_believes(kind: Kind) -> None:
    """Somebody who is sure says so: read by every labeler for it, the class believed in has the most mass.

    Kinds that no labeler reads say in `SURE` what a sure answer is.
    """
    rng = np.random.default_rng(5)
    for stimulus in stimuli_of(kind)[:10]:
        told = stimulus.context.get("classes") or [stimulus.context["class"]] if stimulus.context else CLASSES
        for name in told:
            answer = kind.simulate([one_hot(name)] * len(stimulus.shown), stimulus, study_of(kind), rng)
            for probs in labelled(kind, stimulus, answer):
                assert probs.argmax() == CLASSES.index(name)
    if not labelers_of(kind):
        SURE[kind.name](kind)


def can_be_labelled(kind: Kind) -> None:
    for seed in range(20):
        stimulus, raw = simulated(kind, seed)
        for probs in labelled(kind, stimulus, raw):
            np.testing.assert_allclose(probs.sum(), 1, atol=1e-12)
            assert (probs >= 0).all()


def labelers_of(kind: Kind) -> list[Any]:
    made = [each(similarity=SIMILARITY) if "similarity" in each.__dataclass_fields__ else each() for each in LABELERS]
    return [labeler for labeler in made if kind.name in labeler.kinds]


def labelled(kind: Kind, stimulus: Stimulus, raw: Any) -> list[np.ndarray]:
    """What each labeler for this kind makes of the answer."""
    row = {"item": stimulus.item, "annotator": "a", "kind": label_of(kind), "payload": payload_of(kind, stimulus, raw)}
    answers = Annotations.from_arrow(pa.Table.from_pylist([row]), CLASSES)
    return [labeler.label(answers, ()).probs[0] for labeler in labelers_of(kind)]


def _sure_similarity(kind: Kind) -> None:
    rng = np.random.default_rng(6)
    stimulus, study = stimuli_of(kind)[0], study_of(kind)
    alike = [kind.simulate([one_hot("cat")] * 2, stimulus, study, rng)["rating"] for _ in range(50)]
    unlike = [kind.simulate([one_hot("cat"), one_hot("owl")], stimulus, study, rng)["rating"] for _ in range(50)]
    assert min(alike) >= 5
    assert max(unlike) <= 1


def _sure_triplet(kind: Kind) -> None:
    rng = np.random.default_rng(6)
    stimulus, study = stimuli_of(kind)[0], study_of(kind)
    for x, a, b in permutations(CLASSES[:2] * 2, 3):
        if a != b:
            answer = kind.simulate([one_hot(x), one_hot(a), one_hot(b)], stimulus, study, rng)
            assert answer["closer"] == ("a" if x == a else "b")


SURE: Mapping[str, Callable[[Kind], None]] = {"similarity": _sure_similarity, "triplet": _sure_triplet}

CONTRACTS = (
    has_its_files,
    has_a_form_without_defaults,
    has_a_form_that_the_policy_allows,
    names_every_control,
    has_the_payload_of_its_name,
    asks_in_both_framings,
    asks_the_same_when_started_again,
    accepts_what_it_simulates,
    refuses_what_is_no_answer,
    refuses_unknown_classes,
    answers_as_it_believes,
    can_be_labelled,
)


@over_kinds
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[[Kind], None], kind: Kind) -> None:
    contract(kind)


@given(kind=st.sampled_from(ALL), seed=st.integers(0, 2**32 - 1), sharpness=st.floats(0.02, 20))
@settings(max_examples=300, deadline=None)
def test_any_belief_becomes_an_answer(kind: Kind, seed: int, sharpness: float) -> None:
    """Beliefs as flat or as sharp as you like: what is simulated is accepted, and stored as it was sent."""
    rng = np.random.default_rng(seed)
    study, stimuli = study_of(kind), stimuli_of(kind)
    stimulus = stimuli[int(rng.integers(len(stimuli)))]
    beliefs = [[float(p) for p in rng.dirichlet(np.full(len(CLASSES), sharpness))] for _ in stimulus.shown]
    raw = kind.simulate(beliefs, stimulus, study, rng)
    stored = json.loads(payload_of(kind, stimulus, raw))
    assert {name: stored[name] for name in raw} == raw


# A wrong kind for each contract: Choice with one thing broken. Those about the form point to a folder of their own.


@dataclass(frozen=True)
class _Wrong(ChoiceKind):
    pass


class WithoutPrompts(_Wrong):
    def prompt(self, framing: Framing) -> str:
        return "Which class?"


class WithoutMeanings(_Wrong):
    meanings: ClassVar[Mapping[str, str]] = {"chosen": "what Python calls it, not what is stored"}


class AsksTwice(_Wrong):
    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return super().stimuli([*items, items[0]], study)


class AnswersOutOfForm(_Wrong):
    def simulate(self, beliefs: Any, stimulus: Stimulus, study: Study, rng: np.random.Generator) -> dict[str, Any]:
        return {"chosen": study.class_names[0]}


class TakesAnything(_Wrong):
    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.ChoicePayload:
        return payloads.ChoicePayload(raw["class"] if isinstance(raw, dict) and raw.get("class") in CLASSES else "cat")


class TakesUnknownClasses(_Wrong):
    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.ChoicePayload:
        return msgspec.convert(raw, payloads.ChoicePayload)


class AnswersAtRandom(_Wrong):
    def simulate(self, beliefs: Any, stimulus: Stimulus, study: Study, rng: np.random.Generator) -> dict[str, Any]:
        return {"class": str(rng.choice(study.class_names))}


class StoresAnotherClass(_Wrong):
    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.ChoicePayload:
        return payloads.ChoicePayload("gnu")


@pytest.mark.parametrize(
    ("contract", "wrong", "error"),
    [
        (has_the_payload_of_its_name, WithoutMeanings(), AssertionError),
        (asks_in_both_framings, WithoutPrompts(), AssertionError),
        (asks_the_same_when_started_again, AsksTwice(), AssertionError),
        (accepts_what_it_simulates, AnswersOutOfForm(), InvalidAnswer),
        (refuses_what_is_no_answer, TakesAnything(), pytest.fail.Exception),
        (refuses_unknown_classes, TakesUnknownClasses(), pytest.fail.Exception),
        (answers_as_it_believes, AnswersAtRandom(), AssertionError),
        (can_be_labelled, StoresAnotherClass(), InvalidAnswer),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_kind(
    contract: Callable[[Kind], None], wrong: Kind, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        contract(wrong)


@pytest.mark.parametrize(
    ("contract", "old", "new"),
    [
        (has_its_files, "sfumato-choice", "sfumato-other"),
        (has_a_form_without_defaults, 'aria-pressed="false"', 'aria-pressed="true"'),
        (has_a_form_without_defaults, "</div>", '<input type="range" value="50" data-name="x"></div>'),
        (has_a_form_without_defaults, "</div>", '<input type="radio" checked data-name="x"></div>'),
        (has_a_form_that_the_policy_allows, "</div>", "</div><script>1</script>"),
        (has_a_form_that_the_policy_allows, "<div ", '<div style="color: red" '),
        (has_a_form_that_the_policy_allows, "<div ", '<div onclick="x()" '),
        (has_a_form_that_the_policy_allows, "{{ each.name }}", "{{ each.name | safe }}"),
        (names_every_control, "data-name=", "data-other="),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_contract_rejects_a_wrong_form(
    contract: Callable[[Kind], None], old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in folder_of(ChoiceKind).glob("form.*"):
        text = file.read_text(encoding="utf-8")
        assert file.suffix != ".html" or old in text
        (tmp_path / file.name).write_text(text.replace(old, new) if file.suffix == ".html" else text, encoding="utf-8")
    monkeypatch.setattr(f"{__name__}.folder_of", lambda kind: tmp_path)
    with pytest.raises(AssertionError):
        contract(ChoiceKind())


def test_every_contract_has_a_wrong_kind() -> None:
    tests = (test_contract_rejects_a_wrong_kind, test_contract_rejects_a_wrong_form)
    rejecting = {row[0] for test in tests for mark in test.pytestmark for row in mark.args[1]}  # type: ignore[attr-defined]
    assert rejecting == set(CONTRACTS)


# Names, settings, and what each kind refuses by itself.


def test_names_are_distinct_and_found() -> None:
    assert [(kind.name, kind.version) for kind in KINDS] == [(kind.name, kind.version) for kind in PAYLOAD_KINDS]
    for kind in KINDS:
        assert is_dataclass(kind)
        assert kind_named(kind.name) is kind
        assert kind_of(study_of(kind())) == kind()
        assert isinstance(kind(), Kind)
    with pytest.raises(UnknownName, match="did you mean 'tokens'"):
        kind_named("token")


def test_settings_come_from_the_study() -> None:
    for kind in VARIANTS:
        assert kind_of(study_of(kind)) == kind
    study = replace(study_of(TokensKind()), question=Question("tokens", settings={"coins": 3}))
    with pytest.raises(BadSetting, match="coins"):
        kind_of(study)


@pytest.mark.parametrize(
    ("kind", "given_settings"),
    [
        (ChoiceKind, {"submit_at_once": "yes"}),
        (TokensKind, {"tokens": 1}),
        (TokensKind, {"tokens": 2.5}),
        (TokensKind, {"tokens": True}),
        (TokensKind, {"tokens": 101}),
        (TokensKind, {"drag": 1}),
        (MixtureKind, {"pairs": 0}),
        (MixtureKind, {"shares": []}),
        (MixtureKind, {"shares": [0.5, 1.5]}),
        (MixtureKind, {"shares": "half"}),
        (MixtureKind, {"shares": [True]}),
        (MixtureKind, {"drag": "no"}),
    ],
)
def test_bad_settings_are_refused(kind: Any, given_settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=re.escape(next(iter(given_settings)))):
        kind(**given_settings)


TWO = {"first": "cat", "first_percent": 70, "second": "dog", "second_percent": 20, "impossible": ["owl"]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"first_percent": None}, "first_percent"),
        ({"first_percent": 0}, "first_percent"),
        ({"first_percent": 101}, "first_percent"),
        ({"first_percent": -1}, "first_percent"),
        ({"second": "cat"}, "second"),
        ({"second": None}, "second_percent"),
        ({"second_percent": None}, "second_percent"),
        ({"second_percent": 31}, "second_percent"),
        ({"first_percent": 20, "second_percent": 30}, "second_percent"),
        ({"impossible": ["owl", "cat"]}, "impossible"),
        ({"impossible": ["dog"]}, "impossible"),
        ({"impossible": ["owl", "owl"]}, "impossible"),
    ],
)
def test_top_two_refuses_what_cannot_be_meant(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        TopTwoKind().parse({**TWO, **change}, Stimulus("i"), study_of(TopTwoKind()))
    assert caught.value.where.column == field


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"second": None, "second_percent": None},
        {"first_percent": 5, "second_percent": 5},
        {"first_percent": 62.5},
        {"second_percent": 0},
        {"first_percent": 100, "second_percent": 0, "impossible": []},
        {"impossible": ["fox", "owl", "eel"]},
    ],
)
def test_top_two_takes_every_honest_answer(change: dict[str, Any]) -> None:
    raw = {**TWO, **change}
    assert json.loads(payload_of(TopTwoKind(), Stimulus("i"), raw)) == raw


@pytest.mark.parametrize("tokens", [{"cat": 9}, {"cat": 11}, {}, {"cat": 10, "dog": 1}, {"cat": -1, "dog": 11}])
def test_tokens_are_all_placed(tokens: dict[str, int]) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        TokensKind().parse({"tokens": tokens, "others": False}, Stimulus("i"), study_of(TokensKind()))
    assert str(caught.value.where.column).startswith("tokens")


@given(
    belief=st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda p: sum(p) > 0.01),
    n=st.integers(2, 100),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_simulated_tokens_are_the_nearest(belief: list[float], n: int, seed: int) -> None:
    """No class is a whole token away from its share of the belief."""
    shares = [p / sum(belief) for p in belief]
    kind = TokensKind(tokens=n)
    raw = kind.simulate([shares], Stimulus("i"), study_of(kind), np.random.default_rng(seed))
    assert sum(raw["tokens"].values()) == n
    for name, share in zip(CLASSES, shares, strict=True):
        assert abs(raw["tokens"].get(name, 0) - share * n) < 1 + 1e-6


# Which pictures are mixed.


def test_mixed_pairs_are_of_different_classes_and_shares_are_dealt_out() -> None:
    stimuli = MixtureKind(pairs=50, shares=[0.2, 0.8]).stimuli(ITEMS, study_of(MixtureKind()))  # type: ignore[arg-type]
    given_class = {item.id: item.given for item in ITEMS}
    pairs = [stimulus.context["of"] for stimulus in stimuli]
    assert len({frozenset(pair) for pair in pairs}) == len(stimuli) == 50
    for stimulus, (a, b) in zip(stimuli, pairs, strict=True):
        assert stimulus.context["classes"] == [given_class[a], given_class[b]]
        assert given_class[a] != given_class[b]
        assert stimulus.item == f"{a}+{b}@{stimulus.context['mix']}"
    assert [stimulus.context["mix"] for stimulus in stimuli[:3]] == [0.2, 0.8, 0.2]


@pytest.mark.parametrize("pairs", [250, 126, 125, 1])
def test_mixture_can_ask_about_every_pair_there_is(pairs: int) -> None:
    assert len(MixtureKind(pairs=pairs).stimuli(ITEMS, study_of(MixtureKind()))) == pairs


def test_another_study_mixes_other_pairs() -> None:
    study = study_of(MixtureKind())
    assert MixtureKind().stimuli(ITEMS, study) != MixtureKind().stimuli(ITEMS, replace(study, name="other"))


def test_pictures_mixed_already_are_asked_about_as_they_are() -> None:
    items = [Item("m1", picture=Path("m1.png"), columns={"first": "cat", "second": "dog"})]
    assert MixtureKind().stimuli(items, study_of(MixtureKind())) == [
        Stimulus("m1", context={"classes": ["cat", "dog"]})
    ]


@pytest.mark.parametrize(
    "items",
    [
        [],
        [Item("a", picture=Path("a.png"), given="cat"), Item("b", picture=Path("b.png"), given="cat")],
        [Item("a", picture=Path("a.png"), given="cat"), Item("b", picture=Path("b.png"))],
        [Item("a", picture=Path("a.png"), given="cat"), Item("b", picture=Path("b.png"), given="gnu")],
        [Item("a", text="words", given="cat"), Item("b", text="more", given="dog")],
        [Item("a", picture=Path("a.png"), columns={"first": "cat", "second": "cat"})],
        [Item("a", picture=Path("a.png"), columns={"first": "cat", "second": "gnu"})],
    ],
    ids=["none", "one class", "no class", "unknown class", "texts", "same class", "unknown column"],
)
def test_items_that_cannot_be_mixed_are_refused(items: list[Item]) -> None:
    with pytest.raises(BadSetting):
        MixtureKind(pairs=1).stimuli(items, study_of(MixtureKind()))
