"""Starts and runs the study server: opens the store, starts the writer, listens."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import socket
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from sfumato.elicitation.clock import Clock, FastClock
from sfumato.elicitation.items import read_items
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.recruitment.arrival import redirect_for
from sfumato.server.app import application
from sfumato.server.connection_limits import ConnectionTable, raise_file_limit
from sfumato.server.rate_limit import ServerLimits
from sfumato.server.request_guard import RequestGuard
from sfumato.server.sanitized_log import LOGGING
from sfumato.server.served_study import ServedStudy
from sfumato.server.uvicorn_protocol import KEEP_ALIVE_SECONDS, StrictHttpProtocol
from sfumato.store.database import is_store, make_private, only_server, reading_engine, writing_engine
from sfumato.store.location import StoreLocation, default_location
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Item
from sfumato.study.study import Assignment, Study
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.labeling.attention_checks import RegionCheckJudge
    from sfumato.planning.adaptive_assignment import AdaptiveSelector

GARBAGE_THRESHOLD = 20_000
"""New objects after which Python collects garbage."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@contextlib.contextmanager
def open_site(
    study: Study,
    store: str | Path | None = None,
    items: Sequence[Item] = (),
    *,
    public: bool = False,
    rng: random.Random | None = None,
    secure_random: SecureRandom | None = None,
    clock: Clock | None = None,
    trusts_times: bool = True,
) -> Iterator[ServedStudy]:
    """The study ready to be served, with its store open and its writer running; everything is closed at the end.

    `items` are those of the study, if they were read already. `public` means that other machines reach it, over https.
    `rng` (assignment), `secure_random` (tokens and pseudonyms), `clock` and `trusts_times` (store the times that
    browsers claim) are for studies with simulated annotators only.
    """
    place = StoreLocation.of(store or default_location(study))
    kinds = kinds_of(study)
    items = items or read_items(study.items, study.class_names)
    selector = _selector(study)
    running = RunningStudy(
        study,
        kinds,
        kinds[0].stimuli(items, study),
        selector,
        check_judge=_judge(study),
        rng=rng or SecureRandom(),
        secure_random=secure_random or SecureRandom(),
        redirect_for=redirect_for if study.recruiting else None,
        clock=clock or Clock(),
        trusts_times=trusts_times,
    )
    with contextlib.ExitStack() as stack:
        if place.file is not None and not is_store(place):
            make_private(place.file)
        stack.enter_context(only_server(place))
        writer = Writer(writing_engine(place), running)
        stack.callback(writer.stop)
        writer.start()
        reader = reading_engine(place)
        stack.callback(reader.dispose)
        known = {item.id: item for item in items}
        site = ServedStudy(
            study, kinds, known, writer, reader, place, running.number, selector, public, running.clock, running.stimuli
        )
        stack.callback(site.dashboard.close)
        stack.callback(site.pictures.close)
        yield site


def _selector(study: Study) -> AdaptiveSelector | None:
    if study.people.assignment is not Assignment.ADAPTIVE:
        return None
    # NumPy and planning are imported for adaptive studies only.
    from sfumato.planning.adaptive_assignment import AdaptiveSelector

    return AdaptiveSelector(study)


def _judge(study: Study) -> RegionCheckJudge | None:
    if not study.checks and all(each.region is None for each in study.practice):
        return None
    from sfumato.labeling.attention_checks import RegionCheckJudge

    return RegionCheckJudge(study)


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With IPPROTO_TCP, asyncio sets TCP_NODELAY and small replies are sent at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        found = f"that {host}:{port} cannot be used ({getattr(error, 'strerror', None) or error})"
        fix = "choose another with --port, or --port 0 for any free port"
        raise BadSetting(found, "a free port of this machine", fix, "port-in-use") from error
    return listener


def create_server(
    site: ServedStudy, hosts: Collection[str], limits: ServerLimits | None = None, proxies: Sequence[str] = ()
) -> uvicorn.Server:
    """The server, not yet running. With `proxies`, only they may connect, and they report the clients' addresses."""
    guard = application(site, hosts, replace(limits or ServerLimits(), proxies=tuple(proxies)))
    config = uvicorn.Config(
        guard,
        # uvicorn calls it with the arguments of a protocol class.
        http=partial(StrictHttpProtocol, table=ConnectionTable(proxies)),  # type: ignore[arg-type]
        ws="none",
        log_level="warning",
        log_config=LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=round(KEEP_ALIVE_SECONDS),
        timeout_graceful_shutdown=10,
        lifespan="off",
    )
    return _Server(config, site, guard)


class _Server(uvicorn.Server):
    """Ends the dashboard's streams at shutdown instead of waiting for browsers to close them."""

    def __init__(self, config: uvicorn.Config, site: ServedStudy, guard: RequestGuard) -> None:
        super().__init__(config)
        self._site, self._guard = site, guard

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.dashboard.feed.stop()
        await super().shutdown(sockets)
        await self._guard.log_refusals()


def serve(
    site: ServedStudy,
    listener: socket.socket,
    hosts: Collection[str] = LOOPBACK,
    limits: ServerLimits | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Answer requests until the process is stopped; every acknowledged answer is stored at any time."""
    raise_file_limit()
    site.dashboard.feed.use_process()
    site.pictures.start(site.stimuli)
    # Objects that exist now stay until the end: exclude them from garbage collection, which would delay replies.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    create_server(site, hosts, limits, proxies).run([listener])


@contextlib.contextmanager
def serve_study(
    study: Study, store: str | Path | None = None, items: Sequence[Item] = (), *, pace: float = 0.0
) -> Iterator[str]:
    """Open the study and serve it on a free port of the loopback interface, for simulated annotators who wait `pace`
    times as long as they claim (0: not at all); yields its address."""
    clock = FastClock(1 / pace) if pace else None
    with open_site(study, store, items, clock=clock, trusts_times=not pace) as site, serve_site(site) as address:
        yield address


@contextlib.contextmanager
def serve_site(site: ServedStudy) -> Iterator[str]:
    """Serve the site from a thread of this process, on a free port of the loopback interface; yields its address."""
    with contextlib.closing(bind_socket("127.0.0.1", 0)) as listener:
        server = create_server(site, LOOPBACK)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), name="server", daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
