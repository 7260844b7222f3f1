"""Compiled convolution, 2 x 2 max-pooling and ReLU of several runs, with the batch as the last axis.

Pixels and channels need no rearranging (`batch_product.py`), and the output before pooling stays in the cache.

All arrays are flat. x: (1 or runs, channels, height, width, lanes), already padded; `lanes` is the batch size, rounded
up to a multiple of 16. Pooled arrays: (runs, out, rows, columns, lanes). `where` is the position of the maximum, 0 to
3, or 4 if ReLU returns 0.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from sfumato.training.batch_product import (
    BLOCK,
    FLAGS,
    FLOAT,
    HAS_32_REGISTERS,
    LANES,
    MAX_CHANNELS,
    WHOLE,
    add_product,
    array_data,
    jit,
    multiply,
    vector_at,
    vector_sum,
)

_PART, _N_OUT = (16, 4) if HAS_32_REGISTERS else (8, 2)
"""For gradients of weights: the items multiplied at once, and the output channels."""
KERNEL_WIDTHS = (3, 5)
"""Widths of the kernel with compiled code."""
CACHED = 2**16
"""Numbers of the gradient before pooling that are kept in the cache."""
DEAD = 4
_BYTE = ir.IntType(8)


def _weight_sum(n_out: int, n_x: int) -> Any:
    """`dw[o, k] += sum over rows y and places j of g[o, y, j] * x[k, y, j]`, with the steps of these axes."""
    vector = ir.VectorType(FLOAT, _PART)

    def weight_sum(_, dw, d0, do, g, g0, go, gy, x, x0, xk, xy, ny, nj):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            sums, gradients, inputs = (array_data(context, builder, signature, given, i) for i in (0, 3, 7))
            whole, empty = given[1].type, ir.Constant(vector, None)
            totals = [[cgutils.alloca_once(builder, vector) for _ in range(n_x)] for _ in range(n_out)]
            for row in totals:
                for total in row:
                    builder.store(empty, total)
            with cgutils.for_range(builder, given[11]) as loop:
                g_row = builder.add(given[4], builder.mul(loop.index, given[6]))
                x_row = builder.add(given[8], builder.mul(loop.index, given[10]))
                outs = [builder.add(g_row, builder.mul(given[5], whole(o))) for o in range(n_out)]
                windows = [builder.add(x_row, builder.mul(given[9], whole(k))) for k in range(n_x)]
                with cgutils.for_range_slice(builder, whole(0), given[12], whole(_PART)) as (j, _):
                    pixels = [
                        builder.load(vector_at(builder, inputs, builder.add(at, j), vector), align=4) for at in windows
                    ]
                    for o in range(n_out):
                        own = builder.load(vector_at(builder, gradients, builder.add(outs[o], j), vector), align=4)
                        for k in range(n_x):
                            add_product(builder, totals[o][k], own, pixels[k])
            for o in range(n_out):
                for k in range(n_x):
                    place = builder.add(given[1], builder.add(builder.mul(given[2], whole(o)), whole(k)))
                    at = builder.gep(sums, [place])
                    builder.store(builder.fadd(builder.load(at), vector_sum(builder, builder.load(totals[o][k]))), at)
            return context.get_dummy_value()

        kinds = (dw, WHOLE, WHOLE, g, WHOLE, WHOLE, WHOLE, x, *[WHOLE] * 5)
        return numba.types.void(*kinds), generate

    return intrinsic(weight_sum)


@intrinsic
def _pool(_, room, at, step, out, where, to):  # type: ignore[no-untyped-def]
    """The maximum of four outputs, `step` apart, for 16 items. A NaN counts as the largest."""
    floats, bytes_ = ir.VectorType(FLOAT, LANES), ir.VectorType(_BYTE, LANES)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        rooms, outs, wheres = (array_data(context, builder, signature, given, i) for i in (0, 3, 4))

        def constant(number: int) -> Any:
            return ir.Constant(bytes_, [ir.Constant(_BYTE, number)] * LANES)

        best, place = None, constant(0)
        for d in range(4):
            at = builder.add(given[1], builder.mul(given[2], given[2].type(d)))
            value = builder.load(vector_at(builder, rooms, at, floats), align=4)
            if best is None:
                best = value
                continue
            larger = builder.fcmp_ordered(">", value, best)
            larger = builder.or_(larger, builder.fcmp_unordered("uno", value, value))
            best, place = builder.select(larger, value, best), builder.select(larger, constant(d), place)
        zero = ir.Constant(floats, None)
        alive = builder.fcmp_unordered(">", best, zero)
        builder.store(builder.select(alive, best, zero), vector_at(builder, outs, given[5], floats), align=4)
        builder.store(
            builder.select(alive, place, constant(DEAD)), vector_at(builder, wheres, given[5], bytes_), align=1
        )
        return context.get_dummy_value()

    return numba.types.void(room, WHOLE, WHOLE, out, where, WHOLE), generate


@intrinsic
def _unpool(_, g, where, at, dense, to, row, lanes):  # type: ignore[no-untyped-def]
    """The gradients of the four outputs of one window, for all items; returns their sum."""
    floats, bytes_ = ir.VectorType(FLOAT, LANES), ir.VectorType(_BYTE, LANES)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        gradients, wheres, denses = (array_data(context, builder, signature, given, i) for i in (0, 1, 3))
        whole, zero = given[2].type, ir.Constant(floats, None)
        total = cgutils.alloca_once(builder, floats)
        builder.store(zero, total)
        with cgutils.for_range_slice(builder, whole(0), given[6], whole(LANES)) as (j, _):
            at = builder.add(given[2], j)
            own = builder.load(vector_at(builder, gradients, at, floats), align=4)
            place = builder.load(vector_at(builder, wheres, at, bytes_), align=1)
            parts = []
            for d in range(4):
                chosen = builder.icmp_unsigned("==", place, ir.Constant(bytes_, [ir.Constant(_BYTE, d)] * LANES))
                parts.append(builder.select(chosen, own, zero))
                to = builder.add(given[4], j)
                to = builder.add(to, given[5]) if d >= 2 else to
                to = builder.add(to, given[6]) if d % 2 else to
                builder.store(parts[d], vector_at(builder, denses, to, floats), align=4)
            for part in parts:
                builder.store(builder.fadd(builder.load(total), part, flags=FLAGS), total)
        return vector_sum(builder, builder.load(total))

    return numba.types.float32(g, where, WHOLE, dense, WHOLE, WHOLE, WHOLE), generate


_three_1, _three_2, _three_3, _three_4 = (_weight_sum(n, 3) for n in range(1, 5))
_five_1, _five_2, _five_3, _five_4 = (_weight_sum(n, 5) for n in range(1, 5))


@jit
def _sum_weights(n, n_x, *given):  # type: ignore[no-untyped-def]
    if n_x == 5:
        if n == 4:
            _five_4(*given)
        elif n == 3:
            _five_3(*given)
        elif n == 2:
            _five_2(*given)
        else:
            _five_1(*given)
    elif n == 4:
        _three_4(*given)
    elif n == 3:
        _three_3(*given)
    elif n == 2:
        _three_2(*given)
    else:
        _three_1(*given)


@jit
def pooled_convolution(x, shape, w, bias, sizes, out, where):  # type: ignore[no-untyped-def]
    """Convolution, pooling and ReLU. `shape` is that of x; w: (runs, channels, height, width, out); `sizes` are runs,
    output channels, height and width of the kernel, and pooled rows and columns."""
    own, channels, height, width, lanes = shape
    runs, n_out, tall, wide, rows, columns = sizes
    step = channels * height * width * lanes if own == runs else 0
    n_blocks = (n_out + MAX_CHANNELS - 1) // MAX_CHANNELS
    room = np.empty(4 * MAX_CHANNELS * BLOCK, np.float32)
    for run, row, column in np.ndindex(runs, rows, columns):
        lane = 0
        while lane < lanes:
            size = BLOCK if lanes - lane >= BLOCK else LANES
            for block in range(n_blocks):
                o = block * n_out // n_blocks
                n = (block + 1) * n_out // n_blocks - o
                for d in range(4):
                    at = ((2 * row + d // 2) * width + 2 * column + d % 2) * lanes + lane
                    multiply(
                        size, n, room, d * n * size, size, bias, run * n_out + o, x, run * step + at,
                        w, run * channels * tall * wide * n_out + o, 1,
                        channels, height * width * lanes, tall * wide * n_out,
                        tall, width * lanes, wide * n_out, wide, lanes, n_out,
                    )  # fmt: skip
                for i in range(n):
                    to = (((run * n_out + o + i) * rows + row) * columns + column) * lanes + lane
                    for j in range(0, size, LANES):
                        _pool(room, i * size + j, n * size, out, where, to + j)
            lane += size


@jit
def _unpool_rows(g, where, sizes, run, first, last, lanes, dense, of_bias):  # type: ignore[no-untyped-def]
    """The gradient before pooling of the pooled rows `first` to `last`; its sum is added to `of_bias`."""
    _, n_out, _, _, rows, columns = sizes
    wide = 2 * columns * lanes
    for o in range(n_out):
        total = np.float32(0)
        for row in range(first, last):
            for column in range(columns):
                at = (((run * n_out + o) * rows + row) * columns + column) * lanes
                to = (o * 2 * (last - first) + 2 * (row - first)) * wide + 2 * column * lanes
                total += _unpool(g, where, at, dense, to, wide, lanes)
        of_bias[run * n_out + o] += total


@jit
def _add_weights(dense, n_rows, sizes, run, x, x0, shape, of_weight):  # type: ignore[no-untyped-def]
    """Add the gradients of the weights from `n_rows` rows of the gradient before pooling."""
    _, channels, height, width, lanes = shape
    _, n_out, tall, wide, _, columns = sizes
    row_step = 2 * columns * lanes
    n_blocks = (n_out + _N_OUT - 1) // _N_OUT
    for block in range(n_blocks):
        o = block * n_out // n_blocks
        n = (block + 1) * n_out // n_blocks - o
        for c in range(channels):
            for y in range(tall):
                _sum_weights(
                    n, wide, of_weight, (((run * n_out + o) * channels + c) * tall + y) * wide, channels * tall * wide,
                    dense, o * n_rows * row_step, n_rows * row_step, row_step,
                    x, x0 + (c * height + y) * width * lanes, lanes, width * lanes, n_rows, row_step,
                )  # fmt: skip


@jit
def pooled_convolution_gradients(g, where, x, shape, w, sizes, of_x, of_weight, of_bias):  # type: ignore[no-untyped-def]
    """Adds the gradients of weights (runs, out, channels, height, width) and biases, and sets that of x unless `of_x`
    is empty. w: (runs, out, height, width, channels)."""
    own, channels, height, width, lanes = shape
    runs, n_out, tall, wide, rows, columns = sizes
    step = channels * height * width * lanes if own == runs else 0
    row_step = 2 * columns * lanes
    # The gradient of x needs all rows; without it, a part that fits into the cache.
    at_once = rows if len(of_x) else max(1, CACHED // (2 * n_out * row_step))
    dense = np.empty(n_out * 2 * at_once * row_step, np.float32)
    nothing = np.zeros(MAX_CHANNELS, np.float32)
    for run in range(runs):
        for first in range(0, rows, at_once):
            last = min(rows, first + at_once)
            _unpool_rows(g, where, sizes, run, first, last, lanes, dense, of_bias)
            at = run * step + 2 * first * width * lanes
            _add_weights(dense, 2 * (last - first), sizes, run, x, at, shape, of_weight)
        if not len(of_x):
            continue
        n_blocks = (channels + MAX_CHANNELS - 1) // MAX_CHANNELS
        plane = 2 * rows * row_step
        for y, column in np.ndindex(height, width):
            # The rows and columns of the kernel that reach this pixel.
            y0, y1 = max(0, y - 2 * rows + 1), min(tall, y + 1)
            x0, x1 = max(0, column - 2 * columns + 1), min(wide, column + 1)
            lane = 0
            while lane < lanes:
                size = BLOCK if lanes - lane >= BLOCK else LANES
                for block in range(n_blocks):
                    c = block * channels // n_blocks
                    multiply(
                        size, (block + 1) * channels // n_blocks - c,
                        of_x, run * step + ((c * height + y) * width + column) * lanes + lane, height * width * lanes,
                        nothing, 0, dense, (y - y0) * row_step + (column - x0) * lanes + lane,
                        w, ((run * n_out * tall + y0) * wide + x0) * channels + c, 1,
                        n_out, plane, tall * wide * channels,
                        y1 - y0, -row_step, wide * channels, x1 - x0, -lanes, channels,
                    )  # fmt: skip
                lane += size
