"""Whether a participant can recognize attention checks by response times.

    python bench/check_times.py [--people 40] [--write docs/security.md]

People take part one after another in a served study with pictures and the form tokens, on the loopback interface. Each
loads every picture twice and answers. A check is shown to everybody, the other pictures to few, so whatever the server
keeps would make checks quicker; a check is also compared with its region, which could make its reply slower. The first
people come while the pictures are still being encoded. The last column is the probability that a check took longer than
another item of the same participant (0.5: response times say nothing), with a 95% interval over participants.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from pages import markdown, write

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from study_server import StudyServer  # noqa: E402

from sfumato.server.browser_client import BrowserClient  # noqa: E402

N_PICTURES, N_CHECKS, PER_PERSON, SIDE = 1600, 6, 18, 640
ANSWER = {"tokens": {"cat": 7, "dog": 3}, "others": True}
RECORD = {"elapsed_ms": 2500, "events": [[300.0, "click", "class:cat", None]]}
PHASES = ("picture, first request", "picture, second request", "answer")


@dataclass(frozen=True)
class Timed:
    """One response time of one participant, in milliseconds."""

    person: int
    phase: str
    trial: str
    ms: float
    while_preparing: bool


def write_study(folder: Path) -> Path:
    """A study with pictures that take some milliseconds to encode."""
    rng = np.random.default_rng(0)
    for n in range(N_PICTURES):
        path = folder / "images" / f"p{n}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        small = Image.fromarray(rng.integers(256, size=(40, 40, 3), dtype=np.uint8))
        small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path, quality=90)
    checks = "".join(f'[[checks]]\nitem = "p{n}"\nclasses = ["cat"]\nat_least = 0.5\n' for n in range(N_CHECKS))
    (folder / "study.toml").write_text(
        'title = "Pets"\nclasses = ["cat", "dog"]\n[items]\nfolder = "images"\n[question]\nkind = "tokens"\n'
        f"[people]\nanswers_per_item = 50\nbatch_size = {PER_PERSON}\n"
        f'[pages]\ninstructions = "Say what it is."\n[quality]\nmost_failed = 100\n{checks}',
        "utf-8",
    )
    return folder


async def visit(url: str, person: int, is_preparing: bool) -> list[Timed]:
    """All response times of one participant."""
    found = []
    async with BrowserClient(url) as client:
        await client.join()
        state = await client.step("instructions")
        while state.get("trials"):
            trial = state["trials"][0]
            for phase in PHASES[:2]:
                begun = time.perf_counter()
                await client.picture(trial["pictures"][0])
                ms = 1000 * (time.perf_counter() - begun)
                found.append(Timed(person, phase, trial["trial"], ms, is_preparing))
            begun = time.perf_counter()
            reply = await client.submit(trial["trial"], ANSWER, RECORD)
            assert reply.status == 201, reply.body
            found.append(Timed(person, PHASES[2], trial["trial"], 1000 * (time.perf_counter() - begun), is_preparing))
            state = reply.body["state"]
    return found


def measured(people: int) -> tuple[list[Timed], set[str]]:
    """Response times, and the handles of the checks."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = write_study(Path(name))
        with StudyServer(folder, python=sys.executable) as server:
            (store,) = folder.rglob("*.sqlite")
            pictures = store.with_name(f"{store.name}.pictures")
            found: list[Timed] = []
            n_early = person = 0
            while person < people or n_early == person:
                is_preparing = len(list(pictures.glob("[!.]*"))) < N_PICTURES
                # Of a visit during which the preparation ends, one cannot say to which part it belongs.
                new = asyncio.run(visit(server.url, person, is_preparing))
                still = len(list(pictures.glob("[!.]*"))) < N_PICTURES
                found += new if still == is_preparing else []
                n_early, person = n_early + is_preparing, person + 1
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
                checks = {row[0] for row in connection.execute("SELECT handle FROM trials WHERE purpose = 'check'")}
    return found, checks


def slower(checks: np.ndarray, others: np.ndarray) -> float:
    """The share of pairs in which the check took longer; ties count half."""
    return float(((checks[:, None] > others).mean() + (checks[:, None] >= others).mean()) / 2)


def rows_of(found: list[Timed], checks: set[str]) -> list[list[str]]:
    rows = []
    for preparing in (True, False):
        for phase in PHASES:
            own = [each for each in found if (each.phase, each.while_preparing) == (phase, preparing)]
            by_person = {}
            for person in {each.person for each in own}:
                times = [(each.trial in checks, each.ms) for each in own if each.person == person]
                parts = [np.array([ms for is_check, ms in times if is_check == wanted]) for wanted in (True, False)]
                if all(len(part) for part in parts):
                    by_person[person] = parts
            if len(by_person) < 2:
                continue
            shares = np.array([slower(*parts) for parts in by_person.values()])
            margin = 1.96 * shares.std(ddof=1) / np.sqrt(len(shares))
            medians = [np.median(np.concatenate([parts[i] for parts in by_person.values()])) for i in (0, 1)]
            rows.append(
                [
                    f"{phase}, {'while pictures are encoded' if preparing else 'later'}",
                    str(len(by_person)),
                    *(f"{median:.2f}" for median in medians),
                    f"{shares.mean():.2f} ({shares.mean() - margin:.2f} to {shares.mean() + margin:.2f})",
                ]
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    head = ("request", "people", "checks, median ms", "other items, median ms", "check took longer")
    table = markdown(head, rows_of(*measured(options.people)))
    print(table)
    if options.write:
        write(options.write, "check times", table)


if __name__ == "__main__":
    main()
