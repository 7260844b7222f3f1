"""Speed of converting top-two answers into beliefs, including JSON, compared with a plain loop over the rows.

    python bench/label.py [N]

Prints answers per minute on one core for `TopTwoClamp`, and the ratio to a loop that decodes one payload at a time with
the standard library and fills one list at a time. Both must give the same labels. Two cases: every payload distinct,
and payloads repeated as often as in CIFAR-10S (2,988 distinct in 6,723 answers).
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pyarrow as pa

from sfumato import Annotations
from sfumato.labeling import TopTwoClamp

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
REQUIRED_PER_MINUTE = 5_000_000


def payloads(n: int, rng: np.random.Generator) -> list[str]:
    """`n` distinct top-two payloads with the structure of real answers."""
    first, second = rng.integers(0, 10, (2, n))
    percents = rng.random((2, n))
    n_marked = rng.integers(0, 9, n)
    order = rng.random((n, 10)).argsort(axis=1)
    return [
        json.dumps(
            {
                "first": CLASSES[first[i]],
                "first_percent": round(100 * percents[0, i], 7),
                "second": CLASSES[second[i]] if percents[1, i] < 0.55 else None,
                "second_percent": round(50 * percents[1, i], 7) if percents[1, i] < 0.55 else None,
                "impossible": [CLASSES[k] for k in order[i, : n_marked[i]]],
            }
        )
        for i in range(n)
    ]


def annotations(texts: list[str]) -> Annotations:
    n = len(texts)
    return Annotations.from_arrow(
        pa.table(
            {
                "item": pa.array((np.arange(n) // 6).astype(str)),
                "annotator": pa.array((np.arange(n) % 997).astype(str)),
                "kind": pa.array(["top_two/1"] * n),
                "payload": pa.array(texts),
            }
        ),
        CLASSES,
    )


def plain_loop(texts: list[str], gamma: float = 0.1) -> list[list[float]]:
    """The same labeling rule, one answer at a time."""
    index = {name: k for k, name in enumerate(CLASSES)}
    labels = []
    for text in texts:
        answer = json.loads(text)
        mass = [0.0] * len(CLASSES)
        named = {answer["first"]}
        if answer["second"] is not None:
            named.add(answer["second"])
            if answer["second_percent"] is not None:
                mass[index[answer["second"]]] = answer["second_percent"] / 100
        mass[index[answer["first"]]] = (answer["first_percent"] or 100) / 100
        impossible = set(answer["impossible"]) - named
        free = [k for k, name in enumerate(CLASSES) if name not in impossible and mass[k] == 0]
        total = sum(mass)
        if not free:
            labels.append([m / total for m in mass])
            continue
        leftover, kept = (1 - total, 1.0) if total < 1 - 1e-9 else (gamma, (1 - gamma) / total)
        mass = [m * kept for m in mass]
        for k in free:
            mass[k] = leftover / len(free)
        labels.append(mass)
    return labels


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    pa.set_cpu_count(1)
    rng = np.random.default_rng(0)
    distinct = payloads(n, rng)
    repeated = [distinct[i] for i in rng.integers(0, int(n * 2988 / 6723), n)]
    n_loop = max(n // 10, 1)
    for name, texts in (("all distinct", distinct), ("as in CIFAR-10S", repeated)):
        table = annotations(texts)
        start = time.process_time()
        beliefs = TopTwoClamp().label(table)
        ours = n / (time.process_time() - start) * 60
        start = time.process_time()
        reference = plain_loop(texts[:n_loop])
        loop = n_loop / (time.process_time() - start) * 60
        assert beliefs.soft is not None
        worst = float(np.abs(beliefs.soft[:n_loop] - np.array(reference)).max())
        assert worst < 1e-12, worst
        verdict = "ok" if ours >= REQUIRED_PER_MINUTE else "MISSED"
        print(
            f"top-two-clamp, {name:16} {ours / 1e6:6.1f} M answers/min on one core"
            f" ({ours / REQUIRED_PER_MINUTE:.1f} x the required 5 M: {verdict});"
            f" plain loop {loop / 1e6:5.2f} M/min; ratio {ours / loop:5.1f}; largest difference {worst:.1e}"
        )


if __name__ == "__main__":
    main()
