"""The steps of the demo, each a command, from images to a report; and its three study files, one per question type."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import Template

from sfumato.cli.demo.step_journal import Step
from sfumato.tables.files.atomic_write import atomic_write

FORMS = ("tokens", "choice", "top_two")
"""The first one is the main study, in the demo's folder; the others are in subfolders."""
INSTRUCTIONS = {
    "tokens": "Place ten tokens: all on one digit if you are sure, spread over several if you are not.",
    "choice": "Choose the most likely digit.",
    "top_two": "Choose the most likely digit and how sure you are, optionally a second one, and what it cannot be.",
}
IMAGES = ("inputs.npz", "views.npz")
"""The images and what simulated annotators see in them, in the folder of every study."""
REPEATS = 3
STUDY = Template("""\
# A study file: questions, items and participants. `sfumato study new` writes one with every key explained.
title = "Which digit is it?"
name = "digits-$name"
classes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]

[items]
npz = "inputs.npz"
upscale = "nearest"

[question]
kind = "$kind"

[pages]
consent = "The answers stay on this machine. You can stop at any time."
instructions = '''
Each picture is a handwritten digit with very few pixels. $instructions
'''

[people]
answers_per_item = $answers
batch_size = $batch_size
repeats = $repeats
""")


def folder_of(folder: Path, form: str) -> Path:
    """The folder of the study with this form."""
    return folder if form == FORMS[0] else folder / form


def write_studies(folder: Path, *, n_items: int, n_people: int, n_answers: int) -> None:
    """Write one study file per form; `n_people` annotators give every item `n_answers` answers."""
    for form in FORMS:
        place = folder_of(folder, form)
        place.mkdir(parents=True, exist_ok=True)
        for name in IMAGES if place != folder else ():
            with atomic_write(place / name) as part:
                shutil.copyfile(folder / name, part)
        text = STUDY.substitute(
            name=form.replace("_", "-"),
            kind=form,
            instructions=INSTRUCTIONS[form],
            # A few more than are given, so that the last annotators still find images they have not seen.
            answers=n_answers + 5,
            batch_size=min(n_items, math.ceil(n_answers * n_items / n_people)),
            repeats=REPEATS,
        )
        with atomic_write(place / "study.toml") as part:
            part.write_text(text, "utf-8")


TARGETS = "hard,majority,smoothing,soft,deaggregated,shuffled"
METRICS = "accuracy,second_best_accuracy,cross_entropy,kl_divergence,brier,ece,rms_calibration,aurc,entropy_pearson"
LABELERS = {"tokens": "tokens", "choice": "one-hot", "top_two": "top-two-clamp"}
PARTS = ("inputs.npz", "original.csv")


@dataclass(frozen=True)
class Size:
    """The size of the demo. `plan` are more options of the plan command."""

    images: int = 360
    people: int = 60
    answers: int = 10
    seeds: int = 5
    epochs: int = 60
    plan: str = ""


QUICK = Size(images=100, people=15, answers=6, seeds=3, epochs=30, plan=" --no-adaptive")


@dataclass(frozen=True)
class Chapter:
    """Steps with a title."""

    title: str
    steps: tuple[Step, ...]


def chapters(size: Size) -> tuple[Chapter, ...]:
    """All steps in order."""
    studies = tuple(f"{_in(form)}{name}" for form in FORMS for name in ("study.toml", *IMAGES))
    return (
        Chapter(
            f"Create three studies about {size.images} handwritten digits (real images, one third of them hard)",
            (
                Step(
                    "digits",
                    f"python -m sfumato.cli.demo.demo_digits {{folder}} --images {size.images} --people {size.people}"
                    f" --answers {size.answers}",
                    (),
                    ("original.csv", "gold.csv", "truth.csv", *studies),
                ),
                Step("study-check", "sfumato study check {folder}", (studies[0], PARTS[0]), ()),
            ),
        ),
        Chapter(f"Answer each study with {size.people} simulated annotators over HTTP", (_answering(size),)),
        Chapter(
            "Export the answers, screen annotators, and convert answers into distributions",
            tuple(step for form in FORMS for step in _labeling(form)),
        ),
        Chapter("Aggregate in four ways; measure agreement and uncertainty", _aggregation()),
        Chapter(
            f"Train a small network on six targets with {size.seeds} seeds; half of the images are for testing",
            _training(size),
        ),
        Chapter("Score the models against people's labels, and under an adversarial attack", _evaluation()),
        Chapter("Compare the question types, and plan for 200 USD", _planning(size)),
        Chapter("Write the report", (_reporting(),)),
    )


def _in(form: str) -> str:
    """The prefix of a form's files: its folder."""
    return "" if form == FORMS[0] else f"{form}/"


OUTPUT_OPTIONS = ("-o", "--intervals", "--annotators", "--differences")


def _step(name: str, command: str) -> Step:
    """A step that reads and makes the files in its command; those it makes follow one of `OUTPUT_OPTIONS`."""
    words = [(before, word.removeprefix("{folder}/")) for before, word in pairwise(command.split()) if "}/" in word]
    makes = tuple(file for option, file in words if option in OUTPUT_OPTIONS)
    return Step(name, command, tuple(file for _, file in words if file not in makes), makes)


def _answering(size: Size) -> Step:
    folders = " ".join(f"{{folder}}/{_in(form)}".removesuffix("/") for form in FORMS)
    return Step(
        "people",
        f"python -m sfumato.cli.demo.demo_people {folders} --people {size.people}",
        tuple(f"{_in(form)}{name}" for form in FORMS for name in ("study.toml", *IMAGES)),
        tuple(f"{_in(form)}store" for form in FORMS),
    )


def _labeling(form: str) -> tuple[Step, ...]:
    own, at = _in(form), f"{{folder}}/{_in(form)}"
    return (
        Step(
            f"export-{form}",
            f"sfumato export {at.removesuffix('/')} -o {at}annotations.parquet",
            (f"{own}study.toml", f"{own}inputs.npz", f"{own}store"),
            (f"{own}annotations.parquet", f"{own}annotations.codebook.md"),
        ),
        _step(f"screen-{form}", f"sfumato screen {at}annotations.parquet -o {at}screening.csv"),
        _step(
            f"label-{form}",
            f"sfumato label {at}annotations.parquet --by {LABELERS[form]} --screening {at}screening.csv"
            f" -o {at}beliefs.parquet",
        ),
    )


def _aggregation() -> tuple[Step, ...]:
    def aggregate(by: str, more: str = "") -> Step:
        output = "labels.parquet" if by == "mean" else f"labels/{by}.parquet"
        command = f"sfumato aggregate {{folder}}/beliefs.parquet --by {by} -o {{folder}}/{output}{more}"
        return _step(f"aggregate-{by}", command)

    of_form = "sfumato aggregate {folder}/FORM/beliefs.parquet --by mean -o {folder}/FORM/labels.parquet"
    return (
        aggregate("mean", " --intervals {folder}/intervals.parquet"),
        aggregate("bayes"),
        aggregate("dawid-skene"),
        aggregate("mixture-pool", " --annotators {folder}/quality.csv --annotations {folder}/annotations.parquet"),
        *(_step(f"aggregate-{form}", of_form.replace("FORM", form)) for form in FORMS[1:]),
        _step("agreement", "sfumato agreement {folder}/beliefs.parquet -o {folder}/agreement.csv"),
        _step("doubt", "sfumato doubt {folder}/beliefs.parquet -o {folder}/doubt.csv"),
    )


def _training(size: Size) -> tuple[Step, ...]:
    command = (
        "sfumato train --inputs {folder}/inputs.npz --labels {folder}/labels.parquet"
        " --beliefs {folder}/beliefs.parquet --original {folder}/original.csv"
        f" --targets {TARGETS} --model simple-ffn --seeds {size.seeds} --epochs {size.epochs}"
        " --split share:test=0.5 --processes 1 -o {folder}/runs"
    )
    return (_step("train", command),)


def _evaluation() -> tuple[Step, ...]:
    against = "--people {folder}/labels.parquet --original {folder}/original.csv"
    return (
        _step(
            "evaluate",
            f"sfumato evaluate --runs {{folder}}/runs {against} --metrics {METRICS} --strata agree"
            " -o {folder}/scores.csv --differences {folder}/differences.csv",
        ),
        _step(
            "attack",
            "sfumato attack {folder}/runs --inputs {folder}/inputs.npz --original {folder}/original.csv --by fgsm"
            " --eps 16/255 --processes 1 -o {folder}/attacked",
        ),
        _step(
            "evaluate-attacked",
            f"sfumato evaluate --runs {{folder}}/attacked {against} --metrics accuracy,cross_entropy"
            " -o {folder}/scores/attacked.csv --differences {folder}/attacked-differences.csv",
        ),
    )


def _planning(size: Size) -> tuple[Step, ...]:
    given = " ".join(f"--pilot {{folder}}/{_in(form)}annotations.parquet" for form in FORMS)
    plan = f"sfumato plan --pilot {{folder}}/choice/annotations.parquet --budget 200{size.plan}"
    return (
        _step(
            "plan-labels",
            f"sfumato plan labels {given} --worlds 6 --rates {{folder}}/rates.csv -o {{folder}}/kinds.csv",
        ),
        _step("plan", f"{plan} -o {{folder}}/plan.json"),
    )


def _reporting() -> Step:
    reads = (
        "study.toml", "annotations.parquet", "screening.csv", "beliefs.parquet", "labels.parquet", "labels",
        *PARTS, "runs", "attacked", "scores.csv", "scores", "differences.csv", "quality.csv", "intervals.parquet",
        "plan.json",
    )  # fmt: skip
    command = "sfumato report {folder} --title 'Digits: real images, simulated people' -o {folder}/report.html"
    return Step("report", command, reads, ("report.html",))
