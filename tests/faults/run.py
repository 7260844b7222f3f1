"""`make faults`: every fault trial in its full form, with its control, one table at the end.

    python tests/faults/run.py [--minutes 90] [--only T2,quota] [--kills 200] [--seeds 20] [--cuts 5000]
                               [--rows 1000000] [--write docs/faults.md]

Each trial gets its share of the time; one that runs out of it reports its progress. Ends with 1 if anything was found
or cut short, or if something broken on purpose was not found out. A trial that cannot be run here says why.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import full_copies  # noqa: E402
import full_disk  # noqa: E402
import full_fuzzing  # noqa: E402
import full_kills  # noqa: E402
import full_load  # noqa: E402
import full_quota  # noqa: E402
from postgres_cluster import cluster  # noqa: E402
from trial import Bench, Sizes, Trial  # noqa: E402

FAMILIES = (full_kills, full_quota, full_fuzzing, full_disk, full_load, full_copies)
TRIALS = sorted(
    (trial for family in FAMILIES for trial in family.TRIALS),
    key=lambda trial: (int(re.findall(r"\d+", trial.number)[0]), trial.number),
)
"""Others are added by listing them in a family of their own."""
BEGIN, END = "<!-- the table of trials, written by tests/faults/run.py -->", "<!-- the end of the table -->"
HEAD = ("| trial | asked | measured | passed | broken on purpose | on |", "|---|---|---|---|---|---|")


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    trial: str
    asked: str
    measured: str
    passed: str
    """`yes`, `**no**`, or `not run`."""
    control: str

    def __str__(self) -> str:
        cells = (self.trial, self.asked, self.measured, self.passed, self.control, f"{datetime.now(UTC):%Y-%m-%d}")
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def run(trials: list[Trial], minutes: float, sizes: Sizes, document: Path | None = None) -> list[Row]:
    """Run the trials, one after the other; what one leaves over of its time goes to those after it.

    Each row is written into the `document` as soon as it is there.
    """
    ends_at = time.monotonic() + 60 * minutes
    rows = []
    with tempfile.TemporaryDirectory(prefix="sfumato-faults-") as folder, cluster() as postgres:
        bench = Bench(Path(folder), postgres, sizes)
        for i, trial in enumerate(trials):
            begun = time.monotonic()
            share = trial.share / sum(later.share for later in trials[i:])
            row = _tried(trial, bench, begun + max(ends_at - begun, 0) * share)
            print(
                f"{row.trial}: {row.passed}, {row.measured}; {row.control} ({time.monotonic() - begun:.0f} s)",
                flush=True,
            )
            rows.append(row)
            if document is not None:
                document.write_text(written(document.read_text("utf-8"), [row]), "utf-8")
    return rows


def _tried(trial: Trial, bench: Bench, until: float) -> Row:
    name, asked = f"{trial.number} {trial.name}", trial.asked(bench.sizes)
    if (reason := trial.why_not()) is not None:
        return Row(name, asked, reason, "not run", "")
    try:
        measured = trial.run(bench, until)
        control = trial.control(bench) if trial.control else None
    except Exception as error:  # noqa: BLE001 (the trials after it are tried all the same)
        traceback.print_exc()
        return Row(name, asked, f"the trial broke: {one_line(error)}", "**no**", "")
    if control is None:
        return Row(name, asked, str(measured), _yes(measured.passed), "the same check as in the first of its kind")
    said = control.said if control.found_out else f"**not found out:** {control.said}"
    return Row(name, asked, str(measured), _yes(measured.passed and control.found_out), said)


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _yes(passed: bool) -> str:
    return "yes" if passed else "**no**"


def table(rows: list[str]) -> str:
    return "\n".join((*HEAD, *rows))


def written(text: str, rows: list[Row]) -> str:
    """A document with its table brought up to date: rows of trials that were not run now stay as they are."""
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    names = [f"{trial.number} {trial.name}" for trial in TRIALS]
    lines = {line.split("|")[1].strip(): line for line in old.strip().splitlines()[len(HEAD) :]}
    lines |= {row.trial: str(row) for row in rows}
    kept = [lines[name] for name in names if name in lines]
    return f"{before}{BEGIN}\n\n{table(kept)}\n\n{END}{after}"


def chosen(only: str) -> list[Trial]:
    """The trials whose numbers are among `only`, or whose names begin with one of them; all if there are none."""
    asked = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [each for each in asked if not any(_is(trial, each) for trial in TRIALS)]
    if unknown:
        names = ", ".join(f"{trial.number} {trial.name}" for trial in TRIALS)
        raise SystemExit(f"no trial is or begins with {', '.join(unknown)}; there are {names}")
    return [trial for trial in TRIALS if not asked or any(_is(trial, each) for each in asked)]


def _is(trial: Trial, asked: str) -> bool:
    return trial.number == asked or trial.name.startswith(asked)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=90, help="how long all of it may take")
    parser.add_argument("--only", default="", help="numbers (T2), names or beginnings of names, with commas")
    parser.add_argument(
        "--kills", type=int, default=Sizes.n_kills, help="of the server; a fourth as many of PostgreSQL"
    )
    parser.add_argument("--seeds", type=int, default=Sizes.n_seeds, help="of each quota trial")
    parser.add_argument("--cuts", type=int, default=Sizes.n_cuts, help="of the power")
    parser.add_argument("--rows", type=int, default=Sizes.n_rows, help="answers in a big store")
    parser.add_argument("--write", type=Path, help="a document whose table is brought up to date")
    asked = parser.parse_args()
    # Ending this process also ends the processes it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = run(chosen(asked.only), asked.minutes, Sizes(asked.kills, asked.seeds, asked.cuts, asked.rows), asked.write)
    print("\n" + table([str(row) for row in rows]))
    return 1 if any(row.passed == "**no**" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
