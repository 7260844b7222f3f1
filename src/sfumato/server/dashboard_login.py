"""Coming in as the researcher, and going: the link that works once, the password, the way out."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.server.answer_api import NOTHING, body_of, decoded
from sfumato.server.passwords import LONGEST, is_password
from sfumato.server.rate_limit import TooMany
from sfumato.server.researcher_sessions import WHOLE_SECONDS, NotLoggedIn
from sfumato.server.responses import Json, refusal
from sfumato.server.site import Site
from sfumato.store import researcher_queries
from sfumato.tables.errors import NotThere, SfumatoError

ACCOUNT = "researcher"
"""The one there is."""


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password, as typed."""

    password: Annotated[str, msgspec.Meta(max_length=LONGEST)]


LOGIN = msgspec.json.Decoder(Login)


async def enter(request: Request) -> Response:
    """Come in by the link that was printed. Whoever comes by way of another site is asked to press once more: browsers
    would keep the cookie back, and programs that look at links beforehand would use it up."""
    site: Site = request.app.state.site
    desk, key = site.desk, request.path_params["key"]
    came_by = request.headers.get("sec-fetch-site", "none")
    if request.method == "HEAD" or came_by not in ("none", "same-origin") or "sec-purpose" in request.headers:
        return _html(site.page("dashboard_enter.html", "en", path=f"/studio/enter/{key}"))
    try:
        desk.tries_of_address.count(_address(request))
    except TooMany as error:
        reply = _told(site, error, 429)
        reply.headers["Retry-After"] = str(error.seconds)
        return reply
    if not desk.sessions.redeem(key):
        await desk.note("somebody", "link refused", {"address": _address(request)})
        return _told(site, _used_up(), 404)
    reply = RedirectResponse("/studio", 303, {"Cache-Control": "no-store"})
    await _come_in(request, reply, "link")
    desk.say_link(desk.new_link())
    return reply


async def login(request: Request) -> Response:
    """Come in by the password. Whatever is wrong, the reply is the same, and takes as long."""
    site: Site = request.app.state.site
    desk = site.desk
    given = decoded(LOGIN, await body_of(request))
    desk.tries_of_address.count(_address(request))
    desk.tries.count(ACCOUNT)

    def is_right() -> bool:
        with site.reader.connect() as connection:
            kept = researcher_queries.password_of(connection, site.number)
        return is_password(given.password, kept)

    if not await run_in_threadpool(is_right):
        await desk.note("somebody", "login refused", {"address": _address(request)})
        return refusal(NotLoggedIn("found no match", expected="the password", fix="try again"))
    reply = Json({})
    await _come_in(request, reply, "password")
    return reply


async def logout(request: Request) -> Response:
    """Go: the session ends, whatever the browser keeps."""
    site: Site = request.app.state.site
    desk = site.desk
    decoded(NOTHING, await body_of(request))
    session = desk.researcher(request)
    desk.sessions.close(request.cookies.get(desk.cookie))
    await desk.note(session.who, "logged out")
    reply = Json({})
    _set_cookie(site, reply, "", 0)
    return reply


async def door(site: Site) -> Response:
    """What there is to see for who has not come in."""

    def has_password() -> bool:
        with site.reader.connect() as connection:
            return researcher_queries.password_of(connection, site.number) is not None

    return _html(site.page("dashboard_login.html", "en", has_password=await run_in_threadpool(has_password)), 401)


async def _come_in(request: Request, reply: Response, by: str) -> None:
    site: Site = request.app.state.site
    token = site.desk.sessions.open(by, instead_of=request.cookies.get(site.desk.cookie))
    _set_cookie(site, reply, token, WHOLE_SECONDS)
    await site.desk.note(f"researcher, by {by}", "logged in", {"address": _address(request)})


def _set_cookie(site: Site, reply: Response, value: str, seconds: int) -> None:
    reply.set_cookie(
        site.desk.cookie, value, max_age=seconds, path="/", secure=site.public, httponly=True, samesite="strict"
    )


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _used_up() -> NotThere:
    return NotThere(
        "found a link that does not work, or works no more",
        expected="the link that the server printed last",
        fix="look at the terminal where the server runs: after each use it prints a new link",
        code="unknown-link",
    )


def _told(site: Site, error: SfumatoError, status: int) -> Response:
    """An error as a page, in the words it has: what annotators read in their language is of no use here."""
    message, fix = (f"{text[0].upper()}{text[1:]}." for text in (error.found.removeprefix("found "), error.fix))
    return _html(site.page("error.html", "en", status=status, message=message, fix=fix), status)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, {"Cache-Control": "no-store"})
