"""Section 5.1, annotation time, and Figure 7, the form that took it: what its pages cost."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from sfumato import Annotations
from sfumato.importers import Cifar10HImporter
from sfumato.reporting.charts import Field, histogram
from sfumato_papers.collins_2022 import elicitation
from sfumato_papers.finding import Estimate, Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun

SECONDS_A_PAGE = Published("32", " s")
SECONDS_AN_INPUT = Published("6.4", " s")
SECONDS_A_VOTE = Published("1.8", " s")
N_INPUTS = 5
"""First label, its percent, second label, its percent, the impossible ones."""
N_ANNOTATORS = 6
TIMES = {
    "T1, Unif": (2, Published("76.8", " s")),
    "T1, Clamp": (3, Published("115.2", " s")),
    "T2, Unif": (4, Published("153.6", " s")),
    "T2, Clamp": (5, Published("192.0", " s")),
    "Select Top 2 Only": (2, Published("76.8", " s")),
}
"""How many of the inputs each label needs, and what the paper takes them to cost."""
RAW_VOTES = "cifar10h-raw.csv"
LONG = 3
"""A page is long that took so many times its annotator's median."""
SHOWN = 180
"""Longer pages, in seconds, are left out of the chart."""


def section_5_1(rerun: Rerun) -> Part:
    released, first = elicitation.as_released(rerun).table.seconds, elicitation.first_pass(rerun).table.seconds
    page = float(np.median(released))
    findings: list[Finding | Statement] = [
        _seconds("median a page", SECONDS_A_PAGE, page, how="released rows"),
        _seconds("median a page, first pass alone", None, float(np.median(first))),
        _seconds("mean a page, first pass alone", None, float(first.mean()), how="what a budget has to pay for"),
        _seconds("an input", SECONDS_AN_INPUT, page / N_INPUTS, how="five inputs a page, taken to last equally"),
        _seconds_a_vote(rerun),
        *(
            _seconds(
                f"Time in Tables 4 and 5: {name}",
                published,
                n * SECONDS_AN_INPUT.value * N_ANNOTATORS,
                how=f"{n} inputs of 6.4 s, {N_ANNOTATORS} annotators",
            )
            for name, (n, published) in TIMES.items()
        ),
    ]
    about = (
        "The paper multiplies a median by the number of annotators. Times have a long tail: their mean, which is "
        "what adds up, is a third higher than the median."
    )
    kept = first[first <= SHOWN]
    chart = histogram(
        "section-5-1-seconds",
        title="Seconds a page of the elicitation",
        caption=f"First pass; {len(first) - len(kept)} of {len(first):,} pages took longer than {SHOWN} s.",
        data={"seconds": kept},
        value=Field("seconds", "seconds"),
    )
    return Part("Section 5.1", "Annotation time", findings, about, charts=(chart,))


def figure_7(rerun: Rerun) -> Part:
    answers = elicitation.first_pass(rerun)
    table, seconds = answers.table, answers.table.seconds
    # Two classes, each percent that was typed, the boxes, and the button that submits.
    n_typed = np.array(
        [(a.first_percent is not None) + (None not in (a.second, a.second_percent)) for a in answers.each]
    )
    n_boxes = np.array([len(a.impossible) for a in answers.each])
    n_presses = 3 + n_typed + n_boxes
    for_boxes = 100 * n_boxes.sum() / n_presses.sum()
    sure = np.array([a.second is None and (a.first_percent or 100) == 100 for a in answers.each])
    typed = np.array([a.first_percent for a in answers.each], np.float64)
    tokens = np.abs(np.round(answers.first_percent / 10) * 10 - answers.first_percent) / 100
    medians = np.array([np.median(seconds[table.annotator.codes == k]) for k in range(len(table.annotator.names))])
    is_long = seconds > LONG * medians[table.annotator.codes]
    share_of_time = seconds[is_long].sum() / seconds.sum()
    again = elicitation.repeated(elicitation.with_repeats(rerun))["moved"]
    findings: list[Finding | Statement] = [
        elicitation.counted(
            "pointing actions a page (median)", None, np.median(n_presses), how="as the answer given needs"
        ),
        elicitation.counted("share of them for definitely-not boxes", None, for_boxes, unit="%"),
        elicitation.counted("pages that say 100%, no alternative", None, 100 * sure.mean(), unit="%"),
        _seconds("median of those pages", None, float(np.median(seconds[sure]))),
        elicitation.counted("first percents that are multiples of 5", None, 100 * (typed % 5 == 0).mean(), unit="%"),
        elicitation.counted(
            "rounding the first percent to ten tokens moves it by",
            None,
            tokens.mean(),
            places=4,
            how=f"mean; people move it by {again / 100:.4f} themselves from one time to the next",
        ),
        elicitation.counted(
            "time and 1 - first percent, within a person (median Spearman)",
            None,
            within(answers),
            places=2,
            how="people who always gave the same percent left out",
        ),
        elicitation.counted(
            f"pages that took over {LONG} times their annotator's median",
            None,
            100 * is_long.mean(),
            unit="%",
            places=1,
            how=f"they hold {share_of_time:.0%} of all time: pauses, which a form has to tell apart",
        ),
    ]
    about = (
        "Nothing here is printed in the paper: the figure shows the form. The released file has the time of a "
        "page as a whole, and the answer, but not which control took how long, nor whether the window was hidden."
    )
    return Part("Figure 7", "The elicitation interface, and what a page of it costs", findings, about)


def within(answers: elicitation.Cifar10sAnswers) -> float:
    """The median over people of the rank correlation between a page's time and the doubt about the first label."""
    who, seconds, doubt = answers.table.annotator.codes, answers.table.seconds, 100 - answers.first_percent
    found = []
    for k in range(len(answers.table.annotator.names)):
        own = who == k
        if len(set(doubt[own].tolist())) > 1:
            found.append(np.corrcoef(rankdata(seconds[own]), rankdata(doubt[own]))[0, 1])
    return float(np.median(found))


def _seconds(row: str, published: Published | None, value: float, *, how: str = "") -> Finding:
    return Finding(row, "seconds", published, Estimate(value), how=how, places=2)


def _seconds_a_vote(rerun: Rerun) -> Finding:
    """From the file of single votes, where it stands next to the counts."""
    row = "median a vote of CIFAR-10H on these images"
    if not (rerun.data.path("cifar10h") / RAW_VOTES).is_file():
        needs = f"{RAW_VOTES}, the times of single votes, next to the counts of CIFAR-10H"
        return Finding(row, "seconds", SECONDS_A_VOTE, needs=needs)
    table = rerun.data.table(Cifar10HImporter(annotator_level=True), Annotations, "cifar10h", RAW_VOTES)
    wanted = set(elicitation.first_pass(rerun).table.item.names.to_pylist())
    own = np.array([name in wanted for name in table.item.names.to_pylist()])[table.item.codes]
    return _seconds(row, SECONDS_A_VOTE, float(np.nanmedian(table.seconds[own])))
