"""Pages: the door of a study, the one page on which it is taken, and its pictures, each for its person only."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from sfumato.elicitation.image_decoder import DECODER
from sfumato.elicitation.item_images import Picture, blended, rendered
from sfumato.elicitation.kind import folder_of
from sfumato.elicitation.kinds import KINDS
from sfumato.elicitation.participant_link import LinkEnded, oldest_valid
from sfumato.elicitation.session import hash_of
from sfumato.server.rate_limit import TooMany
from sfumato.server.responses import Json, refusal
from sfumato.server.site import Site
from sfumato.server.translations import chosen, texts_in
from sfumato.store import queries
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Entry
from sfumato.tables.errors import NotNow, NotThere, SfumatoError

KIND_FILES = {"form.js": "text/javascript", "form.css": "text/css"}
PICTURES_KEPT = 256
"""Pictures kept ready to send."""


async def landing(request: Request) -> Response:
    site: Site = request.app.state.site
    language = language_of(request)
    is_open, texts = site.study.people.entry is Entry.OPEN, texts_in(language)
    pay, bonus = texts.pay(site.study), texts.bonus(site.study)
    return _html(site.page("landing.html", language, open=is_open, about=None, pay=pay, bonus=bonus))


async def join(request: Request) -> Response:
    """Let somebody new in, and send them to the address that is theirs alone."""
    site: Site = request.app.state.site
    try:
        request.app.state.limits.count_arrival(request)
        link = await site.writer.ask(lambda running: running.sessions.join())
    except TooMany as error:
        return too_many(request, error)
    except NotNow as error:
        return _html(site.error_page(error, 403, language_of(request)), 403)
    return RedirectResponse(f"/s/{link.token}", 303, {"Cache-Control": "no-store"})


async def study(request: Request) -> Response:
    site: Site = request.app.state.site
    token = request.path_params["token"]
    language = language_of(request)
    try:
        welcome = await site.writer.ask(lambda running: running.sessions.open_link(token, language))
    except LinkEnded as error:
        return _html(site.error_page(error, 410, language, "link_ended.html"), 410)
    except NotThere as error:
        return _html(site.error_page(error, 404, language), 404)
    return _html(site.study_page(token, welcome))


async def picture(request: Request) -> Response:
    """The n-th picture of a trial, for the person whose trial it is."""
    site: Site = request.app.state.site
    token, handle = request.path_params["token"], request.path_params["trial"]
    found = await run_in_threadpool(_picture_of, site, hash_of(token), handle, _whole(request.path_params["n"]))
    return Response(
        found.data, media_type=found.media_type, headers={"Cache-Control": "private, max-age=86400, immutable"}
    )


async def example(request: Request) -> Response:
    """The example picture of a class, for people who have a link."""
    site: Site = request.app.state.site
    token_hash = hash_of(request.path_params["token"])
    await site.writer.ask(lambda running: running.sessions.seed(token_hash))
    index = _whole(request.path_params["index"])
    path = site.study.classes[index].example if index < len(site.study.classes) else None
    if path is None:
        raise _no_picture()
    found = await run_in_threadpool(_example, path, site)
    return Response(found.data, media_type=found.media_type, headers={"Cache-Control": "private, max-age=86400"})


async def kind_file(request: Request) -> Response:
    """A form's script or style sheet."""
    name, file = request.path_params["kind"], request.path_params["file"]
    kind = next((each for each in KINDS if each.name == name), None)
    if kind is None or file not in KIND_FILES or not (folder_of(kind) / file).exists():
        raise _no_picture("file")
    path = folder_of(kind) / file
    return FileResponse(path, media_type=KIND_FILES[file], headers={"Cache-Control": "no-cache"})


async def health(request: Request) -> Response:
    """Whether the store can be read."""
    site: Site = request.app.state.site

    def look() -> None:
        with site.reader.connect() as connection:
            queries.study_names(connection)

    await run_in_threadpool(look)
    return Json({"status": "ok"})


def language_of(request: Request) -> str:
    """The language of the study that the browser likes best."""
    site: Site = request.app.state.site
    return chosen(request.headers.get("accept-language", ""), site.study.languages)


def too_many(request: Request, error: TooMany) -> Response:
    """The page for somebody from whose address too many came at once."""
    reply = _html(request.app.state.site.error_page(error, 429, language_of(request)), 429)
    reply.headers["Retry-After"] = str(error.seconds)
    return reply


def told(request: Request, error: SfumatoError) -> Response:
    """An error as a page in the language of whoever opened an address of ours, and as JSON for all that scripts ask."""
    reply = refusal(error)
    if "text/html" not in request.headers.get("accept", "") or request.scope["path"].startswith("/studio"):
        return reply
    page = _html(request.app.state.site.error_page(error, reply.status_code, language_of(request)), reply.status_code)
    if "Retry-After" in reply.headers:
        page.headers["Retry-After"] = reply.headers["Retry-After"]
    return page


def _picture_of(site: Site, token_hash: str, handle: str, n: int) -> Picture:
    since = oldest_valid(site.study.limits.link_days, site.clock.steady())
    with site.reader.connect() as connection:
        stimulus = queries.trial_of_annotator(connection, site.number, token_hash, handle, since)
    return picture_shown(site, stimulus, n)


def picture_shown(site: Site, stimulus: Stimulus | None, n: int) -> Picture:
    """The n-th picture of what is shown, mixed where the kind mixes; raises `NotThere` where there is none."""
    if stimulus is None or n >= len(stimulus.shown):
        raise _no_picture()
    mixed = stimulus.context.get("of")
    return _mixed(site, *mixed, stimulus.context["mix"]) if mixed else _rendered(site, stimulus.shown[n])


@lru_cache(PICTURES_KEPT)
def _rendered(site: Site, item: str) -> Picture:
    found = site.items.get(item)
    if found is None or found.text is not None:
        raise _no_picture()
    if found.picture is None:
        return rendered(found, site.study.items)
    return DECODER.rendered_file(found.picture, site.study.items.upscale, site.study.items.size)


@lru_cache(PICTURES_KEPT)
def _mixed(site: Site, first: str, second: str, share: float) -> Picture:
    return blended(_rendered(site, first), _rendered(site, second), share)


@lru_cache(PICTURES_KEPT)
def _example(path: Path, site: Site) -> Picture:
    return DECODER.rendered_file(path, site.study.items.upscale, site.study.items.size)


def _whole(text: str) -> int:
    """A small whole number of a path."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise _no_picture()
    return int(text)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, {"Cache-Control": "no-store"})


def _no_picture(what: str = "picture") -> NotThere:
    return NotThere(
        f"found no such {what}", expected=f"a {what} of yours", fix="reload the page", code=f"unknown-{what}"
    )
