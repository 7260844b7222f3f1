"""Cost of the dashboard: time to update its figures, and its effect on people who are answering.

    python bench/studio.py [refresh] [submits] [--items 10000] [--answers 100000]           (default: both)

refresh   CPU time for the first update, for the next ones, and for agreement, uncertainty and disputed items, in a
          store with the given numbers of items and answers.
submits   32 clients that each send the next answer when the last is acknowledged, with the dashboard closed and open:
          answers per second, and the median and 99th percentile of the latency. Three alternating rounds.

Run nothing else at the same time: the clients need one core. Needs the extra `bench`.
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
    """Print the CPU time of each part."""
    with open_site(read_study(study)) as site:
        cache = site.dashboard.feed.cache

        def seconds(name: str) -> None:
            cache._due_at = {"opinions": np.inf}
            begun = time.thread_time()
            cache.figures()
            print(f"{name:<40} {1000 * (time.thread_time() - begun):8.1f} ms of CPU")

        seconds("first update")
        for _ in range(3):
            seconds("next update")
        for _ in range(2):
            begun, before = time.perf_counter(), time.process_time()
            cache._update_agreement(sum(each.n_answers for each in cache._counts.annotators.values()))
            taken = f"{time.process_time() - before:.2f} s of CPU, {time.perf_counter() - begun:.2f} s in total"
            print(f"{'agreement, uncertainty, disputed items':<40} {taken}")
        print(f"{'size of all sections':<40} {sum(map(len, cache._sections.values())):,} bytes")


def submits(study: Path) -> None:
    """Print answers per second and latencies, with the dashboard closed and open."""
    with StudyServer(study, python=sys.executable) as server:
        for _ in range(ROUNDS):
            for is_open in (False, True):
                closed = threading.Event()
                viewer = threading.Thread(target=_watch, args=(server, closed), daemon=True)
                if is_open:
                    viewer.start()
                load = asyncio.run(closed_loop(server.url, N_CLIENTS, seconds=SECONDS))
                closed.set()
                if is_open:
                    viewer.join()
                print(_summary("dashboard open" if is_open else "dashboard closed", load))


def _watch(server: StudyServer, closed: threading.Event) -> None:
    """Read the dashboard's event stream until `closed` is set."""
    link = re.findall(r"works once: (\S+)", server.log.read_text())[-1]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    n_bytes = len(opener.open(link, b"").read())
    with opener.open(f"{server.url}/studio/events") as stream:
        while not closed.is_set():
            n_bytes += len(stream.readline())
    print(f"  (the dashboard received {n_bytes:,} bytes)")


def _summary(name: str, load: Measured) -> str:
    return f"{name:<17} {load.per_second:8,.0f}/s   p50 {load.ms(50):6.1f} ms   p99 {load.ms(99):6.1f} ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["refresh", "submits", []], default=[])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as place:
        study_folder = filled(Path(place) / "study", options.items, options.answers)
        for name, measure in (("refresh", refresh), ("submits", submits)):
            if not options.what or name in options.what:
                measure(study_folder)
