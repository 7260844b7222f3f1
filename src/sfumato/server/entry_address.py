"""The address that people from a platform come by, to be given to the platform alone."""

from __future__ import annotations

from pathlib import Path

from sfumato.recruitment import platform_of
from sfumato.recruitment.arrival import entry_key
from sfumato.server.server import opened
from sfumato.store.database import is_store, reading_engine
from sfumato.store.location import StoreLocation, default_location
from sfumato.store.queries import secret_of
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, ErrorLocation


def entry_address(study: Study, address: str, store: str | Path | None = None) -> str:
    """What to enter as the study's address on its platform, with the platform's own placeholders for ids.

    `address` is where people reach the server. The study need not be served for it, and may be.
    """
    platform = platform_of(study)
    if platform is None:
        raise BadSetting(
            "found a study without [platform]",
            expected="the platform people come from",
            fix="add [platform] to the study file; for people without one, sfumato study links makes links",
            code="no-platform",
            where=ErrorLocation(str(study.path) if study.path else None),
        )
    place = StoreLocation.of(store or default_location(study))
    secret = _secret(study, place)
    if secret is None:
        # Nobody has served it yet: opening it once makes the store know it.
        with opened(study, store) as site:
            secret = site.writer.run(lambda work: work.secret)
    door = f"{address.rstrip('/')}/from/{platform.name}/{entry_key(secret, platform.name)}"
    return f"{door}?{platform.asks}" if platform.asks else door


def _secret(study: Study, place: StoreLocation) -> str | None:
    if not is_store(place):
        return None
    engine = reading_engine(place)
    try:
        with engine.connect() as connection:
            return secret_of(connection, study.name)
    finally:
        engine.dispose()
