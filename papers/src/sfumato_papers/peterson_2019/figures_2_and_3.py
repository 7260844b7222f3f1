"""Figures 2 and 3 of Peterson et al. (2019): networks trained from scratch on people's labels, and tested elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.evaluation import metrics, read_runs
from sfumato.reporting.charts import Chart, Field, bars
from sfumato_papers.finding import Change, Estimate, Finding, Published, Reference, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun, once
from sfumato_papers.peterson_2019 import protocol
from sfumato_papers.peterson_2019.protocol import CONTROL, FROM_SCRATCH, HUMAN, from_scratch
from sfumato_papers.peterson_2019.run_scores import ACROSS, Scored, scored, set_beside, under
from sfumato_papers.published_data import original_labels
from sfumato_papers.published_table import published_tables

HELD_OUT = "CIFAR10H held out"
ORDER = ("CIFAR10", "CIFAR10.1v6", "CIFAR10.1v4", "CINIC10", "ImageNet-Far")
"""Test sets, ever further from what was learned."""
ACCURACY, ENTROPY = "accuracy, %", "crossentropy"
LABELS = {
    CONTROL: "control",
    HUMAN: "human labels",
    "shuffled": "human labels, shuffled within category",
    "entropy-matched": "smoothed to as much doubt",
}
PUBLISHED = published_tables("peterson_2019")["Figure 2"].cells
"""From the text; the figure itself gives no numbers."""
SECOND_BEST = Published("5", "%")
"""How much better people's labels make the second choice, on average."""
ABOUT = """
Networks are trained from scratch on pictures of CIFAR-10's test set, with its hard labels (*control*) or with people's
(*human labels*); all targets of a seed begin with the same weights and see the same batches. CIFAR10 is the first batch
of CIFAR-10's training set, CINIC10 the 1,532 pictures of a released sample that come from ImageNet, where the
paper has 50,000 and 210,000. Figures on them are against the class a picture came with.

Two controls that the paper lacks: people's labels handed to other pictures of the same category, and smoothing that has
each picture's own entropy and no idea between which categories people hesitate.
"""


def figure_2(rerun: Rerun) -> Part:
    found = generalization(rerun)
    findings: list[Finding | Statement] = [*_cells(found)]
    findings += [
        Finding(f"{name}, {LABELS[target]}", column, PUBLISHED.get((f"{name}, {LABELS[target]}", column)), needs=why)
        for name, why in protocol.NEEDS.items()
        if name not in found.sets
        for target in (CONTROL, HUMAN)
        for column in (ACCURACY, ENTROPY)
    ]
    findings += _statements(found)
    scaled_down = protocol.smaller(rerun.scale, protocol.TRAINING)
    return Part("Figure 2", "Generalization results", findings, ABOUT.strip(), scaled_down, _charts(found))


@once
def generalization(rerun: Rerun) -> Scored:
    """Every test set scored, with the held-out pictures against hard and against people's labels."""
    folder = from_scratch(rerun)
    sets = protocol.elsewhere(rerun, with_training_set=True)
    held_out, away = read_runs(folder), rerun.shifted(folder, "scratch-elsewhere", extra=sets)
    people, hard = rerun.data.cifar_10h, original_labels(rerun.data.cifar_10_test)
    measures = (metrics.AccuracyOriginal(), metrics.CrossEntropy())
    found = {
        HELD_OUT: scored(held_out, hard, measures, original=hard),
        "people": scored(held_out, people, (metrics.SecondBestAccuracy(),)),
        "people, as published": scored(held_out, people, (metrics.SecondBestAccuracy("published"),)),
    }
    for name, inputs in sets.items():
        found[name] = scored(under(away, name), original_labels(inputs), measures, original=original_labels(inputs))
    return Scored(found)


def _sets(found: Scored) -> list[str]:
    return [HELD_OUT, *(name for name in ORDER if name in found.sets)]


def _cells(found: Scored) -> list[Finding]:
    cells = []
    for name in _sets(found):
        for column, metric, times in ((ACCURACY, "accuracy_original", 100.0), (ENTROPY, "cross_entropy", 1.0)):
            control = found.of(name, ACROSS, CONTROL, metric, times=times)
            first = Reference(f"{name}, control", PUBLISHED.get((f"{name}, control", column)), control)
            for target in FROM_SCRATCH:
                row, own = f"{name}, {LABELS[target]}", found.of(name, ACROSS, target, metric, times=times)
                figure, places = PUBLISHED.get((row, column)), 1 if times > 1 else 3
                reference = None if target == CONTROL else first
                cells.append(Finding.over_seeds(row, column, figure, own, reference=reference, places=places))
    rivals = [
        set_beside(
            f"{name}, human labels less {LABELS[rival].removeprefix('human labels, ')}",
            ENTROPY,
            found.less(name, ACROSS, HUMAN, rival, "cross_entropy"),
        )
        for name in _sets(found)
        for rival in ("shuffled", "entropy-matched")
    ]
    return [*cells, *rivals, *_second_best(found)]


def _second_best(found: Scored) -> list[Finding]:
    """What people's labels add to second-best accuracy, with ties left out and as the paper counts them."""
    cells = []
    for name, ties, how in (
        ("people", "", "images whose second choice is clear among people"),
        (
            "people, as published",
            ", ties by category order",
            "all images; of tied categories the last in order comes first, as a stable sort has it",
        ),
    ):
        row = f"Second best accuracy, human labels less control{ties}"
        gain = found.less(name, ACROSS, HUMAN, CONTROL, "second_best_accuracy", times=100)
        control, own = (found.mean(name, ACROSS, each, "second_best_accuracy", times=100) for each in (CONTROL, HUMAN))
        # What is compared is the gain itself.
        change = Change("control", SECOND_BEST, gain)
        cells.append(
            Finding(row, "points", SECOND_BEST, gain, change, f"{how}: {control:.1f}% and {own:.1f}%", places=1)
        )
    return cells


def _statements(found: Scored) -> list[Statement]:
    names = _sets(found)[1:]
    better = {each: found.less(each, ACROSS, HUMAN, CONTROL, "accuracy_original", times=100) for each in names}
    closer = {each: found.less(each, ACROSS, HUMAN, CONTROL, "cross_entropy") for each in names}
    near, far = names[0], names[-1]
    return [
        Statement(
            "Accuracy",
            "Accuracy was higher using human labels for every dataset.",
            how=f"of the paper's five, the {len(names)} that are at hand",
            holds=all(each.is_above_0 for each in better.values()),
            ours="; ".join(f"{name} {each.signed(1)} points" for name, each in better.items()),
        ),
        Statement.all_below_0(
            "Crossentropy", "Loss was lower using human labels for every dataset.", closer, between="; "
        ),
        *(
            Statement(
                f"Gain in {what} with distance",
                "The gain increases as test datasets become increasingly out-of-training-distribution.",
                holds=apart.is_above_0,
                ours=f"gain on {far} less gain on {near}: {apart.signed(places)}",
            )
            for what, places, apart in (
                ("accuracy", 1, found.growth(far, near, ACROSS, HUMAN, CONTROL, "accuracy_original", times=100)),
                ("crossentropy", 3, found.growth(far, near, ACROSS, HUMAN, CONTROL, "cross_entropy", times=-1)),
            )
        ),
    ]


def pairs_of_bars(
    found: Scored,
    name: str,
    *,
    title: str,
    caption: str,
    groups: Mapping[str, tuple[str, str]],
    value: Field,
    times: float = 1.0,
) -> Chart:
    """Two bars for each of `groups`, a test set and a metric by name: the control's, and that of human labels.

    Lines are the 95% interval for another training. `value` names the column `value`.
    """
    rows = [
        (group, LABELS[target], Estimate.over_seeds(found.of(on, ACROSS, target, metric, times=times).values()))
        for group, (on, metric) in groups.items()
        for target in (CONTROL, HUMAN)
    ]
    caption = f"{caption} Lines: 95% for another training."
    columns = with_intervals(("of", "labels", "value"), rows)
    return bars(name, title=title, caption=caption, **columns, of="of", value=value, series="labels")


def _charts(found: Scored) -> tuple[Chart, ...]:
    """The three panels of the figure: accuracy and crossentropy by test set, and second-best accuracy."""
    away = [
        pairs_of_bars(
            found,
            f"figure-2-{column.split(',')[0]}",
            title=f"{column.split(',')[0].capitalize()} by test set, the nearest first",
            caption="Trained from scratch, against the class a picture came with.",
            groups={name: (name, metric) for name in _sets(found)},
            value=Field("value", column, ".3~g"),
            times=times,
        )
        for column, metric, times in ((ACCURACY, "accuracy_original", 100.0), (ENTROPY, "cross_entropy", 1.0))
    ]
    second = pairs_of_bars(
        found,
        "figure-2-second-best",
        title="Second best accuracy on held-out pictures",
        caption="How often the second choice is people's.",
        groups={
            "clear second choices": ("people", "second_best_accuracy"),
            "all, ties by category order": ("people, as published", "second_best_accuracy"),
        },
        value=Field("value", "second best accuracy, %", ".3~g"),
        times=100,
    )
    return (*away, second)


RIGHT, WRONG = "confidence_when_right", "confidence_when_wrong"
FIT_COLUMNS = {
    RIGHT: "confidence when correct",
    WRONG: "confidence when incorrect",
    "kl_divergence": "KL divergence from people",
    "jsd": "JS divergence from people",
    "total_variation": "total variation from people",
    "entropy_spearman": "rank correlation of entropies",
    "accuracy": "same first choice as people",
}
CONFIDENCE, DISTANCE = Field("value", "mean confidence", ".0%"), Field("value", "distance from people", ".3~g")
AWAY = ("kl_divergence", "jsd", "total_variation")
ABOUT_FIGURE_3 = """
The networks of Figure 2 on the held-out pictures. *Correct* is what most people chose. The paper's (A) comes without
numbers in its text; (B) is here three distances of all predictions from people's distributions.
"""


def figure_3(rerun: Rerun) -> Part:
    found = _fit(rerun)
    cells = [
        Finding.over_seeds(LABELS[target], column, None, found.of("people", ACROSS, target, metric))
        for target in FROM_SCRATCH
        for metric, column in FIT_COLUMNS.items()
    ]
    cells += [
        set_beside(f"human labels less {LABELS[rival]}", column, found.less("people", ACROSS, HUMAN, rival, metric))
        for rival in ("shuffled", "entropy-matched")
        for metric, column in FIT_COLUMNS.items()
    ]
    charts = tuple(
        pairs_of_bars(
            found,
            name,
            title=title,
            caption="Held-out pictures.",
            groups={FIT_COLUMNS[metric].removesuffix(" from people"): ("people", metric) for metric in shown},
            value=value,
        )
        for name, shown, title, value in (
            ("figure-3-a", (RIGHT, WRONG), "(A) Confidence when correct and when incorrect", CONFIDENCE),
            ("figure-3-b", ("jsd", "total_variation"), "(B) Distance of predictions from people", DISTANCE),
        )
    )
    title = "Confidence, and fit to people"
    findings: list[Finding | Statement] = [*cells, *_fit_statements(found)]
    scaled_down = protocol.smaller(rerun.scale, protocol.TRAINING)
    return Part("Figure 3", title, findings, ABOUT_FIGURE_3.strip(), scaled_down, charts)


@once
def _fit(rerun: Rerun) -> Scored:
    away = (metrics.KLDivergence(), metrics.JSD(), metrics.TotalVariation(), metrics.EntropySpearman())
    measures = (metrics.ConfidenceWhenRight(), metrics.ConfidenceWhenWrong(), *away, metrics.Accuracy())
    return Scored({"people": scored(read_runs(from_scratch(rerun)), rerun.data.cifar_10h, measures)})


def _fit_statements(found: Scored) -> list[Statement]:
    def less(metric: str) -> Estimate:
        return found.less("people", ACROSS, HUMAN, CONTROL, metric)

    wrong, right = less(WRONG), less(RIGHT)
    return [
        Statement(
            "(A) When incorrect",
            "Soft-label models are far less confident when incorrect than hard-label controls.",
            holds=wrong.is_below_0,
            ours=wrong.signed(),
        ),
        Statement(
            "(A) When correct",
            "They are only slightly less confident when correct.",
            holds=wrong.is_below_0 and abs(right.value) < abs(wrong.value),
            ours=f"{right.signed()}, against {wrong.value:+.3f} when incorrect",
            how="slightly: by less than when incorrect",
        ),
        Statement(
            "(B) Fit to people",
            "Soft label training yields predictions that distribute probability mass more like people.",
            holds=all(less(metric).is_below_0 for metric in AWAY),
            ours="; ".join(
                f"{FIT_COLUMNS[metric].removesuffix(' from people')} {less(metric).signed()}" for metric in AWAY
            ),
        ),
        Statement(
            "(B) Same top choice",
            "... with the same top choice.",
            holds=not less("accuracy").is_below_0,
            ours=f"same first choice as people {less('accuracy').signed()}",
            how="not shown to be less often people's",
        ),
    ]
