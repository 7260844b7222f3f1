"""The most memory that a command takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def most_bytes(command: Sequence[object]) -> int:
    """Run a command, which must succeed; returns the most memory it had at once.

    By way of a small process: what a child needs at most begins with what its parent had when it was begun.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(done.stdout) * 1024
