"""The server's log on standard error: each entry with its time in UTC, and of an exception its type and the places in
the code. Messages of exceptions are left out, because they may contain an answer, a token or an id.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any


class SanitizedFormatter(logging.Formatter):
    """Lines such as `2026-05-04T12:30:00.250+00:00 ERROR internal error 1f2e3d4c: KeyError`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        kind = ei[0].__name__ if ei[0] else "no exception"
        places = [f"  {each.filename}:{each.lineno} in {each.name}" for each in traceback.extract_tb(ei[2])]
        return "\n".join([f"Traceback of {kind}, without its message:", *places])


class StandardError(logging.StreamHandler[Any]):
    """Writes to the standard error of the moment, which tests replace."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"sanitized": {"()": SanitizedFormatter}},
    "handlers": {"stderr": {"()": StandardError, "formatter": "sanitized"}},
    "loggers": {"uvicorn": {"handlers": ["stderr"], "propagate": False}, "sfumato": {"handlers": ["stderr"]}},
}
"""For uvicorn, which writes whole tracebacks by default."""
