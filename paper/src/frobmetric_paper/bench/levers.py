"""Options of FrobMetric, changed one at a time.

Each time C is the best one of the validation part.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from frobmetric import FrobMetric, NearestClass
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.neighbors import knn_predict

from ..baselines.ours import PAPER
from ..data import labelled
from ..harness import page
from ..harness.benchmark import Benchmark
from ..harness.formatting import mark


def load(name, options, seed=0):
    """Return a split at unit mean squared norm; few samples of it for the small version."""
    split = labelled.load(name, seed=seed, folder=options.folder)
    scale = unit_mean_square(split.X_train)[1]
    n = options.choose(None, 300)
    parts = {key: value[:n] for key, value in vars(split).items() if key[:2] in ("X_", "y_")}
    scaled = {key: value / scale for key, value in parts.items() if key.startswith("X_")}
    return replace(split, **parts | scaled)


def percent_wrong(predicted, y):
    """Return the error in percent."""
    return 100 * float(np.mean(predicted != y))


def errors_of(transform, split, model=None):
    """Return validation and test error in percent of mapped samples, by 3-NN or a classifier."""
    Z, V, T = map(transform, (split.X_train, split.X_validation, split.X_test))
    if model is None:
        predicted = (knn_predict(Z, split.y_train, part) for part in (V, T))
    else:
        predicted = map(model.fit(Z, split.y_train).predict, (V, T))
    return [*map(percent_wrong, predicted, (split.y_validation, split.y_test))]


LEVER_GRID = (1e-2, 1e1, 1e3, 1e4, 1e5, 1e6)
LEVER_SETS = ("usps", "letters", "yale", "balance", "wine", "iris", "mnist")
BASE = "3 + 3 neighbours, one pass"
#: Changed options, by their name in the table.
VARIANTS = {
    BASE: {},
    "2 passes": {"n_passes": 2},
    "3 passes": {"n_passes": 3},
    "10 impostors": {"n_impostors": 10},
    "10 + 10 neighbours": {"n_neighbors": 10, "n_impostors": 10},
    "20 + 10 neighbours, 2 passes": {"n_neighbors": 20, "n_impostors": 10, "n_passes": 2},
    "prior identity": {"prior": "identity"},
    "prior covariance": {"prior": "covariance"},
    "prior within": {"prior": "within"},
    "prior within, 3 passes": {"prior": "within", "n_passes": 3},
    "prior discriminant": {"prior": "discriminant"},
    "pull 1/3 (LMNN)": {"pull": 1 / 3},
    "pull 0.1": {"pull": 0.1},
    "squared hinge": {"loss": "squared_hinge"},
}
#: Classifiers with the metric of the first variant: rule and number of neighbours.
RULES = {"3 distances of each class": ("distances", 3)}
RULES |= {f"center of {k} of each class": ("center", k) for k in (3, 5, 8, 12)}


def lever_errors(split, grid):
    """Return validation and test error of each variant, with its best C, and of each rule."""
    errors = {}
    for name, variant in VARIANTS.items():
        tried = []
        for C in grid:
            metric = FrobMetric(**PAPER | {"C": C, "n_components": "rank"} | variant)
            metric.fit(split.X_train, split.y_train)
            tried.append((errors_of(metric.transform, split), metric))
        errors[name], best = min(tried, key=lambda each: each[0][0])
        if name == BASE:
            for rule_name, (rule, k) in RULES.items():
                model = NearestClass(k, rule=rule)
                errors[rule_name] = errors_of(best.transform, split, model)
    return errors


def measure_levers(name, options):
    """Return the errors of each split."""
    grid = options.choose((1e5,) if name == "mnist" else LEVER_GRID, (1e4,))
    n_runs = options.choose(1 if name in ("mnist", "letters") else options.repeat, 1)
    return [lever_errors(load(name, options, seed), grid) for seed in range(n_runs)]


def levers_page(parts):
    """Return a row for each variant, with validation and test error of each set."""
    names = [*VARIANTS, *RULES]
    means = {
        name: {key: np.mean([run[key] for run in runs], axis=0) for key in names}
        for name, runs in parts.items()
    }

    def cell(errors, key):
        validation, test = errors[key]
        lowest = min(pair[0] for pair in errors.values())
        return f"{mark(f'{validation:.2f}', validation == lowest)} / {test:.2f}"

    rows = [[name, *(cell(errors, name) for errors in means.values())] for name in names]
    counts = ", ".join(f"{name} {len(runs)}" for name, runs in parts.items())
    return {"errors": page.table(["", *means], rows), "counts": counts}


PARTS = {name: partial(measure_levers, name) for name in LEVER_SETS}
BENCHMARK = Benchmark(parts=PARTS, page=levers_page)
