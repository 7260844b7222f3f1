"""Downloads simulated data sets in a separate process: `python download_job.py FOLDER ADDRESS SET...`."""

from __future__ import annotations

import sys
from pathlib import Path

from made_up_sets import HOMES, made_up_sources

from sfumato_papers.download import Fetcher, download


def main() -> None:
    place, address, *names = sys.argv[1:]
    fetcher = Fetcher(lambda line: print(line, flush=True), dict.fromkeys(HOMES, address), timeout_seconds=30)
    download(names, Path(place), made_up_sources(), fetcher)


if __name__ == "__main__":
    main()
