"""The guard before every request: headers on every reply, hosts, other sites, methods, paths that lead outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from picture_study import write_picture_study
from site_client import JSON, AskedSite, Reply, SiteClient, asked_site

import sfumato
from sfumato.server.served_study import ServedStudy

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HTML = {"accept": "text/html"}
FORM = {"code", "found", "expected", "fix"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path_factory.mktemp("pets"))) as opened:
        yield opened


@pytest.fixture
def client(asked: AskedSite) -> SiteClient:
    return asked.client


def check_guarded(reply: Reply) -> None:
    assert reply.header("content-security-policy") == CSP
    assert reply.header("x-content-type-options") == "nosniff"
    assert reply.header("referrer-policy") == "no-referrer"
    assert reply.header("x-frame-options") == "DENY"
    assert reply.header("cross-origin-resource-policy") == "same-origin"
    names = [name for name, _ in reply.headers]
    assert not [name for name in names if name.startswith("access-control-")]
    assert "server" not in names
    assert "x-powered-by" not in names
    assert "set-cookie" not in names


def check_ours(reply: Reply) -> None:
    """An error in the form of ours, in which nothing of the machine can be seen."""
    assert set(reply.json) >= FORM
    assert all(isinstance(value, str) and value for value in reply.json.values())
    check_tells_nothing(reply)


def check_tells_nothing(reply: Reply) -> None:
    package = str(Path(sfumato.__file__).parent)
    for trace in ("Traceback", 'File "', package, "/tmp", "site-packages", "sqlite", "SELECT", "python", "tarlette"):
        assert trace not in reply.text, trace


def failing(*_: object, **__: object) -> None:
    raise KeyError("SELECT secret FROM /tmp/store")


def every_reply(asked: AskedSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Reply, bool]]:
    """Replies of all sorts, by name, and whether a cache must not keep them."""
    client = asked.client
    person = asked.ready()
    trial = person.trial()["trial"]
    yield "landing", client.get("/"), True
    yield "study", client.get(person.base), True
    yield "join", client.send("POST", "/join"), True
    yield "health", client.get("/health"), True
    yield "state", person.step("state"), True
    yield "picture", client.get(f"{person.base}/pictures/{trial}/0"), False
    yield "example", client.get(f"{person.base}/examples/0"), False
    yield "static", client.get("/static/style.css"), False
    yield "form", client.get("/static/kinds/choice/form.js"), False
    yield "unchanged", client.get("/static/style.css", {"if-none-match": unchanged(client)}), False
    yield "no page", client.get("/nothing", HTML), True
    yield "no page for programs", client.get("/nothing"), True
    yield "unknown link", client.get("/s/x", HTML), True
    yield "no picture", client.get(f"{person.base}/pictures/x/0"), True
    yield "method", client.send("PUT", "/"), True
    yield "bad body", person.step("state", b"["), True
    yield "too large", person.step("state", b" " * 70_000), True
    yield "wrong host", client.get("/", {"host": "evil.example"}), True
    yield "other site", client.send("POST", "/join", headers={"sec-fetch-site": "cross-site"}), True
    with monkeypatch.context() as patched:
        patched.setattr(ServedStudy, "state", failing)
        patched.setattr(ServedStudy, "study_page", failing)
        yield "failure", person.step("state"), True
        yield "failed page", client.get(person.base, HTML), True


def unchanged(client: SiteClient) -> str:
    return client.get("/static/style.css").header("etag") or ""


def test_every_reply_is_guarded(asked: AskedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = set()
    for name, reply, _ in every_reply(asked, monkeypatch):
        statuses.add(reply.status)
        check_guarded(reply)
        assert reply.status in (303, 304) or reply.header("content-type"), name
    assert statuses == {200, 303, 304, 400, 403, 404, 405, 413, 422, 500}


def test_no_cache_keeps_what_is_personal(asked: AskedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [
        name
        for name, reply, is_personal in every_reply(asked, monkeypatch)
        if is_personal and reply.header("cache-control") != "no-store"
    ]
    assert kept == []


def test_pictures_are_kept_by_the_persons_browser_alone(asked: AskedSite) -> None:
    person = asked.ready()
    reply = asked.client.get(person.trial()["pictures"][0])
    assert (reply.header("cache-control") or "").startswith("private,")
    assert reply.header("content-type") in ("image/png", "image/jpeg", "image/webp")


@pytest.mark.parametrize("target", ["state", "page", "picture"])
def test_failures_of_ours_show_nothing_of_the_machine(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    person = asked.ready()
    picture = person.trial()["pictures"][0]
    monkeypatch.setattr(ServedStudy, "state", failing)
    monkeypatch.setattr(ServedStudy, "study_page", failing)
    monkeypatch.setattr("sfumato.server.pages._trial_picture", failing)
    reply = {
        "state": lambda: person.step("state"),
        "page": lambda: asked.client.get(person.base, HTML),
        "picture": lambda: asked.client.get(picture),
    }[target]()
    assert reply.status == 500
    assert "secret" not in reply.text
    check_tells_nothing(reply)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LocalHost:1", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:8000"]
)
def test_it_answers_to_its_own_names(client: SiteClient, host: str) -> None:
    assert client.get("/", {"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "localhost@evil.example",
        "localhost:8000@evil.example",
        "evil.example#localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1:80:80",
        "",
        ":8000",
        "0.0.0.0",
        "é",
    ],
)
def test_it_answers_to_no_other_name(asked: AskedSite, host: str) -> None:
    before = asked.rows()
    for reply in (asked.client.get("/", {"host": host}), asked.client.send("POST", "/join", headers={"host": host})):
        assert (reply.status, reply.json["code"]) == (400, "wrong-host")
        check_ours(reply)
    assert asked.rows() == before


def test_a_browser_at_a_wrong_address_gets_a_page(asked: AskedSite) -> None:
    reply = asked.client.get("/", {**HTML, "host": "<b>evil.example"})
    assert (reply.status, reply.header("content-type")) == (400, "text/html; charset=utf-8")
    assert "<h1>A host name that is not ours.</h1>" in reply.text
    assert "evil.example" not in reply.text
    check_guarded(reply)
    asked.site.public = True
    try:
        public = asked.client_for(["localhost"])
    finally:
        asked.site.public = False
    plain = public.get("/s/secret", {**HTML, "x-forwarded-proto": "http"})
    assert plain.status == 400
    assert "<p>Open the address of the study with https://.</p>" in plain.text
    assert "secret" not in plain.text
    check_guarded(plain)
    assert plain.header("strict-transport-security")
    assert public.get("/", {"x-forwarded-proto": "http"}).json["code"] == "not-https"


def test_no_host_at_all_is_a_wrong_one(asked: AskedSite) -> None:
    asked.client._host, host = None, asked.client._host
    try:
        assert asked.client.get("/").status == 400
    finally:
        asked.client._host = host


@pytest.mark.parametrize("hosts", [("localhost evil", "evil localhost")], ids=["both"])
def test_of_two_hosts_neither_is_believed(client: SiteClient, hosts: tuple[str, ...]) -> None:
    for pair in hosts:
        first, second = pair.split()
        assert client.get("/", [("host", first), ("host", second)]).status == 400, pair


@pytest.mark.parametrize("site", ["cross-site", "same-site", "CROSS-SITE", "", "nonsense"])
def test_other_sites_change_nothing(asked: AskedSite, site: str) -> None:
    person = asked.ready()
    before = asked.rows()
    for target in ("/join", f"{person.base}/api/withdraw", f"{person.base}/api/state"):
        reply = asked.client.send("POST", target, b"{}", JSON | {"sec-fetch-site": site})
        assert reply.json["code"] == "cross-site"
        # Not 409, at which a page lets go of an answer.
        assert reply.status == 403
        check_ours(reply)
    assert asked.rows() == before


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_itself_may(asked: AskedSite, site: str) -> None:
    person = asked.ready()
    headers = JSON | {"sec-fetch-site": site}
    assert asked.client.send("POST", f"{person.base}/api/state", b"{}", headers).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:8000"])
def test_no_origin_is_let_in_by_name(asked: AskedSite, origin: str) -> None:
    person = asked.ready()
    asking = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "x"}
    target = f"{person.base}/api/state"
    for reply in (
        asked.client.send("OPTIONS", target, headers=asking),
        asked.client.send("POST", target, b"{}", JSON | {"origin": origin}),
        asked.client.get("/", asking),
    ):
        check_guarded(reply)
        assert reply.header("vary") in (None, "Accept-Encoding")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
@pytest.mark.parametrize(
    "target", ["/", "/join", "/health", "/s/x", "/s/x/api/state", "/s/x/api/answers", "/static/style.css"]
)
def test_other_methods_are_refused_in_our_form(asked: AskedSite, method: str, target: str) -> None:
    reply = asked.client.send(method, target)
    assert reply.status == 405
    check_ours(reply)


def test_a_refused_method_says_which_there_are(client: SiteClient) -> None:
    assert client.send("PUT", "/join").header("allow") == "POST"
    assert set((client.send("PUT", "/").header("allow") or "").split(", ")) == {"GET", "HEAD"}
    assert client.send("PUT", "/").json["code"] != "not-found"


def test_steps_are_not_taken_by_opening_an_address(asked: AskedSite) -> None:
    person = asked.ready()
    before = asked.rows()
    for method in ("GET", "HEAD"):
        for name in ("consent", "withdraw", "answers", "state"):
            assert asked.client.send(method, f"{person.base}/api/{name}").status == 405
        assert asked.client.send(method, "/join").status == 405
    assert asked.rows() == before


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "../templates/study.html",
        "%2e%2e/app.py",
        "%2e%2e%2fapp.py",
        "..%2fapp.py",
        "..%5capp.py",
        "..\\app.py",
        "..%c0%afapp.py",
        "....//app.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "//etc/passwd",
        "%00",
        "style.css%00",
        "style.css%00.js",
        "style.css/x",
        "~root",
        "file:///etc/passwd",
        "C:%5cWindows",
        "con",
        "a" * 5000,
        "",
        ".",
        "kinds",
        "kinds/choice",
        "kinds/choice.py",
        "kinds/choice/form.html",
        "kinds/choice/../choice.py",
        "kinds/choice/..%2fchoice.py",
        "kinds/../form.js",
        "kinds/%2e%2e/form.js",
        "kinds/choice/%00",
        "kinds/nothing/form.js",
    ],
)
def test_no_path_leads_out_of_the_served_files(client: SiteClient, path: str) -> None:
    reply = client.get(f"/static/{path}")
    assert reply.status == 404
    assert reply.raised is None
    check_ours(reply)


def test_links_out_of_the_served_files_are_not_followed(
    asked: AskedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "private.txt").write_text("private")
    (tmp_path / "static" / "way-out.txt").symlink_to(tmp_path / "private.txt")
    (tmp_path / "static" / "here.txt").write_text("public")
    monkeypatch.setattr("sfumato.server.app.STATIC", tmp_path / "static")
    client = asked.client_for(("localhost",))
    assert client.get("/static/here.txt").body == b"public"
    assert client.get("/static/way-out.txt").status == 404


def test_every_file_of_ours_is_served_with_its_type(client: SiteClient) -> None:
    static = Path(sfumato.__file__).parent / "server" / "static"
    for file in static.iterdir():
        reply = client.get(f"/static/{file.name}")
        assert (reply.status, reply.body) == (200, file.read_bytes())
        kind = (reply.header("content-type") or "").partition(";")[0]
        assert kind == {".js": "text/javascript", ".css": "text/css"}[file.suffix]


@pytest.mark.parametrize("query", ["", "?next=https://evil.example", "?next=//evil.example", "?next=%0d%0aX-Evil:1"])
def test_joining_leads_to_ones_own_page_and_nowhere_else(client: SiteClient, query: str) -> None:
    reply = client.send("POST", f"/join{query}", headers={"referer": "https://evil.example/"})
    location = reply.header("location") or ""
    assert reply.status == 303
    assert location.startswith("/s/")
    assert "evil" not in str(reply.headers).lower()
    assert len(location) == len("/s/") + 44


@pytest.mark.parametrize(
    "path", ["/static", "/s/{token}/", "//evil.example/", "//evil.example/..", "/%5cevil.example/"]
)
def test_no_redirect_names_a_host(asked: AskedSite, path: str) -> None:
    # A proxy speaks https and hands on http: an address with a scheme in it would send the token in the clear.
    token = asked.join().token
    anywhere = asked.client_for(())
    reply = anywhere.get(path.format(token=token), {"host": "evil.example"})
    location = reply.header("location") or "/"
    assert location.startswith("/")
    assert not location.startswith("//")


def test_a_public_study_answers_to_any_name(asked: AskedSite) -> None:
    assert asked.client_for(()).get("/", {"host": "study.example.org"}).status == 200
