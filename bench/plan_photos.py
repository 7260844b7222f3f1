"""The questions of docs/plan.md about 80 pictures of CIFAR-10H, and the printed answers. Called by `bench/plan.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato import Counts, SoftLabels

PHOTOS, VOTES = 80, 5
MODELS = {"a.csv": "resnet_110", "b.csv": "densenet_bc_L190_k40"}


@dataclass(frozen=True)
class PrintedAnswer:
    """A command, and what the page shows of its output: the lines from `first` until `last`, without `left_out`."""

    name: str
    command: str
    first: str = ""
    last: str = "$."
    left_out: str = "$."

    def shown(self, printed: str) -> str:
        lines = printed.splitlines()
        start = next(i for i, line in enumerate(lines) if re.match(self.first, line))
        end = next((i for i, line in enumerate(lines) if i > start and re.match(self.last, line)), len(lines))
        return "\n".join(line for line in lines[start:end] if not re.match(self.left_out, line)).rstrip()


ANSWERS = (
    PrintedAnswer(
        "photos-kind",
        "sfumato plan labels --pilot pilot.csv --kinds hard,sparse:3,soft --worth 0.5:0.9=200",
        last="what beta means",
        left_out="  - (noise of|dimensions)|    triplets|best number",
    ),
    PrintedAnswer(
        "photos-annotators",
        "sfumato plan annotators --pilot pilot.csv --threshold 0.05",
        first="answers ",
        left_out=r" +(2|3|7|14|15|30|70) |  - (\d|the aggregator)",
    ),
    PrintedAnswer(
        "photos-items",
        "sfumato plan items --answers pilot.csv -o items.csv",
        first="rank",
        left_out=" +([6-9]|10) ",
    ),
    PrintedAnswer(
        "photos-models",
        "sfumato plan models --pilot pilot.csv --predicted a=a.csv --predicted b=b.csv --metric total_variation"
        " --budget '400 answers'",
        first="total_variation",
        left_out=" +(2|3|10|20)  .*to|  - More than",
    ),
    PrintedAnswer(
        "photos-plan",
        "sfumato plan --pilot pilot.csv --items 80 --budget 300 --threshold 0.05 -o plan.json",
        first="With",
        last="alternatives",
        left_out=" +(1|2|3|4|5|7|15|30|50|70) ",
    ),
    PrintedAnswer("photos-rehearsal", "sfumato plan rehearse plan.json --pilot pilot.csv"),
)


def write_pilot(folder: Path) -> None:
    """Five of the votes about each of 80 pictures, drawn at random, and two networks' predictions of them."""
    data = Path(os.environ["SFUMATO_DATA"])
    rng = np.random.default_rng(0)
    with np.load(data / "cifar10h" / "counts.npz") as crowd:
        counts, classes = crowd["counts"].astype(int), [str(name) for name in crowd["class_names"]]
    chosen = np.sort(rng.choice(len(counts), PHOTOS, replace=False))
    votes = np.array([rng.multivariate_hypergeometric(counts[i], VOTES) for i in chosen])
    items = [f"photo-{i + 1:02d}" for i in range(PHOTOS)]
    Counts.from_numpy(items, votes, classes).write(folder / "pilot.csv")
    with np.load(data / "cifar10-model-predictions" / "probs.npz") as networks:
        for file, network in MODELS.items():
            probs = networks[network][chosen].astype(float)
            SoftLabels.from_numpy(items, probs / probs.sum(1, keepdims=True), classes, 0).write(folder / file)


def printed() -> Iterator[tuple[str, str]]:
    """Every question with its answer, as Markdown, by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pilot(folder)
        for answer in ANSWERS:
            script = answer.command.replace("sfumato", f"'{sys.executable}' -m sfumato", 1)
            done = subprocess.run(["sh", "-c", script], cwd=folder, check=True, capture_output=True, text=True)
            typed = answer.command.replace(" --metric", " \\\n  --metric")
            yield answer.name, f"```sh\n{typed}\n```\n\n```text\n{answer.shown(done.stdout)}\n```"
