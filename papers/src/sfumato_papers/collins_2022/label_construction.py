"""Section 4.2 and Appendix B.5: labels constructed from answers, and simulated labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from sfumato import labeling
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling.simulated_soft_labels import AnswerStatistics, SimulatedTopTwo
from sfumato.labeling.top_two_labelers import clamp, read_top_two
from sfumato.reporting.charts import Chart, Field, bars, heat_map
from sfumato.tables.doubt import entropy
from sfumato.tables.payloads import TopTwoPayload
from sfumato_papers.collins_2022.elicitation import FOUND, Cifar10sAnswers, as_released, counted, first_pass
from sfumato_papers.collins_2022.label_sets import LABELERS, RULES
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun

DIFFERS, MUCH = 1e-9, 0.1
"""Total variations from which two labels of an answer count as different, and as much so."""


def section_4_2(rerun: Rerun) -> Part:
    answers, released = first_pass(rerun), as_released(rerun)
    with np.load(rerun.data.path("cifar10s", "t2clamp_redist10.npz")) as file:
        items, theirs = [str(i) for i in file["image_index"]], file["soft_labels"]
    ours = labeling.TopTwoClamp(as_released=True).label(released.table, CIFAR_10)
    apart = difference(items, theirs, ours.item.text().to_pylist(), ours.probs)
    moved = {}
    for name, by in RULES.items():
        one, other = (by(as_released=rule).label(answers.table, CIFAR_10).probs for rule in (False, True))
        moved[name] = np.abs(one - other).sum(axis=1) / 2
    clamp = moved["T2, Clamp"]
    findings: list[Finding | Statement] = [
        counted("labels in the released file", None, len(theirs)),
        Statement(
            "released labels rebuilt",
            "T2, Clamp with gamma = 0.1, from the answers",
            holds=apart == 0,
            ours=f"largest difference over {len(theirs):,} labels: {apart:.1f}",
            how="within an image the released file lists people in another order: its labels are compared as a set",
        ),
        *edge_cases(answers),
        *(
            counted(
                f"our rule differs from the released one: {name}",
                None,
                (each > DIFFERS).sum(),
                how="answers of 6,200" + (f"; {int((each > MUCH).sum())} by more than 0.1" if each.any() else ""),
            )
            for name, each in moved.items()
        ),
    ]
    about = (
        "The released code counts classes where sets are meant: a class that is named and marked impossible "
        "counts twice, and one named first *and* second keeps only its second percent (*deer 75, deer 25* becomes deer "
        "0.25). Our default keeps sets; the trainings below use the released rule to have the paper's own labels. Both "
        "have a cliff: 95 + 5 gives the classes that are left 10%, 95 + 4 gives them 1%."
    )
    after = (
        f"Our rule gives another label to {int((clamp > DIFFERS).sum())} of the 6,200 answers, and one that is "
        f"more than 0.1 of the mass away to {int((clamp > MUCH).sum())}."
    )
    return Part("Section 4.2", "Constructing soft labels", findings, about, charts=(_varieties(answers),), after=after)


def difference(
    items: Sequence[str],
    labels: Float[np.ndarray, "rows classes"],
    own_items: Sequence[str],
    own: Float[np.ndarray, "rows classes"],
) -> float:
    """The largest difference between two tables of labels whose order within an item says nothing; infinite where they
    are not about the same items equally often."""
    if sorted(items) != sorted(own_items):
        return float("inf")
    stored = own.astype(labels.dtype)
    theirs = sorted(zip(items, map(tuple, labels.tolist()), strict=True))
    ours = sorted(zip(own_items, map(tuple, stored.tolist()), strict=True))
    return float(np.abs(np.array([row for _, row in theirs]) - np.array([row for _, row in ours])).max())


def edge_cases(answers: Cifar10sAnswers) -> list[Finding]:
    """How many answers ask more of a rule than two percents that add up."""
    each = answers.each
    named = [a for a in each if a.second is not None]
    sums = np.array([p + _second(a) for p, a in zip(answers.first_percent, each, strict=True)])
    held = [{a.first, *([a.second] if _second(a) else [])} for a in each]
    n_free = np.array([10 - len({*a.impossible, *own}) for a, own in zip(each, held, strict=True)])
    counts = {
        "no alternative": len(each) - len(named),
        "no alternative, and a second percent": sum(a.second is None and a.second_percent is not None for a in each),
        "second class without a percent": sum(a.second_percent is None for a in named),
        "second percent of 0": sum(a.second_percent == 0 for a in named),
        "second class is the first": sum(a.second == a.first for a in named),
        "second percent above the first": sum(_second(a) > (a.first_percent or 100) for a in named),
        "first or second marked impossible": sum(bool({a.first, a.second} & {*a.impossible}) for a in each),
        "all ten marked impossible": sum(len(a.impossible) == 10 for a in each),
        "percents sum to more than 100": (sums > 100).sum(),
        "percents sum to 100": (sums == 100).sum(),
        "percents sum to less than 100": (sums < 100).sum(),
        "less than 100, and nowhere to spread": ((sums < 100) & (n_free == 0)).sum(),
        "100 or more, and gamma is spread": ((sums >= 100) & (n_free > 0)).sum(),
    }
    how = {
        "no alternative, and a second percent": "labelers ignore it; one more was typed that is no number",
        "second class is the first": "the released rule overwrites the first percent",
        "100 or more, and gamma is spread": "below 100 the released code does not use gamma",
    }
    return [counted(f"answers: {name}", None, n, how=how.get(name, "")) for name, n in counts.items()]


def _second(answer: TopTwoPayload) -> float:
    """The second percent of an answer that has a second class, else 0."""
    return float(answer.second_percent or 0) if answer.second is not None else 0.0


def _varieties(answers: Cifar10sAnswers) -> Chart:
    """Figure 2: the labels of one answer, the first with percents below 100, a second class and room for others."""
    fits = (
        i
        for i, a in enumerate(answers.each)
        if 0 < _second(a) < (a.first_percent or 100) <= 90 - _second(a) and 2 < len(a.impossible) < 7
    )
    number = next(fits, 0)
    said, one = answers.each[number], answers.table.take(np.arange(len(answers.each)) == number)
    rows = {name: by.label(one, CIFAR_10).probs[0] for name, by in LABELERS.items()}
    data = {
        "label": np.repeat(list(rows), len(CIFAR_10)),
        "class": np.tile(CIFAR_10, len(rows)),
        "share": np.concatenate(list(rows.values())),
    }
    second = f", {said.second} {said.second_percent:g}" if said.second is not None else ""
    return heat_map(
        "figure-2",
        title="Label varieties of one annotator's answer",
        caption=f"{said.first} {said.first_percent:g}{second}; definitely not: {', '.join(said.impossible)}.",
        data=data,
        x=Field("class", "class"),
        y=Field("label", "label"),
        value=Field("share", "probability", ".2f", domain=(0, 1)),
        written=True,
    )


N_SIMULATED, N_PARTS = 200_000, 20
"""How many labels are drawn, and in how many parts, whose means say how sure the whole is."""
HIGH, LOW = "high entropy", "low entropy"


def appendix_b_5(rerun: Rerun) -> Part:
    answers = first_pass(rerun)
    groups = {HIGH: answers.is_doubtful, LOW: ~answers.is_doubtful}
    index = {name: k for k, name in enumerate(CIFAR_10)}
    fitted = {
        name: AnswerStatistics.fitted_to(read_top_two([answers.each[i] for i in np.flatnonzero(rows)], index))
        for name, rows in groups.items()
    }
    n_alternatives = np.array([10 - len({*answer.impossible, answer.first}) for answer in answers.each])
    elicited = labeling.TopTwoClamp(as_released=True).label(answers.table, CIFAR_10).probs
    real = entropy(elicited)[answers.is_doubtful].mean()
    similarity = labeling.ClassSimilarity(CIFAR_10, np.ones((len(CIFAR_10), len(CIFAR_10))))
    simulator = SimulatedTopTwo(similarity=similarity, doubtful=fitted[HIGH], clear=fitted[LOW])
    rng, classes = np.random.default_rng(7), np.arange(N_SIMULATED) % len(CIFAR_10)
    drawn = simulator.simulate_answers(classes, np.ones(N_SIMULATED, bool), CIFAR_10, rng)
    above = (drawn.first_percent + drawn.second_percent)[~np.isnan(drawn.second_percent)] > 100
    parts = np.array_split(clamp(drawn, simulator.gamma), N_PARTS)
    softness = Estimate.over_seeds(float(entropy(part).mean()) for part in parts)
    typed = [float(answer.first_percent or 0) for answer in answers.each]
    dependence = float(np.corrcoef(typed, n_alternatives)[0, 1])
    findings = [Finding.exact("answers fitted to", name, None, rows.sum()) for name, rows in groups.items()]
    for name, statistics in fitted.items():
        for which in ("first", "second"):
            for symbol, value in zip(("alpha", "beta"), getattr(statistics, which), strict=True):
                findings.append(Finding.exact(f"Beta of the {which} percent, {symbol}", name, None, value, places=3))
        findings += [
            Finding.exact(f"answers with {k} alternatives left possible", name, None, n)
            for k, n in enumerate(statistics.n_alternatives)
        ]
    return Part(
        "Thesis, appendix B.5",
        "Simulating label construction",
        (
            *findings,
            counted("mean entropy of people's labels, high entropy images", None, real, places=3),
            Finding("mean entropy of simulated labels", FOUND, None, softness, how=f"{N_SIMULATED:,} draws"),
            counted(
                "draws whose two percents exceed 100",
                None,
                100 * above.mean(),
                unit="%",
                how="of those with a second class",
            ),
            counted(
                "correlation of first percent and number of alternatives",
                None,
                dependence,
                places=2,
                how="the simulator draws them independently",
            ),
            Statement(
                "as soft as people",
                "simulated labels approximate those elicited (mean entropy within a tenth)",
                holds=bool(abs(softness.value / real - 1) < 0.1),
                ours=f"{softness.value:.3f} against {real:.3f} nats",
            ),
        ),
        about="Collins (2022), MPhil thesis. A Beta for the first percent, one for the second, a histogram of how many "
        "alternatives stay possible, apart for images of high and low entropy under CIFAR-10H; the T2, Clamp rule "
        "makes the label. The thesis prints no parameters. Betas are fitted by moments: by maximum likelihood alpha "
        "moves from 12 to 3 with where values of 100% are clipped. A label's entropy does not depend on which classes "
        "are alike, so all are taken to be here.",
        charts=(_alternatives(fitted),),
    )


def _alternatives(fitted: dict[str, AnswerStatistics]) -> Chart:
    shares = {name: np.array(each.n_alternatives) / sum(each.n_alternatives) for name, each in fitted.items()}
    n = len(CIFAR_10)
    return bars(
        "appendix-b-5-alternatives",
        title="How many alternatives annotators leave possible",
        caption="Share of first-pass answers, for images of high (>= 0.25 nats) and low (<= 0.1) CIFAR-10H entropy.",
        data={
            "alternatives": [str(k) for _ in shares for k in range(n)],
            "images": [name for name in shares for _ in range(n)],
            "share": np.concatenate(list(shares.values())),
        },
        of="alternatives",
        value=Field("share", "share of answers", ".0%"),
        series="images",
    )
