"""Serving a study: open the store, start the writer, listen."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import socket
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from sfumato.elicitation.items import read_items
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.recruitment.arrival import redirect_for
from sfumato.server.app import application
from sfumato.server.http_protocol import StrictHttpProtocol
from sfumato.server.rate_limit import ServerLimits
from sfumato.server.site import Site
from sfumato.store.database import is_store, make_private, only_server, reading_engine, writing_engine
from sfumato.store.location import StoreLocation, default_location
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Item
from sfumato.study.study import Assignment, Study
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.labeling.checks import RegionCheckJudge
    from sfumato.planning.adaptive_assignment import AdaptiveSelector

GARBAGE_AFTER = 20_000
"""New objects after which Python looks for garbage."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@contextlib.contextmanager
def opened(
    study: Study,
    store: str | Path | None = None,
    items: Sequence[Item] = (),
    *,
    public: bool = False,
    rng: random.Random | None = None,
    chance: SecureRandom | None = None,
) -> Iterator[Site]:
    """The study ready to be served: store open, items known, writer at work. Everything is closed in the end.

    `items` are the study's, where they have been read already. `public` says that others may reach it, by https. `rng`
    and `chance` are for studies that only simulated people take: what items are dealt out by, and what names are drawn
    by.
    """
    place = StoreLocation.of(store or default_location(study))
    kinds = kinds_of(study)
    items = items or read_items(study.items, study.class_names)
    guide = _guide(study)
    stimuli = kinds[0].stimuli(items, study)
    running_study = RunningStudy(
        study,
        kinds,
        stimuli,
        guide,
        check_judge=_judge(study),
        rng=rng or SecureRandom(),
        secure_random=chance or SecureRandom(),
        redirect_for=redirect_for if study.recruiting else None,
    )
    with contextlib.ExitStack() as stack:
        if place.file is not None and not is_store(place):
            make_private(place.file)
        stack.enter_context(only_server(place))
        writer = Writer(writing_engine(place), running_study)
        stack.callback(writer.stop)
        writer.start()
        reader = reading_engine(place)
        stack.callback(reader.dispose)
        known = {item.id: item for item in items}
        site = Site(
            study, kinds, known, writer, reader, place, running_study.number, guide, public, running_study.clock
        )
        stack.callback(site.desk.close)
        yield site


def _guide(study: Study) -> AdaptiveSelector | None:
    """Who says what to ask next, where that is not the item with the fewest answers."""
    if study.people.assignment is not Assignment.ADAPTIVE:
        return None
    # NumPy and the planning are loaded for such studies alone.
    from sfumato.planning.adaptive_assignment import AdaptiveSelector

    return AdaptiveSelector(study)


def _judge(study: Study) -> RegionCheckJudge | None:
    """Who says whether a check or a practice item was passed, where there is any to say it of."""
    if not study.checks and all(each.region is None for each in study.practice):
        return None
    from sfumato.labeling.checks import RegionCheckJudge

    return RegionCheckJudge(study)


def listening(host: str, port: int) -> socket.socket:
    """A socket that people can reach us at; port 0 takes any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, so that asyncio sends replies at once instead of gathering small ones (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadSetting(
            f"found that {host}:{port} cannot be used ({getattr(error, 'strerror', None) or error})",
            expected="a free port of this machine",
            fix="choose another with --port, or --port 0 for any free one",
            code="port-in-use",
        ) from error
    return listener


def server_of(
    site: Site, hosts: Collection[str], limits: ServerLimits | None = None, proxies: Sequence[str] = ()
) -> uvicorn.Server:
    """The server, not yet running. What `proxies` say of where a request came from is believed, and nobody else."""
    config = uvicorn.Config(
        application(site, hosts, limits),
        http=StrictHttpProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        lifespan="off",
    )
    return _Server(config, site)


class _Server(uvicorn.Server):
    """Ends the streams of the researcher's page when it stops, instead of waiting for people to close it."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.desk.feed.stop()
        await super().shutdown(sockets)


def serve(
    site: Site,
    listener: socket.socket,
    hosts: Collection[str] = LOOPBACK,
    limits: ServerLimits | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Answer requests until the process is told to stop; what was acknowledged is safe whenever that is."""
    site.desk.feed.keep_aside()
    # What is here now stays to the end: looking through it again and again for garbage would only make people wait.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    server_of(site, hosts, limits, proxies).run([listener])


@contextlib.contextmanager
def running(study: Study, store: str | Path | None = None, items: Sequence[Item] = ()) -> Iterator[str]:
    """The study opened, and answering on a free port of the loopback; yields its address."""
    with opened(study, store, items) as site, answering(site) as address:
        yield address


@contextlib.contextmanager
def answering(site: Site) -> Iterator[str]:
    """The site served on a free port of the loopback, from a thread of this process; yields its address."""
    with contextlib.closing(listening("127.0.0.1", 0)) as listener:
        server = server_of(site, LOOPBACK)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), name="server", daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
