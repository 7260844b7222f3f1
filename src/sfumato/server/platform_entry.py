"""Entry for participants from a platform: redirects them to their own link and checks them with the platform.

Their platform id is in the URL they come from and in the store, and in no other URL, page or log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.elicitation.page_messages import SessionStart
from sfumato.elicitation.session import no_such_link
from sfumato.recruitment.arrival import admit, check_arrival, is_entry_key, store_check, unchecked_arrivals
from sfumato.recruitment.platform import Platform
from sfumato.recruitment.platform_api import PlatformClient
from sfumato.server.http_responses import NO_STORE, html
from sfumato.server.pages import language_of, too_many
from sfumato.server.rate_limit import TooMany
from sfumato.server.served_study import ServedStudy
from sfumato.tables.errors import NotThere, SfumatoError

MOST_QUERY = 2000
"""Longest query string that is read."""


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
        arrival = platform.arrival(_query(request))
        if arrival is None:
            study = site.config("", SessionStart(0, language))["study"]
            shown = {"instructions": study["instructions_html"], "pay": study["pay"], "bonus": study["bonus"]}
            return html(site.page("preview.html", language, **shown))
        request.app.state.limits.count_arrival(request)
        token = await site.writer.ask(lambda running: admit(running, platform, key, arrival, language))
    except TooMany as error:
        return too_many(request, error)
    except NotThere as error:
        return html(site.error_page(error, 404, language), 404)
    client = platform.client(os.environ) if platform.checks_at_entry else None
    check = BackgroundTask(_check, site, platform, client, token) if client else None
    return RedirectResponse(f"/s/{token}", 303, NO_STORE, background=check)


def _query(request: Request) -> Mapping[str, str]:
    """The query without repeated names, which no platform sends."""
    pairs = request.query_params.multi_items() if len(request.scope["query_string"]) <= MOST_QUERY else []
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}


async def _check(site: ServedStudy, platform: Platform, client: PlatformClient, token: str) -> None:
    """Check a new participant with the platform; if it cannot be reached, reconciliation checks again."""
    for visit in await site.writer.ask(lambda running: unchecked_arrivals(running, platform, token)):
        try:
            result = await run_in_threadpool(check_arrival, client, visit)
        except SfumatoError:
            continue
        await site.writer.ask(lambda running, visit=visit, result=result: store_check(running, visit, result))  # type: ignore[misc]
