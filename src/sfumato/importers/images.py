"""Imports a folder of images as one npz, which every command reads as `--inputs`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult
from sfumato.tables.errors import BadFile, listing
from sfumato.tables.files.file_type import NPZ, FileKind
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.picture_folder import SUFFIXES
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class ImagesImporter:
    """The PNG, JPEG, BMP, GIF and WebP files of a folder and its subfolders.

    Ids are paths without endings. If every image is in a subfolder, the first folders are the original classes. `size`
    (`32`, or `32x48` for height x width) resizes all images; without it they must have the same size.
    """

    size: str | None = None

    name: ClassVar[str] = "images"
    output_kinds: ClassVar[tuple[FileKind, ...]] = (NPZ,)

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        is_image = [name.lower().endswith(SUFFIXES) for name in preview.files]
        if not preview.path.is_dir() or not all(is_image) or not is_image:
            return None
        return Evidence("a folder of images and nothing else")

    def read(self, source: str | Path) -> ImportResult:
        if not Path(source).is_dir():
            raise BadFile("no folder there", "a folder of images", "check the path", "no-such-folder", source)
        inputs = Inputs.read(source, size=self.size)
        notes = [f"{len(inputs):,} {inputs.described()}"]
        original = None
        if inputs.labels is not None and inputs.classes is not None:
            notes.append(f"original labels: the folders {listing(inputs.classes)}")
            original = SoftLabels.one_hot(inputs.items, inputs.labels, inputs.classes)
        return ImportResult(inputs, tuple(notes), original)
