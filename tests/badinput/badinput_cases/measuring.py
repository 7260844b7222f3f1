"""Runs a command and prints what it cost, as JSON: a program of its own, `measuring.py SECONDS OUT ERR COMMAND...`.

A child starts with the peak memory of its parent, so the parent must be small: this one, not the test session.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time


def main(limit_seconds: float, out: str, err: str, command: list[str]) -> None:
    started = time.monotonic()
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    killer = threading.Timer(limit_seconds, child.kill)
    killer.start()
    _, status, usage = os.wait4(child.pid, 0)
    killer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    cost = {
        "exit_code": child.returncode,
        "wall_seconds": time.monotonic() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
