"""Logistic discriminant metric learning (Guillaumin, Verbeek and Schmid, ICCV 2009).

A pair of samples is of one class with probability 1 / (1 + exp(d^2 - bias)), where d^2 is measured
by M. Learning is maximum likelihood over pairs, which is convex in (M, bias) with M positive
semidefinite: an accelerated projected gradient method, in coordinates in which the data are white.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import Pairs

from ..data.labelled import whitening
from ..harness.worker import Target
from . import ours
from .base import MetricBaseline
from .convex import psd_factor

#: Workers call it before the first task.
warm_up = ours.warm_up
#: Number of steps from one estimate of the gap to the next.
CHECK_EVERY = 10


def learn(task):
    """Learn from pairs."""
    X, pairs, y = task["X"], task["pairs"], task["y"]
    L, bias, detail = learn_from_pairs(X, pairs, y, **task["parameters"])
    return {"L": L}, detail | {"bias": bias, "n_pairs": len(pairs)}


def learn_from_pairs(X, pairs, y, *, tol=1e-4, max_iter=5000):
    """Return the factor L of the metric and the bias of largest likelihood, and a detail.

    The pairs are row numbers of X, with y = +1 for pairs of one class and -1 for the others; pairs
    with d^2 below the bias are more likely of one class than not. `tol` is the estimated difference
    of the mean log-likelihood from its largest value to stop at.
    """
    if len(np.unique(y)) < 2:
        raise ValueError("all pairs are of one kind; give pairs of one class and of two")
    centred = X - X.mean(axis=0)
    W = whitening(centred.T @ centred / len(X))
    loss = LogisticLoss(Pairs(centred @ W, pairs), np.asarray(y, dtype=np.float64))
    point, steps, gap = minimise(loss, tol, max_iter)
    M, bias = loss.unpack(point)
    if gap > tol:
        warnings.warn(
            f"LDML stopped after {steps} steps with an estimated gap of {gap:.1e} > tol={tol:g}; "
            "raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    L = psd_factor(M)
    L = W @ L[:, np.abs(L).max(axis=0) > 0]
    detail = {"loss": loss(point)[0], "gap": gap, "steps": steps, "rank": L.shape[1]}
    return L, float(bias), detail


@dataclass(frozen=True)
class LogisticLoss:
    """Minus the mean log-likelihood of pairs, as a function of the vector (M, bias).

    `sign` is +1 for pairs of one class and -1 for the others.
    """

    pairs: Pairs
    sign: np.ndarray

    def __call__(self, point):
        """Return the value and the gradient."""
        M, bias = self.unpack(point)
        margin = self.sign * (bias - self.pairs.forward(M))
        weight = self.sign * expit(-margin) / len(margin)
        slope = np.append(self.pairs.adjoint(weight).ravel(), -weight.sum())
        return float(np.logaddexp(0, -margin).mean()), slope

    def unpack(self, point):
        """Return M and the bias."""
        order = self.pairs.shape[1]
        return point[:-1].reshape(order, order), point[-1]

    def start(self):
        """Return the point at which white data have a mean squared distance of 1."""
        order = self.pairs.shape[1]
        return np.append(np.eye(order).ravel() / (2 * order), 1.0)

    def project(self, point):
        """Return the nearest point with M positive semidefinite."""
        L = psd_factor(self.unpack(point)[0])
        return np.append((L @ L.T).ravel(), point[-1])

    def gap(self, point):
        """Return an estimate of the difference of the value from the minimum.

        By convexity it is at most <gradient, point - optimum>; the trace of the optimum and its
        bias are not known, and those of the point are used instead.
        """
        G, at_bias = self.unpack(self(point)[1])
        M, bias = self.unpack(point)
        lowest = np.linalg.eigvalsh(G)[0]
        return float(abs(np.vdot(G, M)) + max(0.0, -lowest) * np.trace(M) + 2 * abs(at_bias * bias))


def minimise(loss, tol, max_iter):
    """Minimise by accelerated projected gradient steps, restarted when the value grows.

    Return the point, the number of steps and the gap.
    """
    point = ahead = loss.start()
    value, momentum, curvature = np.inf, 1.0, 1.0
    for step in range(1, max_iter + 1):
        new, new_value, curvature = _descend(loss, ahead, curvature)
        if new_value > value:
            ahead, momentum = point, 1.0
            value = np.inf  # the plain step that follows is a descent
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - point)
        point, value, momentum = new, new_value, following
        if step % CHECK_EVERY == 0 and loss.gap(point) <= tol:
            break
    return point, step, loss.gap(point)


def _descend(loss, start, curvature):
    """Make the longest projected gradient step whose quadratic model bounds the value."""
    value, slope = loss(start)
    curvature *= 0.9  # the steps may grow again
    while True:
        new = loss.project(start - slope / curvature)
        move, new_value = new - start, loss(new)[0]
        bound = value + slope @ move + curvature / 2 * (move @ move)
        if new_value <= bound + 1e-14:
            return new, new_value, curvature
        curvature *= 2


BASELINES = (
    MetricBaseline(
        name="ldml",
        label="LDML",
        paper_name="LDML",
        target=Target(f"{__name__}:learn", ("frobmetric",)),
        learns_from="pairs",
    ),
)
