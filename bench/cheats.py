"""Simulated cheats in a paid study: how many the screening rules find, and how many honest people they exclude.

Each study has 20% scripts (in all combinations of `sfumato.elicitation.simulated_cheats`), 10% double identities and 5%
borrowers of another's account, over HTTP against a real server whose clock runs 50 times as fast. The rules and their
numbers are those of the rule set `paid`; none was chosen on these studies.

    python bench/cheats.py [--people 300] [--seeds 2]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from sfumato.elicitation.items import read_items
from sfumato.elicitation.simulated_annotator import Truth
from sfumato.elicitation.simulated_cheats import CheatShares, drawn_accounts
from sfumato.recruitment.arrival import entry_address
from sfumato.server.cheat_detection import Finding, detection_lines, find_cheats
from sfumato.server.server import serve_study
from sfumato.server.simulated_visits import simulate, stimuli_in
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.study.study_file import read_study

PACE = 0.02
CLASSES = ("cat", "dog", "fox", "wolf", "bear", "seal")
SIZES = {"40 answers per person, 3 checks": (40, 3), "20 answers per person, no checks": (20, 0)}


def write_study(folder: Path, kind: str, n_items: int, per_person: int, n_checks: int, per_item: int) -> Study:
    """A study of texts; the checks are clear items with their class as the answer."""
    rows = [f"i{n},text {n},{CLASSES[n % len(CLASSES)]}" for n in range(n_items + n_checks)]
    (folder / "items.csv").write_text("\n".join(["item,text,class", *rows]), "utf-8")
    checks = "".join(
        f'[[checks]]\nitem = "i{n}"\nclasses = ["{CLASSES[n % len(CLASSES)]}"]\nat_least = 0.5\n'
        for n in range(n_items, n_items + n_checks)
    )
    quoted = ", ".join(f'"{name}"' for name in CLASSES)
    (folder / "study.toml").write_text(
        f'title = "Animals"\nclasses = [{quoted}]\n[items]\ncsv = "items.csv"\n[question]\nkind = "{kind}"\n'
        f"[people]\nanswers_per_item = {per_item}\nbatch_size = {per_person}\n"
        f'entry = "links"\n[pages]\ninstructions = "Say what it is."\n'
        f'[platform]\nname = "prolific"\ncompleted = "C1A2B3C4"\n{checks}',
        "utf-8",
    )
    return read_study(folder)


def run(kind: str, people: int, per_person: int, n_checks: int, seed: int) -> list[Finding]:
    """One simulated study of which nobody has enough: there are more places than people."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        per_item = 10
        study = write_study(folder, kind, people * per_person // per_item + per_person, per_person, n_checks, per_item)
        items = read_items(study.items, study.class_names)
        accounts = drawn_accounts(people, len(CLASSES), CheatShares(), rng)
        truth, store = Truth.built_in(CLASSES, items), str(folder / "answers.sqlite")
        with serve_study(study, store, items, pace=PACE) as url, stimuli_in(store) as stimulus_of:
            annotators = [account.annotator for account in accounts]
            entry = entry_address(study, url, store)
            summary = simulate(
                url, study, annotators, truth, stimulus_of, rng, pace=PACE, accounts=accounts, entry=entry
            )
        return find_cheats(study, StoreLocation.of(store), accounts, summary.tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    everything: list[Finding] = []
    for kind in ("choice", "tokens"):
        for title, (per_person, n_checks) in SIZES.items():
            found = [
                each for seed in range(options.seeds) for each in run(kind, options.people, per_person, n_checks, seed)
            ]
            everything += found
            print(f"\n{kind}, {title}, {options.seeds} studies of {options.people} accounts", flush=True)
            print("\n".join(line for line in detection_lines(found) if not line.startswith("  ")), flush=True)
    print("\nall studies, by what the scripts do")
    print("\n".join(detection_lines(everything)))


if __name__ == "__main__":
    main()
