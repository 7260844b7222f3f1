"""Encoded pictures of a study as private files, prepared in advance and always read in the same way.

If only pictures that were shown recently were quick, a check, which everybody sees, could be recognized by its response
time. So every picture is encoded once, before anybody asks for it where possible, and each request reads a file. Until
all are encoded, each request encodes its own picture, also if there is a file already. The files are next to the store
and are used again after a restart, as long as the original and the settings are unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from sfumato.elicitation.image_decoder import DECODER
from sfumato.elicitation.item_images import Picture, blended, rendered
from sfumato.store.location import StoreLocation
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import ItemSource
from sfumato.tables.errors import NotThere, SfumatoError


class PictureCache:
    """The pictures of one study."""

    def __init__(self, source: ItemSource, items: Mapping[str, Item], place: StoreLocation) -> None:
        self._source, self._items = source, items
        self._is_temporary = place.file is None
        self._folder = None if place.file is None else place.file.with_name(f"{place.file.name}.pictures")
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._is_preparing = False
        self._thread: threading.Thread | None = None

    def start(self, stimuli: Iterable[Stimulus]) -> None:
        """Prepare all pictures in the background, in random order."""
        wanted = [(stimulus, n) for stimulus in stimuli for n in range(len(stimulus.shown))]
        random.shuffle(wanted)
        self._is_preparing = True
        self._thread = threading.Thread(target=self._prepare, args=(wanted,), name="pictures", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop preparing; on PostgreSQL also delete the files, which have no place of their own."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        if self._is_temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def picture(self, stimulus: Stimulus, n: int) -> Picture:
        """The n-th picture of a stimulus, mixed for the question type mixture; raises `NotThere` if there is none."""
        if n >= len(stimulus.shown):
            raise no_picture()
        mixed = stimulus.context.get("of")
        if mixed is None:
            return self._item(stimulus.shown[n])
        one, other = (self._known(item) for item in mixed)
        share = stimulus.context["mix"]
        return self._stored(
            _name(self._key(one), self._key(other), share),
            lambda: blended(self._item(one.id), self._item(other.id), share),
        )

    def file(self, path: Path) -> Picture:
        """The picture in `path`, such as the example of a class."""
        upscale, size = self._source.upscale, self._source.size
        return self._stored(_name(self._file_key(path)), lambda: DECODER.rendered_file(path, upscale, size))

    def _item(self, item: str) -> Picture:
        found = self._known(item)
        if found.picture is not None:
            return self.file(found.picture)
        return self._stored(_name(self._key(found)), lambda: rendered(found, self._source))

    def _known(self, item: str) -> Item:
        found = self._items.get(item)
        if found is None or found.text is not None:
            raise no_picture()
        return found

    def _key(self, item: Item) -> list[object]:
        if item.picture is not None:
            return self._file_key(item.picture)
        assert self._source.npz is not None
        return [*self._file_key(self._source.npz), item.row]

    def _file_key(self, path: Path) -> list[object]:
        """What the encoded picture depends on."""
        try:
            status = path.stat()
        except OSError as error:
            raise no_picture() from error
        return [str(path), status.st_mtime_ns, status.st_size, self._source.upscale, self._source.size]

    def _stored(self, name: str, make: Callable[[], Picture]) -> Picture:
        """The file `name`, made if it is not there yet; without a file if the disk is full."""
        if self._is_preparing and threading.current_thread() is not self._thread:
            # A request reads and writes no file: a picture that somebody has seen would be quicker.
            return make()
        with contextlib.suppress(FileNotFoundError):
            return _picture((self._place() / name).read_bytes())
        picture = make()
        with contextlib.suppress(OSError):
            part = self._place() / f".{threading.get_ident()}.part"
            part.unlink(missing_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(picture.data)
            os.replace(part, self._place() / name)
        return picture

    def _place(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="sfumato-pictures-"))
            elif not self._folder.exists():
                self._folder.mkdir(mode=0o700, exist_ok=True)
            return self._folder

    def _prepare(self, wanted: list[tuple[Stimulus, int]]) -> None:
        for stimulus, n in wanted:
            if self._stopped.is_set():
                return
            # A picture that cannot be shown is reported when somebody asks for it.
            with contextlib.suppress(SfumatoError, OSError):
                self.picture(stimulus, n)
        self._is_preparing = False


def _picture(data: bytes) -> Picture:
    return Picture(data, "image/png" if data.startswith(b"\x89PNG") else "image/jpeg")


def _name(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def no_picture() -> NotThere:
    """The error for a picture that does not exist, or not for this participant."""
    return NotThere("no such picture", "a picture of yours", "reload the page", "unknown-picture")
