"""The door for people a platform sends: lets them in under the link that is theirs, and asks the platform about them.

Their id is in the address they come by and in the store, and nowhere else: not in the address they are sent on to, not
in any page or log.

The address that people from a platform come by, to be given to the platform alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.elicitation.participant_state import SessionStart
from sfumato.elicitation.session import no_such_link
from sfumato.recruitment.arrival import admit, check_arrival, is_entry_key, store_check, unchecked_arrivals
from sfumato.recruitment.platform import Platform
from sfumato.recruitment.platform_api import PlatformClient
from sfumato.server.pages import language_of, too_many
from sfumato.server.rate_limit import TooMany
from sfumato.server.site import Site
from sfumato.tables.errors import NotThere, SfumatoError

MOST_QUERY = 2000
"""Characters of a query that are read."""
NO_STORE = {"Cache-Control": "no-store"}


async def arrive(request: Request) -> Response:
    """Send somebody from a platform on to their own address; a preview shows what it is about, and takes nothing."""
    site: Site = request.app.state.site
    language = language_of(request)
    try:
        platform = _platform(site, request.path_params["platform"])
        key = request.path_params["key"]
        if not await site.writer.ask(lambda running: is_entry_key(running, platform, key)):
            raise no_such_link()
        arrival = platform.arrival(_query(request))
        if arrival is None:
            return _preview(site, language)
        request.app.state.limits.count_arrival(request)
        token = await site.writer.ask(lambda running: admit(running, platform, key, arrival, language))
    except TooMany as error:
        return too_many(request, error)
    except NotThere as error:
        return HTMLResponse(site.error_page(error, 404, language), 404, NO_STORE)
    caller = platform.caller(os.environ) if platform.checks_at_entry else None
    ask = BackgroundTask(_ask, site, platform, caller, token) if caller else None
    return RedirectResponse(f"/s/{token}", 303, NO_STORE, background=ask)


def _platform(site: Site, name: str) -> Platform:
    if site.platform is None or site.platform.name != name:
        raise no_such_link()
    return site.platform


def _query(request: Request) -> Mapping[str, str]:
    """The query; a name that is there twice was put there by nobody we know."""
    pairs = request.query_params.multi_items() if len(request.scope["query_string"]) <= MOST_QUERY else []
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}


def _preview(site: Site, language: str) -> Response:
    study = site.config("", SessionStart(0, language))["study"]
    told = {name: study[name] for name in ("pay", "bonus")}
    page = site.page("preview.html", language, instructions=study["instructions_html"], **told)
    return HTMLResponse(page, headers=NO_STORE)


async def _ask(site: Site, platform: Platform, caller: PlatformClient, token: str) -> None:
    """Ask the platform about somebody who is new; where it cannot be reached, reconciling asks again."""
    for asked in await site.writer.ask(lambda running: unchecked_arrivals(running, platform, token)):
        try:
            said = await run_in_threadpool(check_arrival, caller, asked)
        except SfumatoError:
            continue
        await site.writer.ask(lambda running, asked=asked, said=said: store_check(running, asked, said))  # type: ignore[misc]
