"""Nearest neighbours for regression under learned metrics, on real data.

A part is a set. All methods get the same features, divided by their deviations; the judge is the
mean of the five nearest training samples. The error is the root of the mean squared error over the
deviation of the targets of the test part.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.learners import MLKR

from ..data import measured
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import timed

#: Most samples of a training part and of a test part.
N_TRAIN, N_TEST = 1000, 1000
#: Metrics by name, as they are by default, and MLKR without early stopping.
METRICS = {
    "FrobMetric": lambda: FrobMetric(targets="values"),
    "MLKR": MLKR,
    "MLKR to the end": lambda: MLKR(early_stopping=False),
}


def split(X, y, seed):
    """Return scaled features and targets of a training and of a test part."""
    n_train = min(N_TRAIN, int(0.7 * len(y)))
    n_test = min(N_TEST, len(y) - n_train)
    A, B, a, b = train_test_split(X, y, train_size=n_train, test_size=n_test, random_state=seed)
    scale = StandardScaler().fit(A)
    return scale.transform(A), scale.transform(B), a, b


def error_of(transform, A, B, a, b):
    """Return the error of five nearest neighbours, relative to the deviation of the targets."""
    predicted = KNeighborsRegressor().fit(transform(A), a).predict(transform(B))
    return float(np.sqrt(np.mean((predicted - b) ** 2)) / b.std())


def measure_set(name, options):
    """Return errors and seconds of each metric in each split."""
    if not (name == "diabetes" or measured.has_tables()):
        return {"name": name, "skipped": measured.NO_TABLES}
    X, y = measured.load(name)
    row = {"name": name, "n": len(y), "D": X.shape[1]}
    errors, seconds = {"Euclid scaled": []}, {}
    for seed in range(options.choose(options.repeat, 2)):
        parts = split(X, y, seed)
        errors["Euclid scaled"].append(error_of(np.asarray, *parts))
        for label, make in METRICS.items():
            spent, metric = timed(partial(_fit, make(), parts[0], parts[2]))
            seconds.setdefault(label, []).append(spent)
            errors.setdefault(label, []).append(error_of(metric.transform, *parts))
    return row | {"errors": errors, "seconds": seconds}


def _fit(metric, X, y):
    with warnings.catch_warnings():
        # that it hardly helps is what is measured here
        warnings.filterwarnings("ignore", "the learned metric satisfies")
        return metric.fit(X, y)


def regression_page(parts):
    """Return the rows of the page: a set each."""
    rows = [row for row in parts.values() if "errors" in row]
    lines = [_line(row) for row in rows]
    better = {label: sum(_mean(row, label) < _mean(row) for row in rows) for label in METRICS}
    said = "; ".join(f"{label}: better on {better[label]} of {len(rows)}" for label in METRICS)
    skipped = [f"{row['name']}: {row['skipped']}." for row in parts.values() if "skipped" in row]
    return {"lines": lines, "summary": said, "skipped": " ".join(skipped)}


def _mean(row, label="Euclid scaled"):
    return np.mean(row["errors"][label])


def _line(row):
    euclid, line = np.array(row["errors"]["Euclid scaled"]), {}
    for label, errors in row["errors"].items():
        key = {"Euclid scaled": "euclid", "FrobMetric": "frob", "MLKR": "mlkr"}.get(label, "long")
        difference = np.array(errors) - euclid
        width = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
        text = f"{np.mean(errors):.3f}"
        line[key] = text if key == "euclid" else f"{text} ({difference.mean():+.3f} ± {width:.3f})"
    spent = {
        f"{key}_s": f"{np.median(row['seconds'][label]):.2g}"
        for key, label in (("frob", "FrobMetric"), ("mlkr", "MLKR"), ("long", "MLKR to the end"))
    }
    return {"set": row["name"], "n": row["n"], "D": row["D"], "splits": len(euclid)} | line | spent


BENCHMARK = Benchmark(
    parts={name: partial(measure_set, name) for name in measured.SETS},
    page=regression_page,
    options=Options(repeat=10),
)
