"""An assessment of human against model uncertainty in soft-label learning and calibration."""

from __future__ import annotations

from sfumato_papers.paper import Paper
from sfumato_papers.soft_digits import score_tables as tables
from sfumato_papers.soft_digits.alignment import appendix_f_4, table_4
from sfumato_papers.soft_digits.corpus import appendix_a_2, section_4, table_5
from sfumato_papers.soft_digits.dataset import appendix_b, section_2_1, table_1, table_7
from sfumato_papers.soft_digits.maps import appendix_f_3, figure_2
from sfumato_papers.soft_digits.section_3_3 import section_3_3, section_3_3_mode_shift

PAPER = Paper(
    name="soft-digits",
    title="An Assessment of Human vs. Model Uncertainty in Soft-Label Learning and Calibration",
    authors="Authors not named in the text",
    year=2026,
    venue="Under review; its data set is soft-digits",
    data=("cifar10h", "cifar10-test", "cifar10-model-predictions", "fashion-mnist", "fashion-mnist-h", "mnist"),
    steps=(
        section_2_1, table_1, tables.table_2, tables.table_2_elsewhere, section_3_3, section_3_3_mode_shift,
        tables.table_3, tables.table_3_elsewhere, figure_2, table_4, section_4, table_5, appendix_a_2, appendix_b,
        table_7, tables.table_9, tables.table_9_elsewhere, tables.table_10, tables.table_10_elsewhere, appendix_f_3,
        appendix_f_4,
    ),
)  # fmt: skip
