"""Three studies about the same digits, each with a form of its own: one class, ten tokens, or the two likeliest.

The steps of the demo, each a command one can type, from images to a report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from string import Template

from sfumato.cli.demo.step_journal import Step
from sfumato.tables.files.atomic_write import atomic_write

FORMS = ("tokens", "choice", "top_two")
"""The first one is the main study: it stands in the demo's folder itself, the others in folders of their own."""
HOW_TO = {
    "tokens": "Place ten tokens: all on one digit if you are sure, spread out if you are not.",
    "choice": "Choose the digit it is most likely to be.",
    "top_two": "Say which digit it is most likely to be and how sure you are, perhaps a second, and what it cannot be.",
}
REPEATS = 3
STUDY = Template("""\
# A study file: what is asked, about which items, of whom. `sfumato study new` writes one with every key explained.
title = "Which digit is it?"
name = "digits-$name"
classes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]

[items]
npz = "$inputs"
upscale = "nearest"

[question]
kind = "$kind"

[pages]
consent = "The answers stay on this machine. You can stop at any time."
instructions = '''
Each picture is a digit that somebody wrote by hand, shown with very few pixels. $how_to
'''

[people]
answers_per_item = $answers
batch_size = $batch_size
repeats = $repeats
""")


def folder_of(folder: Path, form: str) -> Path:
    """Where the study with this form stands."""
    return folder if form == FORMS[0] else folder / form


def write_studies(folder: Path, *, n_items: int, n_people: int, n_answers: int) -> None:
    """A study file a form, so that `n_people` people give every item `n_answers` between them."""
    for form in FORMS:
        place = folder_of(folder, form)
        place.mkdir(parents=True, exist_ok=True)
        text = STUDY.substitute(
            name=form.replace("_", "-"),
            inputs="inputs.npz" if form == FORMS[0] else "../inputs.npz",
            kind=form,
            how_to=HOW_TO[form],
            # A few more than will come, so that the last ones need not search for an image they have not seen.
            answers=n_answers + 5,
            batch_size=min(n_items, math.ceil(n_answers * n_items / n_people)),
            repeats=REPEATS,
        )
        with atomic_write(place / "study.toml") as part:
            part.write_text(text, "utf-8")


TARGETS = "hard,majority,smoothing,soft,deaggregated,shuffled"
METRICS = "accuracy,cross_entropy,kl_divergence,brier,ece,entropy_spearman"
LABELERS = {"tokens": "tokens", "choice": "one-hot", "top_two": "top-two-clamp"}
PARTS = ("inputs.npz", "original.csv")


@dataclass(frozen=True)
class Size:
    """How much of everything. `plan` are further options of the plan."""

    images: int = 360
    people: int = 60
    answers: int = 10
    seeds: int = 5
    epochs: int = 60
    plan: str = ""


QUICK = Size(images=100, people=15, answers=6, seeds=3, epochs=30, plan=" --no-adaptive")


@dataclass(frozen=True)
class Chapter:
    """Some steps, and why."""

    why: str
    steps: tuple[Step, ...]


def chapters(size: Size) -> tuple[Chapter, ...]:
    """All steps in order."""
    studies = tuple(f"{_in(form)}study.toml" for form in FORMS)
    return (
        Chapter(
            f"{size.images} handwritten digits, real images, a third of them hard; three studies about them",
            (
                Step(
                    "digits",
                    f"python -m sfumato.cli.demo.demo_digits {{folder}} --images {size.images} --people {size.people}"
                    f" --answers {size.answers}",
                    (),
                    (*PARTS, "gold.csv", "views.npz", "truth.csv", *studies),
                ),
                Step("study-check", "sfumato study check {folder}", (studies[0], PARTS[0]), ()),
            ),
        ),
        Chapter(
            f"{size.people} people answer each form over HTTP; the people are simulated",
            (_answered(size),),
        ),
        Chapter(
            "Answers, who did not look, and what each answer says as a distribution",
            tuple(step for form in FORMS for step in _labelled(form)),
        ),
        Chapter("What people together say, in four ways; how far they agree, what their doubt is made of", _pooled()),
        Chapter(
            f"A small network taught with six targets, {size.seeds} seeds each; half of the images held back",
            _taught(size),
        ),
        Chapter("Scored against people, apart where they agree; and on images changed to mislead", _scored()),
        Chapter("Which form is worth its price, and what 200 USD would buy", _planned(size)),
        Chapter("All of it on one page", (_reported(),)),
    )


def _in(form: str) -> str:
    """The folder of a form's files, as it stands before their names."""
    return "" if form == FORMS[0] else f"{form}/"


def _answered(size: Size) -> Step:
    folders = " ".join(f"{{folder}}/{_in(form)}".removesuffix("/") for form in FORMS)
    return Step(
        "people",
        f"python -m sfumato.cli.demo.demo_people {folders} --people {size.people}",
        (*(f"{_in(form)}study.toml" for form in FORMS), "inputs.npz", "views.npz"),
        tuple(f"{_in(form)}store" for form in FORMS),
    )


def _labelled(form: str) -> tuple[Step, ...]:
    own, at = _in(form), f"{{folder}}/{_in(form)}"
    answers, aside, beliefs = f"{own}annotations.parquet", f"{own}screening.csv", f"{own}beliefs.parquet"
    return (
        Step(
            f"export-{form}",
            f"sfumato export {at.removesuffix('/')} -o {at}annotations.parquet",
            (f"{own}study.toml", "inputs.npz", f"{own}store"),
            (answers, f"{own}annotations.codebook.md"),
        ),
        Step(
            f"screen-{form}",
            f"sfumato screen {at}annotations.parquet -o {at}screening.csv",
            (answers,),
            (aside,),
        ),
        Step(
            f"label-{form}",
            f"sfumato label {at}annotations.parquet --by {LABELERS[form]} --screening {at}screening.csv"
            f" -o {at}beliefs.parquet",
            (answers, aside),
            (beliefs,),
        ),
    )


def _pooled() -> tuple[Step, ...]:
    tokens = "beliefs.parquet"

    def pooled(by: str, more: str = "", reads: tuple[str, ...] = (), makes: tuple[str, ...] = ()) -> Step:
        output = "labels.parquet" if by == "mean" else f"labels/{by}.parquet"
        command = f"sfumato aggregate {{folder}}/{tokens} --by {by} -o {{folder}}/{output}{more}"
        return Step(f"aggregate-{by}", command, (tokens, *reads), (output, *makes))

    return (
        pooled("mean", " --intervals {folder}/intervals.parquet", makes=("intervals.parquet",)),
        pooled("bayes", " --tolerance 1e-5"),
        pooled("dawid-skene"),
        pooled(
            "mixture-pool",
            " --annotators {folder}/quality.csv --annotations {folder}/annotations.parquet",
            reads=("annotations.parquet",),
            makes=("quality.csv",),
        ),
        *(
            Step(
                f"aggregate-{form}",
                f"sfumato aggregate {{folder}}/{form}/beliefs.parquet --by mean -o {{folder}}/{form}/labels.parquet",
                (f"{form}/beliefs.parquet",),
                (f"{form}/labels.parquet",),
            )
            for form in FORMS[1:]
        ),
        Step(
            "agreement", "sfumato agreement {folder}/beliefs.parquet -o {folder}/agreement.csv", (tokens,),
            ("agreement.csv",),
        ),
        Step("doubt", "sfumato doubt {folder}/beliefs.parquet -o {folder}/doubt.csv", (tokens,), ("doubt.csv",)),
    )  # fmt: skip


def _taught(size: Size) -> tuple[Step, ...]:
    return (
        Step(
            "train",
            "sfumato train --inputs {folder}/inputs.npz --labels {folder}/labels.parquet"
            " --beliefs {folder}/beliefs.parquet --original {folder}/original.csv"
            f" --targets {TARGETS} --model simple-ffn --seeds {size.seeds} --epochs {size.epochs}"
            " --split share:test=0.5 --processes 1 -o {folder}/runs",
            (*PARTS, "labels.parquet", "beliefs.parquet"),
            ("runs",),
        ),
    )


def _scored() -> tuple[Step, ...]:
    against = "--people {folder}/labels.parquet --original {folder}/original.csv"
    return (
        Step(
            "evaluate",
            f"sfumato evaluate --runs {{folder}}/runs {against} --metrics {METRICS} --strata agree"
            " -o {folder}/scores.csv --differences {folder}/differences.csv",
            ("runs", "labels.parquet", "original.csv"),
            ("scores.csv", "differences.csv"),
        ),
        Step(
            "attack",
            "sfumato attack {folder}/runs --inputs {folder}/inputs.npz --original {folder}/original.csv --by fgsm"
            " --eps 16/255 --processes 1 -o {folder}/attacked",
            ("runs", *PARTS),
            ("attacked",),
        ),
        Step(
            "evaluate-attacked",
            f"sfumato evaluate --runs {{folder}}/attacked {against} --metrics accuracy,cross_entropy"
            " -o {folder}/scores/attacked.csv --differences {folder}/attacked-differences.csv",
            ("attacked", "labels.parquet", "original.csv"),
            ("scores/attacked.csv", "attacked-differences.csv"),
        ),
    )


def _planned(size: Size) -> tuple[Step, ...]:
    pilots = [f"{_in(form)}annotations.parquet" for form in FORMS]
    given = " ".join(f"--pilot {{folder}}/{pilot}" for pilot in pilots)
    return (
        Step("plan-compare", f"sfumato plan compare {given} -o {{folder}}/forms.csv", tuple(pilots), ("forms.csv",)),
        Step(
            "plan",
            "sfumato plan --pilot {folder}/choice/annotations.parquet --budget 200"
            f"{size.plan} -o {{folder}}/plan.json",
            ("choice/annotations.parquet",),
            ("plan.json",),
        ),
    )


def _reported() -> Step:
    reads = (
        "study.toml", "annotations.parquet", "screening.csv", "beliefs.parquet", "labels.parquet", "labels",
        *PARTS, "runs", "attacked", "scores.csv", "scores", "differences.csv", "quality.csv", "intervals.parquet",
        "plan.json",
    )  # fmt: skip
    command = "sfumato report {folder} --title 'Digits: real images, simulated people' -o {folder}/report.html"
    return Step("report", command, reads, ("report.html",))
