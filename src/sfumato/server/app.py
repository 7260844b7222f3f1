"""The ASGI application: every route, and the pages or JSON for errors."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from sfumato.server import answer_api, dashboard_login, dashboard_routes, pages, platform_entry
from sfumato.server.http_responses import InternalError, error_response, html
from sfumato.server.rate_limit import ServerLimits, SlidingWindow, TooMany
from sfumato.server.request_guard import RefusalCounts, RequestGuard
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.server.served_study import ServedStudy
from sfumato.tables.errors import NotThere, SfumatoError, StoreDown

STATIC = Path(__file__).parent / "static"
DENIALS_LOGGED = 30
"""Per minute."""
NO_PAGE = ("no such page", "an address of this study", "check the address", "not-found")
WRONG_METHOD = ("an unexpected method", "a request as the pages send it", "check the address", "wrong-method")


class Files(StaticFiles):
    """Scripts and style sheets; browsers ask each time, and the file is sent only if it has changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        reply = await super().get_response(path, scope)
        reply.headers["Cache-Control"] = "no-cache"
        return reply


def routes() -> list[Route | Mount]:
    """Every route. `/s/{token}` belongs to the participant with that token, `/studio` to the researcher; the others
    are public."""
    participant = "/s/{token:str}"
    return [
        # `AnswerEndpoint` handles POST to this path before the router; this entry is for other methods.
        Route(f"{participant}/api/answers", answer_api.unreachable, methods=["POST"]),
        *(Route(f"{participant}/api/{name}", answer_api.step(name), methods=["POST"]) for name in answer_api.STEPS),
        Route(f"{participant}/api/comprehension", answer_api.comprehension, methods=["POST"]),
        Route(f"{participant}/pictures/{{trial:str}}/{{n:str}}", pages.picture),
        Route(f"{participant}/examples/{{index:str}}", pages.example),
        Route(participant, pages.study),
        Route("/studio", dashboard_routes.page),
        Route("/studio/enter/{key:str}", dashboard_login.show_link),
        Route("/studio/enter/{key:str}", dashboard_login.enter, methods=["POST"]),
        Route("/studio/login", dashboard_login.login, methods=["POST"]),
        Route("/studio/logout", dashboard_login.logout, methods=["POST"]),
        Route("/studio/state", dashboard_routes.state),
        Route("/studio/events", dashboard_routes.events),
        Route("/studio/pictures/{number:str}", dashboard_routes.picture),
        Route("/studio/pause", dashboard_routes.pause_handler(True), methods=["POST"]),
        Route("/studio/resume", dashboard_routes.pause_handler(False), methods=["POST"]),
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


def application(
    site: ServedStudy,
    hosts: Collection[str] = (),
    limits: ServerLimits | None = None,
    refusals: RefusalCounts | None = None,
) -> RequestGuard:
    """The ASGI application that serves `site` under the names `hosts` (empty: any name). Without `limits` there are no
    rate limits, as simulated annotators need."""
    app = Starlette(
        routes=routes(),
        exception_handlers={
            HTTPException: _http_error,
            ClientDisconnect: _client_left,
            SfumatoError: _error,
            sa.exc.OperationalError: _error,
            Exception: _error,
        },
    )
    app.state.site, app.state.limits = site, limits or ServerLimits()
    app.state.denials = SlidingWindow("denials", DENIALS_LOGGED)
    app.state.refused_arrivals = SlidingWindow("refused arrivals", 1)
    # A redirect to the address with or without a slash would repeat the host name of the request.
    app.router.redirect_slashes = False
    # The guard is outermost, so that replies to internal errors carry its headers too.
    return RequestGuard(
        answer_api.AnswerEndpoint(site, app, app.state.limits),
        hosts,
        site.platform.framed_by if site.platform else (),
        limits=limits,
        https=site.public,
        on_denial=partial(_log_denial, app),
        on_refusals=partial(site.dashboard.log_event, "somebody", "requests refused"),
        refusals=refusals,
    )


async def _log_denial(app: Starlette, scope: Scope, why: str) -> None:
    """Log that a request to the dashboard was denied, with a rate limit so that the log cannot fill the disk. Only the
    first two parts of the path are logged: they contain no key."""
    path = scope["path"]
    if not path.startswith("/studio"):
        return
    try:
        app.state.denials.count("")
    except TooMany:
        return
    about = {"why": why, "path": "/".join(path.split("/")[:3]), "address": (scope.get("client") or ["unknown"])[0]}
    await app.state.site.dashboard.log_event("somebody", "denied", about)


async def _http_error(request: Request, error: Exception) -> Response:
    """Unknown paths and methods: a page for browsers, JSON for programs."""
    assert isinstance(error, HTTPException)
    ours = NotThere(*(WRONG_METHOD if error.status_code == 405 else NO_PAGE))
    if "text/html" not in request.headers.get("accept", ""):
        reply: Response = error_response(ours, error.status_code)
    else:
        page = request.app.state.site.error_page(ours, error.status_code, pages.language_of(request))
        reply = html(page, error.status_code)
    reply.headers.update(error.headers or {})
    return reply


async def _client_left(_request: Request, _error: Exception) -> Response:
    """The client left before its body was complete: nobody reads the reply, and nothing is wrong here."""
    return Response(status_code=400)


async def _error(request: Request, error: Exception) -> Response:
    """Our own errors, a store that cannot be read, and unexpected errors."""
    if isinstance(error, NotLoggedIn):
        await _log_denial(request.app, request.scope, "not entered")
    if isinstance(error, sa.exc.OperationalError):
        error = StoreDown("", "a store that can be read", "try again in a moment", "store-down")
    return pages.error_page_or_json(request, error if isinstance(error, SfumatoError) else InternalError(error))
