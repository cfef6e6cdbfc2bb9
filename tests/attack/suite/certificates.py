"""Attack on certificates: hard problems, whose claims are recomputed in exact arithmetic."""

from __future__ import annotations

import warnings

import numpy as np

from frobmetric import FrobMetric
from frobmetric.core import CertificateError, FrobeniusSDP, NumericalError, Quadruplets, certify
from frobmetric.core.points import Factored
from frobmetric.learning.problem import LOSSES, frobenius_problem
from frobmetric.learning.prove import last_coordinates, last_samples
from frobmetric.solvers import solve

from . import Attack, Findings
from .exact import ExactProblem, number

#: Shares of the problems that are fits of the estimator, and that are certified at any point;
#: others are given to `solve`.
FITS, POINTS = 0.2, 0.1
#: Errors by which a problem may be refused.
REFUSALS = (CertificateError, NumericalError, ValueError)
#: Priors by name, and none.
PRIORS = (None, "identity", "diagonal", "covariance", "within", "shrunk", "discriminant")


def draw_samples(rng):
    """Return the kind of some samples, and the samples."""
    n, D = int(rng.integers(5, 10)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, D))
    kinds = {
        "ordinary": lambda: X,
        "offset 1e8": lambda: X + 1e8,
        "few units in the last place": lambda: 1e8 + rng.integers(0, 5, (n, D)) * 2.0**-26,
        "ties": lambda: rng.integers(0, 3, (n, D)).astype(float),
        "ties with offset": lambda: rng.integers(0, 3, (n, D)) + 1e6,
        "single precision": lambda: X.astype(np.float32),
        "large": lambda: X * 10.0 ** rng.integers(20, 150),
        "small": lambda: X * 10.0 ** -rng.integers(20, 150),
        "units far apart": lambda: X * 10.0 ** rng.integers(-8, 8, D),
        "repeated points": lambda: X[rng.integers(0, max(2, n // 2), n)],
        "more features than samples": lambda: rng.normal(size=(n, n + 3)),
    }
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]()


def draw_weight(rng):
    """Return the weight C of the losses: mostly ordinary, sometimes extreme."""
    return float(10.0 ** (rng.uniform(-8, 155) if rng.random() < 0.2 else rng.uniform(-2, 5)))


def attack_certificates(count, seed):
    """Solve hard problems and recompute the claims of their certificates exactly."""
    findings = Findings()
    for number_of_problem in range(count):
        rng = np.random.default_rng([seed, number_of_problem])
        share = rng.random()
        attempt = try_fit if share < FITS else try_point if share < FITS + POINTS else try_solve
        kind, X = draw_samples(rng)
        reproducer = (
            f"{__name__}: {attempt.__name__} with default_rng([{seed}, {number_of_problem}])"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcome, is_right = attempt(rng, X)
            except REFUSALS as error:
                outcome, is_right = f"refused: {type(error).__name__}", True
            except Exception as error:
                outcome, is_right = f"{type(error).__name__}: {error}", False
        add = findings.add if is_right else findings.add_defect
        add(kind, outcome, *(() if is_right else (reproducer,)))
    return findings


def draw_problem(rng, X):
    """Return a random problem of comparisons, and the same one in exact arithmetic."""
    n, D = X.shape
    m = int(rng.integers(1, 12))
    rows = np.array([rng.choice(n, 3, replace=False)[[0, 1, 0, 2]] for _ in range(m)])
    kind = str(rng.choice(list(LOSSES)))
    weight = draw_weight(rng) * rng.uniform(0, 1, m) / m
    scale = 10.0 ** rng.uniform(-2, 6) if rng.random() < 0.4 else 0.0
    root = rng.normal(size=(D, D))
    cost = root @ rng.normal(size=(D, D)) if rng.random() < 0.3 else np.zeros((D, D))
    cost, prior, sigma = (cost + cost.T) / 2, scale * root @ root.T, 10.0 ** rng.uniform(-3, 3)
    prior = (prior + prior.T) / 2
    problem = FrobeniusSDP(Quadruplets(X, rows), LOSSES[kind](weight), cost, prior, sigma)
    return problem, ExactProblem(X, rows, kind, weight, cost, prior, sigma)


def try_point(rng, X):
    """Certify a random problem at a random point; return the outcome and whether it is right."""
    problem, truth = draw_problem(rng, X)
    order = X.shape[1]
    L = rng.normal(size=(order, int(rng.integers(1, order + 2)))) * 10.0 ** rng.integers(-100, 30)
    L = L.astype(np.float32) if rng.random() < 0.5 else L
    u = problem.loss.scale * rng.uniform(0, 1, len(problem.loss.scale))
    return judge(certify(problem, Factored(L), u), truth, L, u)


def try_solve(rng, X):
    """Solve a random problem of comparisons; return the outcome and whether it is right."""
    problem, truth = draw_problem(rng, X)
    tol = 10.0 ** rng.uniform(-13, -2)
    solution = solve(problem, tol=tol, max_iter=100)
    if solution.status == "optimal" and not solution.certificate.error <= tol:
        return "optimal above the tolerance", False
    return judge(solution.certificate, truth, solution.point.factor(), solution.u)


def try_fit(rng, X):
    """Fit the estimator to labels; return the outcome and whether it is right."""
    y = np.arange(len(X)) % 2
    prior, kind = PRIORS[rng.integers(len(PRIORS))], str(rng.choice(list(LOSSES)))
    options = {
        "prior": prior,
        "loss": kind,
        "C": draw_weight(rng),
        "tol": 10.0 ** rng.uniform(-9, -2),
    }
    options |= {"pull": float(rng.choice([0.0, 0.3])), "n_neighbors": 1, "n_passes": 1}
    metric = FrobMetric(**options, keep_dual=True, max_iter=100).fit(X, y)
    again, weight, triplets = last_samples(metric.map_, metric._check_samples(X))
    coordinates = last_coordinates(metric.map_, again, weight)
    problem = frobenius_problem(coordinates, triplets, metric.map_.recipe)
    index, u = triplets.to_array()[:, [0, 1, 0, 2]], metric.dual_coef_
    truth = ExactProblem(
        coordinates.Z, index, kind, problem.loss.weight, problem.cost, problem.prior
    )
    point = problem.evaluate(u).point
    if metric.status_ == "optimal" and not metric.certificate_.error <= metric.tol:
        return "optimal above the tolerance", False
    proven, is_right = judge(certify(problem, point, u), truth, point.factor(), u)
    if not is_right:
        return proven, is_right
    return judge(metric.certificate_, truth, point.factor(), u, is_same=False)


def judge(certificate, truth, L, u, *, is_same=True):
    """Return the outcome and whether the interval contains the exact values at M and u.

    If the point is not the one of the certificate, only the optimum is known to be between.
    """
    ends = (certificate.primal, certificate.dual, certificate.gap, certificate.relative_gap)
    if not np.isfinite(ends).all() or certificate.gap < 0:
        return "certificate is not finite", False
    primal, dual = truth.primal(L), truth.dual(np.asarray(u))
    upper, lower = number(certificate.primal), number(certificate.dual)
    if (is_same and upper < primal) or upper < dual:
        return "primal is below the truth", False
    if (is_same and lower > dual) or lower > primal:
        return "dual is above the truth", False
    hidden = ", and most of it is rounding" if certificate.is_rounding else ""
    return f"interval holds{hidden}", True


ATTACKS = [Attack("certificates", attack_certificates, short=60, long=10_000)]
