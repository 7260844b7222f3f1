"""Which connections the server keeps: at most so many in total and from one network, and with a proxy only its own.

Above a limit, the connection that has waited longest for a request makes room for the new one. If every connection is
being served, the new one is refused. Some file descriptors always stay free for the store and for files.
"""

from __future__ import annotations

import contextlib
import ipaddress
import resource
from collections.abc import Sequence
from typing import Protocol

from sfumato.server.rate_limit import is_loopback, network_of, parsed_address

MAX_CONNECTIONS = 4096
RESERVED_FILES = 100
"""File descriptors that connections never use."""
NETWORK_SHARE = 4
"""One network has at most one in four of the connections."""


class OpenConnection(Protocol):
    """A connection that can be closed at once."""

    def abort(self) -> None: ...


def raise_file_limit() -> None:
    """Allow this process as many open files as the system permits."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems refuse their own maximum; then the limit stays.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def connections_for(n_files: int) -> int:
    """How many connections a process with at most `n_files` open files keeps."""
    return min(MAX_CONNECTIONS, max(n_files - RESERVED_FILES, n_files // 2))


class ConnectionTable:
    """The open connections of a server. With `proxies` (addresses or networks), nobody else may connect."""

    def __init__(self, proxies: Sequence[str] = (), most: int | None = None) -> None:
        n_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = most or connections_for(n_files if n_files != resource.RLIM_INFINITY else MAX_CONNECTIONS * 2)
        self._proxies = [ipaddress.ip_network(each) for each in proxies]
        self._networks: dict[OpenConnection, str] = {}
        self._members: dict[str, dict[OpenConnection, None]] = {}
        self._waiting: dict[OpenConnection, None] = {}
        """Connections without a complete request, in the order in which they began to wait."""

    def admit(self, connection: OpenConnection, address: str) -> int:
        """Add a connection that waits for its first request; returns 0, or the status with which it is refused."""
        if self._proxies and not self._is_proxy(address):
            return 403
        # The proxy limits its clients itself, and the loopback interface is a trial run.
        network = "" if self._proxies or is_loopback(address) else network_of(address)
        members = self._members.get(network, {})
        if network and len(members) >= max(1, self._most // NETWORK_SHARE):
            oldest = next((each for each in members if each in self._waiting), None)
        elif len(self._networks) >= self._most:
            oldest = next(iter(self._waiting), None)
        else:
            oldest = connection
        if oldest is None:
            return 503
        if oldest is not connection:
            self.remove(oldest)
            oldest.abort()
        self._networks[connection] = network
        self._members.setdefault(network, {})[connection] = None
        self._waiting[connection] = None
        return 0

    def remove(self, connection: OpenConnection) -> None:
        """A connection has ended."""
        network = self._networks.pop(connection, None)
        self._waiting.pop(connection, None)
        if network is not None:
            members = self._members[network]
            members.pop(connection, None)
            if not members:
                del self._members[network]

    def serve(self, connection: OpenConnection) -> None:
        """A connection has sent a complete request."""
        self._waiting.pop(connection, None)

    def wait(self, connection: OpenConnection) -> None:
        """A connection waits for its next request."""
        if connection in self._networks:
            self._waiting[connection] = None

    def __len__(self) -> int:
        return len(self._networks)

    def _is_proxy(self, address: str) -> bool:
        known = parsed_address(address)
        return known is not None and any(known in network for network in self._proxies)
