"""Languages: every catalog has the same sentences, pages have no other texts, and people get their language."""

from __future__ import annotations

import copy
import json
import re
import string
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from markupsafe import Markup
from picture_study import write_picture_study
from sentences import PACKAGE, asked_for, differences, flaws, leaves, left_in, placeholders, sources
from site_client import AskedSite, asked_site
from sqlalchemy.exc import OperationalError

from sfumato.elicitation.kinds import KINDS
from sfumato.elicitation.kinds.choice import ChoiceKind
from sfumato.elicitation.kinds.tokens import TokensKind
from sfumato.recruitment.bonus_rules import BONUS_RULES
from sfumato.server import translations
from sfumato.server.translations import FOLDER, Translations, preferred_language, translations_for
from sfumato.study import read_study
from sfumato.study.study import LANGUAGES, Bonus, Framing, Pay, Study
from sfumato.tables.errors import BadStudy, NotNow, StoreDown

NBSP = "\N{NO-BREAK SPACE}"
OTHERS = [name for name in LANGUAGES if name != "en"]
ENGLISH = leaves(translations_for("en").sentences)
FROM_PYTHON = {
    *(key for key in ENGLISH if key.startswith("errors.")),
    *(f"kinds.{kind.name}.prompt_{framing.value}" for kind in KINDS for framing in Framing),
    *re.findall(r"\"((?:format|bonus)\.\w+)\"", Path(translations.__file__).read_text()),
    *(f"bonus.{rule.name}" for rule in BONUS_RULES),
}


def changed(key: str, value: Any, name: str = "en") -> dict[str, Any]:
    """A catalogue in which one key has another value; None takes it away."""
    sentences = copy.deepcopy(dict(translations_for(name).sentences))
    *tables, last = key.split(".")
    table = sentences
    for each in tables:
        table = table[each]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return sentences


def test_there_is_a_catalogue_for_each_language() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(LANGUAGES)


@pytest.mark.parametrize("name", OTHERS)
def test_catalogues_have_the_same_keys_and_fill_in_the_same(name: str) -> None:
    assert differences(translations_for("en").sentences, translations_for(name).sentences) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_sentences_are_whole_and_tidy(name: str) -> None:
    assert flaws(translations_for(name).sentences) == []


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_was_left_in_english(name: str) -> None:
    same = [key for key, value in leaves(translations_for(name).sentences).items() if value == ENGLISH[key]]
    words = {key for key in same if re.search(r"[^\W\d_]{3,}", re.sub(r"\{\w+\}", "", str(ENGLISH[key])))}
    assert words <= {"keys.tab", *({"kinds.choice.classes", "instructions.title"} if name == "fr" else set())}


@pytest.mark.parametrize(
    "wrong",
    [
        changed("rest.title", None),
        changed("rest.titel", "Pause"),
        changed("frame.n_of", "{n} of {all}"),
        changed("frame.n_of", "{n}"),
        changed("wrong.attempts", {"one": "Once more.", "other": "Some more."}),
    ],
)
def test_a_catalogue_that_differs_is_found(wrong: dict[str, Any]) -> None:
    assert len(differences(translations_for("en").sentences, wrong)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        changed("rest.title", ""),
        changed("rest.title", "A  pause"),
        changed("rest.title", "<b>A pause</b>"),
        changed("rest.title", "A pause..."),
        changed("rest.title", "It's a pause"),
        changed("wrong.attempts", {"one": "You can try again."}),
        changed("wrong.attempts", {"one": "You can try {n} times more.", "other": "You can try again."}),
    ],
)
def test_an_untidy_catalogue_is_found(wrong: dict[str, Any]) -> None:
    assert len(flaws(wrong)) == 1


def test_every_key_asked_for_is_there_and_gets_what_it_fills_in() -> None:
    calls = [(source, call) for source in sources() for call in asked_for(source)]
    assert len(calls) > 200
    for _, call in calls:
        for key in call.keys:
            assert key in ENGLISH, f"{call.where} asks for {key}"
            assert placeholders(ENGLISH[key]) <= call.values, f"{call.where} does not say all that {key} fills in"


def test_every_key_is_asked_for() -> None:
    asked = {key for source in sources() for call in asked_for(source) for key in call.keys}
    assert set(ENGLISH) - asked - FROM_PYTHON == set()


def test_every_error_with_words_of_its_own_is_raised_somewhere() -> None:
    code = "".join(
        path.read_text()
        for folder in ("elicitation", "store", "recruitment", "server")
        for path in (PACKAGE / folder).rglob("*.py")
    )
    for name in translations_for("en").sentences["errors"]:
        assert f'"{name}"' in code, name


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_pages_and_scripts_say_nothing_by_themselves(source: Any) -> None:
    assert left_in(source.name, source.text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.html", "<h1>Thank you</h1>"),
        ("x.html", "<p>{{ say('a') }} and more</p>"),
        ("x.html", '<button aria-label="Close">×</button>'),
        ("x.html", '<img alt="a cat">'),
        ("x.html", '<p>{{ "Thank you" }}</p>'),
        ("x.html", "<kbd>Enter</kbd>"),
        ("x.js", "frame.notice('Saved');"),
        ("x.js", "frame.announce(`${n} left`);"),
        ("x.js", "line.textContent = any ? 'saved' : '';"),
        ("x.js", "button.setAttribute('aria-label', `no ${name}`);"),
        ("x.js", "image.alt = 'picture';"),
        ("x.js", "row.append(element('dd', 'submit'));"),
        ("x.js", "return left ? 'Choose a class.' : '';"),
        ("x.js", "const LATER = 'not now';"),
        ("x.js", "return [[['y'], 'Yes']];"),
        ("x.js", "const said = `${n} classes to answer`;"),
    ],
)
def test_text_that_is_in_no_catalogue_is_found(name: str, text: str) -> None:
    assert len(left_in(name, text)) >= 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.html", '<p class="small">{{ say("a.b", n=3) }}</p><kbd aria-hidden="true">o</kbd> %'),
        ("x.js", "frame.notice(say('frame.saved')); // Saved, and said so."),
        ("x.js", "throw new Error(`the page lacks #${id}`);"),
        ("x.js", "row.append(element('li', '', { class: each ? 'gallery pictured' : 'gallery' }));"),
        ("x.js", "if (event.key === 'ArrowLeft') cap.textContent = `${n} %`;"),
        ("x.js", "document.querySelector('main [data-enter]')?.setAttribute('aria-busy', 'true');"),
    ],
)
def test_what_is_no_text_is_left_alone(name: str, text: str) -> None:
    assert left_in(name, text) == []


def test_the_number_of_things_chooses_the_form() -> None:
    said = {
        name: [translations_for(name).say("kinds.plausible.no_to_n", n=n) for n in (0, 1, 2)]
        for name in ("en", "fr", "de")
    }
    assert said == {
        "en": ["No to 0 options", "No to 1 option", "No to 2 options"],
        "fr": ["Non à 0 option", "Non à 1 option", "Non à 2 options"],
        "de": ["Nein zu 0 Optionen", "Nein zu 1 Option", "Nein zu 2 Optionen"],
    }
    assert (
        translations_for("fr").say("kinds.tokens.n_on", name="chat", n=0, all=10) == f"chat{NBSP}: aucun point sur 10"
    )


@pytest.mark.parametrize(
    ("name", "minutes", "said"),
    [
        ("en", 1, "EUR 2.50 for about 1 minute"),
        ("en", 1.5, "EUR 2.50 for about 1.5 minutes"),
        ("fr", 1.5, "2,50 EUR pour environ 1,5 minute"),
        ("fr", 2, "2,50 EUR pour environ 2 minutes"),
        ("de", 1, "2,50 EUR für etwa 1 Minute"),
        ("de", 0, "2,50 EUR"),
    ],
)
def test_what_taking_part_pays(name: str, minutes: float, said: str, tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path))
    assert translations_for(name).pay(replace(study, pay=Pay(2.5, "EUR", minutes))) == said


@pytest.mark.parametrize("rule", BONUS_RULES, ids=lambda rule: rule.name)
def test_by_which_rule_there_is_more(rule: Any, tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path))
    paid = replace(study, pay=Pay(2.5, "EUR", bonus=Bonus(rule.name, 1.0)))
    said = {name: translations_for(name).bonus(paid) or "" for name in LANGUAGES}
    assert len(set(said.values())) == len(LANGUAGES)
    assert rule.said in said["en"]
    for name, text in said.items():
        assert ("EUR 1.00" if name == "en" else "1,00 EUR") in text
    floored = replace(study, pay=Pay(2.5, "EUR", bonus=Bonus(rule.name, 1.0, floor=0.745)))
    assert "74,5" in (translations_for("de").bonus(floored) or "")
    assert translations_for("en").bonus(study) is None


def test_a_bonus_rule_without_translation_is_shown_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Coin:
        name: ClassVar[str] = "coin"
        said: ClassVar[str] = "The bonus is thrown for."

    monkeypatch.setattr("sfumato.recruitment.bonus_rules.BONUS_RULES", (*BONUS_RULES, Coin))
    study = replace(read_study(write_picture_study(tmp_path)), pay=Pay(2.5, "EUR", bonus=Bonus("coin", 1.0)))
    assert "The bonus is thrown for." in (translations_for("de").bonus(study) or "")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("framing", Framing)
def test_the_english_prompt_is_that_of_the_kind(kind: Any, framing: Framing) -> None:
    assert translations_for("en").prompt(kind(), framing) == kind().prompt(framing)


def test_prompts_say_what_a_token_stands_for() -> None:
    prompts = {n: translations_for("de").prompt(TokensKind(tokens=n), Framing.OTHERS) for n in (10, 30, 100)}
    assert "Jeder Punkt steht für 10 von ihnen." in prompts[10]
    assert "Jeder Punkt" not in prompts[30] + prompts[100]


def test_a_kind_that_no_catalogue_knows_speaks_for_itself() -> None:
    texts = Translations("fr", changed("kinds.choice", None, "fr"))
    choice = ChoiceKind()
    assert texts.prompt(choice, Framing.OWN) == choice.prompt(Framing.OWN)


def test_lines_do_not_end_before_marks_that_stand_apart() -> None:
    for name in LANGUAGES:
        for key, sentence in leaves(translations_for(name).sentences).items():
            assert not re.search(r" [:;?!»%…×]|« ", str(sentence)), (name, key)
    assert translations_for("fr").say("stop.title") == f"Arrêter de participer{NBSP}?"
    # And in French, every such mark stands apart.
    for key, sentence in leaves(translations_for("fr").sentences).items():
        for form in [sentence] if isinstance(sentence, str) else sentence.values():
            assert not re.search(rf"[^\s{NBSP}][:;?!»]|«[^{NBSP}]", form), key


def test_text_that_is_filled_in_stays_text() -> None:
    for name in ("<b>cat</b>", "{n}", "{0.__class__}", "%s", "\\g<0>", "a & b"):
        plain = translations_for("en").say("kinds.choice.chosen", name=name)
        assert plain == f"{name} chosen."
        assert not isinstance(plain, Markup)


def test_html_that_is_filled_in_escapes_the_rest() -> None:
    texts = Translations("en", changed("kinds.mixture.split", "{n} < {first} & {second}"))
    html = texts.say("kinds.mixture.split", n=1, first=Markup("<i>cat</i>"), second="<script>")
    assert html == Markup("1 &lt; <i>cat</i> &amp; &lt;script&gt;")
    assert isinstance(html, Markup)


@pytest.mark.parametrize(
    ("accept", "offered", "language"),
    [
        ("", ("en", "fr"), "en"),
        ("fr", ("en", "fr"), "fr"),
        ("FR-ch", ("en", "fr"), "fr"),
        ("de-AT,de;q=0.9,en;q=0.8", ("en", "fr"), "en"),
        ("de-AT,de;q=0.9,en;q=0.8", ("fr", "de"), "de"),
        ("en;q=0.3, fr; q=0.7", ("en", "fr"), "fr"),
        ("en;q=0.5,fr;q=0.5", ("fr", "en"), "en"),
        ("fr;q=0,en;q=0", ("de", "fr", "en"), "de"),
        ("*", ("de", "fr"), "de"),
        ("it,es", ("de",), "de"),
        ("fr;q=nan,de;q=0.1", ("en", "fr", "de"), "de"),
        ("fr;q=inf,de;q=0.1", ("en", "fr", "de"), "de"),
        ("fr;q=viel,de", ("en", "fr", "de"), "de"),
        (";;;,,,\x00", ("en",), "en"),
        ("x," * 5000 + "fr", ("en", "fr"), "en"),
    ],
)
def test_the_language_a_browser_likes_best(accept: str, offered: tuple[str, ...], language: str) -> None:
    assert preferred_language(accept, offered) == language


def in_languages(folder: Path, line: str) -> Study:
    """A study of pictures whose file says `line` of its languages."""
    file = write_picture_study(folder) / "study.toml"
    file.write_text(f"{line}\n{file.read_text()}")
    return read_study(file)


@pytest.mark.parametrize(
    ("line", "languages"),
    [
        ("", ("en",)),
        ('language = "de"', ("de",)),
        ('languages = ["fr"]', ("fr",)),
        ('languages = ["de", "en"]', ("de", "en")),
    ],
)
def test_the_study_file_says_the_languages(line: str, languages: tuple[str, ...], tmp_path: Path) -> None:
    assert in_languages(tmp_path, line).languages == languages


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('language = "german"', "unknown-language"),
        ('languages = ["en", "xx"]', "unknown-language"),
        ('languages = ["en", "en"]', "doubled-text"),
        ('language = "en"\nlanguages = ["de"]', "language-twice"),
        ("languages = []", None),
        ("languages = 3", None),
    ],
)
def test_mistakes_about_languages(line: str, code: str | None, tmp_path: Path) -> None:
    with pytest.raises(BadStudy) as raised:
        in_languages(tmp_path, line)
    assert code in (None, *(error.code for error in raised.value.mistakes))


def said_in(html: str) -> str | None:
    found = re.search(r'<html lang="(\w+)">', html)
    return found[1] if found else None


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    with asked_site(in_languages(tmp_path, 'languages = ["fr", "de"]')) as found:
        yield found


def test_every_page_is_in_the_language_the_browser_likes(asked: AskedSite) -> None:
    for wish, name in (("de", "de"), ("fr-CA", "fr"), ("en", "fr"), ("", "fr")):
        headers = {"accept": "text/html", "accept-language": wish}
        say = translations_for(name).say
        landing = asked.client.get("/", headers).text
        assert said_in(landing) == name
        assert say("landing.take_part") in landing
        gone = asked.client.get("/s/nobody", headers)
        assert gone.status == 404
        assert said_in(gone.text) == name
        assert translations_for(name).sentences["errors"]["unknown-link"]["message"] in gone.text
        missing = asked.client.get("/nowhere", headers).text
        assert translations_for(name).sentences["errors"]["not-found"]["message"] in missing
        wrong = asked.client.send("POST", "/", headers=headers).text
        assert translations_for(name).sentences["errors"]["wrong-method"]["message"] in wrong


def test_a_person_keeps_their_language(asked: AskedSite) -> None:
    first, second = asked.join().base, asked.join().base
    assert said_in(asked.client.get(first, {"accept-language": "de"}).text) == "de"
    assert said_in(asked.client.get(second, {"accept-language": "en"}).text) == "fr"
    # Elsewhere, at a computer that is set otherwise.
    assert said_in(asked.client.get(first, {"accept-language": "fr"}).text) == "de"
    assert said_in(asked.client.get(second, {"accept-language": "de"}).text) == "fr"
    assert [row["language"] for row in asked.stored("annotators")] == ["de", "fr"]


def test_a_page_has_the_sentences_of_its_kinds_and_no_others(asked: AskedSite) -> None:
    page = asked.client.get(asked.join().base, {"accept-language": "de"}).text
    found = re.search(r'<script type="application/json" id="texts">(.*?)</script>', page, re.S)
    assert found is not None
    texts = json.loads(found[1])
    assert set(texts["kinds"]) == {"choice", "typicality"}
    assert texts["kinds"]["choice"] == translations_for("de").sentences["kinds"]["choice"]
    assert "landing" not in texts
    assert "errors" not in texts
    for key in ("frame.saved", "kinds.choice.missing", "finished.code"):
        assert leaves(texts)[key] == translations_for("de").say(key)


def test_an_error_without_words_of_its_own_says_none_of_the_machines() -> None:
    error = NotNow("found a table that is locked", expected="none", fix="look into the log", code="never-heard-of")
    for name in LANGUAGES:
        message, fix = translations_for(name).error(error)
        assert {"message": message, "fix": fix} == translations_for(name).sentences["errors"]["other"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (StoreDown("found /secret/place gone", expected="a store", fix="mount it", code="store-down"), 503),
        (OperationalError("select secret", {}, OSError()), 503),
        (ZeroDivisionError("secret"), 500),
    ],
)
def test_server_errors_are_shown_in_the_participants_language(
    fault: Exception, status: int, asked: AskedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = asked.join().base

    async def broken(*_: Any) -> None:
        raise fault

    monkeypatch.setattr(asked.site.writer, "ask", broken)
    page = asked.client.get(base, {"accept": "text/html,*/*;q=0.8", "accept-language": "de"})
    words = translations_for("de").sentences["errors"]["other"]
    assert page.status == status
    assert said_in(page.text) == "de"
    assert words["message"] in page.text
    assert words["fix"] in page.text
    assert page.header("retry-after") == ("1" if status == 503 else None)
    # Scripts get what they can act on.
    reply = asked.client.post(f"{base}/api/state")
    assert reply.status == status
    assert reply.json["code"] == ("store-down" if status == 503 else "server-error")
    assert "secret" not in page.text + reply.text


def test_the_researcher_reads_english(asked: AskedSite) -> None:
    error = NotNow("found a link that was used", expected="one that was not", fix="start again", code="unknown-link")
    page = asked.site.error_page(error, 404)
    assert said_in(page) == "en"
    assert "A link that was used." in page
    assert "Start again." in page


def test_catalogues_are_read_once_and_only_those_a_study_has(tmp_path: Path) -> None:
    write_picture_study(tmp_path)
    code = f"""
import sys, tomllib
from pathlib import Path
read = []
loads = tomllib.loads
tomllib.loads = lambda text: read.append(text[:60]) or loads(text)
from sfumato.elicitation.page_messages import SessionStart
from sfumato.study import read_study
from sfumato.server.server import open_site
study = read_study(Path({str(tmp_path)!r}))
read.clear()
with open_site(study, {str(tmp_path / "answers.sqlite")!r}) as site:
    for seed in range(5):
        site.study_page("x", SessionStart(seed, "en"))
print(len(read))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr


def test_the_script_knows_no_other_way_to_fill_in() -> None:
    """`texts.js` fills in `{word}` and nothing else, so a sentence may hold nothing else."""
    for name in LANGUAGES:
        for key, sentence in leaves(translations_for(name).sentences).items():
            for form in [sentence] if isinstance(sentence, str) else sentence.values():
                for _, value, spec, conversion in string.Formatter().parse(form):
                    assert value is None or re.fullmatch(r"[a-z]+", value), key
                    assert not spec, key
                    assert conversion is None, key
