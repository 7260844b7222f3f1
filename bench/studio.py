"""What the researcher's page costs: a refresh of its figures, and what it takes from the people who answer.

    python bench/studio.py [refresh] [submits] [--items 10000] [--answers 100000]           (both if none is named)

refresh   a store of so many items and answers: seconds of a core for the first look, for every next one (with a
          hundred answers more), and for what people say (agreement, doubt, disputes).
submits   32 clients that answer as fast as they are acknowledged, without the page and with it open: answers a second,
          and how long 50% and 99% of them wait. Three rounds of each, in turn.

Run it alone: the clients need a core of their own. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from filled_store import fill  # noqa: E402
from study_server import StudyServer, write_texts_study  # noqa: E402

from peer import Measured  # noqa: E402
from serve import closed_loop  # noqa: E402
from sfumato.server.server import open_site  # noqa: E402
from sfumato.study import read_study  # noqa: E402

N_CLIENTS, SECONDS, ROUNDS = 32, 20.0, 3


def filled(folder: Path, n_items: int, n_answers: int) -> Path:
    study = write_texts_study(folder, n_items, answers_per_item=1000, batch_size=10_000)
    fill(study, n_answers, until=time.time_ns() // 1_000_000)
    return study


def refresh(study: Path) -> None:
    """Seconds of a core for each part."""
    with open_site(read_study(study)) as site:
        books = site.dashboard.feed.cache

        def seconds(name: str) -> None:
            books._due_at = {"opinions": np.inf}
            begun = time.thread_time()
            books.figures()
            print(f"{name:<40} {1000 * (time.thread_time() - begun):8.1f} ms of a core")

        seconds("first look")
        for _ in range(3):
            seconds("next look")
        for _ in range(2):
            begun, before = time.perf_counter(), time.process_time()
            books._update_agreement(sum(each.n_answers for each in books._counts.annotators.values()))
            taken = f"{time.process_time() - before:.2f} s of a core, {time.perf_counter() - begun:.2f} s"
            print(f"{'what people say':<40} {taken}")
        print(f"{'the page, all parts':<40} {sum(map(len, books._sections.values())):,} bytes")


def submits(study: Path) -> None:
    """Answers a second and waiting times, without the page and with it."""
    with StudyServer(study, python=sys.executable) as server:
        for _ in range(ROUNDS):
            for is_open in (False, True):
                looking = threading.Event()
                page = threading.Thread(target=_look, args=(server, looking), daemon=True)
                if is_open:
                    page.start()
                load = asyncio.run(closed_loop(server.url, N_CLIENTS, seconds=SECONDS))
                looking.set()
                if is_open:
                    page.join()
                print(_told("page open" if is_open else "no page", load))


def _look(server: StudyServer, ended: threading.Event) -> None:
    """Keep the page's stream open until told to stop."""
    link = re.findall(r"works once: (\S+)", server.log.read_text())[-1]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    n_bytes = len(opener.open(link).read())
    with opener.open(f"{server.url}/studio/events") as stream:
        while not ended.is_set():
            n_bytes += len(stream.readline())
    print(f"  (the page was sent {n_bytes:,} bytes)")


def _told(name: str, load: Measured) -> str:
    return f"{name:<12} {load.a_second:8,.0f}/s   50% {load.ms(50):6.1f} ms   99% {load.ms(99):6.1f} ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["refresh", "submits", []], default=[])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as place:
        study_folder = filled(Path(place) / "study", asked.items, asked.answers)
        for name, measure in (("refresh", refresh), ("submits", submits)):
            if not asked.what or name in asked.what:
                measure(study_folder)
