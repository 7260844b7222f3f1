"""What an adaptive study saves by stopping early, as the researcher's page says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.store import queries

if TYPE_CHECKING:
    from sfumato.server.site import Site


def saved(site: Site) -> dict[str, Any]:
    """Plain values, ready to be sent. The guide is the writer's, so the writer is asked; it takes a moment at most."""
    guide = site.guide
    assert guide is not None
    savings = site.writer.run(lambda _work: guide.savings())
    with site.reader.connect() as connection:
        seconds = queries.mean_seconds(connection, site.number)
    return {
        "items": savings.n_items,
        "finished": savings.n_finished,
        "answers": savings.n_answers,
        "most": savings.n_most,
        "saved": savings.n_saved,
        "saved_share": savings.n_saved / savings.n_most if savings.n_most else 0.0,
        "saved_hours": savings.n_saved * seconds / 3600,
        "on_average": savings.n_on_average,
        "error": savings.error,
        "index": site.study.adaptive.index,
        "target": site.study.adaptive.target,
    }
