"""Losses on the margins v = <A_r, M>, one row a constraint, and their conjugates.

A loss enters the dual as `-loss*(-u)`, concave in u on the box `lower <= u <= upper`. There is one
sign throughout, that of "<A_r, M> is large": a row that pushes its margin up has u >= 0.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any, Protocol

import numpy as np

from .checks import as_bounded, as_row_numbers
from .points import Rows, Vector
from .rounding import SUM, TINY, gamma


def _total(a: Vector, b: Vector) -> float:
    """Return the inner product: a number, or for sharded vectors one that is computed later."""
    total = np.sum(a * b)  # in pairs: its rounding error does not grow with the number of rows
    return float(total) if isinstance(total, np.floating) else total


class Loss(Protocol):
    """A loss, separable over m rows, with absolute weights: C / m in each row is a mean.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Hinge, Loss
    >>> loss: Loss = Hinge(np.ones(3))
    >>> float(loss.value(np.zeros(3)))
    3.0
    """

    @property
    def is_hard(self) -> bool:
        """Whether some row is a constraint that must hold, instead of a cost."""

    @property
    def lower(self) -> Vector: ...
    @property
    def upper(self) -> Vector: ...

    @property
    def scale(self) -> Vector:
        """Typical size of u; dividing by it turns finite boxes into the unit box."""

    def value(self, v: Vector) -> float:
        """Return the sum of the losses; hard rows count in `violation` only."""

    def violation(self, v: Vector) -> Vector:
        """Return by how much each hard row is broken, relative to 1 + |target|; 0 for soft rows."""
        return np.zeros_like(v)

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        """Return the sum of -loss*(-u), and its gradient in u."""

    def value_bound(self, v: Vector, error: Vector) -> float:
        """Return an upper bound of the sum of the losses at margins that differ from v by `error`.

        No loss rises with its margin, and none has a term below zero.
        """
        return (1 + gamma(SUM + 8)) * self.value(v - error) + np.sum(self.underflow)

    def violation_bound(self, v: Vector, error: Vector) -> float:
        """Return an upper bound of the largest violation at margins that differ by `error`."""
        if not self.is_hard:
            return 0.0
        sides = (self.violation(v - error), self.violation(v + error))
        return (1 + gamma(4)) * float(max(side.max(initial=0.0) for side in sides))

    def conjugate_error(self, u: Vector) -> float:
        """Return a bound on the rounding error of the value of `conjugate`.

        Its terms are target_r u_r - curvature_r u_r^2 / 2, the slope target_r - curvature_r u_r.
        """
        size, (_, slope) = np.abs(u), self.conjugate(u)
        terms = np.abs(slope) + 1.5 * self.curvature * size
        return gamma(SUM + 8) * _total(terms, size) + 4 * np.count_nonzero(u) * TINY

    @property
    def underflow(self) -> Vector:
        """Bound on what each loss loses to products that underflow."""
        return np.zeros_like(self.scale)

    @property
    def curvature(self) -> Vector:
        """Rate at which the gradient of `conjugate` falls as u_r grows."""
        return np.zeros_like(self.scale)

    def multiplier(self, v: Vector) -> Vector:
        """Return a u that belongs to these margins: minus a slope of the loss (0 for hard rows)."""

    def smoothed(self, width: float) -> Loss:
        """Return a smooth loss with this box, its corners rounded over `width` of margin."""
        return self

    def restrict(self, rows: Rows) -> Loss:
        """Return the loss of these rows only; here each array has one number per row."""
        part = copy(self)
        vars(part).update(
            {name: v[rows] for name, v in vars(self).items() if getattr(v, "ndim", 0)}
        )
        return part

    def __str__(self) -> str:
        return type(self).__name__


class _Soft(Loss):
    """Base of soft losses: u is between zero and the steepest slope, the weight."""

    weight: Vector
    target: Vector | float
    is_hard = False

    def __post_init__(self) -> None:
        put = object.__setattr__  # the instance is frozen from here on
        put(self, "weight", as_row_numbers(self.weight, name="weight", least=0.0))
        is_one = isinstance(self.target, Real)
        check = as_bounded if is_one else partial(as_row_numbers, n_rows=len(self.weight))
        put(self, "target", check(self.target, name="target"))

    @property
    def lower(self) -> Vector:
        return np.zeros_like(self.weight)

    @property
    def upper(self) -> Vector:
        return self.weight

    @property
    def scale(self) -> Vector:
        return self.weight

    @property
    def underflow(self) -> Vector:
        return np.where(self.weight > 0, TINY, 0.0)


@dataclass(frozen=True)
class Hinge(_Soft):
    """loss_r(v) = weight_r * max(0, target_r - v), the paper's; u is in [0, weight_r].

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Hinge
    >>> loss = Hinge(np.array([2.0, 2.0]))
    >>> float(loss.value(np.array([0.5, 3.0])))
    1.0
    """

    weight: Vector
    target: Vector | float = 1.0

    def value(self, v: Vector) -> float:
        return _total(self.weight, np.maximum(0, self.target - v))

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        return _total(self.target * np.ones_like(u), u), self.target * np.ones_like(u)

    def multiplier(self, v: Vector) -> Vector:
        return self.weight * (v < self.target)

    def smoothed(self, width: float) -> SmoothedHinge:
        return SmoothedHinge(self.weight, self.target, width)


@dataclass(frozen=True)
class SmoothedHinge(_Soft):
    """The hinge with its corner rounded to a parabola over a width `smoothing` of margin.

    With t = target_r - v the loss is weight_r times 0 for t <= 0, t^2 / (2 smoothing) up to
    t = smoothing, and t - smoothing / 2 beyond; u is in [0, weight_r].

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import SmoothedHinge
    >>> loss = SmoothedHinge(np.array([1.0, 1.0]), smoothing=0.5)
    >>> float(loss.value(np.array([0.0, 0.75])))
    0.8125
    """

    weight: Vector
    target: Vector | float = 1.0
    smoothing: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "smoothing", as_bounded(self.smoothing, name="smoothing"))
        if not self.smoothing > 0:
            raise ValueError(f"smoothing={self.smoothing!r} must be positive; use Hinge without it")

    @property
    def curvature(self) -> Vector:
        return self.smoothing / np.where(self.weight > 0, self.weight, 1.0)

    @property
    def underflow(self) -> Vector:
        return TINY * ((self.weight > 0) + (3 + 1 / self.smoothing) * self.weight)

    def value(self, v: Vector) -> float:
        short = np.maximum(0, self.target - v)
        curved = np.minimum(short, self.smoothing)
        return _total(self.weight, curved * (short - curved / 2) / self.smoothing)

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        # a row of weight 0 has u = 0, so any divisor is right
        share = self.smoothing * u / np.where(self.weight > 0, self.weight, 1.0)
        return _total(u, self.target - share / 2), self.target - share

    def multiplier(self, v: Vector) -> Vector:
        return self.weight * np.clip((self.target - v) / self.smoothing, 0, 1)


@dataclass(frozen=True)
class SquaredHinge(_Soft):
    """loss_r(v) = weight_r * max(0, target_r - v)^2; u >= 0 has no upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import SquaredHinge
    >>> loss = SquaredHinge(np.array([1.0, 1.0]))
    >>> float(loss.value(np.array([-1.0, 2.0])))
    4.0
    """

    weight: Vector
    target: Vector | float = 1.0

    @property
    def upper(self) -> Vector:
        return np.where(self.weight > 0, np.inf, 0.0)

    @property
    def scale(self) -> Vector:
        return 2 * self.weight

    @property
    def curvature(self) -> Vector:
        return 0.5 / np.where(self.weight > 0, self.weight, 1.0)

    @property
    def underflow(self) -> Vector:
        return TINY * ((self.weight > 0) + self.weight)

    def value(self, v: Vector) -> float:
        return _total(self.weight, np.maximum(0, self.target - v) ** 2)

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        share = u / np.where(self.weight > 0, 2 * self.weight, 1.0)
        return _total(u, self.target - share / 2), self.target - share

    def multiplier(self, v: Vector) -> Vector:
        return 2 * self.weight * np.maximum(0, self.target - v)


@dataclass(frozen=True)
class Hard(Loss):
    """Rows that must hold: they cost nothing, and at least one bound of u is infinite.

    `sense` is +1 where the margin must be at least the target, -1 where at most, 0 where equal:
    a vector, or one number for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import AtLeast, Hard
    >>> isinstance(AtLeast(np.ones(2)), Hard)
    True
    """

    target: Vector
    sense: Any
    is_hard = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_row_numbers(self.target, name="target", most=np.inf))

    @property
    def lower(self) -> Vector:
        return np.where(self._sense > 0, 0.0, -np.inf)

    @property
    def upper(self) -> Vector:
        return np.where(self._sense < 0, 0.0, np.inf)

    @property
    def scale(self) -> Vector:
        return np.ones_like(self.target)

    def value(self, v: Vector) -> float:
        return 0.0

    def violation(self, v: Vector) -> Vector:
        short = self.target - v
        broken = np.where(self._sense == 0, np.abs(short), np.maximum(0, self._sense * short))
        return broken / (1 + np.abs(self.target))

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        return _total(self.target, u), self.target

    def multiplier(self, v: Vector) -> Vector:
        return np.zeros_like(v)

    @property
    def _sense(self) -> Vector:
        return np.broadcast_to(np.asarray(self.sense), self.target.shape)


@dataclass(frozen=True)
class AtLeast(Hard):
    """<A_r, M> >= target_r; u >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import AtLeast
    >>> rows = AtLeast(np.array([1.0, 2.0]))
    >>> rows.lower, rows.upper
    (array([0., 0.]), array([inf, inf]))
    """

    sense: Any = field(default=1, init=False)


@dataclass(frozen=True)
class AtMost(Hard):
    """<A_r, M> <= target_r; u <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import AtMost
    >>> rows = AtMost(np.array([1.0, 2.0]))
    >>> rows.lower, rows.upper
    (array([-inf, -inf]), array([0., 0.]))
    """

    sense: Any = field(default=-1, init=False)


@dataclass(frozen=True)
class Equal(Hard):
    """<A_r, M> = target_r; u is free.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Equal
    >>> rows = Equal(np.array([1.0, 2.0]))
    >>> rows.lower, rows.upper
    (array([-inf, -inf]), array([inf, inf]))
    """

    sense: Any = field(default=0, init=False)


@dataclass(frozen=True)
class Mixed(Loss):
    """Different losses for consecutive runs of rows, as `Stack` has different constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Equal, Hinge
    >>> from frobmetric.core.losses import Mixed
    >>> loss = Mixed((Hinge(np.ones(2)), Equal(np.zeros(1))))
    >>> loss.upper
    array([ 1.,  1., inf])
    """

    parts: tuple[Loss, ...]

    def __str__(self) -> str:
        return " + ".join(f"{n} {part}" for n, part in zip(self._sizes, self.parts, strict=True))

    @property
    def is_hard(self) -> bool:
        return any(part.is_hard for part in self.parts)

    @property
    def lower(self) -> Vector:
        return np.concatenate([part.lower for part in self.parts])

    @property
    def upper(self) -> Vector:
        return np.concatenate([part.upper for part in self.parts])

    @property
    def scale(self) -> Vector:
        return np.concatenate([part.scale for part in self.parts])

    @property
    def curvature(self) -> Vector:
        return np.concatenate([part.curvature for part in self.parts])

    @property
    def underflow(self) -> Vector:
        return np.concatenate([part.underflow for part in self.parts])

    def value(self, v: Vector) -> float:
        return sum(part.value(x) for part, x in self._runs(v))

    def violation(self, v: Vector) -> Vector:
        return np.concatenate([part.violation(x) for part, x in self._runs(v)])

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        values, slopes = zip(*(part.conjugate(x) for part, x in self._runs(u)), strict=True)
        return sum(values), np.concatenate(slopes)

    def multiplier(self, v: Vector) -> Vector:
        return np.concatenate([part.multiplier(x) for part, x in self._runs(v)])

    def smoothed(self, width: float) -> Mixed:
        return Mixed(tuple(part.smoothed(width) for part in self.parts))

    def restrict(self, rows: Rows) -> Mixed:
        runs = zip(self.parts, split_rows(rows, self._sizes), strict=True)
        return Mixed(tuple(part.restrict(run) for part, run in runs))

    @property
    def _sizes(self) -> list[int]:
        return [len(part.scale) for part in self.parts]

    def _runs(self, x: Vector) -> list[tuple[Loss, Vector]]:
        runs = np.split(x, np.cumsum(self._sizes)[:-1])
        return list(zip(self.parts, runs, strict=True))


def split_rows(rows: Rows, sizes: list[int]) -> list[Rows]:
    """Convert increasing row numbers of a stack to row numbers of each of its parts."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    runs = np.split(rows, np.searchsorted(rows, offsets[1:-1]))
    return [run - offset for run, offset in zip(runs, offsets[:-1], strict=True)]


#: Every loss; the contract tests loop over it.
LOSSES = (Hinge, SmoothedHinge, SquaredHinge, Hard, AtLeast, AtMost, Equal)
