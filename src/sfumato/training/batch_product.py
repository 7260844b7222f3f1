"""Compiled products of weights with the numbers of many items: the last axis is the batch.

The items fill the processor's registers, and every weight is multiplied with a number of 64 items at once. Nothing is
copied or rearranged first, which makes small matrix products faster than those of a general library.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""The length of the last axis is a multiple of it."""
HAS_32_REGISTERS = bool(llvmlite.binding.get_host_cpu_features().get("avx512f"))
BLOCK = 64 if HAS_32_REGISTERS else LANES
"""Items multiplied at once."""
MAX_CHANNELS = 6
"""Outputs computed at once."""

WHOLE, FLOAT = numba.types.intp, ir.FloatType()
FLAGS = ("contract", "reassoc", "nsz")
jit = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=set(FLAGS))


def array_data(context: Any, builder: Any, signature: Any, given: Any, i: int) -> Any:
    return context.make_array(signature.args[i])(context, builder, given[i]).data


def vector_at(builder: Any, data: Any, place: Any, vector: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _repeated_number(builder: Any, number: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


def add_product(builder: Any, total: Any, one: Any, other: Any) -> None:
    product = builder.fmul(one, other, flags=FLAGS)
    builder.store(builder.fadd(builder.load(total), product, flags=FLAGS), total)


def vector_sum(builder: Any, vector: Any) -> Any:
    kind = ir.FunctionType(FLOAT, [FLOAT, vector.type])
    name = f"llvm.vector.reduce.fadd.v{vector.type.count}f32"
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [ir.Constant(FLOAT, 0.0), vector], fastmath=("reassoc",))


def _product(n_out: int, lanes: int) -> Any:
    """`out[o] = bias[o] + sum over c, y, x of w[o, c, y, x] * x[c, y, x]`, for `n_out` channels and `lanes` items.

    After each array comes the place of its first number, then for `out` and `w` the step between channels; after each
    of the sizes of c, y and x come the steps in `x` and `w`.
    """
    vector = ir.VectorType(FLOAT, lanes)

    def product(_, out, to, out_step, bias, b, x, x0, w, w0, wo, nc, xc, wc, ny, xy, wy, nx, xx, wx):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            outs, biases, inputs, weights = (array_data(context, builder, signature, given, i) for i in (0, 3, 5, 7))
            totals = [cgutils.alloca_once(builder, vector) for _ in range(n_out)]
            steps = [builder.mul(given[9], given[9].type(o)) for o in range(n_out)]

            def number(data: Any, place: Any) -> Any:
                return _repeated_number(builder, builder.load(builder.gep(data, [place])), vector)

            def add(sizes: Any, at: Any, w_at: Any) -> None:
                """Add the products of one axis and, inside it, of the others."""
                if not sizes:
                    pixel = builder.load(vector_at(builder, inputs, at, vector), align=4)
                    for o, total in enumerate(totals):
                        add_product(builder, total, pixel, number(weights, builder.add(w_at, steps[o])))
                    return
                with cgutils.for_range(builder, sizes[0]) as loop:
                    step, w_step = (builder.mul(loop.index, each) for each in sizes[1:3])
                    add(sizes[3:], builder.add(at, step), builder.add(w_at, w_step))

            for o, total in enumerate(totals):
                builder.store(number(biases, builder.add(given[4], given[4].type(o))), total)
            add(given[10:], given[6], given[8])
            for o, total in enumerate(totals):
                place = builder.add(given[1], builder.mul(given[2], given[2].type(o)))
                builder.store(builder.load(total), vector_at(builder, outs, place, vector), align=4)
            return context.get_dummy_value()

        return numba.types.void(out, WHOLE, WHOLE, bias, WHOLE, x, WHOLE, w, *[WHOLE] * 11), generate

    return intrinsic(product)


_b1, _b2, _b3, _b4, _b5, _b6 = (_product(n, BLOCK) for n in range(1, MAX_CHANNELS + 1))
_l1, _l2, _l3, _l4, _l5, _l6 = (_product(n, LANES) for n in range(1, MAX_CHANNELS + 1))


@jit
def multiply(lanes, n, *given):  # type: ignore[no-untyped-def]
    if lanes == BLOCK:
        if n == 6:
            _b6(*given)
        elif n == 5:
            _b5(*given)
        elif n == 4:
            _b4(*given)
        elif n == 3:
            _b3(*given)
        elif n == 2:
            _b2(*given)
        else:
            _b1(*given)
    elif n == 6:
        _l6(*given)
    elif n == 5:
        _l5(*given)
    elif n == 4:
        _l4(*given)
    elif n == 3:
        _l3(*given)
    elif n == 2:
        _l2(*given)
    else:
        _l1(*given)


@jit
def matrix_products(w, w_steps, x, x_steps, sizes, bias, has_relu, out):  # type: ignore[no-untyped-def]
    """`out[run, row] = bias[run, row] + sum over k of w[run, row, k] * x[run, k]`, with ReLU if `has_relu`.

    `w_steps` are the steps in `w` of a run, a row and k, `x_steps` those in `x` of a run and k; `sizes` are runs, rows,
    k and lanes. Without `bias`, 0 is added.
    """
    runs, rows, n_k, lanes = sizes
    nothing = np.zeros(MAX_CHANNELS, np.float32)
    n_blocks = (rows + MAX_CHANNELS - 1) // MAX_CHANNELS
    for run in range(runs):
        for block in range(n_blocks):
            row = block * rows // n_blocks
            n = (block + 1) * rows // n_blocks - row
            own, b = (bias, run * rows + row) if len(bias) else (nothing, 0)
            lane = 0
            while lane < lanes:
                size = BLOCK if lanes - lane >= BLOCK else LANES
                to = (run * rows + row) * lanes + lane
                multiply(
                    size, n, out, to, lanes, own, b, x, run * x_steps[0] + lane,
                    w, run * w_steps[0] + row * w_steps[1], w_steps[1],
                    1, 0, 0, 1, 0, 0, n_k, x_steps[1], w_steps[2],
                )  # fmt: skip
                if has_relu:
                    for i in range(n):
                        for j in range(to + i * lanes, to + i * lanes + size):
                            # A NaN stays.
                            out[j] = np.float32(0) if out[j] <= 0 else out[j]
                lane += size


@jit
def row_sums(gradient, out, lanes, has_relu, sums):  # type: ignore[no-untyped-def]
    """The sums of the rows of the gradient; with `has_relu`, it is first set to 0 where `out` is."""
    # Two loops, so that each is compiled to vector instructions.
    if has_relu:
        for j in range(len(gradient)):
            gradient[j] = np.float32(0) if out[j] <= 0 else gradient[j]
    for row in range(len(sums)):
        total = np.float32(0)
        for j in range(row * lanes, row * lanes + lanes):
            total += gradient[j]
        sums[row] = total
