"""The paper's problem, from whatever comparisons: what all estimators of it share."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from .._checks import check_psd
from .._parameters import MATRIX, NONE, NOT_NEGATIVE, InvalidParameterError, Rule, choice
from ..core import CertificateError, FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, certify
from ..solvers import FROBENIUS_SOLVERS, State, solve
from .coordinates import Frame, as_components
from .feature_maps import KERNEL_RULES, KernelEstimator
from .priors import PRIORS, prior_factor, psd_root, satisfied_scale

#: The losses that a metric can be learned with.
LOSSES = {"hinge": Hinge, "smoothed_hinge": SmoothedHinge, "squared_hinge": SquaredHinge}
#: What the parameters of the problem may be.
PROBLEM_RULES: dict[str, Rule] = KERNEL_RULES | {
    "loss": choice(LOSSES),
    "prior": MATRIX | choice(PRIORS) | NONE,
    "pull": NOT_NEGATIVE,
    "solver": choice(FROBENIUS_SOLVERS),
}
#: Samples given again may be rounded by this, relative to the largest of their numbers.
SINGLE = 1e-6
#: Less of the variance than this outside the directions that were kept is not worth a word.
NOTEWORTHY = 1e-3


class FrobEstimator(KernelEstimator):
    """Builds, solves and proves the Frobenius problem of some triplets in a frame."""

    pull = 0.0
    _rules: ClassVar[dict[str, Rule]]

    def _frame(self, X, y, old=None):
        """The data as the solver sees them; `old` is a factor of a metric to start from."""
        self._keep("prior_factor_", None)
        self._keep("prior_components_", None if old is None else old.T)
        self._meet(X)
        named = old is None and isinstance(self.prior, str) and self.prior != "identity"
        frame = self._span(X, self._prior_root(X) if old is None else old, named)
        self._warn_of_loss(frame)
        self.n_directions_, self.kept_variance_ = frame.Z.shape[1], float(frame.kept)
        self.unit_ = frame.scale
        if named:
            self._keep("prior_factor_", prior_factor(self.prior, frame.Z, y))
            frame = frame.mapped(self.prior_factor_)
        return frame

    def _known_frame(self, X):
        """That of an earlier fit."""
        if hasattr(self, "X_fit_") and not _are_close(X, self.X_fit_):
            raise CertificateError(
                f"these {X.shape[0]} samples are not the {self.X_fit_.shape[0]} that the metric "
                "was learned from; give those of the last fit"
            )
        if hasattr(self, "prior_factor_"):
            return self._span(X, None, named=True).mapped(self.prior_factor_)
        old = getattr(self, "prior_components_", None)
        return self._span(X, self._prior_root(X) if old is None else old.T)

    def _span(self, X, root, named=False):
        """The frame of X; that of a named prior is mapped on, and rounded only then.

        In an update the unit is that of the first fit, so that `C` means what it meant there.
        """
        unit = self.unit_ if hasattr(self, "prior_components_") else None
        if self.kernel != "linear":
            frame = Frame.of_kernel(self._kernel()(X), self.n_directions, not named)
        elif sp.issparse(X):
            frame = Frame.of_sparse(X, self.n_directions, not named, root, unit)
        else:
            frame = Frame.of(X, named, not named, root, unit).leading(self.n_directions)
        return frame

    def _warn_of_loss(self, frame):
        if self.n_directions is None and frame.kept < 1 - NOTEWORTHY:
            warnings.warn(
                f"the {frame.Z.shape[1]} leading directions of the data are used, which have "
                f"{frame.kept:.1%} of their variance; set n_directions to choose how many",
                UserWarning,
                stacklevel=4,
            )

    def _prior_root(self, X):
        """A factor of the prior matrix in the units of X; None if there is none."""
        if self.prior is None or isinstance(self.prior, str):
            return None
        if self.kernel != "linear":
            raise InvalidParameterError(
                f"prior is a matrix, of features, and kernel={self.kernel!r} has others; give a "
                f"prior by name ({', '.join(sorted(PRIORS))}) or kernel='linear'"
            )
        return psd_root(check_psd("prior", self.prior, X.shape[1]))

    def _old_root(self):
        """The learned metric, for an update to stay close to."""
        if self.kernel != "linear":
            raise ValueError(
                f"partial_fit was called with kernel={self.kernel!r}; new samples change the "
                "features of a kernel, so only kernel='linear' can be updated: fit again"
            )
        return self.components_[self.components_.any(axis=1)].T.astype(np.float64)

    def _solve(self, problem, point):
        return solve(
            problem, self.solver, self.tol, self.max_iter, self._on_step(), State(point=point)
        )

    def _why_zero(self, problem):
        return (
            "the learned metric is zero: no direction of X serves the triplets better than "
            "it contradicts them; check y or the order (anchor, near, far)"
        )

    def _problem(self, frame, triplets):
        constraints = triplets.constraints(frame.Z)
        loss = LOSSES[self.loss](self.C * triplets.share)
        cost = self.C * self.pull * triplets.near_scatter(frame.Z) if self.pull else None
        prior = self._prior_matrix(frame, constraints, triplets)
        return FrobeniusSDP(constraints, loss, cost, prior)

    def _prior_matrix(self, frame, constraints, triplets):
        """The prior in the coordinates of the frame."""
        if frame.root is not None:
            return frame.root @ frame.root.T
        if isinstance(self.prior, str):
            return satisfied_scale(constraints, triplets.share) * np.eye(frame.Z.shape[1])
        return None

    def _prove(self, frame, triplets):
        """The certificate again, from the data and the kept dual variables."""
        problem = self._problem(frame, triplets)
        point = problem.evaluate(self.dual_coef_).point
        self._check_components(frame, point)
        return certify(problem, point, self.dual_coef_)

    def _check_components(self, frame, point):
        """Whether `components_` is what the dual variables give."""
        expected = as_components(self._factor(frame, point), len(self.components_))
        allowed = 1e3 * np.sqrt(np.finfo(self.components_.dtype).eps)
        difference = _metric_difference(expected, self.components_)
        error = difference / max(np.linalg.norm(expected) ** 2, 1e-300)
        if not error <= min(allowed, 1e-2):
            raise CertificateError(
                f"components_ differ by {error:.1e} (relative) from the metric that the dual "
                "variables give on these data; the model was changed, or these are other data"
            )


def _are_close(X, other):
    """Whether two sets of samples, dense or sparse, differ by rounding to single precision only."""
    if X.shape != other.shape:
        return False
    return abs(X.astype(np.float64) - other).max() <= SINGLE * abs(other).max()


def _metric_difference(a, b):
    """|a.T @ a - b.T @ b|_F in the span of the rows: features may be very many."""
    triangle = np.linalg.qr(np.vstack([a, b]).T, mode="r")
    a, b = triangle[:, : len(a)], triangle[:, len(a) :]
    return np.linalg.norm(a @ a.T - b @ b.T)
