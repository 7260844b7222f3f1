"""Routes of the dashboard: the page, its live figures, and the researcher's actions. All need a researcher session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from sfumato.elicitation import researcher_actions
from sfumato.elicitation.item_images import Picture
from sfumato.server import dashboard_login
from sfumato.server.answer_api import NOTHING, decode, json_body
from sfumato.server.http_responses import NO_STORE, Json, error_response, html
from sfumato.server.pages import picture_of_stimulus, picture_response
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.server.served_study import ServedStudy
from sfumato.store import researcher_queries
from sfumato.study.study import Assignment
from sfumato.tables.errors import StoreDown

MOST_STREAMS = 20
MOST_ANSWERS = 1_000_000


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new number of answers per item."""

    answers_per_item: Annotated[int, msgspec.Meta(ge=1, le=MOST_ANSWERS)]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file to make."""

    what: Literal["annotations", "records"]
    format: Literal["parquet", "csv"] = "parquet"


EXTENSION = msgspec.json.Decoder(Extension)
WANTED = msgspec.json.Decoder(Wanted)


async def page(request: Request) -> Response:
    """The dashboard with the current figures; without a session, the login page."""
    site: ServedStudy = request.app.state.site
    try:
        site.dashboard.session_of(request)
    except NotLoggedIn:
        return await dashboard_login.login_page(site)
    sections = {name: msgspec.Raw(text) for name, text in (await site.dashboard.feed.sections_if_ready()).items()}
    config = msgspec.json.encode({"study": _study(site), "sections": sections}).decode()
    # Inside a script element only these characters could end it or start another.
    safe = config.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return html(site.page("dashboard.html", "en", config=safe))


async def state(request: Request) -> Response:
    """The current figures, for a page whose stream is interrupted."""
    site: ServedStudy = request.app.state.site
    site.dashboard.session_of(request, is_activity=False)
    sections = await site.dashboard.feed.sections()
    return Json({name: msgspec.Raw(text) for name, text in sections.items()})


async def events(request: Request) -> Response:
    """The stream of changed figures, until the session ends."""
    site: ServedStudy = request.app.state.site
    dashboard, token = site.dashboard, request.cookies.get(site.dashboard.cookie)
    dashboard.session_of(request, is_activity=False)
    if dashboard.feed.n_listeners >= MOST_STREAMS:
        error = StoreDown("", f"at most {MOST_STREAMS} open pages", "close some of them", "too-many-streams")
        return error_response(error)
    headers = NO_STORE | {"X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(media_type="text/event-stream", headers=headers)
    stream = dashboard.feed.stream(lambda: dashboard.sessions.find(token, is_activity=False) is not None)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def picture(request: Request) -> Response:
    """The picture of an item, by its number."""
    site: ServedStudy = request.app.state.site
    site.dashboard.session_of(request, is_activity=False)
    text = request.path_params["number"]
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1

    def read() -> Picture:
        with site.reader.connect() as connection:
            stimulus = researcher_queries.item_numbered(connection, site.number, number)
        return picture_of_stimulus(site, stimulus, 0)

    return picture_response(await run_in_threadpool(read), "no-store")


def pause_handler(pause: bool) -> Callable[[Request], Awaitable[Response]]:
    """The handler that pauses or resumes the study."""

    async def handler(request: Request) -> Response:
        site: ServedStudy = request.app.state.site
        who = site.dashboard.session_of(request).who
        decode(NOTHING, await json_body(request))
        await site.writer.ask(lambda running: researcher_actions.set_paused(running, pause, who))
        return Json({})

    return handler


async def extend(request: Request) -> Response:
    """Increase the number of answers per item."""
    site: ServedStudy = request.app.state.site
    who = site.dashboard.session_of(request).who
    wanted = decode(EXTENSION, await json_body(request))
    await site.writer.ask(lambda running: researcher_actions.extend(running, wanted.answers_per_item, who))
    return Json({})


async def make_download(request: Request) -> Response:
    """Make a file of the current answers; the reply holds its path."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    who = dashboard.session_of(request).who
    wanted = decode(WANTED, await json_body(request))
    dashboard.downloads.rate.count("researcher")
    handle = await asyncio.to_thread(dashboard.downloads.make, wanted.what, wanted.format)
    about = {"what": wanted.what, "format": wanted.format, "answers": dashboard.downloads.ready(handle).n_answers}
    await dashboard.log_event(who, "exported", about)
    return Json({"path": f"/studio/downloads/{handle}"}, 201)


async def download(request: Request) -> Response:
    """A file that was made; it is deleted after the reply."""
    site: ServedStudy = request.app.state.site
    downloads = site.dashboard.downloads
    site.dashboard.session_of(request)
    made = downloads.ready(request.path_params["handle"])
    delete = None if request.method == "HEAD" else BackgroundTask(downloads.remove, request.path_params["handle"])
    media_type = "application/octet-stream"
    return FileResponse(made.path, media_type=media_type, filename=made.name, headers=NO_STORE, background=delete)


def _study(site: ServedStudy) -> dict[str, object]:
    study = site.study
    return {
        "title": study.title,
        "name": study.name,
        "kind": study.question.kind,
        "classes": study.class_names,
        "is_adaptive": study.people.assignment is Assignment.ADAPTIVE,
        "has_checks": bool(study.checks),
        "has_repeats": study.people.repeats > 0,
        "arms": [arm.name for arm in study.arms],
    }
