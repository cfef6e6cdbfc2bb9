"""Verifier of proofs in exact arithmetic: one file that needs Python and NumPy, and nothing else.

    python verify.py proof.npz

A proof states a problem, an answer, and a claim: that the optimum of the problem lies in [dual,
primal]. The problem is to minimise, over all positive semidefinite matrices M of order D,

    f(M) = <cost, M> + |M - prior|^2 / (2 sigma) + sum_r loss_r(v_r) + offset,

where v_r = (c - d).T M (c - d) - (a - b).T M (a - b) for the points a, b, c, d of row r. With the
weight w >= 0 and the target t of a row and x = max(0, t - v), its loss is

    hinge            w x
    smoothed_hinge   w x^2 / (2 s) up to x = s, and w (x - s/2) beyond; s is `smoothing`
    squared_hinge    w x^2

**Upper bound.** L L.T is positive semidefinite, so the optimum is at most f(L L.T); L is `factor`.
**Lower bound.** The optimum is at least sum_r (t u - k u^2 / w) + <prior, Z> - sigma/2 |Z|^2 +
offset, where Z = cost - sum_r u_r A_r - F F.T, <A_r, M> = v_r, F is `dual_factor`, and k = 0, s/2,
1/4 for the three losses: loss >= u (t - v) - k u^2 / w at every v if u is in its box, 0 <= u <= w,
for the squared hinge 0 <= u, and u = 0 where w = 0. With <F F.T, M> >= 0 it follows for every M
that f(M) >= sum_r (t u - k u^2 / w) + <Z, M> + |M - prior|^2 / (2 sigma) + offset, whose right side
is least at M = prior - sigma Z. So nothing is assumed of L, u and F but that u is in its box.

Both bounds are computed exactly: all numbers are integers times powers of two. Only each u^2 / w,
and in the end each bound, is rounded, outwards. What is trusted: integers and fractions of Python,
float64 of NumPy where all results, and partial sums in whatever order, are integers of at most 53
bits (times a power of two), so that nothing is rounded, and that the file is read as it is.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

#: Arrays of a proof and their shapes: n points of D numbers, m rows, factors of some columns.
SHAPES = {"points": "nD", "rows": "m4", "weight": "m", "target": "m", "u": "m", "claim": "2"}
SHAPES |= {"cost": "DD", "prior": "DD", "factor": "Dp", "dual_factor": "Dq"}
SHAPES |= {"loss": "", "smoothing": "", "sigma": "", "offset": ""}
LOSSES = ("hinge", "smoothed_hinge", "squared_hinge")
#: Bits of a digit: numbers are sums of D_k 2^(BITS k), in which |D_k| <= 2^(BITS - 1).
BITS = 20
#: Most products of two differences of digits in a sum, which has then at most 52 bits.
MOST_TERMS = 1 << (52 - 2 * BITS)
#: Largest size of a number in a proof, and most bytes of all arrays.
LARGEST, MOST_BYTES = 1e300, 1 << 32
TRUSTED = "trusted: Python's integers, NumPy's float64 without rounding, the problem in the file"


class ProofError(ValueError):
    """A proof that proves nothing: it cannot be read, does not fit, or claims too much."""


def verify(proof: Mapping[str, Any]) -> tuple[float, float]:
    """Return the proven interval of the optimum; raise ProofError if the claim is narrower."""
    proven = prove(proof)
    dual, primal = np.asarray(proof["claim"]).tolist()
    is_wider = dual <= proven[0] and proven[1] <= primal
    _require(is_wider, f"it claims [{dual!r}, {primal!r}], and proves {list(proven)} only")
    return proven


def prove(proof: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval [dual, primal] that problem, factors and u prove, whatever is claimed."""
    p = checked(proof)
    return -_upwards(-_dual(p)), _upwards(_primal(p))


def checked(proof: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a proof if all are there and fit each other, and u is in its box."""
    _require(set(proof) == set(SHAPES), f"it holds {sorted(proof)}; expected {sorted(SHAPES)}")
    p: dict[str, Any] = {name: np.asarray(proof[name]) for name in SHAPES}
    sizes = {"2": 2, "4": 4}
    for name, letters in SHAPES.items():
        dtype, shape = p[name].dtype, p[name].shape
        kind = {"loss": f"<U{dtype.itemsize // 4}", "rows": "<i8"}.get(name, "<f8")
        _require(dtype == np.dtype(kind), f"{name} has dtype {dtype}; expected {kind}")
        fits = [sizes.setdefault(*side) == side[1] for side in zip(letters, shape, strict=False)]
        fits.append(len(letters) == len(shape))
        _require(all(fits), f"{name} has shape {shape}; expected {tuple(letters)} of {sizes}")
        is_small = kind != "<f8" or bool((np.abs(p[name]) <= LARGEST).all())  # NaN is not
        _require(is_small, f"{name} has NaN, or a number beyond {LARGEST:g}")
    p |= {name: Fraction(p[name].item()) for name in ("smoothing", "sigma", "offset")}
    p["loss"] = p["loss"].item()
    _require(p["loss"] in LOSSES, f"the loss is {p['loss'][:80]!r}; expected one of {LOSSES}")
    _require(min(p["sigma"], p["smoothing"]) > 0, "sigma or smoothing is not positive")
    is_point = (p["rows"] >= 0) & (p["rows"] < sizes["n"])
    _require(bool(is_point.all()), f"rows name other points than 0 to {sizes['n'] - 1}")
    is_open = (p["loss"] == "squared_hinge") & (p["weight"] > 0)
    is_inside = (p["u"] >= 0) & (is_open | (p["u"] <= p["weight"]))
    _require(bool(is_inside.all()), "u is outside its box, or a weight is negative")
    return p


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise ProofError(f"this proves nothing: {reason}")


def _primal(p: dict[str, Any]) -> Fraction:
    """Return f(L L.T)."""
    (points, e), (L, e_factor), rows = split(p["points"]), split(p["factor"]), p["rows"]
    margins = np.zeros(len(rows), dtype=object)
    for start in range(0, len(rows), MOST_TERMS):
        a, b, c, d = rows[start : start + MOST_TERMS].T
        lengths = _lengths(points, c, d, L) - _lengths(points, a, b, L)
        margins[start : start + MOST_TERMS] = lengths * Fraction(2) ** (2 * e + 2 * e_factor)
    short = np.maximum(Fraction(0), exact(p["target"]) - margins)  # type: ignore[call-overload]
    loss = short if p["loss"] == "hinge" else short * short
    if p["loss"] == "smoothed_hinge":
        bent = np.minimum(short, p["smoothing"])
        loss = bent * (short - bent / 2) / p["smoothing"]
    M, losses = gram(p["factor"]), sum(exact(p["weight"]) * loss)
    moved = M - exact(p["prior"])
    frobenius = (moved * moved).sum() / (2 * p["sigma"])
    return (exact(p["cost"]) * M).sum() + frobenius + losses + p["offset"]


def _dual(p: dict[str, Any]) -> Fraction:
    """Return the lower bound of the optimum."""
    used = p["u"] > 0
    w, t, u = (exact(p[name][used]) for name in ("weight", "target", "u"))
    Z = exact(p["cost"]) - gram(p["dual_factor"])
    Z = Z - adjoint(p["points"], p["rows"][used], p["u"][used])
    k = {"hinge": 0, "smoothed_hinge": p["smoothing"] / 2}.get(p["loss"], Fraction(1, 4))
    conjugate = sum(t * u) - (k * sum(Fraction(_upwards(q)) for q in u * u / w) if k else 0)
    quadratic = (exact(p["prior"]) * Z).sum() - p["sigma"] / 2 * (Z * Z).sum()
    return conjugate + quadratic + p["offset"]


def _lengths(points: list[Any], i: Any, j: Any, L: list[Any]) -> Any:
    """Return |L.T (x_i - x_j)|^2 of pairs as integers."""
    mapped = carry(convolve([digit[i] - digit[j] for digit in points], L, np.matmul, len(L[0])))
    return join(convolve(mapped, mapped, partial(np.einsum, "ij,ij->i"), L[0].shape[1]))


def adjoint(points: Any, rows: Any, u: Any) -> Any:
    """Return sum_r u_r A_r as fractions."""
    (digits, e), (weights, e_weights) = split(points), split(u)
    total, step = 0, MOST_TERMS // len(digits) // 2
    for start in range(0, max(1, len(rows)), step):
        i, j = np.concatenate(np.split(rows[start : start + step], 2, axis=1)).T
        difference = [digit[i] - digit[j] for digit in digits]
        columns = [np.outer((-1, 1), d[start : start + step]).reshape(-1, 1) for d in weights]
        weighted = carry(convolve(columns, difference, np.multiply, 1))
        total += join(convolve([d.T for d in difference], weighted, np.matmul, 2 * step))
    return total * Fraction(2) ** (2 * e + e_weights)


def gram(factor: Any) -> Any:
    """Return factor @ factor.T as fractions."""
    digits, e = split(factor)
    product = convolve(digits, [digit.T for digit in digits], np.matmul, factor.shape[1])
    return join(product) * Fraction(2) ** (2 * e)


def exact(values: Any) -> Any:
    """Return an array as fractions."""
    digits, e = split(values)
    return join(digits) * Fraction(2) ** e


def split(values: Any) -> tuple[list[Any], int]:
    """Return digits and an exponent e with values = 2^e sum_k D_k 2^(BITS k)."""
    mantissa, exponent = np.frexp(values[values != 0])
    if not exponent.size:
        return [np.zeros_like(values)], 0
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    last = np.frexp((whole & -whole).astype(float))[1] - 54  # place of the last bit that is set
    e = int((exponent + last).min())
    digits: list[Any] = []
    for k in reversed(range((int(exponent.max()) - e) // BITS + 1)):
        digits.insert(0, np.rint(np.ldexp(values, -e - BITS * k)))
        values = values - np.ldexp(digits[0], e + BITS * k)
    return digits, e


def convolve(a: list[Any], b: list[Any], multiply: Callable[..., Any], n_terms: int) -> list[Any]:
    """Return a product by digits, not yet carried; `multiply` sums `n_terms` products."""
    n_terms *= min(len(a), len(b))
    _require(n_terms <= MOST_TERMS, f"sums of {n_terms} products may have more than 53 bits")
    product: list[Any] = [0.0] * (len(a) + len(b) - 1)
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            product[i + j] = product[i + j] + multiply(left, right)
    return product


def carry(digits: list[Any]) -> list[Any]:
    """Return the same numbers by digits of at most 2^(BITS - 1)."""
    result, more = [], np.zeros_like(digits[0])
    while digits or more.any():
        total, digits = (more + digits[0], digits[1:]) if digits else (more, [])
        more = np.rint(np.ldexp(total, -BITS))
        result.append(total - np.ldexp(more, BITS))
    return result


def join(digits: list[Any]) -> Any:
    """Return the integers sum_k D_k 2^(BITS k)."""
    total = np.zeros_like(digits[0], dtype=object)
    for digit in reversed(digits):
        total = (total << BITS) + digit.astype(np.int64).astype(object)
    return total


def _upwards(number: Fraction) -> float:
    """Return the least float64 that is not below a number."""
    try:
        nearest = number.numerator / number.denominator
    except OverflowError:
        raise ProofError("this proves nothing: a bound is beyond the largest float64") from None
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def read(path: str) -> dict[str, Any]:
    """Read a proof; nothing in the file is executed."""
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(info.file_size for info in archive.infolist())
        _require(n_bytes <= MOST_BYTES, f"it would take {n_bytes} bytes of memory")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # damaged files have many kinds of errors
        raise ProofError(f"{path!r} cannot be read: {error or type(error).__name__}") from error


def main(arguments: list[str]) -> int:
    """Verify the proof in a file; return 0 if it holds and 4 if not."""
    try:
        _require(len(arguments) == 1, "expected the name of one file, such as proof.npz")
        proof = read(arguments[0])
        dual, primal = verify(proof)
    except ProofError as error:
        sys.stderr.write(f"NOT proven: {error}\n")
        return 4
    shapes = f"points {proof['points'].shape}, rows {proof['rows'].shape}, loss {proof['loss']}"
    sys.stdout.write(f"proven: the optimum is in [{dual!r}, {primal!r}]\n{shapes}\n{TRUSTED}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
