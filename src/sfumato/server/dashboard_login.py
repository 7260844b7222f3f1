"""Login and logout of the researcher: by a link that works once, or by password."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.server.answer_api import NOTHING, decode, json_body
from sfumato.server.http_responses import NO_STORE, Json, client_address, error_response, html
from sfumato.server.passwords import LONGEST, is_password
from sfumato.server.rate_limit import TooMany
from sfumato.server.researcher_sessions import LONGEST_SECONDS, NotLoggedIn
from sfumato.server.served_study import ServedStudy
from sfumato.store import researcher_queries
from sfumato.tables.errors import NotThere

ACCOUNT = "researcher"
"""The only account."""


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password, as typed."""

    password: Annotated[str, msgspec.Meta(max_length=LONGEST)]


LOGIN = msgspec.json.Decoder(Login)


async def enter(request: Request) -> Response:
    """Log in by the printed link. If it was opened from another site, ask for a click: browsers would not send the
    cookie, and programs that preview links would use it up."""
    site: ServedStudy = request.app.state.site
    dashboard, key = site.dashboard, request.path_params["key"]
    origin = request.headers.get("sec-fetch-site", "none")
    if request.method == "HEAD" or origin not in ("none", "same-origin") or "sec-purpose" in request.headers:
        return html(site.page("dashboard_enter.html", "en", path=f"/studio/enter/{key}"))
    try:
        dashboard.address_attempts.count(client_address(request))
    except TooMany as error:
        return html(site.error_page(error, 429), 429, error.seconds)
    if not dashboard.sessions.redeem(key):
        await dashboard.log_event("somebody", "link refused", {"address": client_address(request)})
        found, expected = "a link that is not valid or has been used", "the link that the server printed last"
        fix = "look at the terminal of the server: after each use it prints a new link"
        return html(site.error_page(NotThere(found, expected, fix, "unknown-link"), 404), 404)
    reply = RedirectResponse("/studio", 303, NO_STORE)
    await _open_session(request, reply, "link")
    dashboard.on_new_link(dashboard.new_link())
    return reply


async def login(request: Request) -> Response:
    """Log in by password. Every failure gives the same reply and takes the same time."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    sent = decode(LOGIN, await json_body(request))
    dashboard.address_attempts.count(client_address(request))
    dashboard.password_attempts.count(ACCOUNT)
    if not await run_in_threadpool(lambda: is_password(sent.password, _stored_password(site))):
        await dashboard.log_event("somebody", "login refused", {"address": client_address(request)})
        return error_response(NotLoggedIn("no match", expected="the password", fix="try again"))
    reply = Json({})
    await _open_session(request, reply, "password")
    return reply


async def logout(request: Request) -> Response:
    """End the session on the server and delete the cookie."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    decode(NOTHING, await json_body(request))
    session = dashboard.session_of(request)
    dashboard.sessions.close(request.cookies.get(dashboard.cookie))
    await dashboard.log_event(session.who, "logged out")
    reply = Json({})
    _set_cookie(site, reply, "", 0)
    return reply


async def login_page(site: ServedStudy) -> Response:
    """The page for visitors without a session."""
    has_password = await run_in_threadpool(lambda: _stored_password(site) is not None)
    return html(site.page("dashboard_login.html", "en", has_password=has_password), 401)


def _stored_password(site: ServedStudy) -> str | None:
    with site.reader.connect() as connection:
        return researcher_queries.password_of(connection, site.number)


async def _open_session(request: Request, reply: Response, by: str) -> None:
    site: ServedStudy = request.app.state.site
    token = site.dashboard.sessions.open(by, replaces=request.cookies.get(site.dashboard.cookie))
    _set_cookie(site, reply, token, LONGEST_SECONDS)
    await site.dashboard.log_event(f"researcher, by {by}", "logged in", {"address": client_address(request)})


def _set_cookie(site: ServedStudy, reply: Response, value: str, seconds: int) -> None:
    reply.set_cookie(
        site.dashboard.cookie, value, max_age=seconds, path="/", secure=site.public, httponly=True, samesite="strict"
    )
