"""Tables 4.1 to 5.2 and C.1: networks learn from mixed images with different labels, and mixings of every batch."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.training.corruptions import CORRUPTIONS
from sfumato_papers.collins_mixup import run_scores, training
from sfumato_papers.collins_mixup.run_scores import CALIBRATION, CE, CORRUPTION, FGSM, Row, changes, mean_of, values_of
from sfumato_papers.collins_mixup.training import DEPTHS, HARD
from sfumato_papers.finding import Finding, Statement, in_words
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import published_tables

AUGMENTED_COLUMNS = (CE, CALIBRATION, FGSM)
REGULAR_ROW, UNIFORM, RANDOM, LINEAR = "Regular (No Aug)", "+ Uniform Labels", "+ Random Labels", "mixup Labels"
AVERAGED, SEPARATE = "Ours (Agg, λ̄_h)", "Ours (Sep, λ_h^m)"
AVERAGED_SURE, SEPARATE_SURE = "Ours (Agg, λ̄_h with ω̄)", "Ours (Sep, λ_h^m with ω_m)"
SMOOTHED, SHUFFLED = "control: mixup labels, all smoothed alike", "control: Sep with the ω of other judgments"
TARGETS = {
    UNIFORM: "uniform",
    RANDOM: "random",
    LINEAR: "generating",
    AVERAGED: "averaged",
    SEPARATE: "by-annotator",
    AVERAGED_SURE: "averaged-confidence",
    SEPARATE_SURE: "by-annotator-confidence",
    SMOOTHED: "generating-smoothed",
    SHUFFLED: "shuffled-confidence",
}
"""The target behind every row but that without mixed images."""

TABLES = published_tables("collins_mixup")

ABOUT_AUGMENTED = """\
Networks learn CIFAR-10 test pictures with their hard labels, and next to them the mixed images that the 33 participants
judged, as fixed images: only the labels of the mixed images differ. No augmentation. All labelings of a seed start from
the same weights and meet the same batches; without mixed images the weights are the same and the batches are not."""


def table_4_1(rerun: Rerun) -> Part:
    rows = _augmented(rerun, LINEAR, REGULAR_ROW, UNIFORM, RANDOM, AVERAGED)
    linear, _, uniform, random, ours = rows
    apart = changes(ours, linear, CALIBRATION, FGSM)
    lower = [
        mean_of(row, column) < mean_of(other, column)
        for row in (linear, ours)
        for other in (uniform, random)
        for column in AUGMENTED_COLUMNS
    ]
    after = ""
    if mean_of(uniform, CE) < mean_of(linear, CE):
        after = (
            "Uniform labels, which are worse than mixup's in the published table, are better here: trained to be "
            "unsure about all mixed images, a small network that has learned its few items by heart is less sure of "
            "everything else."
        )
    said = [
        Statement(
            "averaged human labels and mixup's",
            "are comparable in calibration and FGSM loss",
            not any(each.leaves_out_0 for each in apart.values()),
            f"calibration {apart[CALIBRATION].signed()}, FGSM loss {apart[FGSM].signed()}",
        ),
        Statement(
            "either mixing policy",
            "is better than labels without meaning (uniform or random)",
            all(lower),
            f"lower in {sum(lower)} of {len(lower)} comparisons (two policies, two labels, three measures)",
            how="compared by their means, as the thesis does",
        ),
    ]
    title = "Averaged human labels against mixup's, over the augmenting set"
    return _part(rerun, "Table 4.1", title, rows, said, ABOUT_AUGMENTED, after)


def table_4_2(rerun: Rerun) -> Part:
    rows = _augmented(rerun, LINEAR, AVERAGED, SEPARATE)
    says = "keeping annotators apart is better in every measure"
    said = [Statement.all_below_0("separate against averaged", says, changes(rows[2], rows[1]))]
    title = "One annotator's coefficient an access against their mean"
    return _part(rerun, "Table 4.2", title, rows, said, ABOUT_AUGMENTED)


def table_4_3(rerun: Rerun) -> Part:
    rows = _augmented(rerun, LINEAR, AVERAGED, SEPARATE, AVERAGED_SURE, SEPARATE_SURE, SMOOTHED, SHUFFLED)
    best = rows[4]
    lowest = {column: min(rows[:5], key=lambda row: mean_of(row, column)).name for column in AUGMENTED_COLUMNS}
    smoothed, shuffled = (
        ", ".join(f"{each.signed()} in {column}" for column, each in changes(best, control).items())
        for control in rows[5:]
    )
    gains = "leads to substantial gains in generalization, calibration and robustness"
    said = [
        Statement.all_below_0("separate with confidence against mixup's labels", gains, changes(best, rows[0])),
        Statement(
            "the best labeling",
            "is the separate one with confidence, in every measure",
            set(lowest.values()) == {SEPARATE_SURE},
            ", ".join(f"{column}: {name}" for column, name in lowest.items()),
        ),
    ]
    about = (
        ABOUT_AUGMENTED + " Smoothing is 0.005 ** confidence. Two controls are below: mixup's labels, all smoothed by "
        "what people's confidence smooths on average, and each person's coefficient with the confidence of a judgment "
        "drawn from all others."
    )
    after = (
        "Against mixup labels that are all smoothed alike, the separate labeling with confidence differs by "
        f"{smoothed}; against itself with the confidence of other judgments by {shuffled}"
        ". Below 0 is better. The first says what people add to smoothing as such, the second whether it matters "
        "*which* images they were unsure about."
    )
    return _part(rerun, "Table 4.3", "Labels smoothed by how sure people were", rows, said, about, after)


def _augmented(rerun: Rerun, *names: str) -> list[Row]:
    """Rows of chapter 4, measured from mixup's labels."""
    network, _ = training.network_of(rerun.scale, DEPTHS[0])
    augmented, regular = values_of(rerun, training.AUGMENTING), values_of(rerun, training.REGULAR)
    rows = []
    for name in names:
        values, target = (regular, HARD) if name == REGULAR_ROW else (augmented, TARGETS[name])
        own = {column: values[target, network, column] for column in AUGMENTED_COLUMNS}
        rows.append(Row(name, own, "" if name == LINEAR else LINEAR))
    return rows


def _part(
    rerun: Rerun, place: str, title: str, rows: Sequence[Row], said: Sequence[Statement], about: str, after: str = ""
) -> Part:
    smaller = [training.scaled_down(rerun.scale, DEPTHS[0] if place.startswith("Table 4") else DEPTHS[1])]
    if CORRUPTION in rows[0].values:
        n = rerun.scale.of(run_scores.N_CORRUPTIONS)
        made = f" of the {len(CORRUPTIONS)} corruptions that are made here" if n < len(CORRUPTIONS) else " corruptions"
        smaller.append(f"{n}{made} for CIFAR-10-C's 19")
    findings: list[Finding | Statement] = [*run_scores.table_findings(TABLES[place], rows), *said]
    return Part(place, title, findings, about, "; ".join(filter(None, smaller)), after=after)


COLUMNS = (CE, FGSM, CALIBRATION, CORRUPTION)
PLAIN_MIXUP, MAX_ENT, OURS_ENT_WC, NO_MIXING = "mixup", "Mix-MaxEnt", "Ours (Ent-WC)", "no mixing"
GRIDS = {
    PLAIN_MIXUP: training.MIXUP,
    MAX_ENT: training.MIX_MAX_ENT,
    OURS_ENT_WC: training.ENT_WC,
    NO_MIXING: training.REGULAR,
}

ABOUT_MIXED = f"""\
Every batch is mixed again. mixup draws its coefficient from Beta(1, 1), the default of its code, because the thesis
names no other; Mix-MaxEnt from Beta(10, 10), with weight 1; Ent-WC from Beta(0.2, 0.2), with κ = 0.7. All mixing
methods of a seed start from the same weights and see the same batches. Corruptions are made here, of strength
{run_scores.SEVERITY}, with CIFAR-10-C's constants."""


def table_5_1(rerun: Rerun) -> Part:
    base = {name: "" if name == PLAIN_MIXUP else PLAIN_MIXUP for name in GRIDS}
    rows = [_mixed_row(rerun, grid, HARD, name, base[name]) for name, grid in GRIDS.items()]
    linear, max_ent, ours, _ = rows
    worse = changes(max_ent, ours, CALIBRATION)[CALIBRATION]
    improves = "significantly improves generalization and robustness"
    said = [
        Statement.all_below_0("Ent-WC against mixup", improves, changes(ours, linear, CE, FGSM)),
        Statement(
            "Ent-WC against Mix-MaxEnt",
            "is calibrated somewhat worse",
            worse.is_below_0,
            f"Mix-MaxEnt less Ent-WC in calibration: {worse.signed()}",
        ),
        Statement(
            "natural robustness",
            "is best with Mix-MaxEnt",
            min(rows[:3], key=lambda row: mean_of(row, CORRUPTION)) is max_ent,
            ", ".join(f"{row.name} {mean_of(row, CORRUPTION):.3f}" for row in rows[:3]),
            how="mean CE over corruptions",
        ),
    ]
    about = ABOUT_MIXED + " *No mixing* is the thesis' first baseline here, for which it prints no figures."
    return _part(rerun, "Table 5.1", "Variants of the mixup algorithm", rows, said, about)


def table_5_2(rerun: Rerun) -> Part:
    rows, gained = [], {}
    for name in (PLAIN_MIXUP, MAX_ENT, OURS_ENT_WC):
        reference = "" if name == PLAIN_MIXUP else f"{PLAIN_MIXUP}, Hard"
        hard = _mixed_row(rerun, GRIDS[name], HARD, f"{name}, Hard", reference)
        soft = _mixed_row(rerun, GRIDS[name], training.SOFT, f"{name}, Ours (Soft)", hard.name)
        control = f"{name}, control: as much doubt, among all classes alike"
        rows += [hard, soft, _mixed_row(rerun, GRIDS[name], training.MATCHED, control, hard.name)]
        gained[name] = changes(soft, hard)
    steps = {
        f"{name} {column}": gained[name][column]
        for name in (PLAIN_MIXUP, MAX_ENT)
        for column in (CALIBRATION, CORRUPTION)
    }
    lowest = {column: min(rows, key=lambda row: mean_of(row, column)).name for column in COLUMNS}
    said = [
        Statement.all_below_0(
            "soft endpoints with mixup and Mix-MaxEnt",
            "confer sizable improvements, particularly in calibration and corruption robustness",
            steps,
            how="in the published table mixup's calibration gets worse by it, from 0.087 to 0.131",
        ),
        Statement(
            "soft endpoints with Ent-WC",
            "yield an inconclusive change",
            not all(each.is_below_0 for each in gained[OURS_ENT_WC].values()),
            in_words(gained[OURS_ENT_WC]),
            how="holds unless soft endpoints are shown to be better in every measure",
        ),
    ]
    about = (
        ABOUT_MIXED + " Soft endpoints are CIFAR-10S's mean labels of the 1,000 items that have one, and of the other "
        "6,000 the mean of six answers simulated as appendix B.5 says, likeness of classes being read from CIFAR-10H "
        "where the thesis took word embeddings. The control has the original class with as much entropy as the soft "
        "label, spread over all classes."
    )
    after = "Lowest here: " + ", ".join(f"{column} {name}" for column, name in lowest.items()) + "."
    return _part(rerun, "Table 5.2", "Soft endpoints against hard ones", rows, said, about, after)


def _mixed_row(
    rerun: Rerun, grid: str, target: str, shown: str, reference: str, columns: Sequence[str] = COLUMNS
) -> Row:
    network, _ = training.network_of(rerun.scale, DEPTHS[1])
    return Row(shown, {each: values_of(rerun, grid)[target, network, each] for each in columns}, reference)


BENT, LINEAR_YES, BENT_YES = "τ mixing, no Ent-WC", "mixup, Ent-WC", "τ mixing, Ent-WC"
C_1_ROWS = {
    "mixup, no Ent-WC": (training.MIXUP, ""),
    BENT: (training.TAU, "mixup, no Ent-WC"),
    LINEAR_YES: (training.ENT_WC, "mixup, no Ent-WC"),
    BENT_YES: (training.TAU_ENT_WC, LINEAR_YES),
}
"""The grid of each row, and the row that it is measured from."""


def table_c_1(rerun: Rerun) -> Part:
    measures = (CE, FGSM, CALIBRATION)
    rows = [_mixed_row(rerun, grid, HARD, name, base, measures) for name, (grid, base) in C_1_ROWS.items()]
    bent = changes(rows[0], rows[1], CE)[CE]
    said = [
        Statement(
            "τ mixing with Ent-WC",
            "achieves the best cross-entropy",
            min(rows, key=lambda row: mean_of(row, CE)).name == BENT_YES,
            ", ".join(f"{row.name} {mean_of(row, CE):.3f}" for row in rows),
        ),
        Statement(
            "τ mixing without Ent-WC",
            "is worse than linear mixup",
            bent.is_below_0,
            f"mixup less τ mixing in CE: {bent.signed()}",
        ),
    ]
    about = (
        "Every pair's curve is fitted to the judgments of the thesis' 33 participants, none drawn towards the "
        "others. Coefficients as in table 5.1: Beta(1, 1) without the entropy-weighted loss, Beta(0.2, 0.2) with it."
    )
    return _part(rerun, "Table C.1", "Mixing by the curves that people's judgments give", rows, said, about)
