"""The compiled hinge loss of one ranked list: short lists by comparing all pairs, 16 per instruction; long lists by
merge sort.

Short: for every entry the number of later entries below its squared distance plus 1, and of earlier entries above it.
Distances are first mapped to 16-bit integers in order, so that 16 are compared at once; pairs with equal integers are
compared again exactly. Up to some hundred entries this is faster than sorting.

Long: when two sorted neighboring runs are merged, all entries of the left come earlier than those of the right; a
forward pointer finds for every `p` the number and sum of `q` below `1 + p`. Ties can only span the middle, and are
subtracted by the same walk.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

WIDE = 16
"""Numbers compared at once."""
LEVELS = 65_400.0
"""Distances are mapped to integers from minus half of it to half of it."""
NEVER = 32_767
"""Larger than all of them: padding."""

_WHOLE, _BLOCK = numba.types.intp, ir.VectorType(ir.IntType(16), WIDE)
_jit = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


def _counter(relation: str, limit: str = "") -> Any:
    """`counts[at + t] = #{i in low..high: values[at + t] relation others[i]}`, for sixteen `t` at once.

    With a `limit` the number is added to `counts`, and `i` counts only where `places[at + t] limit limits[first + i]`.
    """

    def counted(_, counts, at, values, others, low, high, places, limits, first):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            to, value, other, place, end = (_data(context, builder, signature, given, i) for i in (0, 2, 3, 6, 7))
            block, at_place = _load(builder, value, given[1]), _load(builder, place, given[1])
            begin = _load(builder, to, given[1]) if limit else ir.Constant(_BLOCK, None)
            total = cgutils.alloca_once_value(builder, begin)
            with cgutils.for_range_slice(builder, given[4], given[5], given[4].type(1)) as (i, _):
                holds = builder.icmp_signed(relation, block, _spread(builder, other, i))
                if limit:
                    within = builder.icmp_signed(limit, at_place, _spread(builder, end, builder.add(given[8], i)))
                    holds = builder.and_(holds, within)
                builder.store(builder.sub(builder.load(total), builder.sext(holds, _BLOCK)), total)
            _store(builder, builder.load(total), to, given[1])
            return context.get_dummy_value()

        signature = numba.types.void(counts, _WHOLE, values, others, _WHOLE, _WHOLE, places, limits, _WHOLE)
        return signature, generate

    return intrinsic(counted)


def _data(context: Any, builder: Any, signature: Any, given: Any, i: int) -> Any:
    return context.make_array(signature.args[i])(context, builder, given[i]).data


def _load(builder: Any, data: Any, at: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(data, [at]), _BLOCK.as_pointer()), align=2)


def _store(builder: Any, what: Any, data: Any, at: Any) -> None:
    builder.store(what, builder.bitcast(builder.gep(data, [at]), _BLOCK.as_pointer()), align=2)


def _spread(builder: Any, data: Any, at: Any) -> Any:
    """One number, repeated sixteen times."""
    one = builder.insert_element(ir.Constant(_BLOCK, ir.Undefined), builder.load(builder.gep(data, [at])), at.type(0))
    return builder.shuffle_vector(
        one, ir.Constant(_BLOCK, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), WIDE), None)
    )


_reached, _reached_in_part = _counter("<"), _counter("<", ">=")
_reaching, _reaching_in_part = _counter(">="), _counter(">=", "<")
_reached_or_equal, _reached_or_equal_in_part = _counter("<="), _counter("<=", ">=")


@_jit
def tie_limits(starts, tie, shortest, longest, begins, ends, spans):  # type: ignore[no-untyped-def]
    """For lists of these lengths: where the entries after each entry's tie begin and those before it end; and for every
    block of sixteen, which others are after or before all of them, and which after or before some."""
    block = 0
    for i in range(len(starts) - 1):
        start, length = starts[i], starts[i + 1] - starts[i]
        if not shortest < length <= longest:
            continue
        here, after, before = tie[start : start + length], begins[start : start + length], ends[start : start + length]
        for j in range(length - 1, -1, -1):
            after[j] = after[j + 1] if j + 1 < length and here[j] == here[j + 1] else j + 1
        for j in range(length):
            before[j] = before[j - 1] if j and here[j] == here[j - 1] else j
        above, above_some, below_some, below = 0, 0, 0, 0
        for at in range(0, length, WIDE):
            while above < length and after[above] <= at:
                above += 1
            while above_some < length and after[above_some] < at + WIDE:
                above_some += 1
            while below_some < length and before[below_some] <= at:
                below_some += 1
            while below < length and before[below] < at + WIDE:
                below += 1
            spans[block, 0], spans[block, 1], spans[block, 2], spans[block, 3] = above, above_some, below_some, below
            block += 1


@_jit
def short_list_loss(length, keys, room, start, begins, ends, block, spans, pull):  # type: ignore[no-untyped-def]
    """The loss of one list; `pull` receives the derivative by each squared distance. Entry `i` has distance `keys[i]`.

    The list begins at `start` in `begins` and `ends`, and at `block` in `spans`.
    """
    key, reach, earlier, later, places = room
    scale, half = LEVELS / max(_highest(length, keys), 1e-300), LEVELS / 2
    for i in range(length):
        key[i] = np.int32(keys[i] * scale - half)
    for i in range(length):
        reach[i] = np.int32(min((keys[i] + 1.0) * scale, LEVELS + 2) - half)
    for i in range(WIDE):
        key[length + i] = NEVER
    for at in range(0, length, WIDE):
        above, above_some, below_some, below = spans[block, 0], spans[block, 1], spans[block, 2], spans[block, 3]
        _reached(earlier, at, key, reach, 0, above, places, begins, start)
        _reached_in_part(earlier, at, key, reach, above, above_some, places, begins, start)
        _reaching(later, at, reach, key, below, length, places, ends, start)
        _reaching_in_part(later, at, reach, key, below_some, below, places, ends, start)
        block += 1
    loss, differ = _added_up(length, keys, earlier, later, pull)
    if differ != 0:
        # Equal integers were counted as reaching, but not as reached.
        _look_again(length, keys, room, start, begins, block, spans)
        loss, differ = _added_up(length, keys, earlier, later, pull)
    return loss


@_jit
def _added_up(length, keys, earlier, later, pull):  # type: ignore[no-untyped-def]
    """The loss, and by how many pairs the two counts differ."""
    loss, differ = 0.0, 0.0
    for i in range(length):
        n_later = float(later[i])
        pull[i] = n_later - float(earlier[i])
        differ += pull[i]
        loss += n_later + pull[i] * keys[i]
    return loss, differ


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _highest(length, values):  # type: ignore[no-untyped-def]
    highest = 0.0
    for i in range(length):
        highest = max(highest, values[i])
    return highest


@_jit
def _look_again(length, keys, room, start, begins, block, spans):  # type: ignore[no-untyped-def]
    """Compare equal integers exactly; `block` is where the next list begins in `spans`."""
    key, reach, earlier, later, places = room
    counts = np.empty(length + WIDE, np.int16)
    block -= -(-length // WIDE)
    for at in range(0, length, WIDE):
        above, above_some = spans[block, 0], spans[block, 1]
        _reached_or_equal(counts, at, key, reach, 0, above, places, begins, start)
        _reached_or_equal_in_part(counts, at, key, reach, above, above_some, places, begins, start)
        block += 1
    for j in range(length):
        alike, level, i = counts[j] - earlier[j], key[j], 0
        while alike > 0:
            if reach[i] == level and begins[start + i] <= j:
                alike -= 1
                if keys[j] < keys[i] + 1.0:
                    earlier[j] += 1
                else:
                    later[i] -= 1
            i += 1


@_jit
def room_for(longest):  # type: ignore[no-untyped-def]
    """Buffers for `short_list_loss`; the last are the positions in a list."""
    room = np.empty((4, longest + WIDE), np.int16)
    return room[0], room[1], room[2], room[3], np.arange(longest + WIDE).astype(np.int16)


RUN = 8
"""Shorter runs are compared pair by pair, and sorted by insertion."""


@_jit
def _walk(keys, places, low, middle, high, tie, only, sign, pull):  # type: ignore[no-untyped-def]
    """The loss of sorted keys `low:middle` before sorted keys `middle:high`; of tie `only` if it is not -1."""
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
    """The loss within a short run; sorts it by distance."""
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
    """The loss of one list; `pull` receives the derivative by each squared distance. Entry `i` has distance
    `keys[i]`."""
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
