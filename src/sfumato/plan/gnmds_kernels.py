"""GNMDS, compiled: the hinge loss of ranked lists by merging sorted halves, and its minimisation.

In a list, nearest first, an earlier pair with squared distance `p` and a later one with `q` cost `max(0, 1 + p - q)`.
Sort by merging: when two neighbouring runs, each sorted by distance, are about to be merged, all of the left come
earlier than all of the right; a pointer that moves only forward finds for every `p` how many `q` lie below `1 + p`, and
their sum. Ties in the list can only straddle the middle; what they added is taken off by the same walk. Short lists
are faster pair by pair, several pairs an instruction, up to where the least of what is left lies beyond reach.
"""

from __future__ import annotations

import numba
import numpy as np

from sfumato.compiled import Kernel, readonly

SHORT = 256
"""Lists up to this length are compared pair by pair."""
RUN = 8
"""Runs so short are compared pair by pair, and sorted by insertion."""
MEMORY = 8
"""Past steps that L-BFGS remembers."""
LEAST_FALL = 1e-9
"""A step that lowers the loss by less than this share of it is the last."""
ENOUGH, STEEP = 1e-4, 0.9
"""The two constants of the line search: the loss falls by that share of what the slope promised, and the slope is
flatter than that share of it."""
MOST_TRIES = 30

_jit = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_jit
def _walk(keys, places, low, middle, high, tie, only, sign, pull):  # type: ignore[no-untyped-def]
    """The cost of sorted keys `low:middle` before sorted keys `middle:high`; of tie `only` alone where it is not -1."""
    loss, total, n_right = 0.0, 0.0, 0
    right = middle
    for left in range(low, middle):
        if only >= 0 and tie[places[left]] != only:
            continue
        reach = keys[left] + 1.0
        while right < high and keys[right] < reach:
            if only < 0 or tie[places[right]] == only:
                total += keys[right]
                n_right += 1
            right += 1
        loss += n_right * reach - total
        pull[places[left]] += sign * n_right
    n_left = 0
    left = middle - 1
    for right in range(high - 1, middle - 1, -1):
        if only >= 0 and tie[places[right]] != only:
            continue
        while left >= low and keys[right] < keys[left] + 1.0:
            n_left += only < 0 or tie[places[left]] == only
            left -= 1
        pull[places[right]] -= sign * n_left
    return sign * loss


@_jit
def _merge(keys, places, low, middle, high, keys_to, places_to):  # type: ignore[no-untyped-def]
    left, right = low, middle
    for to in range(low, high):
        if right >= high or (left < middle and keys[left] <= keys[right]):
            keys_to[to], places_to[to] = keys[left], places[left]
            left += 1
        else:
            keys_to[to], places_to[to] = keys[right], places[right]
            right += 1


@_jit
def _short_run(keys, places, low, high, tie, pull):  # type: ignore[no-untyped-def]
    """The cost within a short run; sorts it by distance."""
    loss = 0.0
    for i in range(low, high):
        for j in range(i + 1, high):
            slack = keys[i] + 1.0 - keys[j]
            if slack > 0 and tie[i] != tie[j]:
                loss += slack
                pull[i] += 1.0
                pull[j] -= 1.0
    for i in range(low + 1, high):
        key, place = keys[i], places[i]
        j = i
        while j > low and keys[j - 1] > key:
            keys[j], places[j] = keys[j - 1], places[j - 1]
            j -= 1
        keys[j], places[j] = key, place
    return loss


@_jit
def _short_list_loss(length, keys, least, tie, pull):  # type: ignore[no-untyped-def]
    """The cost of a short list, pair by pair; `least` is room for the least distance from each entry on."""
    lowest = np.inf
    for i in range(length - 1, -1, -1):
        lowest = min(lowest, keys[i])
        least[i] = lowest
        pull[i] = 0.0
    loss = 0.0
    after = 0
    for i in range(length):
        while after < length and tie[after] == tie[i]:
            after += 1
        reach = keys[i] + 1.0
        low, high = after, length
        while low < high:
            middle = (low + high) // 2
            if least[middle] < reach:
                low = middle + 1
            else:
                high = middle
        # Views, because the compiler vectorises only loops whose index it can see is never negative.
        later, pulled = keys[after:low], pull[after:low]
        n = 0.0
        for j in range(low - after):
            within = 1.0 if later[j] < reach else 0.0
            n += within
            pulled[j] -= within
        pull[i] += n
        loss += n
    for i in range(length):
        loss += pull[i] * keys[i]
    return loss


@_jit
def _list_loss(length, keys, places, keys_2, places_2, tie, pull):  # type: ignore[no-untyped-def]
    """The cost of one list; `pull` gets the derivative by each squared distance. Entry `i` has distance `keys[i]`."""
    loss = 0.0
    for i in range(length):
        places[i] = i
        pull[i] = 0.0
    for low in range(0, length, RUN):
        loss += _short_run(keys, places, low, min(low + RUN, length), tie, pull)
    width = RUN
    while width < length:
        for low in range(0, length, 2 * width):
            middle, high = min(low + width, length), min(low + 2 * width, length)
            if middle < high:
                loss += _walk(keys, places, low, middle, high, tie, -1, 1.0, pull)
                if tie[middle - 1] == tie[middle]:
                    loss += _walk(keys, places, low, middle, high, tie, tie[middle], -1.0, pull)
            _merge(keys, places, low, middle, high, keys_2, places_2)
        keys, keys_2 = keys_2, keys
        places, places_2 = places_2, places
        width *= 2
    return loss


@_jit
def _evaluate(first, second, starts, pair, tie, x, gradient):  # type: ignore[no-untyped-def]
    """The loss of all lists at `x`; its gradient is written into `gradient`."""
    n_pairs, n_dimensions = len(first), x.shape[1]
    longest = 0
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    distance, weight = np.empty(n_pairs), np.zeros(n_pairs)
    keys, keys_2, pull = np.empty(longest), np.empty(longest), np.empty(longest)
    places, places_2 = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for i in range(n_pairs):
        a, b = x[first[i]], x[second[i]]
        squares = 0.0
        for t in range(n_dimensions):
            squares += (a[t] - b[t]) ** 2
        distance[i] = squares
    loss = 0.0
    for i in range(len(starts) - 1):
        start, length = starts[i], starts[i + 1] - starts[i]
        for j in range(length):
            keys[j] = distance[pair[start + j]]
        ties = tie[start : start + length]
        if length <= SHORT:
            loss += _short_list_loss(length, keys, keys_2, ties, pull)
        else:
            loss += _list_loss(length, keys, places, keys_2, places_2, ties, pull)
        for j in range(length):
            weight[pair[start + j]] += pull[j]
    gradient[:] = 0.0
    for i in range(n_pairs):
        a, b, to_a, to_b = x[first[i]], x[second[i]], gradient[first[i]], gradient[second[i]]
        twice = 2.0 * weight[i]
        for t in range(n_dimensions):
            change = twice * (a[t] - b[t])
            to_a[t] += change
            to_b[t] -= change
    return loss


def _loss_and_gradient(first, second, starts, pair, tie, x, gradient):  # type: ignore[no-untyped-def]
    return _evaluate(first, second, starts, pair, tie, x, gradient)


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
def _direct(gradient, steps, changes, alpha, newest, n_kept, direction):  # type: ignore[no-untyped-def]
    """The two loops of L-BFGS (Nocedal 1980): minus the inverse curvature times the gradient."""
    _set(direction, gradient, -2.0, gradient)
    for back in range(n_kept):
        i = (newest - back) % MEMORY
        alpha[i] = _dot(steps[i], direction) / _dot(steps[i], changes[i])
        _add(direction, -alpha[i], changes[i])
    if n_kept:
        curvature = _dot(steps[newest], changes[newest]) / _dot(changes[newest], changes[newest])
        _add(direction, curvature - 1.0, direction)
    for back in range(n_kept - 1, -1, -1):
        i = (newest - back) % MEMORY
        beta = _dot(changes[i], direction) / _dot(steps[i], changes[i])
        _add(direction, alpha[i] - beta, steps[i])


def _minimise(first, second, starts, pair, tie, n_iterations, ridge, places, report):  # type: ignore[no-untyped-def]
    """Moves `places` to a lower loss; `report` gets the number of steps, and whether no step was left that helps."""
    x, x_2 = places, places.copy()
    gradient, gradient_2, way = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    size = x.size
    flat, flat_2 = x.reshape(size), x_2.reshape(size)
    slopes, slopes_2, direction = gradient.reshape(size), gradient_2.reshape(size), way.reshape(size)
    steps, changes, alpha = np.empty((MEMORY, size)), np.empty((MEMORY, size)), np.empty(MEMORY)
    newest, n_kept = -1, 0
    loss, loss_2 = 0.0, 0.0
    # The first evaluation is that of a step of length 0.
    for iteration in range(-1, n_iterations):
        slope, shortest, longest, length = 0.0, 0.0, np.inf, 0.0
        if iteration >= 0:
            _direct(slopes, steps, changes, alpha, newest, n_kept, direction)
            slope = _dot(direction, slopes)
            if slope >= 0 and n_kept:
                n_kept = 0
                _set(direction, slopes, -2.0, slopes)
                slope = _dot(direction, slopes)
            if slope >= 0:
                report[1] = 1
                break
            length = 1.0 if n_kept else 1.0 / np.sqrt(-slope)
        for _ in range(MOST_TRIES):
            if iteration >= 0:
                _set(flat_2, flat, length, direction)
            loss_2 = _evaluate(first, second, starts, pair, tie, x_2, gradient_2)
            loss_2 += ridge * _dot(flat_2, flat_2)
            _add(slopes_2, 2.0 * ridge, flat_2)
            if iteration < 0:
                break
            if not loss_2 <= loss + ENOUGH * length * slope:
                longest = length
            elif _dot(direction, slopes_2) < STEEP * slope:
                shortest = length
            else:
                break
            length = (shortest + longest) / 2 if longest < np.inf else 2 * length
        if iteration >= 0:
            if not loss_2 < loss:
                report[1] = 1
                break
            newest = (newest + 1) % MEMORY
            _set(steps[newest], flat_2, -1.0, flat)
            _set(changes[newest], slopes_2, -1.0, slopes)
            n_kept = min(n_kept + 1, MEMORY) if _dot(steps[newest], changes[newest]) > 0 else 0
            report[0] = iteration + 1
        small = iteration >= 0 and loss - loss_2 <= LEAST_FALL * loss_2
        _set(flat, flat_2, 0.0, flat_2)
        _set(slopes, slopes_2, 0.0, slopes_2)
        loss = loss_2
        if small:
            report[1] = 1
            break
    return loss


_WHOLE, _PLACES = numba.int64[::1], numba.float64[:, ::1]
_LISTS = (_WHOLE, _WHOLE, _WHOLE, _WHOLE, _WHOLE)
evaluate = Kernel(_loss_and_gradient, readonly(*_LISTS), (_PLACES, _PLACES))
minimise = Kernel(_minimise, readonly(*_LISTS), (numba.int64, numba.float64, _PLACES, _WHOLE))
