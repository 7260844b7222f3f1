"""GNMDS, compiled: the hinge loss of ranked lists without listing triplets, and its minimization.

In a list, nearest first, an earlier pair with squared distance `p` and a later one with `q` cost `max(0, 1 + p - q)`.
Long lists are summed by merging sorted halves and short ones by counting, both in `gnmds_list_loss`. Numba caches
compiled code by file: after a change to `gnmds_list_loss`, change this file too.
"""

from __future__ import annotations

import numba
import numpy as np

from sfumato.planning.informativeness.gnmds_list_loss import (
    RUN,
    WIDE,
    long_list_loss,
    room_for,
    short_list_loss,
    tie_limits,
)
from sfumato.tables.numba_kernel import Kernel, readonly

SHORT = 512
"""Lists up to this length are summed by counting."""
MEMORY = 8
"""Past steps that L-BFGS stores."""
ENOUGH, STEEP = 1e-4, 0.9
"""The two constants of the line search: the required decrease of the loss, and the required decrease of the slope."""
MOST_TRIES = 30
SMALL_STEPS = 2
"""After this many steps in a row that hardly lower the loss, it ends."""

_jit = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_jit
def _prepared(n_points, n_classes, first, second, starts, pair, tie):  # type: ignore[no-untyped-def]
    """What stays the same from step to step, and buffers for the rest.

    The squared distances of a full block of points and classes are stored by row, padded to a multiple of 16 for vector
    instructions; those of other pairs in the order of the pairs.
    """
    n_pairs = len(first)
    width = -(-n_classes // WIDE) * WIDE
    is_block = n_classes > 0 and n_pairs == n_points * n_classes
    for i in range(n_pairs if is_block else 0):
        is_block = is_block and first[i] * n_classes + second[i] - n_points == i
    width = width if is_block else 0
    slot = np.empty(len(pair), np.int32)
    for i in range(len(pair)):
        slot[i] = pair[i] + first[pair[i]] * (width - n_classes) if is_block else pair[i]
    longest, n_blocks = 0, 0
    for i in range(len(starts) - 1):
        length = starts[i + 1] - starts[i]
        longest = max(longest, length)
        n_blocks += -(-length // WIDE) if RUN < length <= SHORT else 0
    begins, ends = np.empty(len(pair), np.int16), np.empty(len(pair), np.int16)
    spans = np.empty((n_blocks, 4), np.int32)
    tie_limits(starts, tie, RUN, SHORT, begins, ends, spans)
    n_slots = n_points * width if is_block else n_pairs
    room = room_for(min(longest, SHORT))
    return width, slot, begins, ends, spans, room, np.empty(n_slots), np.empty(n_slots), np.empty((3, longest))


@_jit
def _distances(width, first, second, x, distance):  # type: ignore[no-untyped-def]
    """Squared distances of all pairs."""
    n_dimensions = x.shape[1]
    if not width:
        for i in range(len(first)):
            a, b = x[first[i]], x[second[i]]
            squares = 0.0
            for t in range(n_dimensions):
                squares += (a[t] - b[t]) ** 2
            distance[i] = squares
        return
    n = len(distance) // width
    classes = _turned(x[n:], width)
    for i in range(n):
        row = distance[i * width : (i + 1) * width]
        row[:] = 0.0
        t = 0
        while t + 4 <= n_dimensions:
            # Four dimensions at once: a quarter of the memory writes.
            a, b, c, d = x[i, t], x[i, t + 1], x[i, t + 2], x[i, t + 3]
            to_a, to_b, to_c, to_d = classes[t], classes[t + 1], classes[t + 2], classes[t + 3]
            for j in range(width):
                row[j] += (a - to_a[j]) ** 2 + (b - to_b[j]) ** 2 + (c - to_c[j]) ** 2 + (d - to_d[j]) ** 2
            t += 4
        for rest in range(t, n_dimensions):
            a, to_a = x[i, rest], classes[rest]
            for j in range(width):
                row[j] += (a - to_a[j]) ** 2


@_jit
def _turned(rows, width):  # type: ignore[no-untyped-def]
    """Transposed, padded with zeros."""
    turned = np.zeros((rows.shape[1], width))
    for i in range(rows.shape[0]):
        for t in range(rows.shape[1]):
            turned[t, i] = rows[i, t]
    return turned


@_jit
def _pulled(width, first, second, x, weight, gradient):  # type: ignore[no-untyped-def]
    """The gradient, from the derivative of the loss by every squared distance."""
    n_dimensions = x.shape[1]
    gradient[:] = 0.0
    if not width:
        for i in range(len(first)):
            a, b, to_a, to_b = x[first[i]], x[second[i]], gradient[first[i]], gradient[second[i]]
            twice = 2.0 * weight[i]
            for t in range(n_dimensions):
                change = twice * (a[t] - b[t])
                to_a[t] += change
                to_b[t] -= change
        return
    n = len(weight) // width
    classes, pulls = _turned(x[n:], width), np.zeros((n_dimensions, width))
    i = 0
    while i < n:
        # Four points at once, for the same reason; the rest one by one.
        several = i + 4 <= n
        v, w, y, z = (i, i + 1, i + 2, i + 3) if several else (i, i, i, i)
        of_v, of_w = weight[v * width : (v + 1) * width], weight[w * width : (w + 1) * width]
        of_y, of_z = weight[y * width : (y + 1) * width], weight[z * width : (z + 1) * width]
        for t in range(n_dimensions):
            across, pull = classes[t], pulls[t]
            at_v, at_w, at_y, at_z = x[v, t], x[w, t], x[y, t], x[z, t]
            if several:
                to_v, to_w, to_y, to_z = 0.0, 0.0, 0.0, 0.0
                for j in range(width):
                    by_v, by_w = of_v[j] * (at_v - across[j]), of_w[j] * (at_w - across[j])
                    by_y, by_z = of_y[j] * (at_y - across[j]), of_z[j] * (at_z - across[j])
                    to_v += by_v
                    to_w += by_w
                    to_y += by_y
                    to_z += by_z
                    pull[j] -= by_v + by_w + by_y + by_z
                gradient[v, t], gradient[w, t], gradient[y, t], gradient[z, t] = 2 * to_v, 2 * to_w, 2 * to_y, 2 * to_z
            else:
                to_v = 0.0
                for j in range(width):
                    by_v = of_v[j] * (at_v - across[j])
                    to_v += by_v
                    pull[j] -= by_v
                gradient[v, t] = 2 * to_v
        i += 4 if several else 1
    for i in range(n, len(x)):
        for t in range(n_dimensions):
            gradient[i, t] = 2 * pulls[t, i - n]


@_jit
def _evaluate(prepared, first, second, starts, tie, x, gradient):  # type: ignore[no-untyped-def]
    """The loss of all lists at `x`; its gradient is written to `gradient`."""
    width, slot, begins, ends, spans, room, distance, weight, numbers = prepared
    keys, keys_2, pull = numbers[0], numbers[1], numbers[2]
    _distances(width, first, second, x, distance)
    weight[:] = 0.0
    loss, block = 0.0, 0
    for i in range(len(starts) - 1):
        start, length = starts[i], starts[i + 1] - starts[i]
        for j in range(length):
            keys[j] = distance[slot[start + j]]
        if RUN < length <= SHORT:
            loss += short_list_loss(length, keys, room, start, begins, ends, block, spans, pull)
            block += -(-length // WIDE)
        else:
            loss += long_list_loss(length, keys, keys_2, tie[start : start + length], pull)
        for j in range(length):
            weight[slot[start + j]] += pull[j]
    _pulled(width, first, second, x, weight, gradient)
    return loss


def _loss_and_gradient(first, second, starts, pair, tie, n_points, n_classes, x, gradient):  # type: ignore[no-untyped-def]
    prepared = _prepared(n_points, n_classes, first, second, starts, pair, tie)
    return _evaluate(prepared, first, second, starts, tie, x, gradient)


@_jit
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_jit
def _add(to, times, what):  # type: ignore[no-untyped-def]
    for i in range(len(to)):
        to[i] += times * what[i]


@_jit
def _set(to, what, times, more):  # type: ignore[no-untyped-def]
    for i in range(len(to)):
        to[i] = what[i] + times * more[i]


@_jit
def _direct(slopes, steps, changes, products, alpha, newest, n_kept, direction):  # type: ignore[no-untyped-def]
    """The two loops of L-BFGS (Nocedal 1980): minus the inverse curvature times the gradient."""
    _set(direction, slopes, -2.0, slopes)
    for back in range(n_kept):
        i = (newest - back) % MEMORY
        alpha[i] = _dot(steps[i], direction) / products[i]
        _add(direction, -alpha[i], changes[i])
    if n_kept:
        flatness = products[newest] / _dot(changes[newest], changes[newest])
        _add(direction, flatness - 1.0, direction)
    for back in range(n_kept - 1, -1, -1):
        i = (newest - back) % MEMORY
        _add(direction, alpha[i] - _dot(changes[i], direction) / products[i], steps[i])


def _minimize(  # type: ignore[no-untyped-def]
    first, second, starts, pair, tie, n_points, n_classes, n_doublings, n_iterations, least_fall, ridge, places, report
):
    """Move `places` to a lower loss, after doubling them while that lowers it.

    `report` receives the number of steps, and whether no step improves the loss.
    """
    prepared = _prepared(n_points, n_classes, first, second, starts, pair, tie)
    x, x_2 = places, places.copy()
    gradient, gradient_2 = np.empty_like(x), np.empty_like(x)
    size = x.size
    flat, flat_2 = x.reshape(size), x_2.reshape(size)
    slopes, slopes_2 = gradient.reshape(size), gradient_2.reshape(size)
    direction, steps, changes = np.empty(size), np.empty((MEMORY, size)), np.empty((MEMORY, size))
    products, alpha = np.empty(MEMORY), np.empty(MEMORY)
    loss = _evaluate(prepared, first, second, starts, tie, x, gradient)
    for _ in range(n_doublings):
        _add(flat_2, 1.0, flat_2)
        loss_2 = _evaluate(prepared, first, second, starts, tie, x_2, gradient_2)
        if not loss_2 < loss:
            break
        loss = loss_2
        _set(flat, flat_2, 0.0, flat_2)
        _set(slopes, slopes_2, 0.0, slopes_2)
    loss += ridge * _dot(flat, flat)
    _add(slopes, 2.0 * ridge, flat)
    newest, n_kept, n_small = -1, 0, 0
    for iteration in range(n_iterations):
        _direct(slopes, steps, changes, products, alpha, newest, n_kept, direction)
        slope = _dot(direction, slopes)
        if slope >= 0 and n_kept:
            n_kept = 0
            _set(direction, slopes, -2.0, slopes)
            slope = _dot(direction, slopes)
        if slope >= 0:
            report[1] = 1
            break
        shortest, longest, length = 0.0, np.inf, 1.0 if n_kept else 1.0 / np.sqrt(-slope)
        loss_2 = loss
        for _ in range(MOST_TRIES):
            _set(flat_2, flat, length, direction)
            loss_2 = _evaluate(prepared, first, second, starts, tie, x_2, gradient_2) + ridge * _dot(flat_2, flat_2)
            _add(slopes_2, 2.0 * ridge, flat_2)
            if not loss_2 <= loss + ENOUGH * length * slope:
                longest = length
            elif _dot(direction, slopes_2) < STEEP * slope:
                shortest = length
            else:
                break
            length = (shortest + longest) / 2 if longest < np.inf else 2 * length
        if not loss_2 < loss:
            report[1] = 1
            break
        newest = (newest + 1) % MEMORY
        _set(steps[newest], flat_2, -1.0, flat)
        _set(changes[newest], slopes_2, -1.0, slopes)
        products[newest] = _dot(steps[newest], changes[newest])
        n_kept = min(n_kept + 1, MEMORY) if products[newest] > 0 else 0
        fall, loss = loss - loss_2, loss_2
        _set(flat, flat_2, 0.0, flat_2)
        _set(slopes, slopes_2, 0.0, slopes_2)
        report[0] = iteration + 1
        n_small = n_small + 1 if fall <= least_fall else 0
        if n_small == SMALL_STEPS:
            report[1] = 1
            break
    return loss


_WHOLE, _PLACES, _NUMBER = numba.int64[::1], numba.float64[:, ::1], numba.float64
_LISTS = (*readonly(_WHOLE, _WHOLE, _WHOLE, _WHOLE, _WHOLE), numba.int64, numba.int64)
evaluate = Kernel(_loss_and_gradient, _LISTS, (_PLACES, _PLACES))
minimize = Kernel(_minimize, (*_LISTS, numba.int64, numba.int64, _NUMBER, _NUMBER), (_PLACES, _WHOLE))
