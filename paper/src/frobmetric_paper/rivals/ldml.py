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

from .dense import factor
from .in_python import command
from .ours import load_compiled
from .rca import whitening
from .rival import Rival

#: Of how many steps one is judged.
EVERY = 10
#: Called by child.py before its clock starts.
warm_up = load_compiled


def learn(task):
    pairs, same = sample_pairs(task["y"], task["parameters"].get("per_sample", 50), task["seed"])
    L, bias, detail = learn_from_pairs(task["X"], pairs, same)
    return L, detail | {"bias": bias, "n_pairs": len(pairs)}


def learn_from_pairs(X, pairs, same, *, tol=1e-4, max_iter=5000):
    """The metric and the bias of largest likelihood.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    pairs : integer ndarray of shape (n_pairs, 2)
        Row numbers of X.
    same : bool ndarray of shape (n_pairs,)
        Whether the two are of one class.
    tol : float
        How far the mean of the log-likelihood may be from its largest value, as estimated.
    max_iter : int

    Returns
    -------
    L : ndarray of shape (n_features, rank)
    bias : float
        Pairs with d^2 below it are more likely of one class than not.
    detail : dict
    """
    same = np.asarray(same, dtype=bool)
    if same.all() or not same.any():
        raise ValueError("all pairs are of one kind; give pairs of one class and of two")
    centred = X - X.mean(axis=0)
    W, _ = whitening(centred.T @ centred / len(X))
    fit = Likelihood(Pairs(centred @ W, pairs), np.where(same, 1.0, -1.0))
    point, steps, gap = minimise(fit, tol, max_iter)
    M, bias = fit.unpack(point)
    if gap > tol:
        warnings.warn(
            f"LDML stopped after {steps} steps with an estimated gap of {gap:.1e} > tol={tol:g}; "
            "raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    L = factor(M)
    L = W @ L[:, np.abs(L).max(axis=0) > 0]
    detail = {"loss": fit(point)[0], "gap": gap, "steps": steps, "rank": L.shape[1]}
    return L, float(bias), detail


@dataclass(frozen=True)
class Likelihood:
    """Minus the mean log-likelihood of pairs, of the vector (M, bias).

    `sign` has 1 for each pair of one class, and -1 for the others.
    """

    pairs: Pairs
    sign: np.ndarray

    def __call__(self, point):
        """The value and the gradient."""
        M, bias = self.unpack(point)
        margin = self.sign * (bias - self.pairs.forward(M))
        weight = self.sign * expit(-margin) / len(margin)
        slope = np.append(self.pairs.adjoint(weight).ravel(), -weight.sum())
        return float(np.logaddexp(0, -margin).mean()), slope

    def unpack(self, point):
        order = self.pairs.shape[1]
        return point[:-1].reshape(order, order), point[-1]

    def start(self):
        """M with which white data have squared distances of 1 in the mean."""
        order = self.pairs.shape[1]
        return np.append(np.eye(order).ravel() / (2 * order), 1.0)

    def project(self, point):
        L = factor(self.unpack(point)[0])
        return np.append((L @ L.T).ravel(), point[-1])

    def gap(self, point):
        """An estimate of how far the value is from the least one.

        By convexity that is at most <gradient, point - optimum>; the trace of the optimum and its
        bias are not known, and those of the point are taken for them.
        """
        G, at_bias = self.unpack(self(point)[1])
        M, bias = self.unpack(point)
        lowest = np.linalg.eigvalsh(G)[0]
        return float(abs(np.vdot(G, M)) + max(0.0, -lowest) * np.trace(M) + 2 * abs(at_bias * bias))


def minimise(fit, tol, max_iter):
    """Accelerated projected gradient steps that begin anew when the value grows.

    Returns
    -------
    point, n_steps, gap
    """
    point = ahead = fit.start()
    value, momentum, curvature = np.inf, 1.0, 1.0
    for step in range(1, max_iter + 1):
        new, new_value, curvature = _descend(fit, ahead, curvature)
        if new_value > value:
            ahead, momentum = point, 1.0
            value = np.inf  # the plain step that follows is a descent
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - point)
        point, value, momentum = new, new_value, following
        if step % EVERY == 0 and fit.gap(point) <= tol:
            break
    return point, step, fit.gap(point)


def _descend(fit, start, curvature):
    """A projected gradient step, as long as the quadratic model bounds the value."""
    value, slope = fit(start)
    curvature *= 0.9  # the steps may grow again
    while True:
        new = fit.project(start - slope / curvature)
        move, new_value = new - start, fit(new)[0]
        bound = value + slope @ move + curvature / 2 * (move @ move)
        if new_value <= bound + 1e-14:
            return new, new_value, curvature
        curvature *= 2


def sample_pairs(y, per_sample=50, seed=0):
    """Pairs of rows, half of them of one class; all pairs if they are no more than asked for.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    per_sample : int
        How many pairs are drawn for each sample; doubles are left out.
    seed : int

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
    same : bool ndarray of shape (n_pairs,)
    """
    n = len(y)
    if n - 1 <= 2 * per_sample:
        pairs = np.column_stack(np.triu_indices(n, 1))
    else:
        pairs = _draw(y, per_sample // 2, np.random.default_rng(seed))
    return pairs, y[pairs[:, 0]] == y[pairs[:, 1]]


def _draw(y, count, rng):
    """For each sample so many others of its class, and so many of other classes."""
    n, order = len(y), np.argsort(y, kind="stable")
    labels, first, size = np.unique(y[order], return_index=True, return_counts=True)
    group = np.searchsorted(labels, y[order])
    first, size, place = first[group, None], size[group, None], np.arange(n)[:, None]
    # another place of the own class, and a place outside of it; classes of one have no other
    inside = first + (place - first + rng.integers(1, np.maximum(size, 2), (n, count))) % size
    outside = (first + size + rng.integers(0, n - size, (n, count))) % n
    pairs = np.concatenate(
        [
            np.column_stack([np.repeat(order, count), order[partner].ravel()])
            for partner in (inside, outside)
        ]
    )
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[pairs[:, 0] < pairs[:, 1]]


RIVAL = Rival(
    name="ldml",
    label="LDML",
    paper_name="LDML",
    learns_from="labels",
    needs="nothing",
    command=command("function", f"{__name__}:learn"),
    stays=True,
)
