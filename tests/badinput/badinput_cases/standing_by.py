"""Runs commands and says what each cost: a program of its own, that has loaded `sfumato` already.

Every command gets a process of its own, forked from this one: as good as a new one, without the second it takes to
load everything. One request a line on stdin, one reply a line on stdout, both JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import traceback
from typing import Any

LOADED = (
    "alembic.command",
    "encodings.utf_8_sig",
    "numpy",
    "pandas",
    "polars",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "sfumato.aggregation",
    "sfumato.api_arguments",
    "sfumato.tables.annotations",
    "sfumato.tables.beliefs",
    "sfumato.cli.aggregate",
    "sfumato.cli.doubt",
    "sfumato.cli.export",
    "sfumato.cli.import_",
    "sfumato.cli.label",
    "sfumato.cli.simulate",
    "sfumato.cli.study",
    "sfumato.cli.transform",
    "sfumato.elicitation.study_check",
    "sfumato.importers",
    "sfumato.labeling",
    "sfumato.server.server",
    "sfumato.tables.soft_labels",
    "sfumato.study.study_file",
    "sfumato.labeling.transforms",
)
"""Only loaded, never used: no thread may run in a process that forks. Pyarrow imports pandas with its first array."""


def main() -> None:
    for name in LOADED:
        __import__(name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_carried_out(json.loads(line))), flush=True)


def _carried_out(request: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(request)
    killer = threading.Timer(request["seconds"], os.kill, (child, 9))
    killer.start()
    _, status, usage = os.wait4(child, 0)
    killer.cancel()
    killer.join()
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "wall_seconds": time.monotonic() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def _become(request: dict[str, Any]) -> None:
    """Be the command: in its folder, with nothing to read, writing to its files; never comes back."""
    code: Any = 1
    try:
        os.chdir(request["folder"])
        for number, path, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            opened = os.open(path, flags)
            os.dup2(opened, number)
            os.close(opened)
        from sfumato.cli import main as command

        sys.argv = ["sfumato", *request["arguments"]]
        command()
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    main()
