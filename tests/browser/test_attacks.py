"""S20, S25, S30 in a real browser: text that would like to be a program, pages of others that would like to act for
somebody, and a server that asks a page to wait."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from playwright.sync_api import Page, expect

from browser import DRIVERS, Person, write_study
from sfumato.server import request_guard
from sfumato.server.rate_limit import ServerLimits, TokenBucket
from sfumato.server.served_study import ServedStudy
from sfumato.server.server import LOOPBACK, bind_socket, create_server, open_site
from sfumato.store.schema import METADATA
from sfumato.study import read_study

Visitor = Callable[..., Page]
ALERT = "alert(1)"
PAYLOADS = [
    f"<script>{ALERT}</script>",
    f"<SCRIPT>{ALERT}</SCRIPT >",
    f"<script/x>{ALERT}</script>",
    "<script src=//evil.example/x.js></script>",
    "<script src=data:,alert(1)></script>",
    f"</script><script>{ALERT}</script>",
    f"</title><script>{ALERT}</script>",
    f"</textarea><script>{ALERT}</script>",
    f"</style><script>{ALERT}</script>",
    f"</template><script>{ALERT}</script>",
    f"--><script>{ALERT}</script>",
    f"]]><script>{ALERT}</script>",
    f"<!--<script>{ALERT}//-->",
    f"<scr<script>ipt>{ALERT}</scr</script>ipt>",
    f"<img src=x onerror={ALERT}>",
    f'<img src="x" onerror="{ALERT}">',
    f"<img src=x onerror='{ALERT}'//",
    "<img src=x onerror=&#97;lert(1)>",
    "<img src=x onerror=\\u0061lert(1)>",
    f"<img/src=x/onerror={ALERT}>",
    f"<img\tsrc=x\tonerror={ALERT}>",
    f"<image src=x onerror={ALERT}>",
    f"<svg onload={ALERT}>",
    f"<svg/onload={ALERT}//",
    f"<svg><script>{ALERT}</script></svg>",
    f"<svg><animate onbegin={ALERT} attributeName=x dur=1s>",
    f"<svg><a xlink:href=javascript:{ALERT}><text x=20 y=20>x</text></a>",
    f"<math><mi xlink:href=javascript:{ALERT}>x</mi></math>",
    f"<body onload={ALERT}>",
    f"<iframe src=javascript:{ALERT}>",
    f"<iframe srcdoc='<script>{ALERT}</script>'>",
    f"<object data=javascript:{ALERT}>",
    f"<embed src=javascript:{ALERT}>",
    f"<video><source onerror={ALERT}></video>",
    f"<audio src=x onerror={ALERT}>",
    f"<details open ontoggle={ALERT}>x",
    f"<input autofocus onfocus={ALERT}>",
    f"<select autofocus onfocus={ALERT}>",
    f"<button formaction=javascript:{ALERT}>x</button>",
    f"<form action=javascript:{ALERT}><input type=submit>",
    f"<a href=javascript:{ALERT}>x</a>",
    f"<a href='java\tscript:{ALERT}'>x</a>",
    f"<a href='&#x6a;avascript:{ALERT}'>x</a>",
    f"<marquee onstart={ALERT}>x</marquee>",
    f"<div style=\"background:url('javascript:{ALERT}')\">x</div>",
    "<style>@import 'data:text/css,*{color:red}';</style>",
    "<link rel=stylesheet href=data:text/css,*{color:red}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{ALERT}'>",
    "<base href=//evil.example/>",
    f'" onmouseover="{ALERT}" x="',
    f"' onmouseover='{ALERT}' x='",
    f'"><img src=x onerror={ALERT}>',
    f"'><img src=x onerror={ALERT}>",
    f"`-{ALERT}-`",
    f"${{{ALERT}}}",
    f"{{{{constructor.constructor('{ALERT}')()}}}}",
    f"{{% raw %}}{{{{ {ALERT} }}}}{{% endraw %}}",
    f"[x](javascript:{ALERT})",
    f'![x](x" onerror="{ALERT})',
    f"<javascript:{ALERT}>",
    f"javascript:{ALERT}",
    f"<script\n>{ALERT}</script>",
]
WATCH = """
window.violations = [];
addEventListener('securitypolicyviolation', (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


@contextlib.contextmanager
def served_here(folder: Path, limits: ServerLimits | None = None) -> Iterator[tuple[ServedStudy, str]]:
    """The study of a folder, served from a thread of this process; its site and its address."""
    with open_site(read_study(folder)) as site, contextlib.closing(bind_socket("127.0.0.1", 0)) as listener:
        server = create_server(site, LOOPBACK, limits)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        try:
            yield site, f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def rows(site: ServedStudy, *left_out: str) -> dict[str, list[Any]]:
    with site.reader.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(sa.select(table).order_by(table.c.id))]
            for table in METADATA.sorted_tables
            if table.name not in left_out
        }


# --- text that would like to be a program (S20) ---


class Watched:
    """A page on which everything that a script of somebody else's could do is noticed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: list[str] = []
        page.on("dialog", lambda dialog: (self.found.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.found.append(f"thrown {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.add_init_script(WATCH)

    def _console(self, said: Any) -> None:
        if "Content Security Policy" in said.text:
            self.found.append(f"console {said.text[:120]}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:,", "blob:")):
            self.found.append(f"request {request.url[:80]}")

    def check(self, where: str) -> None:
        """No script has run so far, and the page contains none that could."""
        self.found += [f"violation {each}" for each in self.page.evaluate("window.violations")]
        strange = self.page.evaluate(
            """() => [...document.querySelectorAll('*')].filter((e) =>
              [...e.attributes].some((a) => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value)) ||
              e.matches('script:not([src^="/static/"], [type="application/json"]), iframe, object, embed, base, style')
            ).map((e) => e.outerHTML.slice(0, 100))"""
        )
        assert (self.found, strange) == ([], []), where


def write_hostile_study(folder: Path) -> Path:
    """A study whose every text is made of the payloads."""
    everything = "\n\n".join(PAYLOADS)
    classes = tuple(PAYLOADS[:18])
    write_study(
        folder,
        "choice",
        classes=classes,
        texts=["x"],
        title=" ".join(PAYLOADS[:5]),
        consent=everything,
        instructions=everything,
        batch_size=70,
    )
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "text"])
        writer.writerows((" ".join(f"{n} {payload}".split()), everything) for n, payload in enumerate(PAYLOADS))
    study = folder / "study.toml"
    quoted = json.dumps
    study.write_text(
        study.read_text("utf-8")
        + f"[[practice]]\nitem = {quoted(f'0 {PAYLOADS[0]}')}\nfeedback = {quoted(everything)}\n"
        + f"[[comprehension]]\nquestion = {quoted(everything[:900])}\n"
        + f"choices = [{quoted(PAYLOADS[0])}, {quoted(PAYLOADS[22])}]\nanswer = {quoted(PAYLOADS[22])}\n",
        "utf-8",
    )
    return folder


def test_sixty_payloads_in_every_text_are_text(tmp_path: Path, visitor: Visitor) -> None:
    assert len(PAYLOADS) >= 60
    with served_here(write_hostile_study(tmp_path / "study")) as (site, url):
        watched = Watched(visitor(forgiving=True))
        page = watched.page
        page.goto(url)
        expect(page.locator("h1")).to_contain_text(PAYLOADS[0])
        watched.check("the door")
        page.locator('[data-name="join"]').click()
        page.wait_for_url("**/s/*")
        person = Person(page, page.url)
        for stage in ("consent", "instructions", "comprehension"):
            person.goes_to(stage)
            expect(page.locator("main")).to_contain_text(PAYLOADS[0])
            watched.check(stage)
        choose = "(all, right) => all.find((one) => one.value === right).click()"
        page.locator('main input[type="radio"]').evaluate_all(choose, PAYLOADS[22])
        person.clicks("check")
        page.locator('#page[data-page="comprehension"]').wait_for(state="detached")
        person.goes_to("trial")
        person.trial()
        watched.check("practice")
        DRIVERS["choice"].simplest(person)
        page.keyboard.press("Enter")
        page.locator('main [data-name="continue"]').wait_for()
        expect(page.locator("main")).to_contain_text(PAYLOADS[0])
        watched.check("what is said about practice")
        page.locator('main [data-name="continue"]').click()
        person.begins()
        for _ in range(2):
            person.trial()
            expect(page.locator(".stimulus")).to_contain_text(PAYLOADS[40])
            watched.check("a trial")
            DRIVERS["choice"].simplest(person)
            person.submits_by_key()
            watched.check("after an answer")
        page.wait_for_load_state("networkidle")
        page.goto(url + site.dashboard.new_link())
        page.locator('[data-name="enter"]').click()
        page.wait_for_url("**/studio")
        expect(page.locator("h1")).to_contain_text(PAYLOADS[0])
        expect(page.locator("body")).to_contain_text("annotator")
        watched.check("the researcher's page")
        for path in (*PAYLOADS[:25], PAYLOADS[51]):
            page.goto(f"{url}/{quote(path, safe='')}")
            watched.check(f"the page of an error, {path}")
        page.goto(f"{url}/s/{quote(PAYLOADS[0], safe='')}?x={quote(PAYLOADS[14])}#{PAYLOADS[14]}")
        watched.check("an unknown link")


def test_the_payloads_would_run_where_text_is_not_kept_apart(visitor: Visitor) -> None:
    """The control: the same listeners on pages that write the payloads as they are."""

    def open_site(csp: str) -> list[str]:
        watched = Watched(visitor(forgiving=True))
        headers = {"content-type": "text/html; charset=utf-8"} | ({"content-security-policy": csp} if csp else {})
        body = "<h1>x</h1>" + "".join(f"<p>{each}</p>" for each in PAYLOADS[14:26])
        watched.page.route("**/*", lambda route: route.fulfill(status=200, headers=headers, body=body))
        watched.page.goto("http://127.0.0.1:9/")
        with pytest.raises(AssertionError):
            watched.check("a page without care")
        return watched.found

    assert any(each.startswith("dialog") for each in open_site(""))
    # Where text escapes all the same, the policy keeps it from running, and it is seen that it tried.
    policy = dict(request_guard.HEADERS)[b"content-security-policy"].decode()
    tried = open_site(policy)
    assert not any(each.startswith("dialog") for each in tried)
    assert any(each.startswith("violation") for each in tried)


# --- pages of others that would like to act for somebody (S25) ---

EVIL = """<!doctype html><meta charset=utf-8><title>waiting</title>
<iframe name=sink></iframe><div id=here></div>
<script>
const base = BASE, paths = PATHS;
const bodies = { '/studio/extend': '{"answers_per_item":999}', '/studio/downloads': '{"what":"annotations"}' };
async function attack() {
  for (const path of paths) {
    const body = bodies[path] ?? '{}';
    for (const options of [
      { mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } },
      { mode: 'cors', headers: { 'Content-Type': 'application/json' } },
      { mode: 'cors', headers: { 'Content-Type': 'application/json', 'X-Sfumato-Age': '1' } },
    ]) {
      await fetch(base + path, { method: 'POST', credentials: 'include', body, ...options }).catch(() => {});
    }
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: base + path, enctype, target: 'sink' });
      const field = Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"x":"', value: '"}' });
      form.append(field);
      document.body.append(form);
      form.submit();
      await new Promise((done) => {
        document.querySelector('iframe').addEventListener('load', done, { once: true });
        setTimeout(done, 300);
      });
    }
    const picture = new Image();
    await new Promise((done) => {
      picture.onload = picture.onerror = done;
      picture.src = base + path;
      setTimeout(done, 300);
    });
  }
  navigator.sendBeacon(base + '/studio/pause', new Blob(['{}'], { type: 'text/plain' }));
  await fetch(base + '/health', { mode: 'no-cors' }).catch(() => {});
  document.title = 'done';
}
attack();
</script>"""
PATHS = ("/studio/pause", "/studio/extend", "/studio/downloads", "/studio/logout", "/join")


@contextlib.contextmanager
def another_site(folder: Path, base: str) -> Iterator[int]:
    """Somebody else's server on this machine, with a page that attacks the study; yields its port."""
    folder.mkdir()
    (folder / "index.html").write_text(EVIL.replace("BASE", json.dumps(base)).replace("PATHS", json.dumps(PATHS)))
    handler = functools.partial(_Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def attacked(site: ServedStudy, url: str, port: int, page: Page, host: str) -> None:
    """Come in as the researcher, then open the page of the other site, and wait until it has tried everything."""
    page.goto(url + site.dashboard.new_link())
    page.locator('[data-name="enter"]').click()
    page.wait_for_url("**/studio")
    page.goto(f"http://{host}:{port}/")
    page.wait_for_function("document.title === 'done'", timeout=60_000)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"], ids=["another site", "another port of the same"])
def test_no_other_site_acts_for_the_researcher(tmp_path: Path, visitor: Visitor, host: str) -> None:
    with served_here(write_study(tmp_path / "study", "choice", n_each=1)) as (site, url):
        page = visitor(forgiving=True)
        with another_site(tmp_path / "evil", url) as port:
            before = rows(site, "happenings")
            attacked(site, url, port, page, host)
        assert rows(site, "happenings") == before
        # The session is as it was, and its owner can still do what others could not.
        page.goto(f"{url}/studio")
        expect(page.locator("h1")).to_be_visible()
        noted = [row[4] for row in rows(site)["happenings"]]
        assert set(noted) <= {"logged in", "denied"}, noted
        assert "denied" in noted


def test_without_the_guard_another_site_lets_people_in(
    tmp_path: Path, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_guard, "_is_cross_site", lambda *_: False)
    with served_here(write_study(tmp_path / "study", "choice", n_each=1)) as (site, url):
        before = rows(site, "happenings")
        with another_site(tmp_path / "evil", url) as port:
            attacked(site, url, port, visitor(forgiving=True), "localhost")
        assert rows(site, "happenings") != before


# --- a server that asks to wait (S30) ---


class Grudging(TokenBucket):
    """Sends every second request away for a moment, however slow they come."""

    n_asked = 0

    def take(self, key: str) -> float:
        self.n_asked += 1
        return 0.3 if self.n_asked % 2 else 0.0


def test_a_page_that_gets_retry_after_loses_nothing(tmp_path: Path, visitor: Visitor) -> None:
    n_answers = 3
    folder = write_study(tmp_path / "study", "choice", n_each=2)
    with served_here(folder, ServerLimits(Grudging())) as (site, url):
        page = visitor(forgiving=True)
        told: list[int] = []
        page.on("response", lambda reply: told.append(reply.status))
        page.goto(url)
        page.locator('[data-name="join"]').click()
        page.wait_for_url("**/s/*")
        person = Person(page, page.url)
        person.begins()
        for _ in range(n_answers):
            person.trial()
            DRIVERS["choice"].simplest(person)
            person.submits_by_key()
        while len(stored := rows(site)["answers"]) < n_answers:
            page.wait_for_timeout(20)
        assert len(stored) == n_answers
        assert told.count(429) > 0
