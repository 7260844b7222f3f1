"""Compiled loops: one pass over answers sorted by item, computing the sums of an EM step.

Compiled code is cached on disk next to this file (or in the user's cache if that cannot be written). To build it ahead
of time, as the installation does:

    python -m sfumato.aggregation.kernels

A pass takes the answers as a tuple of arrays, processes the items `first` to `last` of `starts`, releases the
interpreter's lock, and writes only into arrays of its caller. An empty `weight` means that every answer counts once, an
empty `gold` that no class is known (-1 marks unknown ones), an empty `posterior` that it is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from sfumato.tables import string_dictionary
from sfumato.tables.numba_kernel import Kernel, readonly

NEGLIGIBLE = -50.0
"""A class whose log-probability is this far below the item's best counts as 0: exp(-50) is below the precision of 1.

Only while iterating: posteriors that are kept use the full range, because calibration needs it.
"""
LEAST = -745.0

AHEAD = 24
"""How many answers ahead their rows are prefetched."""
CACHE_LINE = 64

_STARTS = numba.int64[::1]
_KEY = numba.int32[::1]
_NUMBERS = numba.float64[::1]
_MATRIX = numba.float64[:, ::1]
_KERNELS: list[Kernel] = []


def _compiled(*inputs: Any, outputs: tuple[Any, ...]) -> Callable[[Callable[..., float]], Kernel]:
    def wrap(function: Callable[..., float]) -> Kernel:
        _KERNELS.append(Kernel(function, inputs, outputs))
        return _KERNELS[-1]

    return wrap


_ANSWERS = [numba.types.Tuple(readonly(_STARTS, _KEY, _NUMBERS, _KEY)), numba.int64, numba.int64]
_SOFT_ANSWERS = [numba.types.Tuple(readonly(_STARTS, _KEY, _MATRIX, _NUMBERS, _KEY)), numba.int64, numba.int64]


def _prefetched(typing_context: Any, matrix: Any, row: Any) -> Any:  # noqa: ARG001
    """Prefetch row `row` of `matrix`: rows are accessed in random order in tables larger than the caches."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(table.strides, 0)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        start = builder.gep(builder.bitcast(table.data, byte), [builder.mul(arguments[1], stride)])
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        for line in (0, CACHE_LINE):
            place = builder.gep(start, [ir.Constant(ir.IntType(64), line)])
            builder.call(ask, [place, ir.Constant(number, 0), ir.Constant(number, 3), ir.Constant(number, 1)])
        return context.get_dummy_value()

    return numba.types.void(matrix, numba.types.intp), generate


_prefetch: Any = intrinsic(_prefetched)
_inlined: Any = numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")


def _normalized(log_p: Any, known: int, least: float) -> float:
    """Convert log-probabilities into probabilities in place; returns the log of their sum, or that of a known class."""
    n_classes = len(log_p)
    if known >= 0:
        total = float(log_p[known])
        for c in range(n_classes):
            log_p[c] = 0.0
        log_p[known] = 1.0
        return total
    top = log_p[0]
    for c in range(1, n_classes):
        top = max(top, log_p[c])
    total = 0.0
    for c in range(n_classes):
        below = log_p[c] - top
        p = math.exp(below) if below > least else 0.0
        log_p[c] = p
        total += p
    scale = 1.0 / total
    for c in range(n_classes):
        log_p[c] *= scale
    return float(top + math.log(total))


def _recorded(p: Any, mass: Any, posterior: Any, row: int) -> None:
    """Add an item's distribution to the mass of the classes, and keep it unless `posterior` is empty."""
    for c in range(len(p)):
        mass[c] += p[c]
    if len(posterior) > 0:
        for c in range(len(p)):
            posterior[row, c] = p[c]


_normalize: Any = _inlined(_normalized)
_record: Any = _inlined(_recorded)


@_compiled(*_ANSWERS, *readonly(_MATRIX, _NUMBERS), outputs=(_MATRIX, _NUMBERS, _MATRIX))
def confusion_pass(
    answers: Any, first: int, last: int, log_confusion: Any, log_share: Any, counts: Any, shares: Any, posterior: Any
) -> float:
    """One pass with a confusion matrix per annotator: row `annotator * K + answer` of `log_confusion`."""
    starts, key, weight, gold = answers
    n_classes = len(log_share)
    weighted, fixed, kept, counted = len(weight) > 0, len(gold) > 0, len(posterior) > 0, len(counts) > 0
    p, mass = np.empty(n_classes), np.zeros(n_classes)
    end = starts[last]
    log_likelihood = 0.0
    for i in range(first, last):
        for c in range(n_classes):
            p[c] = log_share[c]
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            if r + AHEAD < end:
                _prefetch(log_confusion, key[r + AHEAD])
                if counted:
                    _prefetch(counts, key[r + AHEAD])
            if weighted:
                w = weight[r]
                for c in range(n_classes):
                    p[c] += w * log_confusion[k, c]
            else:
                for c in range(n_classes):
                    p[c] += log_confusion[k, c]
        log_likelihood += _normalize(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        _record(p, mass, posterior, i - first)
        if not counted:
            continue
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            if weighted:
                w = weight[r]
                for c in range(n_classes):
                    counts[k, c] += w * p[c]
            else:
                for c in range(n_classes):
                    counts[k, c] += p[c]
    shares += mass
    return log_likelihood


@_compiled(*_ANSWERS, *readonly(_NUMBERS, _NUMBERS, _NUMBERS), outputs=(_NUMBERS, _NUMBERS, _MATRIX))
def own_class_pass(
    answers: Any, first: int, last: int, gain: Any, base: Any, log_share: Any, right: Any, shares: Any, posterior: Any
) -> float:
    """One pass where an answer changes only its own class: `gain[key]` for it, `base[key]` for all."""
    starts, key, weight, gold = answers
    n_classes = len(log_share)
    weighted, fixed, kept, counted = len(weight) > 0, len(gold) > 0, len(posterior) > 0, len(right) > 0
    p, mass = np.empty(n_classes), np.zeros(n_classes)
    log_likelihood = 0.0
    for i in range(first, last):
        for c in range(n_classes):
            p[c] = log_share[c]
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            w = weight[r] if weighted else 1.0
            p[k % n_classes] += w * gain[k]
            log_likelihood += w * base[k]
        log_likelihood += _normalize(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        _record(p, mass, posterior, i - first)
        if not counted:
            continue
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            w = weight[r] if weighted else 1.0
            right[k] += w * p[k % n_classes]
    shares += mass
    return log_likelihood


def _gathered(evidence: Any, soft: Any, confusion: Any, r: int, row: int) -> None:
    """The evidence of answer `r` for every class, never 0."""
    n_classes = len(evidence)
    for c in range(n_classes):
        evidence[c] = 1e-300
    for said in range(n_classes):
        q = soft[r, said]
        if q > 0:
            for c in range(n_classes):
                evidence[c] += q * confusion[row + said, c]


_evidence: Any = _inlined(_gathered)


@_compiled(*_SOFT_ANSWERS, *readonly(_MATRIX, _NUMBERS), outputs=(_MATRIX, _NUMBERS, _MATRIX))
def virtual_evidence_pass(
    answers: Any, first: int, last: int, confusion: Any, log_share: Any, counts: Any, shares: Any, posterior: Any
) -> float:
    """One pass over distributions: a belief q is evidence `sum_l q(l) confusion[l, c]` for class c."""
    starts, annotator, soft, weight, gold = answers
    n_classes = len(log_share)
    weighted, fixed, kept, counted = len(weight) > 0, len(gold) > 0, len(posterior) > 0, len(counts) > 0
    p, evidence, mass = np.empty(n_classes), np.empty(n_classes), np.zeros(n_classes)
    log_likelihood = 0.0
    for i in range(first, last):
        for c in range(n_classes):
            p[c] = log_share[c]
        for r in range(starts[i], starts[i + 1]):
            _evidence(evidence, soft, confusion, r, annotator[r] * n_classes)
            w = weight[r] if weighted else 1.0
            for c in range(n_classes):
                p[c] += w * math.log(evidence[c])
        log_likelihood += _normalize(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        _record(p, mass, posterior, i - first)
        if not counted:
            continue
        for r in range(starts[i], starts[i + 1]):
            row = annotator[r] * n_classes
            w = weight[r] if weighted else 1.0
            _evidence(evidence, soft, confusion, r, row)
            for said in range(n_classes):
                q = w * soft[r, said]
                if q > 0:
                    for c in range(n_classes):
                        counts[row + said, c] += p[c] * q * confusion[row + said, c] / evidence[c]
    shares += mass
    return log_likelihood


@_compiled(*_ANSWERS, numba.int64, outputs=(_MATRIX, _NUMBERS, _NUMBERS, _MATRIX, _MATRIX))
def vote_pass(
    answers: Any,
    first: int,
    last: int,
    n_classes: int,
    counts: Any,
    right: Any,
    shares: Any,
    posterior: Any,
    pooled: Any,
) -> float:
    """One pass where an item's distribution is the shares of its votes: the start of EM, and the mean of hard votes.

    `pooled`, if not empty, gets the answers (rows) of all annotators per class, every item counting once.
    """
    starts, key, weight, gold = answers
    weighted, fixed = len(weight) > 0, len(gold) > 0
    p, said, mass = np.empty(n_classes), np.empty(n_classes), np.zeros(n_classes)
    for i in range(first, last):
        for c in range(n_classes):
            p[c] = 0.0
        total = 0.0
        for r in range(starts[i], starts[i + 1]):
            w = weight[r] if weighted else 1.0
            p[key[r] % n_classes] += w
            total += w
        for c in range(n_classes):
            p[c] /= total
            said[c] = p[c]
        if fixed and gold[i] >= 0:
            for c in range(n_classes):
                p[c] = 0.0
            p[gold[i]] = 1.0
        _record(p, mass, posterior, i - first)
        if len(pooled) > 0:
            for k in range(n_classes):
                for c in range(n_classes):
                    pooled[k, c] += said[k] * p[c]
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            w = weight[r] if weighted else 1.0
            if len(right) > 0:
                right[k] += w * p[k % n_classes]
            if len(counts) > 0:
                for c in range(n_classes):
                    counts[k, c] += w * p[c]
    shares += mass
    return 0.0


@_compiled(*readonly(_KEY, _KEY, _STARTS), outputs=(_KEY,))
def order_by_item(item: Any, value: Any, starts: Any, ordered: Any) -> float:
    """Sort `value` (one per row) by item; the rows of an item keep their order."""
    place = starts[:-1].copy()
    for r in range(len(item)):
        i = item[r]
        ordered[place[i]] = value[r]
        place[i] += 1
    return 0.0


@_compiled(*readonly(_STARTS, _KEY), numba.int64, outputs=(_KEY, _KEY))
def distinct_annotators(starts: Any, key: Any, n_classes: int, last_item: Any, n_annotators: Any) -> float:
    """Count the annotators of each item; returns the number of repeated answers.

    `last_item` is a buffer with one number per annotator, all -1.
    """
    n_again = 0
    for i in range(len(starts) - 1):
        found = 0
        for r in range(starts[i], starts[i + 1]):
            who = key[r] // n_classes
            if last_item[who] == i:
                n_again += 1
            else:
                last_item[who] = i
                found += 1
        n_annotators[i] = found
    return n_again


def build() -> None:
    """Compile every kernel, including those that join ids, or load it from the cache."""
    for kernel in (*_KERNELS, string_dictionary.find, string_dictionary.place):
        kernel.load()


@cache
def is_built() -> bool:
    """Whether the compiled code is cached on disk."""
    return all(kernel.is_built() for kernel in _KERNELS)


if __name__ == "__main__":
    # Under its own name: what is compiled for `__main__` would not be found again.
    import_module("sfumato.aggregation.kernels").build()
