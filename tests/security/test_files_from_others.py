"""Files that someone else made on purpose: they read nothing outside their folder, and need little memory."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sfumato.elicitation.study_check import check_study
from sfumato.recruitment.payment import Payments
from sfumato.recruitment.reconciliation import Reconciliation
from sfumato.reporting.blocks import csv_text
from sfumato.reporting.page import _csv_link
from sfumato.store.location import StoreLocation
from sfumato.study.study_file import read_study
from sfumato.study.toml_fields import FOLDERS_VARIABLE
from sfumato.tables.errors import BadFile, BadSetting, BadStudy, SfumatoError
from sfumato.tables.files.arrow_stream import read_stream
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.csv import unguard_formula
from sfumato.tables.files.parquet_footer import check_parquet
from sfumato.tables.files.table_file import read_rows, write_table
from sfumato.tables.strategies import StrategyText
from sfumato.training.experiment_file import ExperimentFile

PNG = io.BytesIO()
Image.new("RGB", (4, 3), "red").save(PNG, "PNG")
TOML = 'title = "T"\nclasses = ["a", "b"]\n[question]\nkind = "choice"\n'
CSV = {"items.csv": "item,text\na,one\nb,two\n"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A study's folder, next to a secret text, a secret image and a folder of them."""
    (tmp_path / "secret.md").write_text("the secret")
    (tmp_path / "secret.png").write_bytes(PNG.getvalue())
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.png").write_bytes(PNG.getvalue())
    (tmp_path / "secrets" / "items.csv").write_text(CSV["items.csv"])
    study = tmp_path / "study"
    study.mkdir()
    (study / "items.csv").write_text(CSV["items.csv"])
    return study


def outside(study: Path) -> tuple[str, str | None, int | None]:
    """The file, column and line of the one mistake, which must be that something is outside."""
    with pytest.raises(BadStudy) as caught:
        check_study(study)
    (mistake,) = caught.value.mistakes
    assert mistake.code == "outside-folder", str(mistake)
    assert "copy it into the study's folder" in str(mistake)
    return Path(mistake.where.file or "").name, mistake.where.column, mistake.where.line


@pytest.mark.parametrize("written", ["../secret.md", "{above}/secret.md", "link.md", "folder/secret.md"])
@pytest.mark.parametrize("key", ["instructions", "consent"])
def test_pages_come_from_the_folder_of_the_study(place: Path, key: str, written: str) -> None:
    (place / "link.md").symlink_to(place.parent / "secret.md")
    (place / "folder").symlink_to(place.parent)
    text = f'{TOML}[items]\ncsv = "items.csv"\n[pages]\n{key} = "{written.format(above=place.parent)}"\n'
    (place / "study.toml").write_text(text)
    assert outside(place) == ("study.toml", f"pages.{key}", 8)


@pytest.mark.parametrize("written", ["../secret.png", "{above}/secret.png", "link.png", "folder/secret.png"])
def test_images_of_a_csv_come_from_the_folder_of_the_study(place: Path, written: str) -> None:
    (place / "link.png").symlink_to(place.parent / "secret.png")
    (place / "folder").symlink_to(place.parent)
    (place / "own.png").write_bytes(PNG.getvalue())
    (place / "items.csv").write_text(f"item,image\na,own.png\nb,{written.format(above=place.parent)}\n")
    (place / "study.toml").write_text(f'{TOML}[items]\ncsv = "items.csv"\n')
    assert outside(place) == ("items.csv", "image", 3)


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("folder", "../secrets"),
        ("folder", "linked"),
        ("csv", "../secrets/items.csv"),
        ("csv", "linked/items.csv"),
        ("texts", "linked/items.csv"),
    ],
)
def test_items_come_from_the_folder_of_the_study(place: Path, key: str, written: str) -> None:
    (place / "linked").symlink_to(place.parent / "secrets")
    (place / "study.toml").write_text(f'{TOML}[items]\n{key} = "{written}"\n')
    assert outside(place) == ("study.toml", f"items.{key}", 6)


def test_an_example_of_a_class_comes_from_the_folder_of_the_study(place: Path) -> None:
    classes = '[{ name = "a", example = "../secret.png" }, "b"]'
    (place / "study.toml").write_text(TOML.replace('["a", "b"]', classes) + '[items]\ncsv = "items.csv"\n')
    assert outside(place) == ("study.toml", "classes[0].example", 2)


def test_the_person_who_runs_the_command_may_name_a_folder_of_items(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDERS_VARIABLE, str(place.parent / "secrets"))
    (place / "items.csv").write_text("item,image\na,../secrets/a.png\n")
    (place / "study.toml").write_text(f'{TOML}[items]\ncsv = "items.csv"\n')
    assert [item.picture for item in check_study(place).items] == [place / "../secrets/a.png"]
    (place / "study.toml").write_text(f'{TOML}[items]\ncsv = "items.csv"\n[pages]\nconsent = "../secrets/a.md"\n')
    (place.parent / "secrets" / "a.md").write_text("not for pages")
    assert outside(place) == ("study.toml", "pages.consent", 8)


def test_links_and_paths_inside_the_folder_are_fine(place: Path) -> None:
    (place / "texts").mkdir()
    (place / "texts" / "welcome.md").write_text("Welcome")
    (place / "link.md").symlink_to("texts/welcome.md")
    pages = '[pages]\ninstructions = "link.md"\nconsent = "texts/../texts/welcome.md"\n'
    (place / "study.toml").write_text(f'{TOML}[items]\ncsv = "items.csv"\n{pages}')
    study = check_study(place).study
    assert (study.instructions, study.consent) == ("Welcome", "Welcome")


@pytest.mark.parametrize("name", ["store", "store/answers.sqlite"])
def test_the_default_store_is_in_the_folder_of_the_study(place: Path, name: str) -> None:
    (place / "study.toml").write_text(f'{TOML}[items]\ncsv = "items.csv"\n')
    target = place.parent / "elsewhere"
    if name == "store":
        target.mkdir()
    else:
        (place / "store").mkdir()
    (place / name).symlink_to(target)
    study = read_study(place)
    with pytest.raises(BadSetting, match="store="):
        StoreLocation.of_study(study)
    assert StoreLocation.of_study(study, place.parent / "own.sqlite").file == place.parent / "own.sqlite"


def test_the_lock_of_a_store_overwrites_no_file_that_a_link_names(place: Path) -> None:
    from sfumato.store.database import only_server

    (place / "store").mkdir()
    victim = place.parent / "victim"
    victim.write_text("kept")
    (place / "store" / "answers.sqlite.lock").symlink_to(victim)
    with pytest.raises(SfumatoError), only_server(StoreLocation.of(place / "store" / "answers.sqlite")):
        pass
    assert victim.read_text() == "kept"


TOML_BOMBS = {
    "key of 50,000 parts": lambda: ".".join(["a"] * 50_000) + " = 1\n",
    "table of 50,000 parts": lambda: "[" + ".".join(['"a"'] * 50_000) + "]\n",
    "array of 400,000": lambda: "a = [" + "1," * 400_000 + "]\n",
    "arrays 30 deep": lambda: "a = " + "[" * 30 + "1," * 400_000 + "]" * 30 + "\n",
    "arrays 100,000 deep": lambda: "a = " + "[" * 100_000 + "]" * 100_000 + "\n",
    "tables 100,000 deep": lambda: "a = " + "{a=" * 100_000 + "1" + "}" * 100_000 + "\n",
    "60,000 keys": lambda: "".join(f"k{i} = 1\n" for i in range(60_000)),
    "headers": lambda: "".join(f"[a{i}.b.c.d.e.f.g.h]\n" for i in range(40_000)),
    "a number": lambda: "a = 0x" + "f" * 900_000 + "\n",
    "quotes": lambda: "a = " + '\\"""' * 240_000 + "\n",
}
MEASURED = """
import resource, sys, time
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
from sfumato.tables.errors import SfumatoError
{imports}
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
for path in map(Path, sys.argv[1:]):
    try:
        {read}
        print("read")
    except SfumatoError as error:
        print(getattr(error, "mistakes", [error])[0].code)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(grown, time.process_time() - begun)
"""


def measured(read: str, imports: str, paths: list[Path]) -> tuple[list[str], int, float]:
    """The codes of the errors, and the memory (MB) and processor time (seconds) of all in one process."""
    command = [sys.executable, "-c", MEASURED.format(read=read, imports=imports), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    *codes, last = done.stdout.splitlines()
    grown, seconds = last.split()
    return codes, int(grown), float(seconds)


def test_a_study_file_needs_little_memory_and_time(tmp_path: Path) -> None:
    paths = []
    for number, make in enumerate(TOML_BOMBS.values()):
        paths.append(tmp_path / f"{number}.toml")
        paths[-1].write_text(make())
    codes, grown, seconds = measured("read_study(path)", "from sfumato.study.study_file import read_study", paths)
    assert dict(zip(TOML_BOMBS, codes, strict=True)) == dict.fromkeys(TOML_BOMBS, "huge-toml") | {"quotes": "bad-toml"}
    assert grown < 200
    assert seconds < 2 * len(paths)


@pytest.mark.parametrize("value", ["[" * 4000, "9" * 5000, "{a" + ".a" * 3000 + "=1}"])
def test_settings_and_experiments_that_are_bombs(tmp_path: Path, value: str) -> None:
    assert StrategyText.of(f"soft:share={value}").name == "soft"
    (tmp_path / "grid.toml").write_text(f"a = {value}\n")
    with pytest.raises(BadFile, match="toml"):
        ExperimentFile.read(tmp_path / "grid.toml")


def _varint(number: int) -> bytes:
    number *= 2  # zigzag
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def lying(table: pa.Table, claim: int = 1000, **options: object) -> bytes:
    """The table as a Parquet file whose footer says that its decompressed size is `claim`."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_statistics=False, **options)
    data = buffer.getvalue()
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    footer = data[start:]
    metadata = pq.ParquetFile(buffer).metadata
    for size in {metadata.row_group(0).column(k).total_uncompressed_size for k in range(metadata.num_columns)} | {
        metadata.row_group(0).total_byte_size
    }:
        said, short = _varint(size), _varint(claim)
        # A longer spelling of the same number, so that nothing else moves.
        padded = short[:-1] + bytes([short[-1] | 128]) + b"\x80" * (len(said) - len(short) - 1) + b"\0"
        footer = footer.replace(said, padded if len(said) > len(short) else said)
    return data[:start] + footer


def coded(values: pa.Array, n: int) -> pa.Array:
    """`n` times the first of `values`, which are stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), values)


BIG = {"use_dictionary": False, "data_page_size": 2**30}
PARQUET_BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a page of zeros": (lambda: lying(pa.table({"item": ["x" * 2**26]}), **BIG), "bomb"),
    "a page beyond all limits": (lambda: lying(pa.table({"item": ["x" * 2**26] * 3}), **BIG), "damaged"),
    "many pages of zeros": (
        lambda: lying(pa.table({"item": ["x" * 2**22] * 40}), use_dictionary=False, write_batch_size=1),
        "bomb",
    ),
    "prefixes": (
        lambda: lying(
            pa.table({"item": [f"{'x' * 10**5}{i}" for i in range(900)]}),
            use_dictionary=False,
            column_encoding={"item": "DELTA_BYTE_ARRAY"},
            max_rows_per_page=900,
        ),
        "damaged",
    ),
    "one row of many values": (
        lambda: lying(pa.table({"probs": pa.array([np.zeros(2**21)])}), data_page_size=2**20),
        "damaged",
    ),
}


@pytest.mark.parametrize("name", PARQUET_BOMBS)
def test_a_parquet_file_that_lies_about_its_size_is_refused_unread(tmp_path: Path, name: str) -> None:
    make, code = PARQUET_BOMBS[name]
    (tmp_path / "bad.parquet").write_bytes(make())
    with pytest.raises(BadFile) as caught:
        check_parquet(tmp_path / "bad.parquet")
    assert caught.value.code == code


def test_a_parquet_file_that_lies_needs_little_memory(tmp_path: Path) -> None:
    paths = []
    for number, (make, _) in enumerate(PARQUET_BOMBS.values()):
        paths.append(tmp_path / f"{number}.parquet")
        paths[-1].write_bytes(make())
    # Bytes that are stored once and used 300 times are read a few rows at a time.
    table = pa.table({"item": [str(i) for i in range(300)], "picture": coded(pa.array([b"x" * 2**22]), 300)})
    paths.append(tmp_path / "bytes.parquet")
    pq.write_table(table, paths[-1], store_schema=False, dictionary_pagesize_limit=2**25)
    read = "[len(chunk) for chunk in read_rows(path).chunks]"
    codes, grown, _ = measured(read, "from sfumato.tables.files.table_file import read_rows", paths)
    assert codes == [*(code for _, code in PARQUET_BOMBS.values()), "read"]
    assert grown < 500


def test_whatever_byte_of_a_footer_is_changed_only_our_errors_come_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    table = pa.table({"item": ["a", "b"], "probs": pa.array([[0.5, 0.5]] * 2), "n": [1, 2]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, store_schema=False, write_statistics=False)
    data = buffer.getvalue()
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    for at in range(start, len(data)):
        for value in (0, 0x15, 0x7F, 0xFF):
            path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            try:
                check_parquet(path)
            except SfumatoError:
                continue


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"compression": "none"}, {"row_group_size": 1}])
def test_sound_parquet_files_are_read(tmp_path: Path, rows: int, options: dict[str, object]) -> None:
    columns = {
        "a": ["x", "y", "z"],
        "b": [[1.0], [], None],
        "c": [b"1", None, b""],
        "d": [{"e": "f"}, None, {"e": "g"}],
    }
    pq.write_table(pa.table(columns).slice(0, rows), tmp_path / "good.parquet", **options)
    assert sum(len(chunk) for chunk in read_rows(tmp_path / "good.parquet").chunks) == rows
    pq.write_table(pa.table({}), tmp_path / "none.parquet")
    assert list(read_rows(tmp_path / "none.parquet").chunks) == []


@pytest.mark.parametrize("table", [pa.table({"a": ["x" * 10**6] * 50}), pa.table({"a": pa.nulls(10**6)})])
def test_arrow_streams_that_expand_are_refused(table: pa.Table) -> None:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"compressed|rows in"):
        read_stream(buffer.getvalue())


FORMULAS = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "'=1"]


def test_no_cell_of_a_table_in_a_report_is_a_formula() -> None:
    columns = {"item": FORMULAS, "=head": [-1.0] * len(FORMULAS)}
    text = unquote(_csv_link(columns).partition(",")[2])
    assert text == csv_text(columns)
    assert text.splitlines()[0] == "item,'=head"
    import csv

    cells = [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    assert all(cell.startswith("'") for cell in cells)
    assert [unguard_formula(cell) for cell in cells] == FORMULAS


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), "dictionary"])
def test_no_text_of_any_type_is_a_formula(tmp_path: Path, kind: object) -> None:
    column = pa.array(FORMULAS)
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(kind)
    write_table(pa.table({"item": column}), tmp_path / "out.csv")
    (chunk,) = read_rows(tmp_path / "out.csv", guarded=False).chunks
    assert all(cell.startswith("'") for cell in chunk["item"].to_pylist())
    (chunk,) = read_rows(tmp_path / "out.csv").chunks
    assert chunk["item"].to_pylist() == FORMULAS


@pytest.mark.parametrize("table", [Payments((), with_ids=True), Reconciliation((), with_ids=True)])
@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_payments_are_for_their_owner_alone(tmp_path: Path, table: Payments | Reconciliation, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    old = os.umask(0o022)
    try:
        table.write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)  # an old list that others could read
        table.write(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_private_file_is_private_before_anything_is_in_it(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a", private=True) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    with atomic_write(tmp_path / "a") as part:  # and stays so when it is written again
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_a_link_with_the_name_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / f".out.csv.{os.getpid()}.part").symlink_to(tmp_path / "victim")
    with atomic_write(tmp_path / "out.csv") as part:
        part.write_text("new")
    assert (tmp_path / "victim").read_text() == "kept"
    assert (tmp_path / "out.csv").read_text() == "new"
    assert not (tmp_path / "out.csv").is_symlink()


def test_json_and_class_names_of_a_file_stay_text() -> None:
    # The same guard as for pages: what ends a script is written as an escape.
    from sfumato.reporting.page import _closed

    assert "</script" not in _closed(json.dumps({"a": "</script><!--"})).lower()
    assert "<!--" not in _closed(json.dumps({"a": "</SCRIPT><!--"}))


@pytest.mark.parametrize("how", ["command", "module"])
def test_nothing_in_the_current_folder_is_run(tmp_path: Path, how: str) -> None:
    """A folder from others may contain modules, and entry points of a distribution that adds commands and formats."""
    marks = tmp_path / "marks"
    ran = f"from pathlib import Path\nPath({str(marks)!r}).write_text(__name__)\n"
    for name in ("evil", "click", "numpy", "polars"):
        (tmp_path / f"{name}.py").write_text(ran)
    info = tmp_path / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sfumato.commands]\nevil = evil:x\n[sfumato.importers]\nevil = evil:x\n")
    (tmp_path / "votes.csv").write_text("item,annotator,label\na,1,cat\na,2,dog\n")
    start = ["-m", "sfumato"] if how == "module" else ["-P", "-c", "from sfumato.cli import main; main()"]
    for arguments in (["--help"], ["doubt", "votes.csv", "-o", "doubt.csv"]):
        done = subprocess.run([sys.executable, *start, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "evil" not in done.stdout
    assert not marks.exists()
