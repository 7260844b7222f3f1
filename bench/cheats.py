"""Simulated cheats in a paid study: how many the screening rules find, and how many honest people they exclude.

Each study has 20% scripts (in all combinations of `sfumato.elicitation.simulated_cheats`), 10% double identities and 5%
borrowers of another's account, over HTTP against a real server whose clock runs ten times as fast. The rules and their
numbers are those of the rule set `paid`; none was chosen on these studies.

    python bench/cheats.py [--people 240] [--seeds 1] [--write docs/screen.md]

A second table is of honest crowds that share networks: a university, mobile providers, a proxy that does not report
addresses. Nobody in them cheats, so everybody excluded by `same_device` or `same_network` is a false alarm.

Two more tables are printed. Bonus rules: the mean score of scripts that all give the same invented answer to a picture,
by their share of the crowd, next to that of honest people. Adaptive assignment: whether a few such scripts draw answers
to the items they choose, and how far the labels are from the truth (KL divergence) once they are screened out.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pages import markdown, write
from sfumato.elicitation.assignment import AnswerEvent, QuotaTable
from sfumato.elicitation.items import read_items
from sfumato.elicitation.simulated_annotator import Truth, drawn_annotators, number_of
from sfumato.elicitation.simulated_cheats import CheatShares, drawn_accounts, drawn_window
from sfumato.labeling.answer_records import RecordRow, matched_records
from sfumato.labeling.record_rules import SameDevice, SharedNetwork
from sfumato.labeling.screening import screen
from sfumato.planning.adaptive_assignment import AdaptiveSelector
from sfumato.recruitment.arrival import entry_address
from sfumato.recruitment.bonus_rules import BONUS_RULES, PeerAnswers
from sfumato.server.cheat_detection import ROLES, Finding, detection_lines, find_cheats
from sfumato.server.server import serve_study
from sfumato.server.simulated_visits import simulate, stimuli_in
from sfumato.store.location import StoreLocation
from sfumato.study.study import Adaptive, Assignment, ItemSource, People, Question, Study, StudyClass
from sfumato.study.study_file import read_study
from sfumato.tables.annotations import Annotations

PACE, CONCURRENT = 0.1, 96
"""How fast people are, and how many answer at once: few enough for a busy machine. Where replies take long, a script
that answers at once is as slow as a person."""
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
                url,
                study,
                annotators,
                truth,
                stimulus_of,
                rng,
                pace=PACE,
                concurrency=CONCURRENT,
                accounts=accounts,
                entry=entry,
            )
        return find_cheats(study, StoreLocation.of(store), accounts, summary.tokens)


CROWDS = {
    "all behind a proxy that reports no addresses": (0,),
    "half in one university, with computer rooms": (120,),
    "three in four behind ten addresses of mobile providers": (18,) * 10,
    "offices of eight": (8,) * 30,
    "households of two to five": (2, 3, 4, 5) * 17,
    "one person in ten shares a household of two": (2,) * 12,
}
"""Sizes of the networks that honest people share; the others have one each. 0: everybody."""
CROWD_STUDIES = 100
ROOM = 20
"""People of a university in a computer room, all with the same screen, which nobody else has."""


def honest_crowd(networks: Sequence[int], people: int, rng: np.random.Generator) -> tuple[int, int]:
    """How many honest people of one study are excluded because of their address or window, and how many have signs."""
    address = np.arange(people) + len(networks)
    place = 0
    for number, size in enumerate(networks):
        address[place : place + (size or people)] = number
        place += size or people
    windows = [drawn_window(rng) for _ in range(people)]
    if networks == (120,):
        windows[:ROOM] = [("mouse", 1680, 875, 1.0)] * ROOM
    votes = {"item": ["i"] * people, "annotator": [f"p{n}" for n in range(people)], "kind": ["choice/1"] * people}
    votes |= {"payload": ['{"class": "cat"}'] * people, "trial": [0] * people}
    answers = Annotations.from_arrow(pa.table(votes), CLASSES)
    rows = (RecordRow(f"p{n}", 0, 5.0, 3, f"n{address[n]}", windows[n]) for n in range(people))
    found = screen(answers, (SameDevice(), SharedNetwork()), records=matched_records(rows, answers))
    return int(found.set_aside.sum()), sum(map(bool, found.signs))


def crowds_table(people: int, studies: int) -> str:
    """False alarms among honest people who share networks, as Markdown."""
    rows = []
    for name, networks in CROWDS.items():
        found = [honest_crowd(networks, people, np.random.default_rng(seed)) for seed in range(studies)]
        n_excluded, n_signs = np.sum(found, axis=0)
        n = people * studies
        rows.append([name, f"{n_excluded:,} of {n:,}", f"{n_excluded / n:.2%}", f"{n_signs / n:.0%}"])
    return markdown(("honest people", "falsely excluded", "share", "with signs only"), rows)


def bonus_of_colluders(share: float, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The mean score of honest people and of colluding scripts by each bonus rule: 200 people, ten answers per item."""
    rng = np.random.default_rng(seed)
    n_people, n_items, per_item, n_classes = 200, 800, 10, len(CLASSES)
    truth = Truth.built_in(CLASSES)
    people = drawn_annotators(n_people, n_classes, rng, careless=0.0)
    is_script = np.arange(n_people) < round(share * n_people)
    item = np.repeat(np.arange(n_items), per_item)
    annotator = np.concatenate([rng.choice(n_people, per_item, replace=False) for _ in range(n_items)])
    probs = np.zeros((len(item), n_classes))
    for row, (shown, who) in enumerate(zip(item, annotator, strict=True)):
        if is_script[who]:
            probs[row, number_of(f"i{shown}") % n_classes] = 1.0
        else:
            probs[row, people[who].belief(truth.of(f"i{shown}"), rng).argmax()] = 1.0  # type: ignore[attr-defined]
    answers = PeerAnswers(item, annotator, probs, np.ones(n_people, bool))
    scores = {rule.name: rule().scores(answers) for rule in BONUS_RULES}
    return {name: (np.nanmean(each[~is_script]), np.nanmean(each[is_script])) for name, each in scores.items()}


def adaptive_allocation(share: float, seed: int) -> tuple[float, float, float, float]:
    """Colluding scripts in an adaptive study of 1,200 votes about 150 items: mean votes of clear and of unclear items,
    and the error of the labels without the scripts' votes, with adaptive and with equal assignment."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    n_items, n_votes, per_person = 150, 1200, 20
    classes = CLASSES[:4]
    truth = Truth.built_in(classes)
    probs = np.array([truth.of(f"i{item}") for item in range(n_items)])
    people = People(answers_per_item=30, batch_size=per_person, assignment=Assignment.ADAPTIVE)
    study = Study(
        "s", "s", tuple(map(StudyClass, classes)), ItemSource(), Question("choice"),
        people=people, adaptive=Adaptive(answers=n_votes),
    )  # fmt: skip
    errors, taken = [], np.zeros(n_items, int)
    for is_adaptive in (False, True):
        selector = AdaptiveSelector(study, background=False) if is_adaptive else None
        if selector is not None:
            selector.begin([(i, 30, 0) for i in range(n_items)], {i: f"i{i}" for i in range(n_items)}, [])
        quotas = QuotaTable([(i, 30, 0) for i in range(n_items)], selector)
        honest, taken = np.full((n_items, len(classes)), 0.25), np.zeros(n_items, int)
        while taken.sum() < n_votes:
            is_script, seen = rng.random() < share, set[int]()
            for _ in range(min(per_person, n_votes - int(taken.sum()))):
                chosen = quotas.choose(seen, rng)
                if chosen is None:
                    break
                item = chosen.item
                seen.add(item)
                quotas.take(item)
                taken[item] += 1
                drawn = int(numbers.choice(len(classes), p=probs[item]))
                vote = number_of(f"i{item}") % len(classes) if is_script else drawn
                honest[item, vote] += not is_script
                if selector is not None:
                    selector.add_answer(AnswerEvent(item, 0, {"class": classes[vote]}))
        labels = honest / honest.sum(axis=1, keepdims=True)
        logs = np.log(np.maximum(probs, 1e-12)) - np.log(labels)
        errors.append(float((probs * logs).sum(axis=1).mean()))
    is_clear = probs.max(axis=1) > 0.95
    return float(taken[is_clear].mean()), float(taken[~is_clear].mean()), errors[1], errors[0]


def table(findings: Sequence[Finding]) -> str:
    """How many accounts of each role were found, and the scripts of which some were not, as Markdown."""
    groups: dict[str, list[Finding]] = {}
    for each in findings:
        groups.setdefault(ROLES[each.account.role], []).append(each)
        if each.account.family:
            groups.setdefault(f"... {each.account.family}", []).append(each)
    rows = []
    families = sorted(name for name in groups if name.startswith("..."))
    order = [ROLES["script"], *families, *(title for role, title in ROLES.items() if role != "script")]
    for name, members in ((name, groups[name]) for name in order if name in groups):
        n_found = sum(bool(each.reasons) for each in members)
        if not name.startswith("...") or n_found < len(members):
            n_signs = sum(bool(each.signs and not each.reasons) for each in members)
            rows.append([name, f"{n_found} of {len(members)}", f"{n_found / len(members):.1%}", str(n_signs)])
    head = ("accounts", "found, or for honest people falsely excluded", "share", "signs only")
    return markdown(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=240)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--write", type=Path)
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
    crowds = crowds_table(240, CROWD_STUDIES)
    print(f"\nhonest crowds that share networks, {CROWD_STUDIES} studies each\n{crowds}", flush=True)
    if options.write:
        write(options.write, "cheats", table(everything))
        write(options.write, "shared networks", crowds)
    print("\nmean bonus score of honest people and of colluding scripts, by the share of scripts")
    for share in (0.05, 0.2, 0.4):
        pairs = bonus_of_colluders(share).items()
        print(f"{share:.0%}: " + ", ".join(f"{name} {honest:.2f} / {script:.2f}" for name, (honest, script) in pairs))
    print("\nadaptive assignment and colluding scripts: votes of clear and unclear items; error after screening")
    for share in (0.0, 0.05, 0.1, 0.2):
        clear, unclear, adaptive, equal = np.mean([adaptive_allocation(share, seed) for seed in range(5)], axis=0)
        print(f"{share:.0%}: {clear:.1f} and {unclear:.1f}; KL {adaptive:.3f} (equal assignment {equal:.3f})")


if __name__ == "__main__":
    main()
