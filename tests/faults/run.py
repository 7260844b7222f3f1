"""`make faults`: all fault trials in full length, with their controls, and one table at the end.

    python tests/faults/run.py [--minutes 90] [--only T2,quota] [--kills 200] [--seeds 20] [--cuts 5000]
                               [--rows 1000000] [--write docs/faults.md]

Each trial gets a share of the time; a trial that runs out of time reports its progress. The exit code is 1 if a trial
failed or was stopped early, or if a control was not detected. A trial that cannot run here reports the reason.
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
import full_platforms  # noqa: E402
import full_quota  # noqa: E402
from postgres_cluster import cluster  # noqa: E402
from trial import Resources, Sizes, Trial  # noqa: E402

FAMILIES = (full_kills, full_quota, full_fuzzing, full_disk, full_load, full_copies, full_platforms)
TRIALS = sorted(
    (trial for family in FAMILIES for trial in family.TRIALS),
    key=lambda trial: (int(re.findall(r"\d+", trial.number)[0]), trial.number),
)
"""All trials, by number. To add one, list it in `TRIALS` of its family."""
BEGIN, END = "<!-- the table of trials, written by tests/faults/run.py -->", "<!-- the end of the table -->"
HEAD = ("| trial | required | measured | passed | control | date |", "|---|---|---|---|---|---|")


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    trial: str
    required: str
    measured: str
    passed: str
    """`yes`, `**no**`, or `not run`."""
    control: str

    def __str__(self) -> str:
        cells = (self.trial, self.required, self.measured, self.passed, self.control, f"{datetime.now(UTC):%Y-%m-%d}")
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def run(trials: list[Trial], minutes: float, sizes: Sizes, document: Path | None = None) -> list[Row]:
    """Run the trials one after the other; time that a trial does not use goes to the later ones.

    Each row is written to the `document` when its trial has ended.
    """
    ends_at = time.monotonic() + 60 * minutes
    rows = []
    with tempfile.TemporaryDirectory(prefix="sfumato-faults-") as folder, cluster() as postgres:
        resources = Resources(Path(folder), postgres, sizes)
        for i, trial in enumerate(trials):
            begun = time.monotonic()
            share = trial.share / sum(later.share for later in trials[i:])
            row = _run_trial(trial, resources, begun + max(ends_at - begun, 0) * share)
            print(
                f"{row.trial}: {row.passed}, {row.measured}; {row.control} ({time.monotonic() - begun:.0f} s)",
                flush=True,
            )
            rows.append(row)
            if document is not None:
                document.write_text(with_rows(document.read_text("utf-8"), [row]), "utf-8")
    return rows


def _run_trial(trial: Trial, resources: Resources, until: float) -> Row:
    name, required = f"{trial.number} {trial.name}", trial.requirement(resources.sizes)
    if (reason := trial.skip_reason()) is not None:
        return Row(name, required, reason, "not run", "")
    try:
        measured = trial.run(resources, until)
        control = trial.control(resources) if trial.control else None
    except Exception as error:  # noqa: BLE001 (the later trials run anyway)
        traceback.print_exc()
        return Row(name, required, f"the trial failed: {one_line(error)}", "**no**", "")
    if control is None:
        return Row(name, required, str(measured), _yes(measured.passed), "same control as the first trial of this kind")
    summary = control.summary if control.detected else f"**not detected:** {control.summary}"
    return Row(name, required, str(measured), _yes(measured.passed and control.detected), summary)


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _yes(passed: bool) -> str:
    return "yes" if passed else "**no**"


def table(rows: list[str]) -> str:
    return "\n".join((*HEAD, *rows))


def with_rows(text: str, rows: list[Row]) -> str:
    """The document with an updated table; rows of trials that did not run are not changed."""
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    names = [f"{trial.number} {trial.name}" for trial in TRIALS]
    lines = {line.split("|")[1].strip(): line for line in old.strip().splitlines()[len(HEAD) :]}
    lines |= {row.trial: str(row) for row in rows}
    kept = [lines[name] for name in names if name in lines]
    return f"{before}{BEGIN}\n\n{table(kept)}\n\n{END}{after}"


def chosen(only: str) -> list[Trial]:
    """The trials whose numbers are in `only`, or whose names begin with one of its entries; all if it is empty."""
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [each for each in wanted if not any(_matches(trial, each) for trial in TRIALS)]
    if unknown:
        names = ", ".join(f"{trial.number} {trial.name}" for trial in TRIALS)
        raise SystemExit(f"no trial matches {', '.join(unknown)}; expected some of {names}")
    return [trial for trial in TRIALS if not wanted or any(_matches(trial, each) for each in wanted)]


def _matches(trial: Trial, wanted: str) -> bool:
    return trial.number == wanted or trial.name.startswith(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=90, help="time limit for all trials together")
    parser.add_argument("--only", default="", help="numbers (T2) or beginnings of names, separated by commas")
    parser.add_argument(
        "--kills", type=int, default=Sizes.n_kills, help="kills of the server; a quarter of this for PostgreSQL"
    )
    parser.add_argument("--seeds", type=int, default=Sizes.n_seeds, help="seeds of each quota trial")
    parser.add_argument("--cuts", type=int, default=Sizes.n_cuts, help="power cuts")
    parser.add_argument("--rows", type=int, default=Sizes.n_rows, help="answers in the large store")
    parser.add_argument("--write", type=Path, help="document whose table is updated")
    options = parser.parse_args()
    # Ending this process also ends the processes it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = run(
        chosen(options.only),
        options.minutes,
        Sizes(options.kills, options.seeds, options.cuts, options.rows),
        options.write,
    )
    print("\n" + table([str(row) for row in rows]))
    return 1 if any(row.passed == "**no**" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
