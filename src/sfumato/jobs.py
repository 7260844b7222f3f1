"""A Ray cluster: the one this program is connected to, one at an address, or one of this machine for a while.

Ray is imported only here and where its workers run: a local cluster has settings to make before it is.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from tempfile import TemporaryDirectory

from sfumato.tables.errors import BadSetting, MissingExtra, show

CONNECTION_SECONDS = 10.0


def need_ray() -> None:
    """An error unless Ray is installed."""
    if find_spec("ray") is None:
        raise MissingExtra(
            "found no ray",
            expected="ray, for --engine ray",
            fix='pip install "sfumato[scale]", or use the local engine',
            code="missing-extra",
        )


def cluster(n_cpus: int, address: str | None = None) -> AbstractContextManager[None]:
    """The cluster this program is connected to, else that at `address` (or `$RAY_ADDRESS`; its machines need sfumato
    too), else one of this machine until the end of the block."""
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        return nullcontext()
    address = address or os.environ.get("RAY_ADDRESS")
    return connection(address) if address else local_cluster(n_cpus)


@contextmanager
def local_cluster(n_cpus: int, store_bytes: int | None = None) -> Iterator[None]:
    """A cluster of this machine alone, gone with all its files at the end; whatever needs one within uses it.

    It listens on the loopback interface, asks for a secret that only this program and its workers know, and reports
    to nobody. `store_bytes` limits the memory that workers share (Ray's own limit: 30% of the machine's).
    """
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        # What Ray does on laptops: servers listen on 127.0.0.1, and not on every interface.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # Else Ray leaves a secret behind in the home folder.
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }.items():
        os.environ.setdefault(name, value)
    import ray

    # Paths of sockets may not be long, which folders for temporary files can be.
    short = "/tmp" if os.path.isdir("/tmp") else None
    with TemporaryDirectory(prefix="sfumato-", dir=short, ignore_cleanup_errors=True) as place:
        ray.init(
            address="local",
            num_cpus=n_cpus,
            num_gpus=0,
            object_store_memory=store_bytes,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address="127.0.0.1",
            _temp_dir=place,
        )
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def connection(address: str) -> Iterator[None]:
    """The cluster at an address."""
    import ray

    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():
            # Ray itself would try for minutes.
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError) as error:
        raise BadSetting(
            f"found no Ray cluster at {show(address)}",
            expected="the address of a running cluster",
            fix="start one with ray start --head, or leave the address (and RAY_ADDRESS) out",
            code="no-cluster",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def check_cpus(n_workers: int) -> None:
    """Raise if the cluster can never run `n_workers` processes at once; they would wait for ever."""
    import ray

    n_cpus = int(ray.cluster_resources().get("CPU", 0))
    if n_cpus < n_workers:
        raise BadSetting(
            f"found a Ray cluster of {n_cpus} CPUs for {n_workers} workers",
            expected="a CPU a worker",
            fix="use fewer workers, or a larger cluster",
            code="bad-setting",
        )
