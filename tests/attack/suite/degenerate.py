"""Attack by degenerate data: the same data said in another way must give the same metric."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from frobmetric import FrobMetric
from frobmetric.core import NumericalError

from . import Attack, Findings

#: Priors by name, and none.
PRIORS = (None, "identity", "diagonal", "covariance", "within", "shrunk", "discriminant")
#: Units of the features by name, and number of passes: the first of each is the default.
UNITS, PASSES = ("auto", "raw", "deviation", "within"), (2, 1)
#: Largest relative difference of distances that is not one.
SAME = 1e-3
#: Relative gap, far below what `SAME` needs.
TOL = 1e-10
#: Largest difference of squared distances, relative to the largest of them, that `TOL` leaves open.
TIED = 1e-6


def draw_data(rng):
    """Return the kind of some degenerate data, samples that tell the classes apart, and labels."""
    n = int(rng.integers(10, 16))
    y = np.arange(n) % 2
    kinds = {
        "integers": lambda: rng.integers(0, 4, (n, 3)) + np.outer(y, [2, 0, 0]),
        "more features than samples": lambda: rng.normal(size=(n, n + 4)) + 3 * y[:, None],
        "few directions": lambda: (
            rng.integers(-3, 4, (n, 2)) @ rng.integers(-2, 3, (2, 4)) + np.outer(y, [3, 0, 0, 0])
        ),
        "constant features": lambda: np.hstack(
            [rng.normal(size=(n, 2)) + 2 * y[:, None], np.full((n, 2), 7.0)]
        ),
        "repeated points": lambda: (rng.normal(size=(n, 3)) + 2 * y[:, None])[
            np.arange(n) // 4 * 2 + y
        ],
        "one point a class": lambda: np.array([[0.0, 1.0], [2.0, 0.0]])[y],
        "two samples a class": lambda: rng.normal(size=(4, 3))[np.arange(n) % 4] + y[:, None],
    }
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]().astype(float), y


def draw_change(rng, X):
    """Return the name of a way to say the same, the rows' order, and a map of samples."""
    n, D = X.shape
    order, everything = rng.permutation(n), np.arange(n)
    is_whole = bool((np.round(X) == X).all())
    shift = rng.choice([1e3, 1e6, 1e8], D) if is_whole else np.zeros(D)
    unit = 2.0 ** int(rng.integers(-300, 300))
    changes = {
        "another origin": (everything, lambda Z: Z + shift),
        "other units": (everything, lambda Z: Z * unit),
    }
    if not is_whole:  # equal distances are decided by row number, and that by the features
        changes["rows in another order"] = (order, lambda Z: Z)
        changes["features in another order"] = (everything, lambda Z: Z[..., ::-1])
    name = str(rng.choice(list(changes)))
    return name, *changes[name]


def draw_options(rng):
    """Return a prior, and units and a number of passes, in most cases not the default ones."""
    return {
        "prior": PRIORS[rng.integers(len(PRIORS))],
        "units": UNITS[rng.integers(len(UNITS))],
        "n_passes": PASSES[rng.integers(len(PASSES))],
    }


def attack_degenerate(count, seed):
    """Fit degenerate data twice, said in two ways, and compare the distances of new pairs."""
    findings = Findings()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        kind, X, y = draw_data(rng)
        options = draw_options(rng)
        change, order, say = draw_change(rng, X)
        reproducer = f"{__name__}: default_rng([{seed}, {number}]), {options}, {change}"
        try:
            outcome, is_right = compare(X, y, options, order, say, rng)
        except Exception as error:
            outcome, is_right = f"{type(error).__name__}: {error}", False
        add = findings.add if is_right else findings.add_defect
        add(f"{kind}, {change}", outcome, *(() if is_right else (reproducer,)))
    return findings


def compare(X, y, options, order, say, rng):
    """Return the outcome of two fits of the same data, and whether it is right."""
    new = X[rng.integers(0, len(X), (8, 2))] + rng.normal(size=(8, 2, X.shape[1])) * (
        X.std(axis=0) > 0
    )
    if (np.round(X) == X).all():
        new = np.round(new)
    first = fit(X, y, options)
    second = fit(say(X)[order], y[order], options)
    if isinstance(first, str) or isinstance(second, str):
        return f"refused: {first if isinstance(first, str) else second}", first == second
    for metric in (first, second):
        if metric.status_ == "optimal" and not metric.certificate_.relative_gap <= TOL:
            return "optimal above the tolerance", False
    if first.status_ != "optimal" or second.status_ != "optimal":
        return "not certified to the tolerance, and said so", True
    distance, other = first.pair_distance(new), second.pair_distance(say(new))
    size = max(distance.max(), other.max())
    if size == 0 or np.abs(distance - other).max() <= SAME * size:
        return "same distances", True
    if options["n_passes"] > 1 and is_tied(X, y, options):
        return "equal distances after the first pass, decided by its rounding", True
    return "other distances for the same data", False


def is_tied(X, y, options):
    """Return whether the first pass leaves different samples of a class equally far from another.

    The metric of a pass is known up to its tolerance only, and so are the neighbours by it.
    """
    distinct, first = np.unique(X, axis=0, return_index=True)
    Z, y = fit(X, y, options | {"n_passes": 1}).transform(distinct), y[first]
    squares = np.sum((Z[:, None] - Z) ** 2, axis=2)
    for row, label in itertools.product(squares, np.unique(y)):
        if (np.diff(np.sort(row[y == label])) <= TIED * squares.max()).any():
            return True
    return False


def fit(X, y, options):
    """Return the fitted metric, or the kind of the error by which the data are refused."""
    metric = FrobMetric(**options, C=10, n_neighbors=2, tol=TOL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return metric.fit(X, y)
        except (ValueError, NumericalError) as error:
            return type(error).__name__


ATTACKS = [Attack("degenerate", attack_degenerate, short=40, long=2_000)]
