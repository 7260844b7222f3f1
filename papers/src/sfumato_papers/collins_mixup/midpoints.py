"""Midpoints that people construct and select, and the stimuli they see."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from sfumato.reporting.charts import Field, bars
from sfumato.tables.column_reader import read_columns
from sfumato.tables.files import read_rows
from sfumato.training.mixing import CurveFit, blends_of
from sfumato_papers.collins_mixup.hmix import all_collections, thesis_collection
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun, once


@dataclass(frozen=True)
class MidpointTask:
    """How the point was asked for: the file, and the column with the coefficient that was chosen."""

    name: str
    file: str
    column: str


TASKS = (
    MidpointTask("Construct", "construct_midpoint.csv.gz", "final_value"),
    MidpointTask("Select-Shuffled", "select_shuffled_midpoint.csv.gz", "selected_mixing"),
)


@dataclass(frozen=True, eq=False)
class MidpointAnswers:
    """The coefficients chosen; answers of one annotator are not independent of each other."""

    annotators: tuple[str, ...]
    annotator: np.ndarray
    pairs: tuple[str, ...]
    chosen: Float[np.ndarray, "answers"]
    start: Float[np.ndarray, "answers"] | None
    is_repeat: Bool[np.ndarray, "answers"]

    def by_annotator(self) -> Float[np.ndarray, "annotators"]:
        """Each annotator's mean, repeats left out."""
        first = ~self.is_repeat
        sums = np.bincount(self.annotator[first], self.chosen[first], len(self.annotators))
        return np.asarray(sums / np.bincount(self.annotator[first], minlength=len(self.annotators)))


@once
def answers(rerun: Rerun, task: MidpointTask) -> MidpointAnswers:
    rows = read_rows(rerun.data.path("hmix", task.file), guarded=False)
    wanted = [task.column, *(["start_value"] if "start_value" in rows.schema.names else [])]
    columns = read_columns(rows, ("annotator", "task", "index1", "index2"), wanted)
    annotator = columns.texts["annotator"]
    return MidpointAnswers(
        tuple(annotator.names.to_pylist()),
        annotator.codes,
        tuple(f"{a}+{b}" for a, b in zip(columns.listed("index1"), columns.listed("index2"), strict=True)),
        columns.numbers[task.column],
        columns.numbers.get("start_value"),
        np.array([name.startswith("rerun") for name in columns.listed("task")]),
    )


def perceived_midpoints(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = []
    rows = []
    middles = {}
    for task in TASKS:
        told = answers(rerun, task)
        first = ~told.is_repeat
        away = np.abs(told.chosen[first] - 0.5)
        middles[task.name] = replace(Estimate.over_seeds(told.by_annotator()), covers="95% t over annotators")
        counts = {
            "participants": len(told.annotators),
            "pairs of images": len(set(told.pairs)),
            "answers, repeats left out": int(first.sum()),
        }
        findings += [Finding.exact(name, task.name, None, n) for name, n in counts.items()]
        findings += [
            Finding("mean coefficient of the image chosen", task.name, None, middles[task.name], places=3),
            Finding.exact("median", task.name, None, np.median(told.chosen[first]), places=2),
            Finding.exact("chose another image than 0.5", task.name, None, (away > 0.05).mean(), places=3),
            Finding.exact("chose one at least 0.2 away", task.name, None, (away > 0.15).mean(), places=3),
        ]
        if told.start is not None:
            for start in (0.1, 0.9):
                own = first & np.isclose(told.start, start)
                row = f"mean where the first image shown was {start:g}"
                findings.append(Finding.exact(row, task.name, None, told.chosen[own].mean(), places=3))
        for at in np.arange(11) / 10:
            share = float(np.isclose(np.round(told.chosen[first], 1), at).mean())
            rows.append((f"{at:.1f}", share, task.name))
    x0 = CurveFit(prior=0.0).fit(all_collections(rerun).judgments).pooled.x0
    middle = "where the curve of inferred coefficients is at 0.5"
    findings += [
        Finding.exact(middle, "Infer", None, x0, places=3, how="x0, appendix C"),
        Statement(
            "human perceptions (abstract)",
            "do not consistently align with the labels used for synthetic points",
            all(float((np.abs(answers(rerun, task).chosen - 0.5) > 0.05).mean()) > 0.5 for task in TASKS),
            ", ".join(f"{name} {each.value:.3f} ({each.low:.3f} to {each.high:.3f})" for name, each in middles.items())
            + " on average",
            how="holds where most answers are another image than the one mixed half and half",
        ),
    ]
    about = (
        "Two tasks of the later paper, of which the thesis does not tell: to move through mixtures of two images "
        "until one looks half and half (*Construct*), and to choose it from all of them in random order "
        "(*Select-Shuffled*). The data are released, the paper's figures about them are not transcribed here: ours "
        "stand without any next to them. Coefficients are of the first image; intervals are over annotators."
    )
    chart = bars(
        "midpoints",
        title="Which mixture people take for half and half",
        caption="Share of answers by the first image's coefficient in the mixture chosen, repeats left out.",
        data=chart_columns(("coefficient", "share", "task"), rows),
        of="coefficient",
        value=Field("share", "share of answers", ".0%"),
        series="task",
    )
    return Part("UAI paper, Section 3", "The perceived midpoint", findings, about, charts=(chart,))


def section_4_2_1(rerun: Rerun) -> Part:
    thesis, everyone = thesis_collection(rerun), all_collections(rerun)
    told = thesis.judgments
    by_pair = Counter(zip(told.first.tolist(), told.second.tolist(), strict=True))
    pages = np.bincount(thesis.annotations.annotator.codes)
    given = thesis.annotations
    again = np.bincount(given.annotator.codes, np.array(given.purpose.text().to_pylist()) == "repeat")
    seen = set(zip(given.item.codes.tolist(), given.annotator.codes.tolist(), strict=True))
    seen_by = np.bincount([item for item, _ in seen])
    pairs = {(blend.first, blend.second) for blend in blends_of(told.items, ()).values()}
    images = {image for pair in pairs for image in pair}
    train = set(map(str, rerun.data.cifar_split()[0].tolist()))

    def row(name: str, published: str, value: float, how: str = "") -> Finding:
        return Finding.exact(name, "the thesis' collection", published, value, how=how)

    people = [everyone.annotations.annotator.names.to_pylist(), *(answers(rerun, task).annotators for task in TASKS)]
    n_three = len({who for names in people for who in names})  # the three tasks share their ids
    findings: list[Finding | Statement] = [
        row("participants", "33", thesis.n_annotators),
        row("images a participant, at least", "59", pages.min()),
        row("images a participant, at most", "60", pages.max()),
        row("of these shown twice", "2", again.max(), f"everyone the same: {set(again.tolist()) == {2.0}}"),
        row("stimuli", "810", len(told.items)),
        row("class combinations", "45", len(by_pair)),
        row("pairs of images a class combination", "6", len(pairs) / len(by_pair)),
        row("stimuli a pair of images", "3", len(told.items) / len(pairs)),
        row("participants an image, at least", "2", seen_by.min()),
        Statement(
            "images mixed",
            "are from the 7,000 that networks learn from",
            images <= train,
            f"{len(images & train):,} of {len(images):,} images",
        ),
        Finding.exact("participants", "all of H-Mix", None, everyone.n_annotators),
        Finding.exact("stimuli", "all of H-Mix", None, len(everyone.judgments.items)),
        Finding.exact("judgments", "all of H-Mix", None, len(everyone.judgments.share)),
        Finding.exact(
            "participants in every task together (UAI paper, abstract)",
            "all of H-Mix",
            "159",
            n_three + 8,
            how=f"{n_three} ids in the three released tables, and the 8 who gave ten-class labels, as the thesis "
            "counts them: the released labels have no ids",
        ),
    ]
    about = (
        "H-Mix was collected in rounds. The thesis' round is recognized by its pages: its participants judged "
        "59 or 60 images, all others 62. No image of one round is in another."
    )
    return Part("Section 4.2.1", "Stimuli and participants", findings, about)
