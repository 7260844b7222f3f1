"""The researcher's page: how the study goes, live, and what can be done to it. Behind a session of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse

from sfumato.elicitation import researcher_actions
from sfumato.elicitation.item_images import Picture
from sfumato.server import dashboard_login
from sfumato.server.answer_api import NOTHING, body_of, decoded
from sfumato.server.pages import picture_shown
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.server.responses import Json, refusal
from sfumato.server.site import Site
from sfumato.store import researcher_queries
from sfumato.study.study import Assignment
from sfumato.tables.errors import StoreDown

MOST_STREAMS = 20
MOST_ANSWERS = 1_000_000


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many answers an item is to get from now on."""

    answers_per_item: Annotated[int, msgspec.Meta(ge=1, le=MOST_ANSWERS)]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file to be made."""

    what: Literal["annotations", "records"]
    format: Literal["parquet", "csv"] = "parquet"


EXTENSION = msgspec.json.Decoder(Extension)
WANTED = msgspec.json.Decoder(Wanted)


async def page(request: Request) -> Response:
    """The page, with the figures as they are now; for others the door."""
    site: Site = request.app.state.site
    try:
        site.desk.researcher(request)
    except NotLoggedIn:
        return await dashboard_login.door(site)
    sections = {name: msgspec.Raw(text) for name, text in (await site.desk.feed.at_once()).items()}
    config = msgspec.json.encode({"study": _study(site), "sections": sections}).decode()
    # Within a script nothing else could end it, or begin another.
    safe = config.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return HTMLResponse(site.page("dashboard.html", "en", config=safe), headers={"Cache-Control": "no-store"})


async def state(request: Request) -> Response:
    """The figures as they are now, for a page that could not keep its stream."""
    site: Site = request.app.state.site
    site.desk.researcher(request, is_person=False)
    sections = await site.desk.feed.fresh()
    return Json({name: msgspec.Raw(text) for name, text in sections.items()})


async def events(request: Request) -> Response:
    """The figures, each time they change, until the session ends."""
    site: Site = request.app.state.site
    desk, token = site.desk, request.cookies.get(site.desk.cookie)
    desk.researcher(request, is_person=False)
    if desk.feed.n_listeners >= MOST_STREAMS:
        return refusal(
            StoreDown("", expected=f"at most {MOST_STREAMS} pages", fix="close some of them", code="too-many-streams")
        )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(media_type="text/event-stream", headers=headers)
    stream = desk.feed.follow(lambda: desk.sessions.find(token, is_person=False) is not None)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def picture(request: Request) -> Response:
    """The picture of an item, by its number."""
    site: Site = request.app.state.site
    site.desk.researcher(request, is_person=False)
    text = request.path_params["number"]
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1

    def found() -> Picture:
        with site.reader.connect() as connection:
            stimulus = researcher_queries.item_numbered(connection, site.number, number)
        return picture_shown(site, stimulus, 0)

    shown = await run_in_threadpool(found)
    return Response(shown.data, media_type=shown.media_type, headers={"Cache-Control": "no-store"})


def pausing(pause: bool) -> Callable[[Request], Awaitable[Response]]:
    """The handler that pauses the study, or lets it go on."""

    async def handler(request: Request) -> Response:
        site: Site = request.app.state.site
        who = site.desk.researcher(request).who
        decoded(NOTHING, await body_of(request))
        await site.writer.ask(lambda running: researcher_actions.set_paused(running, pause, who))
        return Json({})

    return handler


async def extend(request: Request) -> Response:
    """Ask for more answers an item."""
    site: Site = request.app.state.site
    who = site.desk.researcher(request).who
    wanted = decoded(EXTENSION, await body_of(request))
    await site.writer.ask(lambda running: researcher_actions.extend(running, wanted.answers_per_item, who))
    return Json({})


async def make_download(request: Request) -> Response:
    """Make a file of the answers as they are now; the reply says where to fetch it."""
    site: Site = request.app.state.site
    desk = site.desk
    who = desk.researcher(request).who
    wanted = decoded(WANTED, await body_of(request))
    desk.downloads.rate.count("researcher")
    handle = await asyncio.to_thread(desk.downloads.make, wanted.what, wanted.format)
    about = {"what": wanted.what, "format": wanted.format, "answers": desk.downloads.ready(handle).n_answers}
    await desk.note(who, "exported", about)
    return Json({"path": f"/studio/downloads/{handle}"}, 201)


async def download(request: Request) -> Response:
    """A file that was made; it is gone once it was fetched."""
    site: Site = request.app.state.site
    downloads = site.desk.downloads
    site.desk.researcher(request)
    made = downloads.ready(request.path_params["handle"])
    gone = None if request.method == "HEAD" else BackgroundTask(downloads.remove, request.path_params["handle"])
    return FileResponse(
        made.path,
        media_type="application/octet-stream",
        filename=made.name,
        headers={"Cache-Control": "no-store"},
        background=gone,
    )


def _study(site: Site) -> dict[str, object]:
    """What the page needs to know of the study itself."""
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
