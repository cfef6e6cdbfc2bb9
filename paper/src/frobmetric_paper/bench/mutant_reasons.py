"""Reasons why mutants of the certificate code survive, by the description of the mutant."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "_check_point: if np.abs(M).max(initial=0.0) > MOST: -> "
    "if np.abs(M).max(initial=1.0) > MOST:": (
        "Same: MOST is above 1, and a matrix without entries has none to refuse."
    ),
    "adjoint: for start in range(0, max(1, len(rows)), step): -> "
    "for start in range(0, max(2, len(rows)), step):": (
        "Same: without rows, or with one, there is one block either way, as a block has at least "
        "19 rows."
    ),
    "adjoint: -1, 1), d[start:start + step]).reshape(-1, 1) for d in weights] -> "
    "-1, 1), d[start:start + step]).reshape(-2, 1) for d in weights]": (
        "Same: NumPy infers the size from any negative number."
    ),
    "adjoint: step = (0, MOST_TERMS // len(digits) // 2) -> "
    "step = (0, MOST_TERMS // len(digits) // 3)": (
        "Same sums in smaller blocks; larger ones are refused by `convolve`."
    ),
    "split: last = np.frexp((whole & -whole).astype(float))[1] - 54 -> "
    "last = np.frexp((whole | -whole).astype(float))[1] - 54": (
        "Same: x | -x is -(x & -x), and the sign has no influence on the exponent."
    ),
    "split: return ([np.zeros_like(values)], 0) -> return ([np.zeros_like(values)], 1)": (
        "Same: zero has any exponent."
    ),
}
