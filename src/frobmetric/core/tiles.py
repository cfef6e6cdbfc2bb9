"""Products of rows with tiles of points, in vector instructions; needs numba, so import it late.

A tile holds the coordinates of `WIDTH` points, all first coordinates before all second ones. The
products of a few rows with some groups of it are summed in registers, and only the least of each
group is stored: a product of matrices would write and read all of them. Compilers do not find this
form in loops, so it is spelled as vectors of LLVM, which fit any processor.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import extending, types
from numba.core import cgutils as untyped

from .kernels import GROUP, ROWS, WIDTH

#: Groups whose products are computed together: as many as there are registers for the sums.
GROUPS = 4 if binding.get_host_cpu_features().get("avx512f") else 1

cgutils: Any = untyped
FLOATS = ir.VectorType(ir.FloatType(), GROUP)
LABELS = ir.VectorType(ir.IntType(32), GROUP)
#: Order of sums does not matter, nor the sign of a zero; nothing is NaN.
FUSED, ORDERED = ("contract",), ("nnan", "nsz")


def _least_products(
    typing: Any,
    P: Any,
    tile: Any,
    of_rows: Any,
    of_points: Any,
    least: Any,
    i: Any,
    g: Any,
    to: Any,
) -> Any:
    """Store the least products of rows i, i + 1, ... with groups g, g + 1, ... of a tile.

    Products of equal labels are left out. The results go to columns `to`, `to` + 1, ...
    """
    arrays = P, tile, of_rows, of_points, least
    signature = types.void(*arrays, types.intp, types.intp, types.intp)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        P, tile, of_rows, of_points, least = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(arrays, args, strict=False)
        )
        i, g, to = args[len(arrays) :]
        first = builder.mul(g, g.type(GROUP))
        rows = [builder.add(i, i.type(r)) for r in range(ROWS)]
        sums = _sums(builder, P, rows, tile, first, GROUPS)
        infinity = ir.Constant(FLOATS, [float("inf")] * GROUP)
        kind = ir.FunctionType(ir.FloatType(), [FLOATS])
        reduce = f"llvm.vector.reduce.fmin.v{GROUP}f32"
        minimum = cgutils.get_or_insert_function(builder.module, kind, reduce)
        n_results = builder.extract_value(least.shape, 1)
        for row, of_row in zip(rows, sums, strict=True):
            own = _spread(builder, _load(builder, of_rows.data, row), LABELS)
            for n, total in enumerate(of_row):
                place = builder.add(first, g.type(n * GROUP))
                is_own = builder.icmp_signed(
                    "==", own, _load(builder, of_points.data, place, LABELS)
                )
                product = builder.select(is_own, infinity, builder.load(total))
                result = builder.call(minimum, [product], fastmath=ORDERED)
                place = builder.add(builder.mul(row, n_results), builder.add(to, to.type(n)))
                builder.store(result, builder.gep(least.data, [place]))
        return context.get_dummy_value()

    return signature, generate


def _products_of_group(
    typing: Any, P: Any, tile: Any, products: Any, i: Any, g: Any, to: Any
) -> Any:
    """Store the products of row i with group g of a tile in row `to`."""
    arrays = P, tile, products
    signature = types.void(*arrays, types.intp, types.intp, types.intp)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        P, tile, products = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(arrays, args, strict=False)
        )
        i, g, to = args[len(arrays) :]
        [[total]] = _sums(builder, P, [i], tile, builder.mul(g, g.type(GROUP)), 1)
        address = builder.gep(products.data, [builder.mul(to, to.type(GROUP))])
        stored = builder.store(builder.load(total), builder.bitcast(address, FLOATS.as_pointer()))
        stored.align = 4
        return context.get_dummy_value()

    return signature, generate


def _sums(builder: ir.IRBuilder, P: Any, rows: Any, tile: Any, first: Any, n_groups: int) -> Any:
    """Return the products of rows with groups, as memory that will become registers."""
    zero, length = ir.Constant(FLOATS, [0.0] * GROUP), builder.extract_value(P.shape, 1)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(n_groups)] for _ in rows]
    starts = [builder.mul(row, length) for row in rows]
    with cgutils.for_range(builder, length) as loop:
        place = builder.add(builder.mul(loop.index, first.type(WIDTH)), first)
        places = [builder.add(place, first.type(g * GROUP)) for g in range(n_groups)]
        points = [_load(builder, tile.data, place, FLOATS) for place in places]
        for start, of_row in zip(starts, sums, strict=True):
            number = _load(builder, P.data, builder.add(start, loop.index))
            spread = _spread(builder, number, FLOATS)
            for point, total in zip(points, of_row, strict=True):
                product = builder.fmul(spread, point, flags=FUSED)
                builder.store(builder.fadd(builder.load(total), product, flags=FUSED), total)
    return sums


def _load(builder: ir.IRBuilder, data: Any, place: Any, kind: Any = None) -> Any:
    """Load one number, or a vector of them."""
    address = builder.gep(data, [place])
    if kind is None:
        return builder.load(address)
    vector = builder.load(builder.bitcast(address, kind.as_pointer()))
    vector.align = 4
    return vector


def _spread(builder: ir.IRBuilder, number: Any, kind: Any) -> Any:
    """Return a vector of equal numbers."""
    nothing, place = ir.Constant(kind, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(nothing, number, place(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(LABELS, [0] * GROUP))


least_products: Any = extending.intrinsic(_least_products)
products_of_group: Any = extending.intrinsic(_products_of_group)


def least_of_groups(P: Any, tiles: Any, of_rows: Any, of_points: Any, least: Any) -> None:
    """Compute the least product of each row of P with each group of points of another label.

    The number of rows is a multiple of `ROWS`.
    """
    for t in range(len(tiles)):
        labels = of_points[t * WIDTH : (t + 1) * WIDTH]
        for i in range(0, len(P), ROWS):
            for g in range(0, WIDTH // GROUP, GROUPS):
                to = t * (WIDTH // GROUP) + g
                least_products(P, tiles[t], of_rows, labels, least, i, g, to)


def group_products(
    P: Any, tiles: Any, of_rows: Any, of_points: Any, row: Any, group: Any, products: Any
) -> None:
    """Compute the products of a row with the points of a group, for each pair of them."""
    for r in range(len(row)):
        i, tile = row[r], tiles[group[r] // (WIDTH // GROUP)]
        products_of_group(P, tile, products, i, group[r] % (WIDTH // GROUP), r)
        for g in range(GROUP):
            if of_points[group[r] * GROUP + g] == of_rows[i]:
                products[r, g] = np.float32(np.inf)


def nearest_in_tiles(P: Any, tiles: Any, chosen: Any, products: Any, places: Any) -> None:
    """Find the least products of each row with the points of some tiles, and the places of these.

    They are sought in as many groups as there are results, so that nearly all are found.
    """
    n_results, of_tile = places.shape[1], WIDTH // GROUP
    least = np.empty((len(P), len(chosen) * of_tile), np.float32)
    none, other = np.zeros(len(P), np.int32), np.ones(WIDTH, np.int32)  # no labels
    for t in range(len(chosen)):
        for i in range(0, len(P), ROWS):
            for g in range(0, of_tile, GROUPS):
                least_products(P, tiles[chosen[t]], none, other, least, i, g, t * of_tile + g)
    value, group = np.empty(n_results, np.float32), np.empty(n_results, np.int64)
    some = np.empty((1, GROUP), np.float32)
    for i in range(len(places)):
        value[:], group[:] = np.inf, 0
        for g in range(least.shape[1]):
            if least[i, g] < value[-1]:
                _insert(value, group, least[i, g], g)
        products[i, :], places[i, :] = np.inf, -1
        for n in range(n_results):
            if value[n] >= products[i, -1]:
                break
            tile, g = chosen[group[n] // of_tile], group[n] % of_tile
            products_of_group(P, tiles[tile], some, i, g, 0)
            first = tile * WIDTH + g * GROUP
            for m in range(GROUP):
                if some[0, m] < products[i, -1]:
                    _insert(products[i], places[i], some[0, m], first + m)


def _insert_sorted(values: Any, places: Any, value: Any, place: Any) -> None:
    """Insert a value into values in order; the last one is lost."""
    n = len(values) - 1
    while n > 0 and values[n - 1] > value:
        values[n], places[n] = values[n - 1], places[n - 1]
        n -= 1
    values[n], places[n] = value, place


_insert: Any = numba.njit(_insert_sorted)


#: Loops that numba compiles.
LOOPS = least_of_groups, group_products, nearest_in_tiles


def call(least_of_groups: Any, group_products: Any, nearest_in_tiles: Any) -> None:
    """Call the loops once with all types that they are used with."""
    P, tiles = np.zeros((ROWS, 1), np.float32), np.zeros((1, 1, WIDTH), np.float32)
    given = P, tiles, np.zeros(ROWS, np.int32), np.zeros(WIDTH, np.int32)
    rows, single = np.zeros(1, np.intp), np.empty((1, GROUP), np.float32)
    least_of_groups(*given, np.empty((ROWS, WIDTH // GROUP), np.float32))
    group_products(*given, rows, rows, single)
    nearest_in_tiles(P, tiles, np.zeros(1, np.int32), single, np.empty((1, GROUP), np.int32))
