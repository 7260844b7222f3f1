"""Entry for participants from a platform: confirms them, and redirects them to their own link.

Their platform id is in the URL they come from and in the store, and in no other URL, page or log. The browser of the
first visit keeps a key to the link in a cookie, because anyone can type somebody else's id. Scripts cannot read it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.elicitation.page_messages import SessionStart
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import StudyClosed, no_such_link
from sfumato.recruitment.arrival import (
    Admission,
    OtherStudy,
    admit,
    check_arrival,
    is_entry_key,
    person_hash,
    store_check,
    unchecked_arrivals,
)
from sfumato.recruitment.platform import Arrival, Platform
from sfumato.recruitment.platform_api import PlatformClient
from sfumato.recruitment.signed_arrival import not_signed
from sfumato.server.http_responses import LOG, NO_STORE, html
from sfumato.server.pages import ENTRY_COOKIE, closed_notice, closed_page, is_look_ahead, language_of, too_many
from sfumato.server.rate_limit import TooMany
from sfumato.server.served_study import ServedStudy
from sfumato.tables.errors import NotNow, NotThere, SfumatoError

MOST_QUERY = 4000
"""Longest query string that is read; a signature takes about 1,500 characters."""
COOKIE_SECONDS = 365 * 24 * 3600


async def arrive(request: Request) -> Response:
    """Redirect a participant from a platform to their own link; a preview shows the instructions and stores nothing."""
    site: ServedStudy = request.app.state.site
    language = language_of(request)
    try:
        platform, key = site.platform, request.path_params["key"]
        if platform is None or platform.name != request.path_params["platform"]:
            raise no_such_link()
        if not await site.writer.ask(lambda running: is_entry_key(running, platform, key)):
            raise no_such_link()
        query = _query(request)
        arrival = platform.arrival(query)
        if arrival is None:
            return await _preview(site, language)
        if is_look_ahead(request):
            # A browser or a program that only looks: nobody has come yet.
            return Response(status_code=204, headers=NO_STORE)
        request.app.state.limits.count_arrival(request)
        signed = _is_signed(site, platform, arrival, query, request.scope["path"])
        client = platform.client(os.environ) if platform.checks_at_entry and not signed else None
        cookies, checks = request.cookies, client is not None

        def enter(running: RunningStudy) -> tuple[str, Admission]:
            name = _cookie_name(site, person_hash(running, platform, arrival))
            held = cookies.get(name)
            return name, admit(running, platform, key, arrival, held=held, signed=signed, checks=checks)

        name, admitted = await site.writer.ask(enter)
    except TooMany as error:
        return too_many(request, error)
    except NotThere as error:
        if isinstance(error, OtherStudy):
            await _log_other_study(request)
        return html(site.error_page(error, 404, language), 404)
    except StudyClosed as error:
        return _closed(request, platform, arrival, error)
    except NotNow as error:
        return html(site.error_page(error, 409, language), 409)
    check = BackgroundTask(_check, site, client, admitted.token) if client else None
    reply = RedirectResponse(f"/s/{admitted.token}", 303, NO_STORE, background=check)
    _keep_key(site, platform, reply, name, admitted.browser_key)
    return reply


async def _preview(site: ServedStudy, language: str) -> Response:
    reason = await site.writer.ask(lambda running: running.sessions.closed())
    closed = closed_notice(reason, language)
    study = site.config("", SessionStart(0, language))["study"]
    shown = {"instructions": study["instructions_html"], "pay": study["pay"], "bonus": study["bonus"]}
    return html(site.page("preview.html", language, closed=closed, **shown))


def _is_signed(site: ServedStudy, platform: Platform, arrival: Arrival, query: Mapping[str, str], path: str) -> bool:
    """Whether the platform signed the arrival; raises `NotThere` if it must have and did not."""
    if site.signature_keys is None:
        return False
    claims = site.signature_keys.claims(query.get(platform.signature, ""), site.clock.now() / 1000)
    if not platform.is_signed(claims, arrival, path):
        raise not_signed("a signature for another arrival")
    return True


async def _log_other_study(request: Request) -> None:
    """Tell the researcher, who may have a wrong id in the study file, with a rate limit and without the person's id."""
    try:
        request.app.state.refused_arrivals.count("")
    except TooMany:
        return
    why = "the study's id of the arrival differs from [platform] in the study file"
    LOG.warning("arrivals refused: %s", why)
    await request.app.state.site.dashboard.log_event("somebody", "arrival refused", {"why": why})


def _closed(request: Request, platform: Platform | None, arrival: Arrival | None, error: StudyClosed) -> Response:
    """The page of a study that is full or paused; a full one sends the person back to the platform."""
    assert platform is not None
    assert arrival is not None
    recruiting = request.app.state.site.study.recruiting
    code = recruiting.code_for("full") if error.reason == "full" else None
    return closed_page(request, error, platform.back(code, arrival) if code else None, platform.title)


def _cookie_name(site: ServedStudy, hashed: str) -> str:
    """One cookie per person, so that two people can share a browser; the name does not tell the platform id."""
    name = f"{ENTRY_COOKIE}{hashed[:16]}"
    return f"__Host-{name}" if site.public else name


def _keep_key(site: ServedStudy, platform: Platform, reply: Response, name: str, key: str) -> None:
    """Keep the key in the browser. In a platform's frame the cookie is a partitioned one of that platform's page."""
    in_frame = bool(platform.framed_by) and site.public
    options: dict[str, Any] = {"samesite": "none" if in_frame else "lax", "secure": site.public, "httponly": True}
    reply.set_cookie(name, key, max_age=COOKIE_SECONDS, path="/", **options)
    if in_frame:
        # Browsers that block cookies of other sites accept these; Python's cookies know the word from 3.14 on.
        reply.headers["set-cookie"] += "; Partitioned"


def _query(request: Request) -> Mapping[str, str]:
    """The query without repeated names, which no platform sends."""
    pairs = request.query_params.multi_items() if len(request.scope["query_string"]) <= MOST_QUERY else []
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}


async def _check(site: ServedStudy, client: PlatformClient, token: str) -> None:
    """Check a new participant with the platform; if it cannot be reached, reconciliation checks again."""
    for visit in await site.writer.ask(lambda running: unchecked_arrivals(running, token)):
        try:
            result = await run_in_threadpool(check_arrival, client, visit)
        except SfumatoError:
            continue
        await site.writer.ask(lambda running, visit=visit, result=result: store_check(running, visit, result))  # type: ignore[misc]
