"""The problem, and its primal and dual at a given u."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .cones import PSD, Cone, Split
from .constraints import Constraints
from .losses import Loss
from .points import Point, as_dense
from .types import Rows, Symmetric, Vector

#: Rounding of the two objectives, relative to the terms that they sum.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Comparison:
    """The primal objective of some M beside the dual objective of some u."""

    margins: Vector
    primal: float
    dual: float
    gradient: Vector
    violation: float
    rounding: float

    @property
    def gap(self) -> float:
        """primal - dual, and zero where that is nothing but rounding."""
        gap = self.primal - self.dual
        return gap if abs(gap) > self.rounding else 0.0

    @property
    def error(self) -> float:
        """What a tolerance is compared with."""
        return relative_error(self.gap, max(abs(self.primal), abs(self.dual)), self.violation)


@dataclass(frozen=True)
class Evaluation(Comparison):
    """What one eigen-decomposition tells of u: M(u) itself, and the comparison of the two."""

    point: Point
    split: Split
    pull: Symmetric


@dataclass(frozen=True)
class FrobeniusSDP:
    """minimise over M in the cone

        <cost, M> + |M - prior|_F^2 / (2 sigma) + sum_r loss_r(<A_r, M>) + offset

    Its dual has one variable per row and no matrix. With S(u) = prior/sigma + A*(u) - cost and
    M(u) = sigma (S)_+ it is to maximise

        sum_r -loss_r*(-u_r) - sigma/2 |(S)_+|^2 + |prior|^2 / (2 sigma) + offset.

    Rows known to sit at their bound can be taken out: their A*(u) joins `-cost`, their constant
    `offset`.

    Parameters
    ----------
    constraints : Constraints of shape (m, n)
    loss : Loss with m rows
    cost, prior : ndarrays of the cone's shape, zero if not given
    sigma : float
        Infinity drops the Frobenius term: the plain SDP, for `frobmetric.sdp.solve_sdp`.
    cone : Cone, the positive semidefinite matrices of order n if not given
    offset : float

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> problem.evaluate(np.ones(1)).primal
    0.5
    """

    constraints: Constraints
    loss: Loss
    cost: Symmetric = None  # type: ignore[assignment]
    prior: Symmetric = None  # type: ignore[assignment]
    sigma: float = 1.0
    cone: Cone = None  # type: ignore[assignment]
    offset: float = 0.0

    def __post_init__(self) -> None:
        n_rows = len(self.loss.scale)
        if n_rows != self.constraints.shape[0]:
            raise ValueError(
                f"the loss has {n_rows} rows and the constraints have "
                f"{self.constraints.shape[0]}; they must have one each"
            )
        if not self.sigma > 0:
            raise ValueError(f"sigma={self.sigma!r} must be positive")
        put = object.__setattr__  # the instance is frozen from here on
        if self.cone is None:
            put(self, "cone", PSD(self.constraints.shape[1]))
        for name in ("cost", "prior"):
            put(self, name, self._matrix(name, getattr(self, name)))

    def evaluate(self, u: Vector) -> Evaluation:
        """M(u) and all that follows from it: one eigen-decomposition."""
        pull, split = self._split(u)
        point = split.positive(self.sigma)
        return self._evaluation(point, u, pull, split)

    def extend(self, found: Evaluation, u: Vector) -> Evaluation:
        """What a restriction of this problem found at its rows of u, for all rows.

        S(u) is the same matrix, so this needs the margins of the other rows and nothing else.
        """
        return self._evaluation(found.point, u, found.pull, found.split)

    def compare(self, M: Point | Symmetric, u: Vector) -> Comparison:
        """The primal at any M beside the dual at any u."""
        return self._compare(M, u, *self._split(u))

    def restrict(self, rows: Rows, u: Vector, pull: Symmetric) -> FrobeniusSDP:
        """The problem in these rows alone, the others held at their u.

        A held row is replaced by the straight line below its loss that u stands for. The dual is
        therefore the same function of the rows that are left, and the primal never larger.
        `pull` is that of an evaluation at u.
        """
        constraints, loss = self.constraints.restrict(rows), self.loss.restrict(rows)
        whole, _ = self.loss.conjugate(u)
        part, _ = loss.conjugate(u[rows])
        return replace(
            self,
            constraints=constraints,
            loss=loss,
            cost=constraints.adjoint(u[rows]) - pull,
            offset=self.offset + whole - part,
        )

    def sample(self, rows: Rows) -> FrobeniusSDP:
        """The problem with these rows standing for all: their sum is to the rest as the mean is.

        Instead of weighing the rows up, all else is weighed down, which any loss allows.
        """
        share = len(rows) / self.constraints.shape[0]
        return replace(
            self,
            constraints=self.constraints.restrict(rows),
            loss=self.loss.restrict(rows),
            cost=share * self.cost,
            sigma=self.sigma / share,
            offset=share * self.offset,
        )

    def _split(self, u: Vector) -> tuple[Symmetric, Split]:
        if np.isinf(self.sigma):
            raise ValueError(
                "sigma=inf has no Frobenius term, so no M(u); solve this plain SDP with "
                "frobmetric.sdp.solve_sdp, or give a finite sigma"
            )
        pull = self.constraints.adjoint(u) - self.cost
        return pull, self.cone.split(self.prior / self.sigma + pull)

    def _evaluation(self, point: Point, u: Vector, pull: Symmetric, split: Split) -> Evaluation:
        compared = self._compare(point, u, pull, split)
        return Evaluation(**vars(compared), point=point, split=split, pull=pull)

    def _compare(
        self, M: Point | Symmetric, u: Vector, pull: Symmetric, split: Split
    ) -> Comparison:
        margins = self.constraints.forward(M)
        primal = self._primal(as_dense(M), margins)
        value, slope = self.loss.conjugate(u)
        terms = self._curvature(pull, split)
        return Comparison(
            margins=margins,
            primal=primal,
            dual=value + sum(terms) + self.offset,
            gradient=slope - margins,
            violation=float(self.loss.violation(margins).max(initial=0.0)),
            # M itself is known up to rounding of the prior
            rounding=ROUNDING * (abs(primal) + abs(value) + sum(map(abs, terms)))
            + (ROUNDING * float(np.linalg.norm(self.prior))) ** 2 / self.sigma,
        )

    def _primal(self, M: Symmetric, margins: Vector) -> float:
        """The objective at M, hard rows apart."""
        moved = M - self.prior
        return (
            float(np.vdot(self.cost, M))
            + float(np.vdot(moved, moved)) / (2 * self.sigma)
            + self.loss.value(margins)
            + self.offset
        )

    def _curvature(self, pull: Symmetric, split: Split) -> tuple[float, ...]:
        """The terms of |prior|^2/(2 sigma) - sigma/2 |(S)_+|^2, in the form that cancels least.

        Near a large prior the two are almost equal; written with S = prior/sigma + pull and
        |(S)_+|^2 = |S|^2 - |(S)_-|^2, what they have in common is gone.
        """
        half = self.sigma / 2
        plain = (
            float(np.vdot(self.prior, self.prior)) / (2 * self.sigma),
            -half * split.positive_norm2,
        )
        reduced = (
            -float(np.vdot(self.prior, pull)),
            -half * float(np.vdot(pull, pull)),
            half * split.negative_norm2,
        )
        return min(plain, reduced, key=lambda terms: sum(map(abs, terms)))

    def _matrix(self, name: str, value: Symmetric | None) -> Symmetric:
        if value is None:
            return np.zeros(self.cone.shape)
        value = np.asarray(value, dtype=float)
        if value.shape != self.cone.shape:
            raise ValueError(f"{name} has shape {value.shape}; expected {self.cone.shape}")
        return value


def relative_error(gap: float, size: float, violation: float) -> float:
    """The relative gap; with broken hard rows the largest of the gap's and the rows' errors."""
    if violation > 0:
        return max(violation, abs(gap) / (1 + size))
    return gap / size if gap else 0.0
