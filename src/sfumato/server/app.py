"""The application: every route there is, and who may use it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from sfumato.server import answer_api, dashboard_login, dashboard_routes, pages, platform_entry
from sfumato.server.rate_limit import ServerLimits, SlidingWindow, TooMany
from sfumato.server.request_guard import RequestGuard
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.server.responses import InternalError, refusal
from sfumato.server.site import Site
from sfumato.tables.errors import NotThere, SfumatoError, StoreDown

STATIC = Path(__file__).parent / "static"
DENIALS_NOTED = 30
"""A minute."""


class Files(StaticFiles):
    """Our scripts and style sheets, asked for anew each time but sent only when they have changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        reply = await super().get_response(path, scope)
        reply.headers["Cache-Control"] = "no-cache"
        return reply


def routes() -> list[Route | Mount]:
    """Every route. `/s/{token}` and what lies under it belongs to the person with the token, `/studio` to the
    researcher; the rest is for all."""
    person = "/s/{token:str}"
    return [
        # `Answers` stands in front and takes these; here for the methods it leaves.
        Route(f"{person}/api/answers", answer_api.taken_before, methods=["POST"]),
        *(Route(f"{person}/api/{name}", answer_api.step(name), methods=["POST"]) for name in answer_api.STEPS),
        Route(f"{person}/api/comprehension", answer_api.comprehension, methods=["POST"]),
        Route(f"{person}/pictures/{{trial:str}}/{{n:str}}", pages.picture),
        Route(f"{person}/examples/{{index:str}}", pages.example),
        Route(person, pages.study),
        Route("/studio", dashboard_routes.page),
        Route("/studio/enter/{key:str}", dashboard_login.enter),
        Route("/studio/login", dashboard_login.login, methods=["POST"]),
        Route("/studio/logout", dashboard_login.logout, methods=["POST"]),
        Route("/studio/state", dashboard_routes.state),
        Route("/studio/events", dashboard_routes.events),
        Route("/studio/pictures/{number:str}", dashboard_routes.picture),
        Route("/studio/pause", dashboard_routes.pausing(True), methods=["POST"]),
        Route("/studio/resume", dashboard_routes.pausing(False), methods=["POST"]),
        Route("/studio/extend", dashboard_routes.extend, methods=["POST"]),
        Route("/studio/downloads", dashboard_routes.make_download, methods=["POST"]),
        Route("/studio/downloads/{handle:str}", dashboard_routes.download),
        Route("/", pages.landing),
        Route("/join", pages.join, methods=["POST"]),
        Route("/from/{platform:str}/{key:str}", platform_entry.arrive),
        Route("/health", pages.health),
        Route("/static/kinds/{kind:str}/{file:str}", pages.kind_file),
        Mount("/static", Files(directory=STATIC)),
    ]


def application(site: Site, hosts: Collection[str] = (), limits: ServerLimits | None = None) -> ASGIApp:
    """The ASGI application that serves `site`; it answers to `hosts` only, or to any if there are none. Without
    `limits` nobody is asked to wait, as simulated people need it."""
    app = Starlette(
        routes=routes(),
        exception_handlers={
            NotLoggedIn: _not_entered,
            SfumatoError: _refused,
            HTTPException: _http_error,
            sa.exc.OperationalError: _store_away,
            Exception: _failed,
        },
    )
    app.state.site, app.state.limits, app.state.denials = (
        site,
        limits or ServerLimits(),
        SlidingWindow("denials", DENIALS_NOTED),
    )
    # A redirect to the same address with or without a slash would name the host as the request did.
    app.router.redirect_slashes = False
    # Outside of everything, so that even a reply to our own failure carries the headers.
    return RequestGuard(
        answer_api.AnswerEndpoint(site, app),
        hosts,
        site.platform.framed_by if site.platform else (),
        limits=limits,
        https=site.public,
        denied=partial(_note_denial, app),
    )


async def _note_denial(app: Starlette, scope: Scope, why: str) -> None:
    """Note that somebody was kept from the researcher's page, so many times a minute and no more: whoever is refused
    must not fill the disk. Of the path only its first two parts, which are ours and no key."""
    path = scope["path"]
    if not path.startswith("/studio"):
        return
    try:
        app.state.denials.count("")
    except TooMany:
        return
    about = {"why": why, "path": "/".join(path.split("/")[:3]), "address": (scope.get("client") or ["unknown"])[0]}
    await app.state.site.desk.note("somebody", "denied", about)


async def _not_entered(request: Request, error: Exception) -> Response:
    await _note_denial(request.app, request.scope, "not entered")
    return await _refused(request, error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Unknown paths and methods: a page for people, JSON for programs."""
    assert isinstance(error, HTTPException)
    is_method = error.status_code == 405
    ours = NotThere(
        f"found {'a method this address does not take' if is_method else 'no such page'}",
        expected="a request as the pages make them" if is_method else "an address of this study",
        fix="check the address",
        code="wrong-method" if is_method else "not-found",
    )
    if "text/html" not in request.headers.get("accept", ""):
        reply: Response = refusal(ours)
    else:
        page = request.app.state.site.error_page(ours, error.status_code, pages.language_of(request))
        reply = HTMLResponse(page, headers={"Cache-Control": "no-store"})
    reply.status_code = error.status_code
    reply.headers.update(error.headers or {})
    return reply


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, SfumatoError)
    return pages.told(request, error)


async def _failed(request: Request, error: Exception) -> Response:
    return pages.told(request, InternalError(error))


async def _store_away(request: Request, _error: Exception) -> Response:
    """Readers find the store gone as the writer does, and say the same."""
    gone = StoreDown("", expected="a store that can be read", fix="try again in a moment", code="store-down")
    return pages.told(request, gone)
