"""Collins, Bhatt and Weller 2022, in the order of its pages."""

from __future__ import annotations

from sfumato_papers.collins_2022.efficiency import figure_6, figure_10
from sfumato_papers.collins_2022.elicitation import section_4, section_4_1, section_6
from sfumato_papers.collins_2022.form import figure_7, section_5_1
from sfumato_papers.collins_2022.label_construction import appendix_b_5, section_4_2
from sfumato_papers.collins_2022.label_properties import figure_5, figures_3_and_9, figures_4_and_8, section_4_3
from sfumato_papers.collins_2022.tables import table_1, table_2, table_3, table_4, table_5, table_6
from sfumato_papers.paper import Paper

PAPER = Paper(
    name="collins-2022",
    title="Eliciting and Learning with Soft Labels from Every Annotator",
    authors="Katherine M. Collins, Umang Bhatt, Adrian Weller",
    year=2022,
    venue="AAAI Conference on Human Computation and Crowdsourcing (HCOMP)",
    data=("cifar10s", "cifar10h", "cifar10-test"),
    steps=(
        section_4, section_4_1, section_4_2, section_4_3, figures_3_and_9, figures_4_and_8, figure_5, section_5_1,
        table_1, table_2, table_3, figure_6, table_4, table_5, section_6, table_6, figure_7, figure_10, appendix_b_5,
    ),
)  # fmt: skip
