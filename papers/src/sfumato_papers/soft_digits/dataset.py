"""What the paper counts about its data: sizes, human label variation, answers per picture, and how doubts go
together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow.compute as pc

from sfumato.evaluation.rank_correlation import spearman
from sfumato.reporting.charts import Field, bars
from sfumato.tables.doubt import entropy
from sfumato_papers.finding import Estimate, Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import published_tables
from sfumato_papers.soft_digits import sets
from sfumato_papers.soft_digits.sets import MNIST, MUKHOTI, NEEDS, Audited, soft_digits, stand_ins

RAW = "the raw answers of soft-digits"
N_REGIONS = 3
"""France, Germany and the USA."""

TABLES = published_tables("soft_digits")
SIZES, TABLE_1 = TABLES["Section 2.1"].cells, TABLES["Table 1"].cells
TABLE_7 = {name: TABLES[f"Table 7: {name}"].cells for name in (MNIST, MUKHOTI)}
PLACES = {"NaN (%)": 3, "mean uncertainty": 3, "unsure proportion": 3}


def section_2_1(rerun: Rerun) -> Part:
    found = {each.name: each for each in soft_digits(rerun)}
    findings: list[Finding | Statement] = []
    for (name, split), published in SIZES.items():
        row, own = f"{name}, {split} pictures", found.get(name)
        if own is None:
            findings.append(Finding(row, "pictures", published, needs=NEEDS))
            continue
        n_learnt = len(own.learnt) - own.n_validation
        sizes = {"training": n_learnt, "validation": own.n_validation, "test": len(own.tested)}
        findings.append(Finding(row, "pictures", published, Estimate(sizes[split]), places=0))
    n_split = sum(each.value for each in SIZES.values())
    how = "the sum of the six splits above as printed; Table 6 sums to 5,530: one picture is in no split"
    findings.append(Finding.exact("pictures in all (datasheet)", "pictures", "5,530", n_split, how=how))
    about = "The sum is over the paper's own figures, and needs no data."
    return Part("Section 2.1", "How many pictures", tuple(findings), about)


def table_1(rerun: Rerun) -> Part:
    found = {each.name: each for each in soft_digits(rerun)}
    findings: list[Finding | Statement] = []
    for (name, column), published in TABLE_1.items():
        ours = Estimate(facts(found[name])[column]) if name in found else None
        needs, places = "" if ours else NEEDS, PLACES.get(column, 2)
        findings.append(Finding(name, column, published, ours, needs=needs, places=places))
    others = stand_ins(rerun)
    for each in others:
        findings += [
            Finding.exact(each.name, column, None, value, places=PLACES.get(column, 2))
            for column, value in facts(each).items()
        ]
    ratio = {c: TABLE_1[MUKHOTI, c].value / TABLE_1[MNIST, c].value for c in ("mean uncertainty", "unsure proportion")}
    findings.append(
        Statement(
            "doubt in the two sets", "both measures of doubt are three times as large in Mukhoti as in MNIST",
            all(round(each) == 3 for each in ratio.values()),
            ", ".join(f"{name} {value:.2f} times" for name, value in ratio.items()),
            "of the printed figures",
        )
    )  # fmt: skip
    chart = bars(
        "table-1",
        title="Where people disagree",
        caption="The share of pictures with human label variation: as published, and in the substitute sets here.",
        data={
            "set": [MNIST, MUKHOTI, *(each.name for each in others)],
            "share": [TABLE_1[MNIST, "HLV (%)"].value, TABLE_1[MUKHOTI, "HLV (%)"].value]
            + [100 * each.share_of_hlv() for each in others],
            "from": ["published", "published", "here", "here"],
        },
        of="set",
        value=Field("share", "HLV, % of pictures", ".0f"),
        series="from",
    )
    about = (
        "CIFAR-10H and Fashion-MNIST-H replace the two parts of soft-digits in all that is trained below: the one, "
        "like the MNIST part, has mostly pictures that all agree on and few whose class changes; the other, like the "
        "Mukhoti part, hardly any, and many whose class changes. Their votes are read three at a time as one person: "
        "what two or three name is a *yes*, what one names is *unsure*, the rest *no*; a picture has as many such "
        "people as Table 6 says. `weighted` (unsure counts half) is then exactly the share of the votes drawn, `equal` "
        "counts every class that a panel names alike. HLV: people's label is not one-hot."
    )
    return Part("Table 1", "Human label variation", findings, about, charts=(chart,))


def facts(audited: Audited) -> dict[str, float]:
    hlv = 100 * audited.share_of_hlv()
    assert audited.doubt.mean_doubt is not None
    assert audited.doubt.unsure_proportion is not None
    nothing = audited.weighted.probs.argmax(axis=1) == len(audited.weighted.classes) - 1
    return {
        "NoHLV (%)": 100 - hlv,
        "HLV (%)": hlv,
        "Orig. label agreement (%)": 100 * audited.agreement(),
        "NaN (%)": 100 * float(nothing.mean()),
        "mean uncertainty": float(audited.doubt.mean_doubt.mean()),
        "unsure proportion": float(audited.doubt.unsure_proportion.mean()),
    }


def appendix_b(rerun: Rerun) -> Part:  # noqa: ARG001
    n_images, n_answers = len(sets.N_ANNOTATIONS), int(sets.N_ANNOTATIONS.sum())
    findings: list[Finding | Statement] = [
        Finding(f"pictures with {k} answers (Table 6)", "value", Published(f"{n:,}"), needs=RAW)
        for k, n in sets.ANNOTATIONS_PER_IMAGE.items()
    ]
    findings += [
        Finding.exact("pictures in all", "value", "5,530", n_images, how="the sum of Table 6"),
        Finding.exact("answers per picture", "value", "6", n_answers / n_images, how="Table 6", places=2),
        Finding.exact(
            "pictures per annotator (Section 2.2)", "value", "70", n_answers / 160, places=1,
            how=f"{n_answers:,} answers of Table 6 over the 160 annotators of Appendix B; with 160 in each of the "
            f"three regions they are {n_answers / 160 / N_REGIONS:.1f}, which is likely what is meant",
        ),
        Finding("median minutes per annotator", "value", Published("14.59"), needs=RAW),
        Finding("annotators", "value", Published("160"), needs=RAW),
    ]  # fmt: skip
    about = "The released file has no answers of single people; what follows from the printed table needs none."
    return Part("Appendix B", "Annotators and answers (Table 6)", tuple(findings), about)


def table_7(rerun: Rerun) -> Part:
    found = {each.name: each for each in soft_digits(rerun)}
    findings: list[Finding | Statement] = []
    for name, cells in TABLE_7.items():
        ours = doubts_together(found[name]) if name in found else {}
        for (row, column), published in cells.items():
            needs = RAW if column == "(1)" else "" if ours else NEEDS
            value = None if needs else Estimate(ours[row, column])
            findings.append(Finding(f"{name} {row}", column, published, value, needs=needs))
    for each in stand_ins(rerun):
        for (row, column), rho in doubts_together(each).items():
            findings.append(Finding(f"{each.name} {row}", column, None, Estimate(rho)))
    about = (
        "(1) normalized average milliseconds, (2) mean uncertainty, (3) unsure proportion, (4) entropy of the "
        "equal label, (5) entropy of the weighted label. Which of (4) and (5) is which, and what kind of "
        "correlation it is, the text does not say: Spearman's is taken, as everywhere else in the paper. In the "
        "substitute sets, uncertainty comes from the same votes as the labels, and no sentence is judged by it."
    )
    return Part("Table 7", "How the measures of doubt go together", findings, about)


def doubts_together(audited: Audited) -> dict[tuple[str, str], float]:
    """Spearman's rho of every two of the measures (2) to (5)."""
    rows = audited.equal.rows_of(audited.weighted.items)
    assert audited.doubt.mean_doubt is not None
    assert audited.doubt.unsure_proportion is not None
    own = pc.index_in(audited.weighted.items, value_set=audited.doubt.items).to_numpy().astype(np.int64)
    measures = {
        "(2)": audited.doubt.mean_doubt[own],
        "(3)": audited.doubt.unsure_proportion[own],
        "(4)": entropy(audited.equal.probs[rows]),
        "(5)": entropy(audited.weighted.probs),
    }
    # What differs in the last digits alone is a tie.
    tidy = {name: np.round(values, 9) for name, values in measures.items()}
    return {(row, column): spearman(tidy[column], tidy[row]) for column, row in combinations(tidy, 2)}
