"""Human-in-the-loop mixup (Collins et al., UAI 2023), as the MPhil thesis it grew from tells it (Collins 2022)."""

from __future__ import annotations

from sfumato_papers.collins_mixup import training_tables as tables
from sfumato_papers.collins_mixup.categories import figure_5_1, section_5_1_2
from sfumato_papers.collins_mixup.coefficients import figure_4_2, figure_4_3, figure_4_4, figure_4_5
from sfumato_papers.collins_mixup.logistic import curves_of_class_pairs
from sfumato_papers.collins_mixup.midpoints import perceived_midpoints, section_4_2_1
from sfumato_papers.paper import Paper

PAPER = Paper(
    name="collins-mixup",
    title="Human-in-the-loop mixup",
    authors="Katherine M. Collins, Umang Bhatt, Weiyang Liu, Vihari Piratla, Ilia Sucholutsky, Bradley Love, "
    "Adrian Weller",
    year=2023,
    venue="UAI; figures and places are those of K. M. Collins' MPhil thesis, Cambridge 2022, chapters 4 and 5",
    data=("hmix", "cifar10-test", "cifar10h", "cifar10s"),
    steps=(
        section_4_2_1, figure_4_2, figure_4_3, figure_4_4, figure_4_5, tables.table_4_1, tables.table_4_2,
        tables.table_4_3, section_5_1_2, figure_5_1, tables.table_5_1, tables.table_5_2, curves_of_class_pairs,
        tables.table_c_1, perceived_midpoints,
    ),
)  # fmt: skip
