"""Pages and pictures of a participant: the landing page, the study page, and pictures that only they may load."""

from __future__ import annotations

import contextlib

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from sfumato.elicitation.item_images import Picture
from sfumato.elicitation.kind import folder_of
from sfumato.elicitation.kinds import KINDS
from sfumato.elicitation.page_messages import Redirect
from sfumato.elicitation.participant_link import LinkEnded, hash_of, oldest_valid
from sfumato.elicitation.session import StudyClosed
from sfumato.server.http_responses import NO_STORE, Json, error_response, html
from sfumato.server.picture_cache import no_picture
from sfumato.server.rate_limit import TooMany
from sfumato.server.served_study import ServedStudy
from sfumato.server.translations import preferred_language, translations_for
from sfumato.store import queries
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Entry
from sfumato.tables.errors import NotNow, NotThere, SfumatoError, StoreDown

ENTRY_COOKIE = "sfumato-"
"""How the name of the cookie from a platform's entry begins."""
KIND_FILES = {"form.js": "text/javascript", "form.css": "text/css"}


async def landing(request: Request) -> Response:
    site: ServedStudy = request.app.state.site
    language = language_of(request)
    texts = translations_for(language)
    pay, bonus = texts.pay(site.study, site.n_batches), texts.bonus(site.study)
    is_open = site.study.people.entry is Entry.OPEN
    closed = None
    if is_open:
        # The page is also shown while the store cannot be written; joining then says so.
        with contextlib.suppress(StoreDown):
            closed = closed_notice(await site.writer.ask(lambda running: running.sessions.closed()), language)
    return html(site.page("landing.html", language, open=is_open, closed=closed, about=None, pay=pay, bonus=bonus))


async def join(request: Request) -> Response:
    """Register a new participant and redirect to their personal link."""
    site: ServedStudy = request.app.state.site
    # The form has no fields, but a body that is too large must not add a participant before it is refused.
    await request.body()
    try:
        request.app.state.limits.count_arrival(request)
        link = await site.writer.ask(lambda running: running.sessions.join())
    except TooMany as error:
        return too_many(request, error)
    except StudyClosed as error:
        return closed_page(request, error)
    except NotNow as error:
        return html(site.error_page(error, 403, language_of(request)), 403)
    return RedirectResponse(f"/s/{link.token}", 303, NO_STORE)


async def study(request: Request) -> Response:
    site: ServedStudy = request.app.state.site
    token = request.path_params["token"]
    language = language_of(request)
    if is_look_ahead(request):
        return Response(status_code=204, headers=NO_STORE)
    try:
        network = request.app.state.limits.network_of_person(request.scope.get("client"))
        start = await site.writer.ask(lambda running: running.sessions.open_link(token, language, network))
    except LinkEnded as error:
        return html(site.error_page(error, 410, language, "link_ended.html"), 410)
    except NotThere as error:
        return html(site.error_page(error, 404, language), 404)
    except StudyClosed as error:
        return closed_page(request, error)
    keeps_cookies = any(name.removeprefix("__Host-").startswith(ENTRY_COOKIE) for name in request.cookies)
    return html(site.study_page(token, start, keeps_cookies=keeps_cookies))


async def picture(request: Request) -> Response:
    """The n-th picture of a trial, for the participant who has that trial."""
    site: ServedStudy = request.app.state.site
    token, handle = request.path_params["token"], request.path_params["trial"]
    found = await run_in_threadpool(_trial_picture, site, hash_of(token), handle, _number(request.path_params["n"]))
    return picture_response(found, "private, max-age=86400, immutable")


async def example(request: Request) -> Response:
    """The example picture of a class, for people who have a link."""
    site: ServedStudy = request.app.state.site
    token_hash = hash_of(request.path_params["token"])
    await site.writer.ask(lambda running: running.sessions.seed(token_hash))
    index = _number(request.path_params["index"])
    path = site.study.classes[index].example if index < len(site.study.classes) else None
    if path is None:
        raise no_picture()
    found = await run_in_threadpool(site.pictures.file, path)
    return picture_response(found, "private, max-age=86400")


async def kind_file(request: Request) -> Response:
    """The script or style sheet of a form."""
    name, file = request.path_params["kind"], request.path_params["file"]
    kind = next((each for each in KINDS if each.name == name), None)
    if kind is None or file not in KIND_FILES or not (folder_of(kind) / file).exists():
        raise NotThere("no such file", "a file of yours", "reload the page", "unknown-file")
    return FileResponse(folder_of(kind) / file, media_type=KIND_FILES[file], headers={"Cache-Control": "no-cache"})


async def health(request: Request) -> Response:
    """Whether the store can be read."""
    site: ServedStudy = request.app.state.site

    def read() -> None:
        with site.reader.connect() as connection:
            queries.study_names(connection)

    await run_in_threadpool(read)
    return Json({"status": "ok"})


def is_look_ahead(request: Request) -> bool:
    """Whether a program asks before a person does: by HEAD, or by loading a page in advance."""
    purpose = request.headers.get("sec-purpose") or request.headers.get("purpose") or ""
    return request.method == "HEAD" or purpose.lower().startswith(("prefetch", "prerender", "preview"))


def closed_notice(reason: str | None, language: str) -> str | None:
    """That a study is `full` or `paused`, for people who have not come in yet."""
    return " ".join(translations_for(language).error(StudyClosed(reason))) if reason else None


def closed_page(request: Request, error: StudyClosed, back: Redirect | None = None, platform: str = "") -> Response:
    """The page of a study that is full or paused, for somebody who has just come: nothing was stored."""
    if "text/html" not in request.headers.get("accept", ""):
        return error_response(error)
    site: ServedStudy = request.app.state.site
    shown = {"back": back, "platform": platform, "is_full": error.reason == "full"}
    return html(site.error_page(error, 409, language_of(request), "closed.html", **shown), 409)


def language_of(request: Request) -> str:
    """The language of the study that the browser prefers."""
    site: ServedStudy = request.app.state.site
    return preferred_language(request.headers.get("accept-language", ""), site.study.languages)


def too_many(request: Request, error: TooMany) -> Response:
    """The page for an address from which too many people joined at once."""
    return html(request.app.state.site.error_page(error, 429, language_of(request)), 429, error.seconds)


def error_page_or_json(request: Request, error: SfumatoError) -> Response:
    """An error as a page in the browser's language; as JSON for scripts and for the dashboard."""
    reply = error_response(error)
    if "text/html" not in request.headers.get("accept", "") or request.scope["path"].startswith("/studio"):
        return reply
    page = html(request.app.state.site.error_page(error, reply.status_code, language_of(request)), reply.status_code)
    if "Retry-After" in reply.headers:
        page.headers["Retry-After"] = reply.headers["Retry-After"]
    return page


def picture_response(picture: Picture, cache: str) -> Response:
    return Response(picture.data, media_type=picture.media_type, headers={"Cache-Control": cache})


def _trial_picture(site: ServedStudy, token_hash: str, handle: str, n: int) -> Picture:
    since = oldest_valid(site.study.limits.link_days, site.clock.steady())
    with site.reader.connect() as connection:
        stimulus = queries.trial_of_annotator(connection, site.number, token_hash, handle, since)
    return picture_of_stimulus(site, stimulus, n)


def picture_of_stimulus(site: ServedStudy, stimulus: Stimulus | None, n: int) -> Picture:
    """The n-th picture of a stimulus; raises `NotThere` if there is none."""
    if stimulus is None:
        raise no_picture()
    return site.pictures.picture(stimulus, n)


def _number(text: str) -> int:
    """A number of at most four digits in a path."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise no_picture()
    return int(text)
