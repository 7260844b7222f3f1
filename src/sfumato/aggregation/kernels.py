"""The hot loops, compiled: one pass over answers sorted by item, adding up what an EM step needs.

Compiled code is kept on disk beside this file (or in the user's cache, where that cannot be written). To build it ahead
of time, as the installation does:

    python -m sfumato.aggregation.kernels

Every kernel takes the items `first` to `last` of `starts`, lets go of the interpreter's lock, and writes only into
arrays that its caller made for it. An empty `weight` means that every answer counts once, an empty `gold` that no
item's class is known (-1 marks the unknown ones), an empty `posterior` that nobody asks for it.
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
"""A class whose log-probability lies so far below the item's best has none: exp(-50) is lost in the last bit of 1.

Only while iterating: posteriors that are kept go down to what a number can hold, for calibration looks at them.
"""
LEAST = -745.0

AHEAD = 24
"""So many answers ahead, their rows are asked for from memory."""
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


_ANSWERS = [*readonly(_STARTS, _KEY, _NUMBERS, _KEY), numba.int64, numba.int64]


def _prefetched(typing_context: Any, matrix: Any, row: Any) -> Any:  # noqa: ARG001
    """Ask for row `row` of `matrix` before it is needed: rows lie anywhere in tables larger than the caches."""

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


def _normalised(log_p: Any, known: int, least: float) -> float:
    """Turn log-probabilities into probabilities, in place; returns the log of their sum, or that of a known class."""
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


_normalise: Any = _inlined(_normalised)


@_compiled(*_ANSWERS, *readonly(_MATRIX, _NUMBERS), outputs=(_MATRIX, _NUMBERS, _MATRIX))
def confusion_pass(
    starts: Any,
    key: Any,
    weight: Any,
    gold: Any,
    first: int,
    last: int,
    log_confusion: Any,
    log_share: Any,
    counts: Any,
    shares: Any,
    posterior: Any,
) -> float:
    """One pass with a whole confusion an annotator: row `annotator * K + said` of `log_confusion` over true classes."""
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
        log_likelihood += _normalise(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        for c in range(n_classes):
            mass[c] += p[c]
        if kept:
            for c in range(n_classes):
                posterior[i - first, c] = p[c]
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
    for c in range(n_classes):
        shares[c] += mass[c]
    return log_likelihood


@_compiled(*_ANSWERS, *readonly(_NUMBERS, _NUMBERS, _NUMBERS), outputs=(_NUMBERS, _NUMBERS, _MATRIX))
def own_class_pass(
    starts: Any,
    key: Any,
    weight: Any,
    gold: Any,
    first: int,
    last: int,
    gain: Any,
    base: Any,
    log_share: Any,
    right: Any,
    shares: Any,
    posterior: Any,
) -> float:
    """One pass where an answer speaks only for the class it names: `gain[key]` for it, `base[key]` for all."""
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
        log_likelihood += _normalise(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        for c in range(n_classes):
            mass[c] += p[c]
        if kept:
            for c in range(n_classes):
                posterior[i - first, c] = p[c]
        if not counted:
            continue
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            w = weight[r] if weighted else 1.0
            right[k] += w * p[k % n_classes]
    for c in range(n_classes):
        shares[c] += mass[c]
    return log_likelihood


def _gathered(evidence: Any, soft: Any, confusion: Any, r: int, row: int) -> None:
    """What answer `r` says for every class, never zero."""
    n_classes = len(evidence)
    for c in range(n_classes):
        evidence[c] = 1e-300
    for said in range(n_classes):
        q = soft[r, said]
        if q > 0:
            for c in range(n_classes):
                evidence[c] += q * confusion[row + said, c]


_evidence: Any = _inlined(_gathered)


@_compiled(
    *readonly(_STARTS, _KEY, _MATRIX, _NUMBERS, _KEY),
    numba.int64,
    numba.int64,
    *readonly(_MATRIX, _NUMBERS),
    outputs=(_MATRIX, _NUMBERS, _MATRIX),
)
def virtual_evidence_pass(
    starts: Any,
    annotator: Any,
    soft: Any,
    weight: Any,
    gold: Any,
    first: int,
    last: int,
    confusion: Any,
    log_share: Any,
    counts: Any,
    shares: Any,
    posterior: Any,
) -> float:
    """One pass over distributions: a belief q is evidence `sum_l q(l) confusion[l, c]` for class c."""
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
        log_likelihood += _normalise(p, gold[i] if fixed else -1, LEAST if kept else NEGLIGIBLE)
        for c in range(n_classes):
            mass[c] += p[c]
        if kept:
            for c in range(n_classes):
                posterior[i - first, c] = p[c]
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
    for c in range(n_classes):
        shares[c] += mass[c]
    return log_likelihood


@_compiled(*_ANSWERS, numba.int64, outputs=(_MATRIX, _NUMBERS, _NUMBERS, _MATRIX, _MATRIX))
def vote_pass(
    starts: Any,
    key: Any,
    weight: Any,
    gold: Any,
    first: int,
    last: int,
    n_classes: int,
    counts: Any,
    right: Any,
    shares: Any,
    posterior: Any,
    pooled: Any,
) -> float:
    """One pass where an item's distribution is the share of its votes: where EM begins, and the mean of hard votes.

    `pooled`, where it is not empty, is what everybody together says (rows) of each class, every item counting once.
    """
    weighted, fixed, kept = len(weight) > 0, len(gold) > 0, len(posterior) > 0
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
        for c in range(n_classes):
            mass[c] += p[c]
        if len(pooled) > 0:
            for k in range(n_classes):
                for c in range(n_classes):
                    pooled[k, c] += said[k] * p[c]
        if kept:
            for c in range(n_classes):
                posterior[i - first, c] = p[c]
        for r in range(starts[i], starts[i + 1]):
            k = key[r]
            w = weight[r] if weighted else 1.0
            if len(right) > 0:
                right[k] += w * p[k % n_classes]
            if len(counts) > 0:
                for c in range(n_classes):
                    counts[k, c] += w * p[c]
    for c in range(n_classes):
        shares[c] += mass[c]
    return 0.0


@_compiled(*readonly(_KEY, _KEY, _STARTS), outputs=(_KEY,))
def order_by_item(item: Any, value: Any, starts: Any, ordered: Any) -> float:
    """Put `value` (one a row) into the order of the items, rows of an item as they came."""
    place = starts[:-1].copy()
    for r in range(len(item)):
        i = item[r]
        ordered[place[i]] = value[r]
        place[i] += 1
    return 0.0


@_compiled(*readonly(_STARTS, _KEY), numba.int64, outputs=(_KEY, _KEY))
def distinct_annotators(starts: Any, key: Any, n_classes: int, last_item: Any, n_annotators: Any) -> float:
    """How many annotators each item has; returns how many answers are a person's second or later to an item.

    `last_item` is room for one number an annotator, all -1.
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
    """Compile every kernel, those that join ids too, or load it where that was done before."""
    for kernel in (*_KERNELS, string_dictionary.find, string_dictionary.place):
        kernel.load()


@cache
def is_built() -> bool:
    """Whether compiled code lies on disk, so that nobody waits for the compiler."""
    return all(kernel.is_built() for kernel in _KERNELS)


if __name__ == "__main__":
    # Under its own name: what is compiled for `__main__` would not be found again.
    import_module("sfumato.aggregation.kernels").build()
