"""Atheris on the readers: bytes of all sorts, guided by the lines of ours they reach. Only errors of ours may escape.

    python tests/faults/fuzzing.py TARGET SECONDS      one target, in this process; ends with 0 if nothing was found

`fuzz_trial(seconds)` runs every target, each in a process of its own; `finds_the_planted_fault()` is the control, a
reader that fails behind two bytes nobody would guess. Needs the extra `fuzz`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
MAX_INPUT_BYTES = 4096
SLOWEST_SECONDS = 10
"""For one input. Two seconds are asked for; coverage makes every line several times slower."""
MOST_MB = 1024
DONE = "Done "
"""What libFuzzer says when its time is up and nothing was found."""

Target = Callable[[bytes], object]


def _csv(folder: Path) -> Target:
    from sfumato.tables.files import read_rows

    file = folder / "table.csv"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return [chunk.num_rows for chunk in read_rows(file).chunks]

    return read


def _document(folder: Path) -> Target:
    from sfumato.tables.files import read_document

    file = folder / "document.json"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return read_document(file)

    return read


def _parquet(folder: Path) -> Target:
    from sfumato.tables.files import read_rows

    file = folder / "table.parquet"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return [chunk.num_rows for chunk in read_rows(file).chunks]

    return read


def _picture(folder: Path) -> Target:
    from sfumato.elicitation.item_images import rendered_file
    from sfumato.study.study import Upscale

    file = folder / "picture.png"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return rendered_file(file, Upscale.NEAREST, 64)

    return read


def _answer(_folder: Path) -> Target:
    from sfumato.elicitation.kinds import KINDS
    from sfumato.server.answer_api import SUBMISSION, decoded
    from sfumato.study.stimulus import Stimulus
    from sfumato.study.study import ItemSource, Question, Study, StudyClass

    classes = tuple(map(StudyClass, ("cat", "dog", "ship")))
    asked = [(kind(), Study("s", "S", classes, ItemSource(), Question(kind.name))) for kind in KINDS]
    shown = Stimulus("a", ("b", "c"), {"class": "cat", "of": ["a", "b"], "mix": 0.5})

    def read(data: bytes) -> object:
        from sfumato.tables.errors import SfumatoError

        submission = decoded(SUBMISSION, data)
        for kind, study in asked:
            try:
                kind.parse(submission.answer, shown, study)
            except SfumatoError:
                continue
        return submission.record.seconds()

    return read


def _planted(_folder: Path) -> Target:
    def read(data: bytes) -> object:
        # Two bytes that chance finds once in 65,536 tries at the right places.
        return 1 // 0 if len(data) > 7 and data[3] == 0xC7 and data[6] == 0x5A else None

    return read


TARGETS: dict[str, Callable[[Path], Target]] = {
    "csv": _csv,
    "json": _document,
    "parquet": _parquet,
    "picture": _picture,
    "answer": _answer,
    "planted": _planted,
}
"""Each makes a reader of bytes that may use a folder; `planted` is the control, which must be found."""


def seeds(name: str) -> list[bytes]:
    """Whole inputs to begin with."""
    if name == "csv":
        return [b'item,annotator,kind,payload\na,b,choice/1,"{""class"":""cat""}"\n', b"item,cat,dog\na,0.5,0.5\n"]
    if name == "json":
        return [b'{"a": [1, 2.5, "x", null, true], "b": {"c": "\\u00e9"}}', b"[]"]
    if name == "answer":
        record = {"elapsed_ms": 1500, "events": [[1.0, "keydown", "class:cat", "1"]], "keys": {"cat": "1"}}
        given = ({"class": "cat"}, {"tokens": {"cat": 10}, "others": False}, {"first": "cat", "first_percent": 70})
        return [json.dumps({"key": "k", "trial": "t", "answer": each, "record": record}).encode() for each in given]
    if name == "picture":
        return _pictures()
    return _parquets() if name == "parquet" else [b"12345678"]


def _pictures() -> list[bytes]:
    import io

    from PIL import Image

    made = []
    for form in ("PNG", "JPEG", "GIF", "BMP", "WEBP"):
        buffer = io.BytesIO()
        Image.new("RGB", (4, 3), (200, 20, 20)).save(buffer, form)
        made.append(buffer.getvalue())
    return made


def _parquets() -> list[bytes]:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    table = pa.table({"item": ["a", "b"], "annotator": ["p", "p"], "kind": ["choice/1"] * 2, "payload": ["{}"] * 2})
    pq.write_table(table, buffer, compression="none")
    return [buffer.getvalue()]


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["sfumato"]), tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        read = TARGETS[name](folder)
        if name == "planted":
            read = atheris.instrument_func(read)
        from sfumato.tables.errors import SfumatoError

        def once(data: bytes) -> None:
            try:
                read(data)
            except SfumatoError:
                return

        corpus = folder / "corpus"
        corpus.mkdir()
        for number, data in enumerate(seeds(name)):
            (corpus / str(number)).write_bytes(data)
        arguments = [
            sys.argv[0],
            f"-max_total_time={seconds}",
            f"-max_len={MAX_INPUT_BYTES}",
            f"-timeout={SLOWEST_SECONDS}",
            f"-rss_limit_mb={MOST_MB}",
            f"-artifact_prefix={folder}/",
            "-seed=1",
            str(corpus),
        ]
        atheris.Setup(arguments, once)
        atheris.Fuzz()


@dataclass
class FuzzReport:
    """What was found in each target, empty where nothing was."""

    found: dict[str, str] = field(default_factory=dict)
    n_inputs: dict[str, int] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        return not any(self.found.values())

    def __str__(self) -> str:
        tried = ", ".join(f"{name} {n:,}" for name, n in self.n_inputs.items())
        bad = "; ".join(f"{name}: {said}" for name, said in self.found.items() if said) or "nothing escaped"
        return f"{bad}; inputs: {tried}"


def fuzz_trial(seconds: int = 120, until: float = float("inf")) -> FuzzReport:
    """Every target for so many seconds, fewer where the time is up before."""
    report = FuzzReport()
    names = [name for name in TARGETS if name != "planted"]
    for number, name in enumerate(names):
        left = (until - time.monotonic()) / (len(names) - number)
        said = _run(name, int(max(1, min(seconds, left))))
        report.n_inputs[name] = _executed(said)
        report.found[name] = "" if DONE in said else _last_words(said)
    return report


def finds_the_planted_fault(seconds: int = 30) -> bool:
    return "ZeroDivisionError" in _run("planted", seconds)


def _run(name: str, seconds: int) -> str:
    command = [sys.executable, str(Path(__file__)), name, str(seconds)]
    done = subprocess.run(
        command, capture_output=True, timeout=seconds + 120, env=os.environ | {"PYTHONHASHSEED": "0"}, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _executed(said: str) -> int:
    """How many inputs libFuzzer says it has tried."""
    lines = [line for line in said.splitlines() if line.startswith(("Done ", "#"))]
    words = lines[-1].removeprefix("Done ").lstrip("#").split() if lines else []
    return int(words[0]) if words and words[0].isdigit() else 0


def _last_words(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if "Error" in line or "ERROR" in line or "Exception" in line]
    return (lines or said.strip().splitlines()[-1:] or ["it said nothing"])[0][:200]


if __name__ == "__main__":
    fuzz(sys.argv[1], int(sys.argv[2]))
