"""Attack by narrow semidefinite programs: what has an answer must never be proven to have none.

The problems have an answer by construction, in rational numbers: an X in the cone that meets all
rows, or a y that is feasible in the dual, checked by exact arithmetic alone. Their entries are
small integers times powers of two between 1e-12 and 1e12, so that answers are far away or near the
boundary. A second attack counts how many problems without an answer are proven to have none.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np

from frobmetric.core import NumericalError
from frobmetric.sdp import make_sdp, solve_sdp

from . import Attack, Findings

#: Largest exponent of the powers of two by which entries differ, 1e12.
WIDEST = 40
#: Margin of problems without an answer: smallest over largest eigenvalue of the ray, and its gain.
MARGIN = 1e-3
#: Steps and seconds of a solve.
LIMITS = {"max_iter": 4000, "time_limit": 20.0}


def as_fractions(A):
    """Return an array of floats as rational numbers."""
    A = np.asarray(A, dtype=float)
    return np.array([*map(Fraction, A.ravel().tolist()), None], dtype=object)[:-1].reshape(A.shape)


def is_semidefinite(S):
    """Return whether a symmetric matrix of rational numbers has no negative eigenvalue."""
    S = S.copy()
    for k in range(len(S)):
        if S[k, k] < 0 or (S[k, k] == 0 and any(S[k, k + 1 :])):
            return False
        for i in range(k + 1, len(S)) if S[k, k] else ():
            S[i, k + 1 :] -= S[i, k] / S[k, k] * S[k, k + 1 :]
    return True


def _powers(rng, n, widest):
    return 2.0 ** rng.integers(-widest, widest + 1, n)


def _draw_blocks(rng):
    """Return the orders of the blocks; a negative one is that of a diagonal block."""
    kinds = ([2], [3], [2, -2], [4], [-3], [2, 2], [1, 2])
    return kinds[rng.integers(len(kinds))]


def _draw_element(rng, blocks, widest):
    """Return an element of the cone, block by block: often singular, its entries far apart."""
    made = []
    for n in blocks:
        d = _powers(rng, abs(n), widest)
        if n < 0:
            made.append(rng.integers(0, 3, -n) * d)
            continue
        L = rng.integers(-2, 3, (n, rng.integers(1, n + 1)))
        made.append(d[:, None] * (L @ L.T) * d)
    return made


def _draw_row(rng, blocks, widest):
    """Return a matrix with few entries, block by block."""
    made = []
    for n in blocks:
        d = _powers(rng, abs(n), widest // 2)
        if n < 0:
            made.append(rng.integers(-1, 2, -n) * d)
            continue
        A = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.6))
        made.append(d[:, None] * (A + A.T) * d / 2)
    return made


def _inner(A, X):
    pairs = zip(A, X, strict=True)
    return sum((np.sum(as_fractions(a) * as_fractions(x)) for a, x in pairs), Fraction())


def draw_feasible(rng):
    """Return the parts of a problem, and the X and y that are feasible; None for none known."""
    draw = (_draw_pinned, _draw_steep, _draw_mixed)[rng.choice(3, p=[0.35, 0.35, 0.3])]
    return draw(rng)


def _unit(n, i, j):
    A = np.zeros((n, n))
    A[i, j] = A[j, i] = 1.0 if i == j else 0.5
    return A


def _draw_pinned(rng):
    """Return a problem whose rows hold small entries of X, so that others must be large."""
    n = int(rng.integers(2, 5))
    d = 2.0 ** np.sort(rng.integers(-WIDEST // 2, WIDEST // 2 + 1, n))
    L = rng.integers(-2, 3, (n, rng.integers(1, n + 1)))
    X = d[:, None] * (L @ L.T + np.diag(rng.integers(0, 2, n))) * d
    places = [(i, j) for i in range(n) for j in range(i, n) if i < n - 1]
    chosen = rng.permutation(len(places))[: rng.integers(1, len(places) + 1)]
    A = [[_unit(n, *places[k])] for k in chosen]
    b = [float(X[places[k]]) for k in chosen]
    senses = [("=", ">=", "<=")[rng.choice(3, p=[0.6, 0.2, 0.2])] for _ in chosen]
    C = [
        np.eye(n),
        np.zeros((n, n)),
        np.diag(1.0 + rng.integers(0, 3, n)),
        _draw_row(rng, [n], 2)[0],
    ]
    number = int(rng.integers(4))
    y = np.zeros(len(b)) if number < 3 else None  # C is positive semidefinite
    return [C[number]], A, b, senses, [X], y


def _draw_steep(rng):
    """Return a problem whose objective is bounded by large multipliers only."""
    while True:
        n, m = int(rng.integers(2, 4)), int(rng.integers(1, 3))
        eps, A = 2.0 ** -rng.integers(0, WIDEST + 1), []
        for _ in range(m):
            B = rng.integers(-1, 2, (n, rng.integers(1, n + 1)))
            a = (B @ B.T).astype(float)
            a[0] = a[:, 0] = 0.0
            a[0, 0] = eps * rng.integers(0, 3)
            A.append([a])
        C = rng.integers(-2, 3, (n, n))
        C = [np.triu(C) + np.triu(C).T - 0.0]
        y = -rng.integers(0, 4, m) * 2.0 ** rng.integers(0, 4) / eps
        senses = [str(s) for s in rng.choice(["=", "<="], m)]
        if not (y.any() and C[0][0, 0] < 0 and _is_dual_feasible(C, A, y)):
            continue
        X = [np.diag(rng.integers(1, 3, n).astype(float))]
        is_known = bool(rng.random() < 0.5)
        b = [float(_inner(a, X)) for a in A]
        if is_known and all(Fraction(c) == _inner(a, X) for c, a in zip(b, A, strict=True)):
            return C, A, b, senses, X, y
        return C, A, [float(v) for v in rng.integers(-2, 3, m)], senses, None, y


def _draw_mixed(rng):
    """Return a problem on any cone, its entries far apart."""
    while True:
        blocks, widest = _draw_blocks(rng), int(rng.choice([4, 10, 20, WIDEST // 2]))
        m = int(rng.integers(1, 4))
        A = [_draw_row(rng, blocks, widest) for _ in range(m)]
        senses = [str(s) for s in rng.choice(["=", ">=", "<="], m)]
        known = rng.choice(["X", "y", "both"])
        X = _draw_element(rng, blocks, widest) if known != "y" else None
        b = [float(v) for v in rng.integers(-2, 3, m) * _powers(rng, m, widest)]
        if X is not None:
            sides = [_inner(a, X) for a in A]
            b = list(map(float, sides))
            is_met = [
                {"=": side == c, ">=": side >= c, "<=": side <= c}[s]
                for side, c, s in zip(sides, map(Fraction, b), senses, strict=True)
            ]
            if not all(is_met):
                continue
        C = [part + part.T for part in _draw_row(rng, blocks, widest)]
        y = None
        if known != "X":
            signs = np.array(
                [{"=": int(rng.choice([-1, 1])), ">=": 1, "<=": -1}[s] for s in senses]
            )
            y = signs * rng.integers(0, 3, m) * _powers(rng, m, widest)
            Z = _draw_element(rng, blocks, widest)
            C = [z + sum(v * a[k] for v, a in zip(y, A, strict=True)) for k, z in enumerate(Z)]
            if not _is_dual_feasible(C, A, y):
                continue
        return C, A, b, senses, X, y


def _is_dual_feasible(C, A, y):
    for k, c in enumerate(C):
        Z = as_fractions(c) - sum(
            Fraction(v) * as_fractions(a[k]) for v, a in zip(y, A, strict=True)
        )
        if not _is_in_cone(Z):
            return False
    return True


def judge(solution, X, y):
    """Return what a solution says falsely of a problem with these feasible X and y, or ""."""
    if solution.status == "primal_infeasible" and X is not None:
        return "a feasible problem is proven infeasible"
    if solution.status == "dual_infeasible" and y is not None:
        return "a problem with a bounded objective is proven unbounded"
    near = solution.nearly
    if near is None:
        return ""
    least = 1 / Fraction(near.error)
    if near.kind == "primal_infeasible" and X is not None:
        trace = sum(np.sum(as_fractions(np.diag(x) if x.ndim == 2 else x)) for x in X)
        return "" if trace >= least else "a bound on the trace is false"
    if near.kind == "dual_infeasible" and y is not None:
        norm2 = sum(Fraction(v) ** 2 for v in y.tolist())
        return "" if norm2 >= least**2 else "a bound on the norm of y is false"
    return ""


def is_exact_ray(ray, C, A, b, senses):
    """Return whether an exact ray is one, by its definition and in rational numbers."""
    if ray.kind == "primal_infeasible":
        signs = {"=": lambda v: True, ">=": lambda v: v >= 0, "<=": lambda v: v <= 0}
        gain = sum(v * Fraction(c) for v, c in zip(ray.exact, b, strict=True))
        W = [
            sum((-v * as_fractions(a[k]) for v, a in zip(ray.exact, A, strict=True)), 0)
            for k in range(len(C))
        ]
        is_signed = all(signs[s](v) for s, v in zip(senses, ray.exact, strict=True))
        return gain > 0 and is_signed and all(map(_is_in_cone, W))
    ends = np.cumsum([0, *(np.size(c) for c in C)])
    flat = np.array([*ray.exact, None], dtype=object)[:-1]
    X = [flat[i:j].reshape(np.shape(c)) for i, j, c in zip(ends, ends[1:], C, strict=False)]
    fall, sides = _product(C, X), [_product(a, X) for a in A]
    is_met = {"=": lambda v: v == 0, ">=": lambda v: v >= 0, "<=": lambda v: v <= 0}
    is_held = all(is_met[s](side) for s, side in zip(senses, sides, strict=True))
    return fall < 0 and is_held and all(map(_is_in_cone, X))


def _product(A, X):
    return sum((np.sum(as_fractions(a) * x) for a, x in zip(A, X, strict=True)), Fraction())


def _is_in_cone(S):
    return is_semidefinite(S) if S.ndim == 2 else bool((S >= 0).all())


def draw_infeasible(rng):
    """Return the kind and the parts of a problem that has a ray with a margin, in float64."""
    blocks, m = _draw_blocks(rng), int(rng.integers(1, 5))
    blocks = [n + int(np.sign(n)) * int(rng.integers(0, 4)) for n in blocks]
    senses = [str(s) for s in rng.choice(["=", ">=", "<="], m)]
    is_primal = bool(rng.random() < 0.5)
    deep = [_draw_inside(rng, n) for n in blocks]
    if is_primal:
        signs = np.array([{"=": int(rng.choice([-1, 1])), ">=": 1, "<=": -1}[s] for s in senses])
        y = signs * rng.uniform(0.1, 1, m)
        A = [[_draw_symmetric(rng, n) for n in blocks] for _ in range(m - 1)]
        A.append(
            [
                -(d + sum((v * a[k] for v, a in zip(y, A, strict=False)), 0 * d)) / y[-1]
                for k, d in enumerate(deep)
            ]
        )
        b = rng.normal(size=m)
        gain = MARGIN * 10 ** rng.uniform(0, 3) * np.linalg.norm(b) / np.linalg.norm(y)
        b += (gain - b @ y / (y @ y)) * y
        return "primal_infeasible", [_draw_symmetric(rng, n) for n in blocks], A, b, senses
    A = [[_draw_symmetric(rng, n) for n in blocks] for _ in range(m)]
    size2 = sum(float(np.vdot(d, d)) for d in deep)

    def moved(part, value):
        change = (
            value - sum(float(np.vdot(a, d)) for a, d in zip(part, deep, strict=True))
        ) / size2
        return [(a + change * d + (a + change * d).T) / 2 for a, d in zip(part, deep, strict=True)]

    sides = {"=": 0.0, ">=": float(rng.uniform(0, 1)), "<=": -float(rng.uniform(0, 1))}
    A = [moved(a, sides[s]) for a, s in zip(A, senses, strict=True)]
    C = [_draw_symmetric(rng, n) for n in blocks]
    C = moved(C, -MARGIN * 10 ** rng.uniform(0, 3) * np.sqrt(size2))
    X = [_draw_inside(rng, n) for n in blocks]
    b = [sum(float(np.vdot(a, x)) for a, x in zip(part, X, strict=True)) for part in A]
    return "dual_infeasible", C, A, b, senses


def _draw_symmetric(rng, n):
    A = rng.normal(size=(abs(n), abs(n)))
    return A[0] if n < 0 else (A + A.T) / 2


def _draw_inside(rng, n):
    """Return an element of a block with eigenvalues between the margin and one."""
    values = MARGIN ** rng.random(abs(n))
    if n < 0:
        return values
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    S = Q * values @ Q.T
    return (S + S.T) / 2


def _solve(C, A, b, senses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve_sdp(make_sdp(C, A, b, senses), **LIMITS)


def attack_narrow(count, seed):
    """Solve narrow problems that have an answer, and look for false proofs and bounds."""
    findings = Findings()
    for number in range(count):
        C, A, b, senses, X, y = draw_feasible(np.random.default_rng([seed, number]))
        kind = " and ".join(name for name, value in (("X", X), ("y", y)) if value is not None)
        try:
            solution = _solve(C, A, b, senses)
        except NumericalError:
            findings.add(kind, "NumericalError")
            continue
        wrong, ray = judge(solution, X, y), solution.ray
        if ray is not None and ray.exact and not is_exact_ray(ray, C, A, b, senses):
            wrong = "an exact ray is none"
        if wrong:
            findings.add_defect(kind, wrong, f"draw_feasible(default_rng([{seed}, {number}]))")
        else:
            near = "" if solution.nearly is None else ", nearly infeasible or unbounded"
            findings.add(kind, solution.status + near)
    return findings


def attack_power(count, seed):
    """Solve problems without an answer; one that is not proven to have none is a miss."""
    findings = Findings()
    for number in range(count):
        kind, C, A, b, senses = draw_infeasible(np.random.default_rng([seed, number]))
        solution = _solve(C, A, b, senses)
        ray = solution.ray
        if ray is None:
            findings.add(kind, f"not proven: {solution.status}")
        elif ray.exact and not is_exact_ray(ray, C, A, b, senses):
            wrong = f"draw_infeasible(default_rng([{seed}, {number}]))"
            findings.add_defect(kind, "an exact ray is none", wrong)
        else:
            findings.add(kind, "proven")
    return findings


ATTACKS = (
    Attack("narrow", attack_narrow, short=100, long=5000),
    Attack("power", attack_power, short=50, long=1000),
)
