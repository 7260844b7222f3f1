"""The researcher's page: how far the study is, and in an adaptive one what was saved. Behind a key of its own."""

from __future__ import annotations

import hmac
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.elicit import store
from sfumato.errors import NotThere
from sfumato.web.replies import Json
from sfumato.web.site import Site


async def page(request: Request) -> Response:
    site = _researchers(request)
    html = site.page("studio.html", state=await _state(site), base=f"/studio/{site.studio_key}")
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


async def state(request: Request) -> Response:
    return Json(await _state(_researchers(request)))


def _researchers(request: Request) -> Site:
    """The site, for who has its key; for others there is no such page."""
    site: Site = request.app.state.site
    if not hmac.compare_digest(request.path_params["key"].encode(), site.studio_key.encode()):
        raise NotThere(
            "found no such page", expected="an address of this study", fix="check the address", code="not-found"
        )
    return site


async def _state(site: Site) -> dict[str, Any]:
    """Numbers of people and answers; with a guide, what stopping early saves."""
    counted = await run_in_threadpool(_counts, site)
    guide = site.guide
    if guide is None:
        return counted
    savings = await site.writer.ask(lambda _work: guide.savings())
    seconds = counted["seconds"]
    return counted | {
        "adaptive": {
            "items": savings.n_items,
            "finished": savings.n_finished,
            "most": savings.n_most,
            "saved": savings.n_saved,
            "saved_share": savings.n_saved / savings.n_most if savings.n_most else 0.0,
            "saved_hours": savings.n_saved * seconds / 3600,
            "on_average": savings.n_on_average,
            "error": savings.error,
            "index": site.study.adaptive.index,
            "target": site.study.adaptive.target,
            "answers_of_items": savings.answers_of_items,
        }
    }


def _counts(site: Site) -> dict[str, Any]:
    with site.reader.connect() as connection:
        counted = store.counts(connection, site.number)
        return counted | {"seconds": store.mean_seconds(connection, site.number)}
