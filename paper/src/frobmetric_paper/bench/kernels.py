"""Kernels and sparse data, where a linear metric of dense features is not enough.

Rings and Balance compare kernels with the linear metric; r8 learns from sparse tf-idf of 6,224
words in the span of a few leading directions. All settings (C, gamma, degree, the kind of tf-idf)
are chosen on a validation part that is no part of the test.
"""

import time
import tracemalloc
from itertools import product

import numpy as np
from sklearn.datasets import make_circles
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid

from frobmetric import FrobMetric
from frobmetric.neighbors import knn_predict

from ..baselines.ours import PAPER
from ..data import labelled
from ..data.raw import load_word_counts
from ..harness.benchmark import Benchmark, Options
from ..harness.formatting import interval
from ..harness.summary import paired_difference
from ..harness.timing import timed
from .levers import percent_wrong

GRID = (1e0, 1e2, 1e4)
#: Values of gamma in units of one over the number of features and the variance.
GAMMAS = (0.1, 0.3, 1.0, 3.0)
#: Settings that each kernel is tried with: not equally many.
KERNELS = {
    "linear": [{"C": C} for C in (1e-2, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)],
    "rbf": [{"C": C, "gamma": gamma} for C, gamma in product(GRID, GAMMAS)],
    "polynomial": [{"C": C, "degree": degree} for C, degree in product(GRID, (2, 3))],
}
#: Tables of the page, by the titles of the comparisons.
TABLES = {
    "rings: one direction, nearest class mean": "rings",
    "rings in 2 of 10 features: 3-NN": "noisy_rings",
    "balance: 3-NN": "balance",
}
RING_SIZES = {"train": 60, "validation": 100, "test": 1000}
#: Kinds of tf-idf for Euclid's error.
TFIDF = {
    "count": {},
    "1 + log": {"sublinear_tf": True},
    "count, not of unit norm": {"norm": None},
    "1 + log, not of unit norm": {"sublinear_tf": True, "norm": None},
}


def nearest_mean(Z, y, T):
    """Return the class of the nearest class mean."""
    return NearestCentroid().fit(Z, y).predict(T)


def errors_of(transform, parts, classify):
    """Return validation and test error of mapped samples."""
    (Z, y), *others = ((transform(X), y) for X, y in parts)
    validation, test = (percent_wrong(classify(Z, y, T), expected) for T, expected in others)
    return {"validation": validation, "test": test}


def compare_kernels(parts, classify, is_quick, **options):
    """Return the errors of the features as they are, and of every kernel with its best setting."""
    X, y = parts[0]
    unit, errors = 1 / (X.shape[1] * X.var()), {}
    errors["features as they are"] = errors_of(np.asarray, parts, classify)
    for kernel, settings in KERNELS.items():
        tried = []
        for setting in settings[:1] if is_quick else settings:
            scaled = {"gamma": setting["gamma"] * unit} if "gamma" in setting else {}
            given = PAPER | setting | scaled | options
            metric = FrobMetric(kernel=kernel, **given).fit(X, y)
            tried.append(errors_of(metric.transform, parts, classify) | setting)
        errors[kernel] = min(tried, key=lambda each: each["validation"])
    return errors


def make_rings(seed, n_noise=0):
    """Return training, validation and test part of two rings, in the first two features."""
    rng, n = np.random.default_rng(seed), sum(RING_SIZES.values())
    X, y = make_circles(n, factor=0.5, noise=0.1, random_state=seed)
    X = np.hstack([X, rng.normal(scale=0.5, size=(n, n_noise))])
    ends = np.cumsum(list(RING_SIZES.values()))[:-1]
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


def measure_rings(options):
    """Return the errors of two ways to classify points on rings."""
    quick, seeds = options.is_quick, range(options.choose(options.repeat, 2))
    by_mean = [compare_kernels(make_rings(s), nearest_mean, quick, n_components=1) for s in seeds]
    by_knn = [compare_kernels(make_rings(s, n_noise=8), knn_predict, quick) for s in seeds]
    return dict(zip(TABLES, (by_mean, by_knn), strict=False))


def measure_balance(options):
    """Return the errors on splits of Balance."""
    runs = []
    for seed in range(options.choose(options.repeat, 2)):
        s = labelled.load("balance", seed=seed, folder=options.folder)
        parts = (s.X_train, s.y_train), (s.X_validation, s.y_validation), (s.X_test, s.y_test)
        runs.append(compare_kernels(parts, knn_predict, options.is_quick))
    return {"balance: 3-NN": runs}


def measure_r8(options):
    """Return a row for each number of directions, and the Euclidean errors."""
    data, n = load_word_counts("r8", folder=options.folder), options.choose(None, 600)
    train, test = (data.X_train[:n], data.y_train[:n]), (data.X_test[:n], data.y_test[:n])
    every = np.arange(len(train[1]))
    parts = train_test_split(every, test_size=0.25, stratify=train[1], random_state=0)
    inner, held = ([array[rows] for array in train] for rows in parts)
    ranks = options.choose((100, 200, 300), (20,))
    grid = product((False, True), ranks, options.choose((1e2, 1e4, 1e6, 1e8), (1e4,)))
    tried = [
        {"sublinear_tf": tf, "n_directions": rank, "C": C}
        | {"validation": fit_text(inner, held, tf, rank, C)["error"]}
        for tf, rank, C in grid
    ]
    rows = []
    for rank in ranks:
        some = [each for each in tried if each["n_directions"] == rank]
        best = min(some, key=lambda each: each["validation"])
        tracemalloc.start()
        rows.append(best | fit_text(train, test, best["sublinear_tf"], rank, best["C"]))
        tracemalloc.stop()
    euclid = {}
    for name, given in TFIDF.items():
        X, T = tfidf(train, test, **given)
        euclid[name] = percent_wrong(knn_predict(X, train[1], T), test[1])
    size = {"shape": train[0].shape, "stored": train[0].nnz}
    size["dense_megabytes"] = 8e-6 * np.prod(train[0].shape)
    return size | {"tried": tried, "rows": rows, "euclid": euclid}


def tfidf(train, test, **given):
    """Return tf-idf of both parts, with the frequencies of the first."""
    model = TfidfTransformer(**given).fit(train[0])
    return model.transform(train[0]), model.transform(test[0])


def fit_text(train, test, sublinear_tf, rank, C):
    """Return the error on other documents, with time and, if it is traced, memory of the fit."""
    (X, T), y = tfidf(train, test, sublinear_tf=sublinear_tf), train[1]
    if tracemalloc.is_tracing():
        tracemalloc.clear_traces()
    given = PAPER | {"n_directions": rank, "n_components": "rank", "C": C}
    cpu, metric = time.process_time(), FrobMetric(**given)
    seconds, _ = timed(lambda: metric.fit(X, y))
    cost = {"seconds": seconds, "cpu": time.process_time() - cpu}
    if tracemalloc.is_tracing():
        cost["peak_megabytes"] = tracemalloc.get_traced_memory()[1] / 1e6
    predicted = knn_predict(metric.transform(X), y, metric.transform(T))
    return cost | {
        "error": percent_wrong(predicted, test[1]),
        "rank": metric.rank_,
        "kept": metric.kept_variance_,
        "relative_gap": metric.certificate_.relative_gap,
        "n_triplets": metric.n_triplets_,
    }


# The page


def comparison_rows(runs):
    """Return a row for each kernel: mean errors, and the difference from linear, run by run."""
    test, validation = (
        {name: np.array([run[name][part] for run in runs]) for name in runs[0]}
        for part in ("test", "validation")
    )
    return [
        {"name": name, "validation": validation[name].mean(), "test": errors.mean()}
        | {"difference": difference_text(errors - test["linear"])}
        for name, errors in test.items()
    ]


def difference_text(differences):
    """Return the mean and Student's 95 % interval; empty if all are zero."""
    if not differences.any():
        return ""
    return interval(paired_difference(differences, test_share=0.0))


def kernels_page(parts):
    """Return the tables of all parts, and the size of r8."""
    comparisons = parts.get("rings", {}) | parts.get("balance", {})
    values = {TABLES[title]: comparison_rows(runs) for title, runs in comparisons.items()}
    if data := parts.get("r8"):
        tf = {True: "1 + log", False: "count"}
        euclid = (f"{error:.2f} % ({name})" for name, error in data["euclid"].items())
        values |= {
            "r8": [row | {"tf": tf[row["sublinear_tf"]]} for row in data["rows"]],
            "documents": f"{data['shape'][0]:,}",
            "words": f"{data['shape'][1]:,}",
            "stored": f"{data['stored']:,}",
            "megabytes": f"{data['dense_megabytes']:.0f}",
            "euclid": ", ".join(euclid),
        }
    return values


PARTS = {"rings": measure_rings, "balance": measure_balance, "r8": measure_r8}
BENCHMARK = Benchmark(parts=PARTS, page=kernels_page, options=Options(repeat=10))
