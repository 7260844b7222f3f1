"""Aggregates the same votes with every aggregator; one of the annotators always gives the same answer."""

import numpy as np

from sfumato import Beliefs
from sfumato.aggregation import AGGREGATORS, DawidSkene, update

rng = np.random.default_rng(0)
CLASSES = ("cat", "dog", "fox")
truth = rng.integers(0, 3, 60)
votes = [
    (f"photo-{i:02}", f"person-{w}", CLASSES[0] if w == 5 else CLASSES[t if rng.random() < 0.8 else rng.integers(0, 3)])
    for i, t in enumerate(truth)
    for w in range(6)
]
items, people, labels = zip(*votes, strict=True)
beliefs = Beliefs.from_votes(item=items, annotator=people, label=labels, classes=CLASSES)

for aggregator in AGGREGATORS:
    if aggregator.name == "ordinal-dawid-skene":
        continue  # these classes have no order
    result = aggregator().aggregate(beliefs)
    right = (result.labels.probs.argmax(axis=1) == truth).mean()
    print(f"{aggregator.name:17} {right:.2f} correct, estimates {result.estimand}")

first_day = beliefs.take(np.arange(len(beliefs)) < 300)
second_day = beliefs.take(np.arange(len(beliefs)) >= 300)
days = update(DawidSkene().aggregate(first_day), second_day)
print(days.annotators.to_polars().select("annotator", "n_answers", "accuracy", "information"))
