"""Time and memory to read and check tables of ten million rows.

    python bench/tables.py [N]

Writes each table once, then reads it in a new process and prints seconds, peak memory, and the ratio to pyarrow
reading the same Parquet file without checks. Required: less than 2 GB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.tables.text_columns import CodedText

CLASSES = tuple(f"class-{k}" for k in range(10))
LIMIT_MB = 2000

READ = """
import re, time
start = time.perf_counter()
{statement}
seconds = time.perf_counter() - start
# The peak memory of this process only: ru_maxrss would include that of the parent.
print(seconds, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1000)
"""


def names(prefix: str, n: int) -> pa.Array:
    return pa.array(np.char.add(prefix, np.arange(n).astype(str)))


def write_tables(folder: Path, n: int) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    item = CodedText(rng.integers(0, n // 10, n).astype(np.int32), names("item-", n // 10)).compact()
    annotator = CodedText(rng.integers(0, 5000, n).astype(np.int32), names("a", 5000)).compact()
    chosen = rng.integers(0, 10, n)
    soft = rng.dirichlet(np.ones(10), n)
    paths = {}

    def put(name: str, table: Annotations | Beliefs | SoftLabels) -> None:
        paths[name] = folder / f"{name}.parquet"
        table.write(paths[name])

    put("Beliefs, hard", Beliefs(item, annotator, CLASSES, hard=chosen.astype(np.int16)))
    put("Beliefs, soft", Beliefs(item, annotator, CLASSES, soft=soft))
    put("SoftLabels", SoftLabels(names("item-", n), CLASSES, soft, np.full(n, 6, np.int32)))
    del soft
    payload = pa.DictionaryArray.from_arrays(
        pa.array(chosen.astype(np.int32)), pa.array([f'{{"class": "{name}"}}' for name in CLASSES])
    )
    zeros = pa.array(np.zeros(n, np.int32))
    put(
        "Annotations",
        Annotations.from_arrow(
            pa.table(
                {
                    "item": pa.DictionaryArray.from_arrays(pa.array(item.codes), item.names),
                    "annotator": pa.DictionaryArray.from_arrays(pa.array(annotator.codes), annotator.names),
                    "kind": pa.DictionaryArray.from_arrays(zeros, pa.array(["choice/1"])),
                    "payload": payload,
                    "trial": pa.array(np.arange(n) % 200),
                    "seconds": pa.array(rng.gamma(2, 1, n)),
                }
            ),
            CLASSES,
        ),
    )
    return paths


def measured(statement: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", READ.format(statement=statement)], capture_output=True, text=True, check=True
    )
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_tables(Path(folder), n).items():
            kind = name.split(",")[0]
            ours, memory = measured(
                f"import sfumato; table = sfumato.{kind}.read({str(path)!r}); assert len(table) == {n}"
            )
            bare, _ = measured(f"import pyarrow.parquet as pq; table = pq.read_table({str(path)!r})")
            verdict = "ok" if memory <= LIMIT_MB * n / 1e7 or (n < 1e7 and memory < LIMIT_MB) else "MISSED"
            print(
                f"{name:14} {n:,} rows: {ours:5.1f} s, {memory:6.0f} MB of the allowed {LIMIT_MB} MB ({verdict});"
                f" {ours / bare:4.1f} x the time of reading without checks; file {path.stat().st_size / 1e6:.0f} MB"
            )


if __name__ == "__main__":
    main()
