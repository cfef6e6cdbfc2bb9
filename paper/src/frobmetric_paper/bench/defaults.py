"""FrobMetric and FrobMetricCV without arguments, on data of many kinds, beside other methods.

A part is a method, so that one can be measured again without the others. Its data are, for each set
of `data.many`, the error and the seconds of each split. Errors are those of 3-NN on the test part.
The other learners of metrics work in workers; their parameters are chosen by cross-validation on
the training part of the first split, and the choice holds for all splits of the set.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold

from frobmetric import FrobMetric, FrobMetricCV, knn_error
from frobmetric.learning.coordinates import unit_mean_square

from ..baselines import METRIC
from ..data import labelled, many
from ..harness.benchmark import Benchmark, Options
from ..harness.run import coordinate_search
from ..harness.timing import best_of, timed
from ..harness.worker import ProgramFailedError, TimeLimitError
from .default_tables import defaults_page

#: Sets and number of splits of the small version.
QUICK_SETS, QUICK_SPLITS = ("iris", "wine", "duplicates"), 2
#: Folds in which the parameters of other methods are chosen.
N_FOLDS = 3


# Methods: split -> {name of the row: {"error": ..., "seconds": ...}}


def measure_map(split, fit):
    """Return error and seconds of a fit that returns a function of samples."""
    seconds, transform = timed(partial(fit, split.X_train, split.y_train))
    return {"error": error_of(transform, split), "seconds": seconds}


def error_of(transform, split):
    """Return the error in percent of 3-NN on mapped samples."""
    Z, T = transform(split.X_train), transform(split.X_test)
    return 100 * knn_error(Z, split.y_train, T, split.y_test)


def deviation(X):
    """Return the standard deviation of each feature; 1 if it is constant."""
    spread = X.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def measure_euclid(split):
    """Return the rows of the features as they are, and divided by their deviation."""
    spread = deviation(split.X_train)
    return {
        "Euclid raw": measure_map(split, lambda X, y: np.asarray),
        "Euclid scaled": measure_map(split, lambda X, y: lambda Z: Z / spread),
    }


def measure_lda(split):
    """Return the row of linear discriminant analysis."""
    fitted = METRIC["lda"].fit(split.X_train, split.y_train, threads=1)
    return {"LDA": {"error": error_of(fitted.transform, split), "seconds": fitted.seconds}}


def measure_default(split):
    """Return the row of FrobMetric without arguments."""
    return {"FrobMetric()": measure_map(split, lambda X, y: FrobMetric().fit(X, y).transform)}


def measure_cv(split):
    """Return the rows of FrobMetricCV without arguments: by 3-NN, and by its own rule."""
    seconds, model = timed(lambda: FrobMetricCV().fit(split.X_train, split.y_train))
    rows = {"FrobMetricCV()": {"error": error_of(model.transform, split), "seconds": seconds}}
    wrong = model.predict(split.X_test) != split.y_test
    row = {"error": 100 * float(np.mean(wrong)), "seconds": seconds}
    return rows | {"FrobMetricCV(), its rule": row}


#: Settings of FrobMetric of which the best of each set is chosen by hindsight.
SETTINGS = (
    *(
        {"units": units, "prior": None, "C": C}
        for units in ("raw", "deviation", "within")
        for C in (1e2, 1e3, 1e4)
    ),
    {"units": "raw", "prior": "identity", "C": 1e3},
    {"units": "deviation", "prior": "identity", "C": 1e3},
    {"prior": "diagonal", "C": 1e3},
    *({"prior": prior, "C": C} for prior in ("shrunk", "within") for C in (1e2, 1e3, 1e4)),
)


def measure_settings(split):
    """Return a row for each of `SETTINGS`."""
    return {
        ", ".join(f"{name}={value}" for name, value in setting.items()): measure_map(
            split, lambda X, y, given=setting: FrobMetric(**given).fit(X, y).transform
        )
        for setting in SETTINGS
    }


# Other learners of metrics

#: Candidates of each, a small grid: whether features are divided by their deviation, parameters.
#: Both kinds of features get unit mean squared norm, which the parameter `scale` multiplies.
#: LMNN: a large `learn_rate`, as steps are halved until they descend. ITML: a pass over the
#: constraints is a loop in Python, hence not the default of 1,000 passes.
CANDIDATES = {
    "lmnn": [
        (True, {"learn_rate": 1e-3, "scale": 3.0}),
        (True, {"learn_rate": 1e-3, "scale": 10.0}),
        (True, {"learn_rate": 1e-3, "scale": 3.0, "regularization": 0.1}),
        (True, {"learn_rate": 1e-3, "scale": 3.0, "n_neighbors": 1}),
        (False, {"learn_rate": 1e-3, "scale": 3.0}),
    ],
    "itml": [
        *((True, {"gamma": gamma, "n_constraints": 500, "max_iter": 100}) for gamma in (1.0, 10.0)),
        (True, {"gamma": 1.0, "n_constraints": 500, "max_iter": 100, "prior": "covariance"}),
        (True, {"gamma": 1.0, "n_constraints": 2000, "max_iter": 100}),
        (False, {"gamma": 1.0, "n_constraints": 500, "max_iter": 100}),
    ],
    "scml": [
        (True, {}),
        (True, {"n_basis": 80}),
        (True, {"beta": 1e-3}),
        (True, {"n_basis": 80, "beta": 1e-3}),
        (False, {"n_basis": 80}),
    ],
    "nca": [
        *((True, {"scale": scale}) for scale in (1.0, 3.0, 10.0)),
        (True, {"scale": 3.0, "n_components": 10}),
        (True, {"scale": 3.0, "max_iter": 10}),
        *((False, {"scale": scale}) for scale in (1.0, 3.0, 10.0)),
    ],
}


class Rival:
    """A baseline on one set, whose fits together may take `limit` seconds on a split."""

    def __init__(self, name, limit):
        self.baseline, self.limit, self.seconds = METRIC[name], limit, 0.0
        self.failure = None  # the last one

    def fit(self, X, y, candidate):
        """Return the learned map of samples."""
        is_scaled, parameters = candidate
        spread = deviation(X) if is_scaled else np.ones(X.shape[1])
        spread = spread * unit_mean_square(X / spread)[1]
        given = {"parameters": parameters, "limit": self.limit - self.seconds, "threads": 1}
        try:
            fitted = self.baseline.fit(X / spread, y, **given)
        except TimeLimitError:
            raise TimeLimitError(self.limit) from None
        self.seconds += fitted.seconds
        if self.seconds >= self.limit:
            raise TimeLimitError(self.limit)
        # a metric of rank zero makes all samples equal
        L = fitted.L if fitted.L.shape[1] else np.zeros((X.shape[1], 1))
        return lambda Z: Z / spread @ L

    def validation_error(self, X, y, candidate):
        """Return the share of wrong samples in held-out folds; None if the baseline fails."""
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
        n_wrong = 0.0
        for train, held in folds:
            try:
                transform = self.fit(X[train], y[train], candidate)
            except ProgramFailedError as error:
                self.failure = error
                return None
            Z, T = transform(X[train]), transform(X[held])
            n_wrong += len(held) * knn_error(Z, y[train], T, y[held])
        return n_wrong / len(y)

    def choose(self, X, y, candidates):
        """Return the candidate with the smallest validation error."""

        def evaluate(given):
            return self.validation_error(X, y, **given), True

        best = coordinate_search({"candidate": candidates}, evaluate)
        if best is None:
            raise self.failure
        return best["candidate"]


def measure_rival(name, split, *, limit, chosen=None):
    """Return the row of a baseline; without a choice it is made first, and its time counts."""
    rival = Rival(name, limit)
    X, y = split.X_train, split.y_train
    candidate = chosen or rival.choose(X, y, CANDIDATES[name])
    transform = rival.fit(X, y, candidate)
    row = {"error": error_of(transform, split), "seconds": rival.seconds}
    return {rival.baseline.label: row}, candidate


# Parts


def splits_of(data, name, options):
    """Yield the splits of a set that `data` does not have yet."""
    record = data.setdefault(name, {"rows": {}})
    n_splits = options.choose(options.repeat, QUICK_SPLITS)
    n_done = max((len(row["error"]) for row in record["rows"].values()), default=0)
    for seed in range(n_done, n_splits):
        split = many.load(name, seed=seed, folder=options.folder)
        record["size"] = split.size
        yield record, split


def append(record, rows):
    """Append the results of a split to the rows of a set."""
    for name, result in rows.items():
        row = record["rows"].setdefault(name, {"error": [], "seconds": []})
        for key in row:
            row[key].append(round(result[key], 4))


def measure_method(method, options):
    """Return the data of a method of this project, or of one without parameters."""
    data = options.stored or {}
    for name in options.choose(many.SETS, QUICK_SETS):
        for record, split in splits_of(data, name, options):
            append(record, method(split))
        options.store(data)
    return data


def measure_baseline(name, options):
    """Return the data of a baseline; a set ends with the first split without an answer."""
    data = options.stored or {}
    for each in options.choose(many.SETS, QUICK_SETS):
        if data.get(each, {}).get("reason"):
            continue
        for record, split in splits_of(data, each, options):
            given = {"limit": options.limit, "chosen": record.get("chosen")}
            try:
                rows, record["chosen"] = measure_rival(name, split, **given)
            except TimeLimitError as error:
                record["reason"] = str(error)
                break
            except ProgramFailedError as error:
                record |= {"reason": "failed", "detail": str(error)[-300:]}
                break
            append(record, rows)
            options.store(data)
        options.store(data)
    return data


# Time of the choice

#: Sets whose first 5,000 and 10,000 samples are timed, with the number of principal components.
TIMED_SETS = {"usps": 60, "letters": None, "pendigits": None}
TIMED_SIZES = (5_000, 10_000)
#: Runs of which the best counts.
N_RUNS = 3


def drawn_samples(n, n_features):
    """Return samples of three classes in half of the features, in units that differ."""
    X, y = make_classification(
        n, n_features, n_informative=n_features // 2, n_classes=3, class_sep=1.5, random_state=0
    )
    return X * 10 ** np.random.default_rng(0).uniform(-2, 2, size=n_features), y


def timed_samples(options):
    """Yield name, X and y of the samples that are timed."""
    yield "drawn", *drawn_samples(200, 10)
    for n in options.choose(TIMED_SIZES, ()):
        yield "drawn", *drawn_samples(n, 30)
        for name, n_components in TIMED_SETS.items():
            X, y = labelled.read(name, folder=options.folder)
            rows = np.random.default_rng(0).permutation(len(y))[:n]
            X = X[rows].astype(float)
            if n_components:
                X = PCA(n_components, svd_solver="covariance_eigh").fit_transform(X)
            yield name, X, y[rows]


def measure_times(options):
    """Return a row for each set and size: seconds of one fit, and of the choice."""
    rows, repeat = [], options.choose(N_RUNS, 1)
    for name, X, y in timed_samples(options):
        single = best_of(partial(FrobMetric(C=1e4).fit, X, y), repeat).seconds
        choice = best_of(partial(FrobMetricCV().fit, X, y), repeat).seconds
        size = {"n": X.shape[0], "features": X.shape[1], "classes": len(np.unique(y))}
        rows.append({"set": name} | size | {"single": single, "choice": choice})
        options.store(rows)
    return rows


METHODS = {"euclid": measure_euclid, "lda": measure_lda, "default": measure_default}
METHODS |= {"cv": measure_cv, "settings": measure_settings}
PARTS = {name: partial(measure_method, method) for name, method in METHODS.items()}
PARTS |= {name: partial(measure_baseline, name) for name in CANDIDATES}
PARTS["times"] = measure_times
BENCHMARK = Benchmark(parts=PARTS, page=defaults_page, options=Options(repeat=10, limit=240.0))
