"""On the informativeness of supervision signals (Sucholutsky et al. 2023)."""

from __future__ import annotations

from sfumato_papers.paper import Paper
from sfumato_papers.sucholutsky_2023.cross_label import cross_label, generalization, predicted_entropy, table_1, table_3
from sfumato_papers.sucholutsky_2023.dimensions import effective_dimensionality
from sfumato_papers.sucholutsky_2023.label_informativeness import experimental_setup, label_informativeness, table_2
from sfumato_papers.sucholutsky_2023.similarity import similarity_judgments
from sfumato_papers.sucholutsky_2023.simulated_worlds import cost_benefit, simulations
from sfumato_papers.sucholutsky_2023.sparsity import label_optimization, sparsity_curves
from sfumato_papers.sucholutsky_2023.triplets import information_ratios, signal_and_noise, triplet_constraints

PAPER = Paper(
    name="sucholutsky-2023",
    title="On the informativeness of supervision signals",
    authors="Sucholutsky, Battleday, Collins, Marjieh, Peterson, Singh, Bhatt, Jacoby, Weller and Griffiths",
    year=2023,
    venue="Uncertainty in Artificial Intelligence (UAI)",
    data=(
        "cifar10h", "cifar10s", "cifar10-test", "cifar10-train-batch1", "cinic10-sample", "digit-similarity", "mnist",
    ),
    steps=(
        triplet_constraints, information_ratios, signal_and_noise, simulations, cost_benefit, effective_dimensionality,
        sparsity_curves, label_optimization, experimental_setup, label_informativeness, cross_label, generalization,
        table_1, predicted_entropy, similarity_judgments, table_2, table_3,
    ),
)  # fmt: skip
