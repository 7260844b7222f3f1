"""`sfumato soften`: simulate soft labels from hard labels."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, check_outputs, output_option, same_rows_option, seeded
from sfumato.cli.output import write_table


@click.command("soften")
@click.argument("labels", type=PATH)
@click.option(
    "--similarity", type=PATH, required=True, help="Class similarity: a matrix or embeddings, with a column 'class'."
)
@click.option(
    "--doubtful-in", type=PATH, help="SoftLabels of people: items with at least --threshold nats are doubtful."
)
@click.option("--threshold", default=0.25, show_default=True, help="Entropy from which an item is doubtful.")
@click.option("--annotators", default=1, show_default=True, help="Simulated annotators per item.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draws.")
@output_option("Output file for the Beliefs: .parquet or .csv.")
@same_rows_option
def command(
    labels: Path, similarity: Path, doubtful_in: Path | None, threshold: float, annotators: int, seed: int, output: Path
) -> None:
    """Simulate answers of CIFAR-10S annotators about LABELS (SoftLabels; the largest entry counts).

    Without --doubtful-in, an item is doubtful if its own label has at least --threshold nats.
    """
    from sfumato.importers.label_file import read_labels
    from sfumato.labeling.class_similarity import ClassSimilarity
    from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
    from sfumato.tables.doubt import entropy
    from sfumato.tables.row_numbers import check_same_rows

    rng = seeded(seed)
    check_outputs(labels, output=output)
    hard = read_labels(labels)
    people = read_labels(doubtful_in) if doubtful_in else hard
    check_same_rows(hard, people)
    doubtful = entropy(people.probs[people.rows_of(hard.items)]) >= threshold
    simulated = SimulatedTopTwo(similarity=ClassSimilarity.read(similarity), n_annotators=annotators)
    beliefs = simulated.soften(hard, doubtful, rng)
    note = f"{int(doubtful.sum()):,} of {len(hard):,} items drawn as doubtful, seed {seed}"
    write_table(beliefs, output, f"{len(beliefs):,} simulated beliefs about {len(hard):,} items", [note])
