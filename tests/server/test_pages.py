"""Pages: whatever a study file or an item says is shown as text, and no element or attribute ever comes of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from site_client import AskedSite, asked_site

from sfumato.elicitation.kinds import KINDS
from sfumato.server.served_study import MARKDOWN
from sfumato.study.study import ComprehensionQuestion, ItemSource, Pay, PracticeItem, Question, Study, StudyClass

EVIL = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</template><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "</title><base href=//evil.example>",
    "\u2028\u2029&lt;b&gt;&#60;i&#62;",
]
WORDS = ("cat", "dog", "ship")


class Page(HTMLParser):
    """The elements and attributes of a page, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._in_script = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            about, text = self.scripts[-1]
            self.scripts[-1] = (about, text + data)

    @property
    def shape(self) -> tuple[Counter[str], Counter[tuple[str, str]]]:
        """How many of each element and of each attribute there are."""
        return self.elements, Counter((tag, name) for tag, name, _ in self.attributes)

    @property
    def config(self) -> Any:
        (text,) = (text for about, text in self.scripts if about.get("id") == "config")
        return json.loads(text)


def study_saying(folder: Path, kind: str, texts: list[str], title: str, names: tuple[str, ...] = WORDS) -> Study:
    """A study of texts in which everything from outside is one of `texts`, or `title`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        f"t{i},{quoted(text)},{quoted(names[0])},{quoted(names[0])},{quoted(names[1])}" for i, text in enumerate(texts)
    ]
    (folder / "texts.csv").write_text("item,text,class,first,second\n" + "\n".join(rows) + "\n", "utf-8")
    return Study(
        "evil",
        title,
        tuple(map(StudyClass, names)),
        ItemSource(csv=folder / "texts.csv"),
        Question(kind, prompt=title),
        instructions="\n\n".join(texts),
        consent="\n\n".join(texts),
        practice=(PracticeItem("t0", "\n\n".join(texts)),),
        comprehension=(ComprehensionQuestion(title, (title, "other"), title),),
        pay=Pay(1, title),
        path=folder / "study.toml",
    )


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def pages_of(asked: AskedSite) -> dict[str, str]:
    """Every page there is."""
    person = asked.join()
    html = {"accept": "text/html"}
    replies = {
        "landing": asked.client.get("/", html),
        "study": asked.client.get(person.base, html),
        "unknown": asked.client.get("/s/x", html),
        "missing": asked.client.get("/%3Cscript%3E", html),
    }
    assert [reply.status for reply in replies.values()] == [200, 200, 404, 404]
    assert all((reply.header("content-type") or "").startswith("text/html") for reply in replies.values())
    return {name: reply.text for name, reply in replies.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """The pages of a harmless study with as many classes and texts."""
    study = study_saying(tmp_path_factory.mktemp("plain"), "choice", ["words"] * len(EVIL), "words")
    with asked_site(study) as asked:
        yield {name: Page(html) for name, html in pages_of(asked).items()}


@pytest.mark.parametrize("evil", EVIL)
def test_text_from_outside_adds_no_element_and_no_attribute(evil: str, plain: dict[str, Page], tmp_path: Path) -> None:
    names = (evil, "dog", f"{evil} 2")
    with asked_site(study_saying(tmp_path, "choice", EVIL, evil, names)) as asked:
        for name, html in pages_of(asked).items():
            page = Page(html)
            assert page.shape == plain[name].shape, name
            if name == "study":
                config = page.config
                assert config["study"]["title"] == evil
                assert sorted(each["name"] for each in config["classes"]) == sorted(names)
                (question,) = config["study"]["comprehension"]
                assert (question["question"], sorted(question["choices"])) == (evil, sorted([evil, "other"]))
                assert config["questions"][0]["prompt"] == evil


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_form_lets_class_names_out_of_their_place(kind: Any, tmp_path: Path) -> None:
    shapes = []
    evil = tuple(EVIL[:3])
    for place, names in (("plain", WORDS), ("evil", evil)):
        with asked_site(study_saying(tmp_path / place, kind.name, ["words"] * 4, "words", names)) as asked:
            page = Page(asked.client.get(asked.join().base).text)
            shapes.append(page.shape)
            assert sorted(each["name"] for each in page.config["classes"]) == sorted(names)
    assert shapes[0] == shapes[1]


def test_pages_have_no_inline_script_style_or_handler(plain: dict[str, Page]) -> None:
    for name, page in plain.items():
        for tag, attribute, value in page.attributes:
            assert not attribute.startswith("on"), (name, tag, attribute)
            assert attribute not in ("style", "srcdoc", "integrity"), (name, tag, attribute)
            if attribute in ("src", "href", "action"):
                assert value is not None
                assert value.startswith("/") or value == "data:,", (name, tag, value)
                assert not value.startswith("//")
        assert (
            page.elements["style"] == page.elements["iframe"] == page.elements["object"] == page.elements["base"] == 0
        )
        # Scripts with text are data: what the page is to know, and what it may have to say.
        inline = [(about.get("type"), about.get("id")) for about, text in page.scripts if text.strip()]
        data = [("application/json", "config"), ("application/json", "texts")]
        assert inline == (data if name == "study" else [])


def test_markup_of_the_pages_themselves_is_text(tmp_path: Path) -> None:
    with asked_site(study_saying(tmp_path, "choice", EVIL, "words")) as asked:
        config = Page(asked.client.get(asked.join().base).text).config
        trial = asked.ready().trial()
    for html in (config["study"]["consent_html"], config["study"]["instructions_html"], trial["feedback"]):
        assert set(Page(html).elements) == {"p"}
        assert Page(html).attributes == []
    assert trial["practice"] is True
    assert trial["texts"] == [EVIL[0]]
    assert trial["pictures"] == []


def test_texts_of_items_come_as_they_are(tmp_path: Path) -> None:
    with asked_site(study_saying(tmp_path, "choice", EVIL, "words")) as asked:
        person = asked.ready()
        seen = set()
        while (state := person.state())["stage"] == "trials":
            seen.add(state["trials"][0]["texts"][0])
            assert person.submit(person.body({"class": "cat"}, trial=state["trials"][0]["trial"])).status == 201
    assert seen == set(EVIL)


@pytest.mark.parametrize(
    "link",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java&#115;cript:alert(1))",
        "[x](&#x6A;avascript:alert(1))",
        "[x](vbscript:msgbox(1))",
        "[x](file:///etc/passwd)",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "![x](data:text/html,x)",
        "[x]: javascript:alert(1)\n\n[x]",
        '<a href="javascript:alert(1)">x</a>',
        '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    ],
)
def test_markdown_makes_no_link_that_runs(link: str) -> None:
    page = Page(MARKDOWN.render(link))
    assert set(page.elements) <= {"p", "a", "img"}
    for tag, name, value in page.attributes:
        assert (tag, name) in {("a", "href"), ("a", "title"), ("img", "src"), ("img", "alt"), ("img", "title")}
        assert name not in ("href", "src") or (value or "").startswith(("https:", "http:")), value


def test_markdown_that_is_harmless_is_rendered() -> None:
    html = MARKDOWN.render("# A\n\n*b* **c** [d](https://e.example)\n\n| f |\n|---|\n| g |\n")
    assert set(Page(html).elements) == {"h1", "p", "em", "strong", "a", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_study_by_links_has_no_door(tmp_path: Path) -> None:
    from picture_study import write_picture_study

    with asked_site(write_picture_study(tmp_path, entry="links")) as asked:
        assert "/join" not in asked.client.get("/").text
        before = asked.rows()
        reply = asked.client.send("POST", "/join")
        assert reply.status == 403
        assert asked.rows() == before


@pytest.mark.parametrize("ordered", [True, False])
def test_forms_keep_the_order_of_ordered_classes(ordered: bool, tmp_path: Path) -> None:
    scale = ("never", "seldom", "sometimes", "often", "always")
    study = replace(study_saying(tmp_path, "choice", ["words"] * 6, "words", scale), ordered=ordered)
    with asked_site(study) as asked:
        pages = [Page(asked.client.get(asked.join().base).text) for _ in range(6)]
    seen = {tuple(each["name"] for each in page.config["classes"]) for page in pages}
    # By chance, six people see one random order with probability 1 / 120^5.
    assert (seen == {scale}) == ordered
    assert len(seen) == 1 or not ordered
