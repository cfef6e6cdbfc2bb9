"""The problem, and its primal and dual at a given u."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .checks import MOST, as_bounded, as_finite, as_real, require_parts
from .cones import Cone, Split
from .losses import Loss
from .matrices import Constraints
from .points import Point, Rows, Symmetric, Vector, as_dense

#: Rounding of the two objectives, relative to the terms that they sum.
ROUNDING = 1e-13

#: What the parts of a problem must be, for errors.
EXPECTED = {
    "constraints": "constraints such as Triplets(X, triplets)",
    "loss": "a loss such as Hinge(weights)",
    "cone": "a cone such as PSD(n), or None for that of the constraints",
}


@dataclass(frozen=True)
class Comparison:
    """The primal objective of some M beside the dual objective of some u.

    `violation` is the largest relative amount by which M breaks a hard row or, without a Frobenius
    term, cost - A*(u) leaves the dual cone; `rounding` estimates the rounding of the objectives.
    """

    margins: Vector
    primal: float
    dual: float
    gradient: Vector
    violation: float
    rounding: float

    @property
    def gap(self) -> float:
        """Difference of primal and dual, zero where it is only rounding: no step reduces that.

        It ends a solver; the certificate of its answer bounds the rounding and adds it.
        """
        gap = float(self.primal - self.dual)
        return 0.0 if abs(gap) <= self.rounding < np.inf else gap

    @property
    def error(self) -> float:
        """Number that a tolerance is compared with."""
        size = max(abs(float(self.primal)), abs(float(self.dual)))
        gap = self.gap + float(self.rounding) if self.gap > 0 else self.gap
        return relative_error(gap, size, self.violation)


@dataclass(frozen=True)
class Evaluation(Comparison):
    """The result of one eigen-decomposition: M(u), and both objectives there.

    `slack` is cost - A*(u), and `split` the positive and negative part of S(u).

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> evaluation = problem.evaluate(np.array([0.5]))
    >>> evaluation.dual, evaluation.primal, evaluation.rank
    (0.375, 0.625, 1)
    >>> evaluation.point.dense().round(3).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """

    u: Vector
    point: Point
    sigma: float
    split: Split
    slack: Symmetric

    @property
    def rank(self) -> int:
        return self.point.rank


@dataclass(frozen=True)
class FrobeniusSDP:
    """Minimisation over the matrices M of a cone, with a Frobenius term and losses of rows.

    The objective is

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
    cone : Cone
        If not given that of the constraints, mostly the positive semidefinite matrices of order n.
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
        parts = {"constraints": ("shape", "forward", "adjoint"), "loss": ("scale", "conjugate")}
        parts |= {} if self.cone is None else {"cone": ("shape", "split")}
        for name, of in parts.items():
            require_parts(getattr(self, name), of, name=name, expected=EXPECTED[name])
        n_rows = len(self.loss.scale)
        if n_rows != self.constraints.shape[0]:
            raise ValueError(
                f"the loss has {n_rows} rows and the constraints have "
                f"{self.constraints.shape[0]}; they must have one each"
            )
        put = object.__setattr__  # the instance is frozen from here on
        for name in ("sigma", "offset"):
            put(self, name, as_real(getattr(self, name), name=name))
        if not self.sigma > 0:
            raise ValueError(f"sigma={self.sigma!r} must be positive")
        if MOST < self.sigma < np.inf:
            as_bounded(self.sigma, name="sigma")
        if self.cone is None:
            put(self, "cone", self.constraints.default_cone())
        most = np.inf if np.isinf(self.sigma) else MOST
        for name in ("cost", "prior"):
            given = getattr(self, name)
            value = (
                np.zeros(self.cone.shape)
                if given is None
                else as_finite(given, name=name, most=most)
            )
            if value.shape != self.cone.shape:
                raise ValueError(f"{name} has shape {value.shape}; expected {self.cone.shape}")
            put(self, name, value)

    def evaluate(self, u: Vector, point: Point | None = None) -> Evaluation:
        """Compute M(u) and all that follows from it, by one eigen-decomposition.

        With a `point`, the evaluation is at this element of the cone in place of M(u).
        """
        if np.isinf(self.sigma):
            raise ValueError(
                "sigma=inf has no Frobenius term, so no M(u); solve this plain SDP with "
                "frobmetric.sdp.solve_sdp, or give a finite sigma"
            )
        slack, split = self._split(u)
        point = split.positive(self.sigma) if point is None else point
        return self._evaluation(point, u, slack, split)

    def extend(self, evaluation: Evaluation, u: Vector) -> Evaluation:
        """Extend an evaluation of a restriction to all rows of u, by the margins of the others."""
        return self._evaluation(evaluation.point, u, evaluation.slack, evaluation.split)

    def compare(self, M: Point | Symmetric, u: Vector) -> Comparison:
        """Compare the primal objective at any M with the dual objective at any u."""
        return self._compare(M, u, *self._split(u))

    def restrict(self, rows: Rows, u: Vector, slack: Symmetric) -> FrobeniusSDP:
        """Restrict the problem to some rows, the others held at their u.

        A held row is replaced by the straight line below its loss that u stands for. The dual is
        therefore the same function of the remaining rows, and the primal never larger.
        `slack` is that of an evaluation at u.
        """
        constraints, loss = self.constraints.restrict(rows), self.loss.restrict(rows)
        whole, _ = self.loss.conjugate(u)
        part, _ = loss.conjugate(u[rows])
        cost, offset = constraints.adjoint(u[rows]) + slack, self.offset + float(whole - part)
        return replace(self, constraints=constraints, loss=loss, cost=cost, offset=offset)

    def sample(self, rows: Rows) -> FrobeniusSDP:
        """Return the problem with these rows standing for all rows.

        Instead of increasing the weights of the rows, all other terms are reduced, which is
        possible with any loss.
        """
        constraints, loss = self.constraints.restrict(rows), self.loss.restrict(rows)
        share = len(rows) / self.constraints.shape[0]
        cost, sigma, offset = share * self.cost, self.sigma / share, share * self.offset
        return FrobeniusSDP(constraints, loss, cost, self.prior, sigma, self.cone, offset)

    def __str__(self) -> str:
        n_rows, kind = self.constraints.shape[0], type(self.constraints).__name__
        given = {"cost": self.cost, "prior": self.prior}.items()
        terms = [f"{name} of norm {np.linalg.norm(M):.3g}" for name, M in given if M.any()]
        return (
            f"minimise over M in {self.cone}\n"
            f"  rows            {n_rows} of {kind}, loss {self.loss}\n"
            f"  Frobenius term  "
            f"{'none (a plain SDP)' if np.isinf(self.sigma) else f'sigma = {self.sigma:g}'}\n"
            f"  matrices        {', '.join(terms) or 'no cost, no prior'}"
        )

    def __repr__(self) -> str:
        return (
            f"FrobeniusSDP({type(self.constraints).__name__} of shape {self.constraints.shape}, "
            f"{self.loss}, sigma={self.sigma:g}, {self.cone!r})"
        )

    def _split(self, u: Vector) -> tuple[Symmetric, Split]:
        """Return cost - A*(u) and the two parts of S(u)."""
        slack = self.cost - self.constraints.adjoint(u)
        return slack, self.cone.split(self.prior / self.sigma - slack)

    def _evaluation(self, point: Point, u: Vector, slack: Symmetric, split: Split) -> Evaluation:
        comparison = self._compare(point, u, slack, split)
        return Evaluation(
            **vars(comparison), u=u, point=point, sigma=self.sigma, split=split, slack=slack
        )

    def _compare(
        self, M: Point | Symmetric, u: Vector, slack: Symmetric, split: Split
    ) -> Comparison:
        margins = self.constraints.forward(M)
        # sums over rows: where these are sharded, they are computed at once when one is needed
        losses, (value, slope) = self.loss.value(margins), self.loss.conjugate(u)
        broken = self.loss.violation(margins).max(initial=0.0) if self.loss.is_hard else 0.0
        dense = as_dense(M)
        moved = dense - self.prior
        primal = (
            float(np.vdot(self.cost, dense))
            + float(np.vdot(moved, moved)) / (2 * self.sigma)
            + losses
            + self.offset
        )
        terms, violation = self._dual_terms(slack, split)
        return Comparison(
            margins=margins,
            primal=primal,
            dual=value + sum(terms) + self.offset,
            gradient=slope - margins,
            violation=max(violation, float(broken)),
            # M itself is known up to rounding of the prior
            rounding=ROUNDING * (abs(primal) + abs(value) + sum(map(abs, terms)))
            + (ROUNDING * float(np.linalg.norm(self.prior))) ** 2 / self.sigma,
        )

    def _dual_terms(self, slack: Symmetric, split: Split) -> tuple[tuple[float, ...], float]:
        """Return the dual's terms without u, and by how much u violates the dual constraint.

        |prior|^2/(2 sigma) - sigma/2 |(S)_+|^2 is written in the form that cancels least. Near a
        large prior the two are almost equal; with S = prior/sigma - slack and |(S)_+|^2 = |S|^2 -
        |(S)_-|^2 their common part is gone. Without a Frobenius term S must not have a positive
        part.
        """
        if np.isinf(self.sigma):
            return (), float(np.sqrt(split.positive_norm2)) / (1 + float(np.linalg.norm(self.cost)))
        half, prior = self.sigma / 2, self.prior
        plain = (float(np.vdot(prior, prior)) / (2 * self.sigma), -half * split.positive_norm2)
        reduced = (
            float(np.vdot(prior, slack)),
            -half * float(np.vdot(slack, slack)),
            half * split.negative_norm2,
        )
        return min(plain, reduced, key=lambda terms: sum(map(abs, terms))), 0.0


def relative_error(gap: float, size: float, violation: float) -> float:
    """Return the relative gap, or the violation of hard rows if that is larger."""
    if violation > 0:
        return max(violation, abs(gap) / (1 + size))
    return gap / size if gap else 0.0
