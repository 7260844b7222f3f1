"""The hinge loss of a long ranked list, by merging sorted halves.

Sort by merging: when two neighbouring runs, each sorted by distance, are about to be merged, all of the left come
earlier than all of the right; a pointer that moves only forward finds for every `p` how many `q` lie below `1 + p`, and
their sum. Ties in the list can only straddle the middle; what they added is taken off by the same walk.
"""

from __future__ import annotations

import numba
import numpy as np

RUN = 8
"""Runs so short are compared pair by pair, and sorted by insertion."""

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
def long_list_loss(length, keys, keys_2, tie, pull):  # type: ignore[no-untyped-def]
    """The cost of one list; `pull` gets the derivative by each squared distance. Entry `i` has distance `keys[i]`."""
    loss = 0.0
    places, places_2 = np.empty(length, np.int64), np.empty(length, np.int64)
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
