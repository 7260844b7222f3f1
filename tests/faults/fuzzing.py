"""Coverage-guided fuzzing of the readers with Atheris. Readers may raise only our own errors.

    python tests/faults/fuzzing.py TARGET SECONDS      one target in this process; exit code 0 if nothing was found

`fuzz_trial(seconds)` runs every target in a separate process; `finds_planted_fault()` is the control, a reader that
fails on two rare bytes. Needs the extra `fuzz`.
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
INPUT_LIMIT_SECONDS = 10
"""Per input. Two seconds are required without coverage, which makes every line several times slower."""
MEMORY_LIMIT_MB = 1024
DONE = "Done "
"""libFuzzer prints this when the time is up and nothing was found."""

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


def _footer(folder: Path) -> Target:
    """The footer alone: its bytes, after a file of fixed pages. A file that passes is then read."""
    from sfumato.tables.files import read_rows

    file = folder / "table.parquet"
    (whole,) = _parquets()
    pages = whole[: -8 - int.from_bytes(whole[-8:-4], "little")]

    def read(data: bytes) -> object:
        file.write_bytes(pages + data + len(data).to_bytes(4, "little") + b"PAR1")
        return [chunk.num_rows for chunk in read_rows(file).chunks]

    return read


def _study(folder: Path) -> Target:
    from sfumato.study.study_file import read_study

    file = folder / "study.toml"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return read_study(file)

    return read


def _plan(folder: Path) -> Target:
    from sfumato.planning.plan_file import Plan

    file = folder / "plan.json"

    def read(data: bytes) -> object:
        file.write_bytes(data)
        return Plan.read(file)

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
    from sfumato.server.answer_api import SUBMISSION, decode
    from sfumato.study.stimulus import Stimulus
    from sfumato.study.study import ItemSource, Question, Study, StudyClass

    classes = tuple(map(StudyClass, ("cat", "dog", "ship")))
    asked = [(kind(), Study("s", "S", classes, ItemSource(), Question(kind.name))) for kind in KINDS]
    shown = Stimulus("a", ("b", "c"), {"class": "cat", "of": ["a", "b"], "mix": 0.5})

    def read(data: bytes) -> object:
        from sfumato.tables.errors import SfumatoError

        submission = decode(SUBMISSION, data)
        for kind, study in asked:
            try:
                kind.parse(submission.answer, shown, study)
            except SfumatoError:
                continue
        return submission.record.seconds()

    return read


def _planted(_folder: Path) -> Target:
    def read(data: bytes) -> object:
        # Random bytes match these two once in 65,536 inputs.
        return 1 // 0 if len(data) > 7 and data[3] == 0xC7 and data[6] == 0x5A else None

    return read


TARGETS: dict[str, Callable[[Path], Target]] = {
    "csv": _csv,
    "json": _document,
    "parquet": _parquet,
    "footer": _footer,
    "study": _study,
    "plan": _plan,
    "picture": _picture,
    "answer": _answer,
    "planted": _planted,
}
"""Each returns a reader of bytes that may use a folder; `planted` is the control, which must be found."""


def seeds(name: str) -> list[bytes]:
    """Valid inputs to start with."""
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
    if name == "footer":
        (whole,) = _parquets()
        return [whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8]]
    if name == "study":
        start = b'title = "T"\nclasses = ["a", { name = "b", key = "B" }]\nitems.csv = "x.csv"\n'
        return [
            start + b'[question]\nkind = "choice"\n[pages]\nconsent = """\nYes"""\n',
            start + b"[[practice]]\nitem='a'",
        ]
    if name == "plan":
        return [b'{"sfumato_plan": 1, "classes": ["a", "b"], "items": "all", "n_items": 3}', b"{}"]
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
    """Fuzz one target in this process, which then exits."""
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
            f"-timeout={INPUT_LIMIT_SECONDS}",
            f"-rss_limit_mb={MEMORY_LIMIT_MB}",
            f"-artifact_prefix={folder}/",
            "-seed=1",
            str(corpus),
        ]
        atheris.Setup(arguments, once)
        atheris.Fuzz()


@dataclass
class FuzzReport:
    """The error found in each target; empty if none was found."""

    found: dict[str, str] = field(default_factory=dict)
    n_inputs: dict[str, int] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        return not any(self.found.values())

    def __str__(self) -> str:
        tried = ", ".join(f"{name} {n:,}" for name, n in self.n_inputs.items())
        bad = "; ".join(f"{name}: {output}" for name, output in self.found.items() if output) or "no unexpected errors"
        return f"{bad}; inputs: {tried}"


def fuzz_trial(seconds: int = 120, until: float = float("inf")) -> FuzzReport:
    """Fuzz every target for this many seconds, or less if `until` comes first."""
    report = FuzzReport()
    names = [name for name in TARGETS if name != "planted"]
    for number, name in enumerate(names):
        left = (until - time.monotonic()) / (len(names) - number)
        output = _run(name, int(max(1, min(seconds, left))))
        report.n_inputs[name] = _n_inputs(output)
        report.found[name] = "" if DONE in output else _first_error(output)
    return report


def finds_planted_fault(seconds: int = 30) -> bool:
    return "ZeroDivisionError" in _run("planted", seconds)


def _run(name: str, seconds: int) -> str:
    command = [sys.executable, str(Path(__file__)), name, str(seconds)]
    done = subprocess.run(
        command, capture_output=True, timeout=seconds + 120, env=os.environ | {"PYTHONHASHSEED": "0"}, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _n_inputs(output: str) -> int:
    """The number of inputs according to libFuzzer."""
    lines = [line for line in output.splitlines() if line.startswith(("Done ", "#"))]
    words = lines[-1].removeprefix("Done ").lstrip("#").split() if lines else []
    return int(words[0]) if words and words[0].isdigit() else 0


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if "Error" in line or "ERROR" in line or "Exception" in line]
    return (lines or output.strip().splitlines()[-1:] or ["no output"])[0][:200]


if __name__ == "__main__":
    fuzz(sys.argv[1], int(sys.argv[2]))
