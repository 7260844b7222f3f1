"""Login and logout of the researcher: by a link that works once, or by password and second factor."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.elicitation import researcher_actions
from sfumato.server.answer_api import decode, json_body
from sfumato.server.http_responses import NO_STORE, Json, client_address, error_response, html
from sfumato.server.login_attempts import DAY, DEVICE_DAYS, KnownDevices
from sfumato.server.passwords import LONGEST, is_password
from sfumato.server.rate_limit import TooMany
from sfumato.server.researcher_sessions import LONGEST_SECONDS, NotLoggedIn
from sfumato.server.served_study import ServedStudy
from sfumato.store.credentials import Credentials
from sfumato.tables.errors import NotThere

LONGEST_CODE = 100


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password, as typed, and the code of the second factor if there is one."""

    password: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    code: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE)] = ""


class Logout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether all sessions end, on every device."""

    everywhere: bool = False


LOGIN, LOGOUT = msgspec.json.Decoder(Login), msgspec.json.Decoder(Logout)


async def show_link(request: Request) -> Response:
    """The page of a login link, the same for every link. Its button redeems the link: programs that preview links, and
    browsers that load pages in advance, do not press it."""
    site: ServedStudy = request.app.state.site
    return html(site.page("dashboard_enter.html", "en"))


async def enter(request: Request) -> Response:
    """Log in by a link. A right link is never refused because of others' attempts."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    if not await run_in_threadpool(dashboard.links.redeem, request.path_params["key"]):
        try:
            dashboard.attempts.count_wrong_link(client_address(request))
        except TooMany as error:
            return html(site.error_page(error, 429), 429, error.seconds)
        await _log_refusal(request, "link refused")
        found, expected = "a link that has expired, was used, or is not valid", "a login link of the last hour"
        fix = "make a new link on the server's machine: sfumato study login STUDY"
        return html(site.error_page(NotThere(found, expected, fix, "unknown-link"), 404), 404)
    reply = RedirectResponse("/studio", 303, NO_STORE)
    stored = await run_in_threadpool(dashboard.credentials)
    dashboard.sessions.set_credentials(stored.fingerprint)
    await _open_session(request, reply, "link")
    dashboard.on_new_link(dashboard.links.new())
    return reply


async def login(request: Request) -> Response:
    """Log in by password. Every failure gives the same reply and takes the same time."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    sent = decode(LOGIN, await json_body(request))
    # Nothing is read from the store for an attempt that is refused.
    device = _devices(site).find(request.cookies.get(dashboard.device_cookie))
    dashboard.attempts.count_password(device, client_address(request))
    stored = await run_in_threadpool(dashboard.credentials)
    dashboard.sessions.set_credentials(stored.fingerprint)
    check = dashboard.attempts.verify(lambda: is_password(sent.password, stored.password), known=device is not None)
    is_right = await check and _is_code(site, sent.code, stored)
    if is_right and stored.second_factor is not None:
        # Of several requests with the same code, only the first is accepted.
        is_right = await site.writer.ask(lambda running: researcher_actions.use_code(running, sent.code))
    if not is_right:
        await _log_refusal(request, "login refused")
        expected = "the password" if stored.second_factor is None else "the password and a code that was not used"
        return error_response(NotLoggedIn("no match", expected=expected, fix="try again"))
    reply = Json({})
    await _open_session(request, reply, "password")
    return reply


async def logout(request: Request) -> Response:
    """End the session on the server, or all sessions, and delete the cookie."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    sent = decode(LOGOUT, await json_body(request))
    session = dashboard.session_of(request)
    if sent.everywhere:
        dashboard.sessions.close_all()
    else:
        dashboard.sessions.close(request.cookies.get(dashboard.cookie))
    await dashboard.log_event(session.who, "logged out everywhere" if sent.everywhere else "logged out")
    reply = Json({})
    _set_cookie(site, reply, dashboard.cookie, "", 0)
    return reply


async def login_page(site: ServedStudy) -> Response:
    """The page for visitors without a session."""
    stored = await run_in_threadpool(site.dashboard.credentials)
    asked = {"has_password": stored.password is not None, "has_code": stored.second_factor is not None}
    return html(site.page("dashboard_login.html", "en", **asked), 401)


def _is_code(site: ServedStudy, code: str, stored: Credentials) -> bool:
    factor = stored.second_factor
    return factor is None or factor.after(code, site.clock.now() / 1000) is not None


def _devices(site: ServedStudy) -> KnownDevices:
    return KnownDevices(site.dashboard.secret, site.dashboard.sessions.credentials, lambda: site.clock.now() / 1000)


async def _log_refusal(request: Request, what: str) -> None:
    dashboard = request.app.state.site.dashboard
    if dashboard.attempts.is_logged():
        await dashboard.log_event("somebody", what, {"address": client_address(request)})


async def _open_session(request: Request, reply: Response, by: str) -> None:
    """Open a session with a new token, whatever token the browser sent, and make its device known."""
    site: ServedStudy = request.app.state.site
    dashboard = site.dashboard
    token = dashboard.sessions.open(by, replaces=request.cookies.get(dashboard.cookie))
    _set_cookie(site, reply, dashboard.cookie, token, LONGEST_SECONDS)
    device = _devices(site).new(replaces=request.cookies.get(dashboard.device_cookie))
    _set_cookie(site, reply, dashboard.device_cookie, device, DEVICE_DAYS * DAY)
    await dashboard.log_event(f"researcher, by {by}", "logged in", {"address": client_address(request)})


def _set_cookie(site: ServedStudy, reply: Response, name: str, value: str, seconds: int) -> None:
    reply.set_cookie(name, value, max_age=seconds, path="/", secure=site.public, httponly=True, samesite="strict")
