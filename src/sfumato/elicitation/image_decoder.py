"""Pictures decoded by a process of their own, with a limit on memory and on time.

A decoder is the largest piece of other people's C code that reads what somebody else has made. Here a picture that
makes it fail, hang or grow costs that picture alone: the process is ended, and the next picture begins another. It
ends by itself with the process that asks, and after a while without work. Requests and replies are JSON with a length
before them, and the bytes of the picture.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import msgspec

from sfumato.elicitation.item_images import Picture, rendered_file
from sfumato.study.study import Upscale
from sfumato.tables.errors import BadFile, ErrorLocation, MissingExtra, SfumatoError, UnsafeFile

SECONDS = 20.0
"""For one picture."""
MOST_BYTES = 1536 * 2**20
"""Of memory. The largest picture allowed takes a third of it."""
IDLE_SECONDS = 60.0
LENGTH = struct.Struct("!II")
KINDS: dict[str, type[SfumatoError]] = {each.__name__: each for each in (BadFile, UnsafeFile, MissingExtra)}


class DecodeRequest(msgspec.Struct):
    """A picture to decode: the file, and how large it is to be."""

    path: str
    upscale: Upscale
    size: int


class DecodeResult(msgspec.Struct):
    """What became of it: a type of picture, or an error of ours."""

    media_type: str = ""
    kind: str = ""
    error: dict[str, str] = {}


class Decoder:
    """Asks the process, one picture at a time; begins it when it is needed."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def rendered_file(self, path: Path, upscale: Upscale, size: int) -> Picture:
        """As `pictures.rendered_file`, elsewhere."""
        asked = msgspec.json.encode(DecodeRequest(str(path), upscale, size))
        with self._lock, contextlib.suppress(TimeoutError):
            # Where the process had gone home, another is begun; what ends a fresh one is the picture.
            reply = self._reply(asked, False) or self._reply(asked, True)
            if reply is not None:
                return _picture(*reply)
        raise UnsafeFile(
            f"found a picture that was not decoded within {self._seconds:g} seconds and {MOST_BYTES >> 20:,} MB",
            expected="a picture like any other",
            fix="save it again, or leave it out",
            code="picture-not-decoded",
            where=ErrorLocation(str(path)),
        )

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _reply(self, asked: bytes, is_fresh: bool) -> tuple[DecodeResult, bytes] | None:
        """The reply; None where the process ended instead. `TimeoutError` where it took too long, and was ended."""
        if is_fresh or self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        process, until = self._process, time.monotonic() + self._seconds
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(asked), 0) + asked)
            lengths = LENGTH.unpack(_exactly(process.stdout, LENGTH.size, until))
            told, data = (_exactly(process.stdout, length, until) for length in lengths)
            return msgspec.json.decode(told, type=DecodeResult), data
        except TimeoutError:
            self._end()
            raise
        except (OSError, EOFError):
            self._end()
            return None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


DECODER = Decoder()
"""The one of this process, for every study in it."""
atexit.register(DECODER.close)


def _exactly(stream: IO[bytes], n_bytes: int, until: float) -> bytes:
    """So many bytes; `EOFError` where the stream ends before, `TimeoutError` where the time does."""
    parts: list[bytes] = []
    while n_bytes:
        if not select.select([stream], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError
        part = os.read(stream.fileno(), min(n_bytes, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _picture(told: DecodeResult, data: bytes) -> Picture:
    if not told.kind:
        return Picture(data, told.media_type)
    fields = dict(told.error)
    raise KINDS[told.kind](fields.pop("found"), where=ErrorLocation(fields.pop("file") or None), **fields)


def _decoded(asked: DecodeRequest) -> tuple[DecodeResult, bytes]:
    try:
        picture = rendered_file(Path(asked.path), asked.upscale, asked.size)
    except SfumatoError as error:
        said: dict[str, Any] = {
            "found": error.found,
            "expected": error.expected,
            "fix": error.fix,
            "code": error.code,
            "file": error.where.file or "",
        }
        return DecodeResult(kind=type(error).__name__, error=said), b""
    return DecodeResult(picture.media_type), picture.data


def main() -> None:
    """Decode what is asked for on standard input, until nobody asks."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    # Whatever a decoder might be made to write or open: no new files, nothing of a crash on disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdout = sys.stdout.buffer
    with (
        os.fdopen(sys.stdin.fileno(), "rb", 0, closefd=False) as stdin,
        contextlib.suppress(EOFError, OSError, KeyboardInterrupt),
    ):
        while True:
            n_bytes, _ = LENGTH.unpack(_exactly(stdin, LENGTH.size, time.monotonic() + IDLE_SECONDS))
            asked = msgspec.json.decode(_exactly(stdin, n_bytes, time.monotonic() + SECONDS), type=DecodeRequest)
            told, data = _decoded(asked)
            head = msgspec.json.encode(told)
            stdout.write(LENGTH.pack(len(head), len(data)) + head + data)
            stdout.flush()


if __name__ == "__main__":
    main()
