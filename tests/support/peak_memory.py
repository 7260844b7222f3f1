"""Measures the peak memory of a command."""

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
    """Run a command, which must succeed; returns its peak memory.

    A small process starts the command, because the peak memory of a child includes that of its parent at the start.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(done.stdout) * 1024
