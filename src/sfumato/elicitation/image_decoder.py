"""Images decoded in a separate process, with limits on memory and time.

Image decoders are a large amount of C code that reads untrusted files. An image that makes the decoder crash, hang or
grow affects only itself: the process is killed, and the next image starts another one. The process exits with its
parent, and after a while without requests. Messages are JSON with a length prefix, followed by the bytes of the image.
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
from typing import IO

import msgspec

from sfumato.elicitation.item_images import Picture, rendered_file
from sfumato.study.study import Upscale
from sfumato.tables.errors import BadFile, ErrorLocation, MissingExtra, SfumatoError, UnsafeFile

SECONDS = 20.0
"""For one image."""
MOST_BYTES = 1536 * 2**20
"""Memory limit; the largest allowed image needs a third of it."""
IDLE_SECONDS = 60.0
LENGTH = struct.Struct("!II")
ERRORS: dict[str, type[SfumatoError]] = {each.__name__: each for each in (BadFile, UnsafeFile, MissingExtra)}


class DecodeRequest(msgspec.Struct):
    """An image to decode: the file, and the wanted size."""

    path: str
    upscale: Upscale
    size: int


class DecodeResult(msgspec.Struct):
    """The media type of the decoded image, or an error."""

    media_type: str = ""
    kind: str = ""
    error: dict[str, str] = {}


class Decoder:
    """Sends images to the process one at a time, and starts it when needed."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def rendered_file(self, path: Path, upscale: Upscale, size: int) -> Picture:
        """`item_images.rendered_file` in the other process."""
        request = msgspec.json.encode(DecodeRequest(str(path), upscale, size))
        with self._lock, contextlib.suppress(TimeoutError):
            # If the process has exited, start another; if a new one exits, the image is the cause.
            reply = self._reply(request, False) or self._reply(request, True)
            if reply is not None:
                return _picture(*reply)
        found = f"an image that was not decoded within {self._seconds:g} seconds and {MOST_BYTES >> 20:,} MB"
        expected = "an image of ordinary size and content"
        raise UnsafeFile(found, expected, "save it again, or leave it out", "picture-not-decoded", path)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _reply(self, request: bytes, is_new: bool) -> tuple[DecodeResult, bytes] | None:
        """The reply; None if the process exited. `TimeoutError` if it took too long and was killed."""
        if is_new or self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        process, until = self._process, time.monotonic() + self._seconds
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(request), 0) + request)
            lengths = LENGTH.unpack(_exactly(process.stdout, LENGTH.size, until))
            head, data = (_exactly(process.stdout, length, until) for length in lengths)
            return msgspec.json.decode(head, type=DecodeResult), data
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
"""The decoder of this process, shared by all studies."""
atexit.register(DECODER.close)


def _exactly(stream: IO[bytes], n_bytes: int, until: float) -> bytes:
    """Exactly `n_bytes` bytes; `EOFError` if the stream ends first, `TimeoutError` after the deadline."""
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


def _picture(result: DecodeResult, data: bytes) -> Picture:
    if not result.kind:
        return Picture(data, result.media_type)
    fields = dict(result.error)
    raise ERRORS[result.kind](fields.pop("found"), where=ErrorLocation(fields.pop("file") or None), **fields)


def _decoded(request: DecodeRequest) -> tuple[DecodeResult, bytes]:
    try:
        picture = rendered_file(Path(request.path), request.upscale, request.size)
    except SfumatoError as error:
        parts = error.as_dict()
        fields = {name: str(parts[name] or "") for name in ("found", "expected", "fix", "code", "file")}
        return DecodeResult(kind=type(error).__name__, error=fields), b""
    return DecodeResult(picture.media_type), picture.data


def main() -> None:
    """Decode images requested on standard input, until it is closed or idle."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    # A decoder under attack must not write files or core dumps.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdout = sys.stdout.buffer
    with (
        os.fdopen(sys.stdin.fileno(), "rb", 0, closefd=False) as stdin,
        contextlib.suppress(EOFError, OSError, KeyboardInterrupt),
    ):
        while True:
            n_bytes, _ = LENGTH.unpack(_exactly(stdin, LENGTH.size, time.monotonic() + IDLE_SECONDS))
            request = msgspec.json.decode(_exactly(stdin, n_bytes, time.monotonic() + SECONDS), type=DecodeRequest)
            result, data = _decoded(request)
            head = msgspec.json.encode(result)
            stdout.write(LENGTH.pack(len(head), len(data)) + head + data)
            stdout.flush()


if __name__ == "__main__":
    main()
