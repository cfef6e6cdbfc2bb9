"""Entry points of the mathematics: constraints, losses, problems, solvers and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from frobmetric import certify, core, nearest_correlation, nearest_covariance, solve, solve_sdp
from frobmetric.sdp import (
    certify_sdp,
    make_sdp,
    pairwise_correlation,
    read_sdpa,
    solve_norm_bounded,
    write_sdpa,
)

from . import data
from .entry import Entry, function

X = data.X
ROWS = {
    core.Pairs: ("pairs", 2),
    core.Triplets: ("triplets", 3),
    core.Quadruplets: ("quadruplets", 4),
}
WEIGHT = np.arange(12) % 3 + 1.0


def _used(rows: Any) -> Any:
    """Return what constraints give: their margins, their sum and their norms."""
    n_rows, _ = rows.shape
    M = np.eye(3) if rows.default_cone().shape == (3, 3) else np.ones(rows.default_cone().shape)
    return rows.forward(M), rows.adjoint(np.ones(n_rows)), rows.norms()


def _constraints(kind: type) -> Any:
    return lambda **given: _used(kind(**given))


def _loss(kind: type) -> Any:
    def call(**given: Any) -> Any:
        loss = kind(**given)
        problem = core.FrobeniusSDP(core.Quadruplets(X / 64, data.QUADRUPLET_INDEX), loss)
        return solve(problem, max_iter=50, tol=0.5).point.dense()

    return call


def problem(**changes: Any) -> core.FrobeniusSDP:
    """Return a small problem with a Frobenius term."""
    parts = {
        "constraints": core.Quadruplets(X / 64, data.QUADRUPLET_INDEX),
        "loss": core.Hinge(WEIGHT),
    }
    return core.FrobeniusSDP(**parts | changes)


def plain() -> core.FrobeniusSDP:
    """Return a small SDP."""
    return make_sdp(data.COST, list(data.ROWS), data.BOUNDS, ["=", "<=", ">="])


def _solved(**given: Any) -> Any:
    return solve(core.FrobeniusSDP(**given), tol=1e-6).point.dense()


def _made(**given: Any) -> Any:
    return solve_sdp(make_sdp(**given), max_iter=2000).X


def _written(path: Any, problem: Any, comment: Any) -> Any:
    write_sdpa(problem, path, comment=comment)
    return solve_sdp(read_sdpa(path)).X


def _matrix_free(n_rows: Any, cone: Any, forward: Any, adjoint: Any) -> Any:
    return _used(core.MatrixFree(forward, adjoint, n_rows, cone))


def _forward(M: np.ndarray) -> np.ndarray:
    return np.diag(M).copy()


def _pieces() -> list[Entry]:
    rows = data.QUADRUPLET_INDEX
    losses: dict[type, dict[str, Any]] = {
        core.Hinge: {"weight": WEIGHT, "target": 1.0},
        core.SmoothedHinge: {"weight": WEIGHT, "target": 1.0, "smoothing": 0.5},
        core.SquaredHinge: {"weight": WEIGHT, "target": 1.0},
        core.AtLeast: {"target": WEIGHT / 8},
        core.AtMost: {"target": WEIGHT / 8},
        core.Equal: {"target": np.zeros(12)},
    }
    kinds: dict[type, dict[str, Any]] = {
        kind: {"X": X, name: rows[:, :size]} for kind, (name, size) in ROWS.items()
    }
    kinds |= {
        core.NeighborTriplets: {"X": X, "anchors": rows[:, 0], "near": rows[:, 1:2],
                                "far": rows[:, 2:]},
        core.Bilinear: {"A": X, "B": X, "quadruplets": rows},
        core.constraints.Scores: {"A": X, "B": X, "pairs": rows[:, :2]},
        core.LowRank: {"factors": list(X), "weights": None},
        core.Sparse: {"rows": data.ROWS.reshape(3, 9), "cone": core.PSD(3)},
        core.Stack: {"parts": [core.Pairs(X, rows[:, :2]), core.Triplets(X, rows[:, :3])]},
    }  # fmt: skip
    uses = [(_loss, losses), (_constraints, kinds)]
    entries = [
        Entry(kind.__name__, use(kind), own, data=frozenset(own), weight=2.0)
        for use, table in uses
        for kind, own in table.items()
    ]
    entries += [
        Entry("MatrixFree", _matrix_free, {"n_rows": 3, "cone": core.PSD(3), "forward": _forward,
                                           "adjoint": np.diag}),
        Entry("Sparse.from_matrices", lambda matrices: _used(core.Sparse.from_matrices(matrices)),
              {"matrices": data.ROWS}),
        Entry("Factored", lambda L: certify(problem(), core.points.Factored(L), np.zeros(12)),
              {"L": np.eye(3)}),
    ]  # fmt: skip
    return entries + [
        Entry(kind.__name__, lambda n, kind=kind: kind(n).identity(), {"n": 3}, weight=0.5)
        for kind in (core.PSD, core.Nonnegative)
    ]


def _solvers() -> list[Entry]:
    solution = solve(problem(), tol=1e-9)
    semidefinite = solve_sdp(plain())
    given = {"problem": problem(), "max_iter": 100, "tol": 1e-6}
    settings = {
        "constraints": problem().constraints, "loss": problem().loss, "cost": np.eye(3),
        "prior": np.eye(3), "sigma": 1.0, "cone": core.PSD(3), "offset": 0.0,
    }  # fmt: skip
    matrices = {"C": data.COST, "A": list(data.ROWS), "b": data.BOUNDS}
    return [
        Entry("FrobeniusSDP", _solved, settings, frozenset({"cone", "cost", "prior"}), 3.0),
        function("solve", solve, **given, weight=2.0),
        function("certify", certify, problem=problem(), point=solution.point.dense(),
                 u=solution.u, weight=3.0),
        function("certify_sdp", certify_sdp, problem=plain(), X=semidefinite.X,
                 y=semidefinite.y, weight=2.0),
        Entry("make_sdp", _made, matrices | {"senses": ["=", "<=", ">="], "sigma": np.inf,
              "prior": None, "offset": 0.0}, data=frozenset(matrices)),
        function("solve_sdp", solve_sdp, problem=plain(), max_iter=2000, start=semidefinite,
                 optional="start"),
        function("solve_norm_bounded", solve_norm_bounded, problem=plain(), delta=2.0,
                 max_iter=2000, start=semidefinite, optional="start", weight=0.5),
        Entry("write_sdpa", _written, {"path": "a.dat-s", "problem": plain(), "comment": ""}),
        function("read_sdpa", read_sdpa, path="missing.dat-s", weight=0.3),
        function("pairwise_correlation", pairwise_correlation, data=data.X),
        function("nearest_correlation", nearest_correlation, G=data.CORRELATION,
                 weights=np.array([1.0, 2.0, 3.0]), optional="weights", weight=2.0),
        function("nearest_correlation with bounds", nearest_correlation, G=data.CORRELATION,
                 bounds=(-0.5 * np.ones((3, 3)), np.ones((3, 3))), weight=1.0),
        function("nearest_covariance", nearest_covariance, S=data.COST, A=list(data.ROWS[:1]),
                 b=data.BOUNDS[:1], weight=1.0),
    ]  # fmt: skip


def entries() -> list[Entry]:
    """Return the entry points of this module; some need a solution, which is computed here."""
    return [*_pieces(), *_solvers()]
