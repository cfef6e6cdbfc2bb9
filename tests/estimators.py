"""Registry of all estimators with small data: a new learner is tested by one line in ENTRIES.

`test_estimator_contracts.py` runs every contract over every entry that promises it. All imports of
estimators are here. `DEFECTS` lists what is known to be broken: each is an expected failure that
has to turn into a pass when it is mended.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA

from frobmetric import (
    BoostMetric,
    EmbeddingAdapter,
    FrobMetric,
    FrobMetricCV,
    MarginalizedKNN,
    MaximumVarianceUnfolding,
    NearestClass,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
    learners,
)
from frobmetric.embeddings import (
    EncoderBridge,
    GradedPairs,
    RankedLists,
    RelevantDocuments,
    SimilarPairs,
)
from frobmetric.neighbors import NearestVote


@dataclass(frozen=True)
class Task:
    """What an estimator is fitted to, and what it is asked afterwards."""

    args: tuple  # of fit: samples or tuples, then answers
    new: np.ndarray  # rows that were not fitted
    asked: Any  # of predict, decision_function and score
    truth: Any = None  # of score
    sizes: tuple[int, int] = (0, 0)  # numbers of rows of the fit, and of features

    @property
    def pairs(self) -> np.ndarray:
        """Return pairs of new rows."""
        return self.new[: len(self.new) // 2 * 2].reshape(-1, 2, self.new.shape[1])

    def with_samples(self, change: Callable[[Any], Any]) -> Task:
        """Return the task with changed samples: those of the fit and the new ones."""
        is_of_rows = np.ndim(self.asked) == 2
        return replace(
            self,
            args=(change(self.args[0]), *self.args[1:]),
            new=change(self.new),
            asked=change(self.asked) if is_of_rows or np.ndim(self.asked) == 3 else self.asked,
        )


def clusters(seed: int, n: int, n_features: int, n_classes: int = 3) -> tuple[Any, Any]:
    """Return samples around a centre for each class, and classes; numbers fit single precision."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, n_features)) + 1.5 * np.eye(n_classes, n_features)[y]
    return np.round(64 * X) / 64, y


def _sizes(which: int) -> tuple[int, int, int]:
    """Return the seed, the number of samples and of features of the first or second data."""
    return [(0, 36, 4), (1, 30, 5)][which]


def classes(which: int) -> Task:
    """Return samples with classes."""
    seed, n, n_features = _sizes(which)
    X, y = clusters(seed, n + 12, n_features)
    return Task((X[:n], y[:n]), X[n:], X[n:], y[n:], (n, n_features))


def names(which: int) -> Task:
    """Return samples with classes that are texts."""
    task = classes(which)
    words = np.array(["ash", "birch", "cedar"])
    return replace(task, args=(task.args[0], words[task.args[1]]), truth=words[task.truth])


def vectors(which: int) -> Task:
    """Return samples with classes; pairs are to be told apart."""
    task = classes(which)
    task = replace(task, new=task.new[[0, 3, 1, 4, 2, 5, 6, 7, 7, 8, 9, 11]])
    return replace(task, asked=task.pairs, truth=np.repeat([1, -1], 3))


def planted(which: int) -> Task:
    """Return vectors whose first features tell the classes, so that a map is sure to help."""
    seed, _, n_features = _sizes(which)
    X, y = clusters(seed, 72, n_features + 3)
    X = np.round(64 * X * np.r_[np.ones(3), np.full(n_features, 2.0)]) / 64
    new = X[60:72]
    asked = np.stack([new[:6], new[[3, 4, 5, 7, 8, 6]]], axis=1)
    return Task((X[:60], y[:60]), new, asked, np.repeat([1, -1], 3), (60, X.shape[1]))


def people(which: int) -> Task:
    """Return samples with classes that are texts; pairs are to be told apart."""
    return replace(vectors(which), args=names(which).args)


def samples(which: int) -> Task:
    """Return samples alone."""
    task = classes(which)
    return replace(task, args=task.args[:1])


def values(which: int) -> Task:
    """Return samples with target values."""
    task = classes(which)
    X = task.args[0]
    return replace(task, args=(X, np.round(64 * (X[:, 0] - X[:, 1])) / 64))


def products(which: int) -> Task:
    """Return inner products of samples, with classes."""
    task = classes(which)
    X, y = task.args
    K, new = X @ X.T, task.new @ X.T
    return replace(task, args=(K, y), new=new, asked=new, sizes=(len(X), len(X)))


def triplets(which: int) -> Task:
    """Return triplets of points: an anchor, one of its class, one of another."""
    X, y, rng = *_points(which), np.random.default_rng(7)
    rows = [
        (a, rng.choice(np.flatnonzero((y == y[a]) & (np.arange(len(y)) != a))), b)
        for a in range(len(y))
        for b in rng.choice(np.flatnonzero(y != y[a]), 2, replace=False)
    ]
    return _of_tuples(X, np.array(rows), None, which)


def quadruplets(which: int) -> Task:
    """Return quadruplets of points: two of one class, two of different classes."""
    X, y, rng = *_points(which), np.random.default_rng(8)
    same, other = (_drawn(y, rng, 40, is_same) for is_same in (True, False))
    return _of_tuples(X, np.hstack([same, other]), None, which)


def pairs(which: int) -> Task:
    """Return similar and dissimilar pairs of points."""
    X, y, rng = *_points(which), np.random.default_rng(9)
    rows = np.vstack([_drawn(y, rng, 24, is_same) for is_same in (True, False)])
    order = rng.permutation(48)
    return _of_tuples(X, rows[order], np.repeat([1, -1], 24)[order], which)


def queries(which: int) -> Task:
    """Return documents with queries and which documents are relevant to them."""
    task = vectors(which)
    X, y = task.args
    relevant = np.argwhere(y[:12, None] == y)
    return replace(task, args=(X, RelevantDocuments(task.new[:12], relevant)))


def lists(which: int) -> Task:
    """Return documents with queries and a ranked list for each."""
    task = vectors(which)
    X, y = task.args
    ranked = [[*np.flatnonzero(y == c)[:3], *np.flatnonzero(y != c)[:3]] for c in y[:12]]
    return replace(task, args=(X, RankedLists(task.new[:12], ranked)))


def similar(which: int) -> Task:
    """Return vectors with pairs of them that are similar or not."""
    task, rows, is_similar = _vector_pairs(which)
    return replace(task, args=(task.args[0], SimilarPairs(rows, np.where(is_similar, 1, -1))))


def graded(which: int) -> Task:
    """Return vectors with pairs of them and grades."""
    task, rows, is_similar = _vector_pairs(which)
    task = task.with_samples(lambda X: X[..., :4])  # as the blocks of the entry
    return replace(task, args=(task.args[0], GradedPairs(rows, 2.0 * is_similar)))


def _vector_pairs(which: int) -> tuple[Task, Any, Any]:
    """Return vectors, random pairs of their rows, and which are of one class."""
    task = vectors(which)
    X, y = task.args
    rows = np.random.default_rng(9).integers(len(X), size=(80, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    return task, rows, y[rows[:, 0]] == y[rows[:, 1]]


def encoders(which: int) -> Task:
    """Return vectors of one encoder and of another."""
    seed, n, n_features = _sizes(which)
    X = clusters(seed, n + 12, n_features)[0]
    turn = np.random.default_rng(3).normal(size=(n_features, 3))
    Y = np.round(64 * X @ turn) / 64
    return Task((X[:n], Y[:n]), X[n:], X[n:], Y[n:], (n, n_features))


def _points(which: int) -> tuple[Any, Any]:
    seed, _, n_features = _sizes(which)
    return clusters(seed, 24, n_features)


def _drawn(y: Any, rng: Any, n: int, is_same: bool) -> np.ndarray:
    """Return distinct random pairs of rows of one class, or of two."""
    i, j = np.triu_indices(len(y), 1)
    chosen = np.flatnonzero((y[i] == y[j]) == is_same)
    rows = rng.choice(chosen, n, replace=False)
    return np.column_stack([i[rows], j[rows]])


def _of_tuples(X: Any, index: Any, answers: Any, which: int) -> Task:
    new = classes(which).new
    truth = np.ones(len(index), int) if answers is None else answers
    given = () if answers is None else (answers,)
    return Task((X[index], *given), new, X[index], truth, (len(index), X.shape[1]))


@dataclass(frozen=True)
class Entry:
    """An estimator, its data, and what it promises beyond what all estimators promise."""

    estimator: BaseEstimator
    task: Callable[[int], Task] = classes
    label: str = ""
    #: Called with the fitted estimator and its task, so that `predict` has a threshold.
    finish: Callable[[Any, Task], Any] | None = None
    #: How distances change if samples are times two: "same" or "double"; None: no promise.
    scale: str | None = "same"
    #: Tolerance within which a far away origin does not matter; None: no promise.
    offset: float | None = 1e-3
    #: Tolerance within which the order of rows does not matter; None: no promise.
    order: float | None = 1e-6
    #: Tolerance within which weights are repetitions; None: no weights, or no promise.
    weight: float | None = None
    #: Whether all rows given twice have the answer of all rows given once.
    is_repeatable: bool = False
    #: Parameters with which answers are exact enough for these comparisons.
    precise: dict[str, Any] = field(default_factory=dict)
    #: Whether answers to single precision are in single precision.
    keeps_single: bool = True
    #: Whether bits do not depend on the order of samples in memory.
    is_same_in_fortran: bool = True
    #: Public attributes that a file does not hold, and questions that need them.
    not_stored: tuple[str, ...] = ()
    #: Number of steps after which a fit is not at its end.
    limit: int = 2
    #: Whether a fit has a certificate.
    is_certified: bool = True
    #: Whether `fit` takes indices of a preprocessor.
    has_fit_of_indices: bool = True
    #: Whether `save` takes it.
    is_saved: bool = True
    #: Questions that are refused whatever the data are.
    refuses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the class, and what is special here."""
        return f"{type(self.estimator).__name__} {self.label}".strip()

    def fresh(self, **parameters: Any) -> Any:
        """Return an estimator that is not fitted."""
        return clone(self.estimator).set_params(**parameters)

    def fit(self, model: Any, task: Task, **parameters: Any) -> Any:
        """Fit an estimator to the data of a task, ready for all questions, and return it."""
        model.set_params(**parameters).fit(*task.args)
        if self.finish is not None:
            self.finish(model, task)
        return model

    def fitted(self, which: int = 0) -> Any:
        """Return a fitted estimator, which the caller may change."""
        return copy.deepcopy(_fitted(self.name, which))

    def has(self, *parameters: str) -> bool:
        """Tell whether the estimator has all these parameters."""
        return set(parameters) <= set(self.estimator.get_params(deep=False))


@cache
def _fitted(name: str, which: int) -> Any:
    entry = BY_NAME[name]
    return entry.fit(entry.fresh(), entry.task(which))


def _threshold(model: Any, task: Task) -> None:
    """Set a threshold that tells some of the pairs apart."""
    model.set_threshold(-float(np.median(model.pair_score(task.pairs))))


QUICK = {"C": 10.0, "keep_dual": True}
CHOICE = {"Cs": [1.0, 100.0], "cv": 2, "n_neighbors": 1, "n_passes": 1, "units": "raw"}
CHOICE |= {"prior": None, "keep_dual": True}
ADAPTER = {"strength": 10.0}
BRIDGE = {"n_maps": 1, "neighbor_weight": 0.0, "random_state": 0}

TIGHT = {"tol": 1e-9, "max_iter": 20_000}
CURVED = {**QUICK, "kernel": "polynomial", "degree": 2}

from_labels = partial(Entry, weight=1e-6, is_repeatable=True)
from_tuples = partial(Entry, weight=1e-3, is_repeatable=True, precise=TIGHT)
unproven = partial(from_labels, is_certified=False)
adapter = partial(Entry, finish=_threshold, offset=None, is_repeatable=True)
from_feedback = partial(Entry, finish=_threshold, offset=None, order=None)
bridge = partial(Entry, offset=None, limit=0, is_repeatable=True, is_same_in_fortran=False)
unfolding = partial(Entry, scale="double", is_repeatable=True, keeps_single=False, is_saved=False)
rule = partial(Entry, keeps_single=False, is_saved=False, is_certified=False)
reference = partial(rule, finish=_threshold, has_fit_of_indices=False)

ENTRIES = [
    from_labels(FrobMetric(**QUICK)),
    from_labels(FrobMetric(**QUICK, n_passes=1, units="within", n_components=2), label="one pass"),
    Entry(FrobMetric(**QUICK, prior="within", loss="squared_hinge"), names, "prior", weight=1e-6),
    from_labels(FrobMetric(**QUICK, kernel="rbf"), label="rbf", refuses=("explain",)),
    from_labels(FrobMetric(**CURVED), label="polynomial", offset=None, refuses=("explain",)),
    Entry(
        FrobMetric(**QUICK, kernel="precomputed"),
        products,
        "precomputed",
        order=None,
        refuses=("explain",),
    ),
    from_labels(FrobMetric(**QUICK, targets="values"), values, "values"),
    from_labels(
        FrobMetricCV(**CHOICE), names, not_stored=("classifier_", "cv_results_", "predict", "score")
    ),
    from_labels(BoostMetric(C=10.0, keep_dual=True)),
    from_tuples(TripletFrobMetric(**QUICK), triplets),
    from_tuples(TripletFrobMetric(**QUICK, kernel="rbf"), triplets, "rbf", refuses=("explain",)),
    from_tuples(QuadrupletFrobMetric(**QUICK), quadruplets),
    from_tuples(PairFrobMetric(**QUICK), pairs),
    from_tuples(
        PairFrobMetric(**QUICK, strategy="triplets", n_neighbors=1), pairs, "triplets", weight=None
    ),
    from_tuples(PairFrobMetric(**CURVED), pairs, "polynomial", offset=None, refuses=("explain",)),
    unproven(learners.Covariance(), samples, is_repeatable=False),
    unproven(learners.LFDA(), is_repeatable=False),
    from_labels(learners.LMNN(random_state=0)),
    unproven(learners.MLKR(random_state=0), values, scale=None),
    unproven(learners.NCA(random_state=0), scale=None, is_repeatable=False),
    unproven(learners.RCA()),
    unproven(learners.RCA_Supervised(random_state=0, n_chunks=12)),
    unproven(learners.GMML(), pairs, scale="double"),
    unproven(learners.GMML_Supervised(random_state=0), scale="double"),
    Entry(learners.ITML(), pairs, scale=None, weight=1e-6),
    from_labels(learners.ITML_Supervised(random_state=0), scale=None),
    from_labels(learners.MMC(), pairs, scale="double"),
    Entry(learners.MMC(diagonal=True), pairs, "diagonal", weight=1e-6),
    from_labels(learners.MMC_Supervised(random_state=0), scale="double"),
    Entry(learners.SDML(balance_param=1e-3), pairs, scale=None, weight=1e-6),
    from_labels(learners.SDML_Supervised(random_state=0), scale=None),
    from_labels(learners.LSML(), quadruplets, scale=None),
    from_labels(learners.LSML_Supervised(random_state=0), scale=None),
    Entry(learners.SCML(random_state=0), triplets, scale=None, order=None, limit=0),
    from_labels(
        learners.SCML_Supervised(random_state=0, k_genuine=2, k_impostor=2), scale=None, limit=0
    ),
    adapter(EmbeddingAdapter(**ADAPTER), vectors),
    adapter(EmbeddingAdapter(strengths=[100.0, 1000.0], cv=2), planted, "chosen"),
    adapter(EmbeddingAdapter(**ADAPTER, unit_length=False), vectors, "any length", scale="double"),
    adapter(EmbeddingAdapter(**ADAPTER, n_components=2), people, "short"),
    from_feedback(EmbeddingAdapter(**ADAPTER, structure="diagonal"), similar, "diagonal"),
    from_feedback(EmbeddingAdapter(**ADAPTER, structure=[2, 2]), graded, "blocks"),
    from_feedback(EmbeddingAdapter(**ADAPTER, side="query"), queries, "queries"),
    from_feedback(EmbeddingAdapter(**ADAPTER, side="query"), lists, "lists"),
    bridge(EncoderBridge(**BRIDGE), encoders, order=None),
    bridge(EncoderBridge(**BRIDGE | {"neighbor_weight": 0.5}), encoders, "protected", order=None),
    bridge(
        EncoderBridge(**BRIDGE, unit_length=False, calibration=0.0),
        encoders,
        "any length",
        refuses=("trust", "predict_trusted"),
    ),
    unfolding(MaximumVarianceUnfolding(n_neighbors=4), samples),
    unfolding(
        MaximumVarianceUnfolding(n_neighbors=4, n_landmarks=20, random_state=0),
        samples,
        "landmarks",
        order=None,
    ),
    rule(NearestClass(3), names),
    rule(NearestClass(3, rule="distances"), label="distances"),
    rule(NearestVote(3), names),
    rule(NearestVote(3, weights="distance"), label="distances"),
    reference(MarginalizedKNN(n_neighbors=5), people),
    reference(MarginalizedKNN(PCA(2), n_neighbors=5), people, "of a map"),
]
BY_NAME = {entry.name: entry for entry in ENTRIES}

#: Questions to a fitted estimator: a method, and how it is called.
QUESTIONS: dict[str, Callable[[Any, Task], Any]] = {
    "transform": lambda model, task: model.transform(task.new),
    "transform_query": lambda model, task: model.transform_query(task.new),
    "get_feature_names_out": lambda model, task: model.get_feature_names_out(),
    "pair_distance": lambda model, task: model.pair_distance(task.pairs),
    "pair_score": lambda model, task: model.pair_score(task.pairs),
    "get_metric": lambda model, task: model.get_metric()(*task.pairs[0]),
    "get_mahalanobis_matrix": lambda model, task: model.get_mahalanobis_matrix(),
    "explain": lambda model, task: model.explain(*task.pairs[0]),
    "explain_search": lambda model, task: model.explain_search(task.new[0], task.new[1:]),
    "predict": lambda model, task: model.predict(task.asked),
    "predict_trusted": lambda model, task: model.predict_trusted(task.asked),
    "trust": lambda model, task: model.trust(task.new),
    "decision_function": lambda model, task: model.decision_function(task.asked),
    "score": lambda model, task: model.score(task.asked, task.truth),
    "energies": lambda model, task: model.energies(task.new),
    "check": lambda model, task: model.check(*task.args),
    "certify": lambda model, task: model.certify(*task.args),
}

#: Valid values of parameters, the first of which that is another one is set after a fit.
OTHER_VALUES: dict[str, tuple] = {
    "basis": (np.eye(4),),
    "balance_param": (0.3,),
    "constraints": ("equal",),
    "Cs": ([5.0],),
    "embedding_type": ("plain",),
    "init": ("pca", "identity", "covariance"),
    "kernel": ("rbf", "linear", "polynomial"),
    "loss": ("hinge", "squared_hinge"),
    "metric": ("precomputed",),
    "n_components": (1, None),
    "n_neighbors": (2, 4),
    "neighbors": ("exact",),
    "on_disconnected": ("separate",),
    "prior": ("identity", "covariance", None),
    "random_state": (5,),
    "rule": ("distances", "center"),
    "scoring": ("precision@1",),
    "side": ("query", "both"),
    "solver": ("lbfgsb",),
    "strategy": ("triplets", "threshold"),
    "strengths": ([3.0],),
    "structure": ("diagonal", "full"),
    "targets": ("values", "classes"),
    "units": ("deviation",),
}
#: The same for single classes.
OTHER_VALUES |= {
    "MarginalizedKNN.metric": (PCA(1),),
    "FrobMetricCV.rule": (NearestClass(2),),
    "FrobMetricCV.prior": ("within",),
    "BoostMetric.loss": ("logistic",),
    "EncoderBridge.prior": ("rotation",),
    "GMML.prior": ("covariance",),
    "GMML_Supervised.prior": ("covariance",),
    "MMC.init": ("covariance",),
    "MMC_Supervised.init": ("covariance",),
    "NearestVote.weights": ("distance", "uniform"),
    "LSML_Supervised.weights": (np.ones(8),),
    "MaximumVarianceUnfolding.solver": ("lowrank",),
}
#: Parameters that are numbers and may be zero.
MAY_BE_ZERO = ("pull", "coef0", "calibration", "neighbor_weight", "random_state", "reg", "t")
MAY_BE_ZERO += ("min_iter", "balance_param", "sparsity_param")
#: Parameters that belong to a run, or are said to be read after a fit.
OF_A_RUN = ("preprocessor", "n_jobs", "verbose", "callback")


def other_value(entry: Entry, name: str) -> Any:
    """Return a valid value of a parameter that is not the one of an entry."""
    now = entry.estimator.get_params(deep=False)[name]
    key = f"{type(entry.estimator).__name__}.{name}"
    for value in OTHER_VALUES.get(key, OTHER_VALUES.get(name, ())):
        if repr(value) != repr(now):
            return value
    if isinstance(now, bool):
        return not now
    return {int: lambda: now + 1, float: lambda: now / 2 + 0.001}.get(type(now), lambda: 2)()


WASTED = "Ctrl-C in the last solve of an adapter throws the map so far away"
#: Known defects as patterns of "contract: entry, what is tried", and why they fail. Each is an
#: expected failure, which must turn into a pass when it is mended.
DEFECTS: dict[str, str] = {
    "Ctrl-C in the last solve: EmbeddingAdapter*": WASTED,
    "extreme units: MaximumVarianceUnfolding landmarks, -480": "the division overflows",
    "extreme units: LFDA, -*": "LFDA maps samples of size 1e-48 to nearly zero without a word",
}


def _reason(case: str) -> str | None:
    """Return why a case is known to fail, or None."""
    return next((why for pattern, why in DEFECTS.items() if fnmatchcase(case, pattern)), None)


def cases(contract: str, entries: Any = None, *more: Any) -> Any:
    """Return a mark that runs a contract over entries, or tuples that begin with one."""
    rows = []
    for row in ENTRIES if entries is None else entries:
        row = row if isinstance(row, tuple) else (row,)
        case = ", ".join([row[0].name, *map(str, row[1:])])
        reason = _reason(f"{contract}: {case}")
        marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
        rows.append(pytest.param(*row, id=case, marks=marks))
    return pytest.mark.parametrize(("entry", *more), rows)


#: Settings that scikit-learn's checks run over: one of each class whose `fit` takes rows.
CHECKED = [
    FrobMetric(),
    BoostMetric(C=100.0),
    learners.GMML_Supervised(),
    learners.ITML_Supervised(),
    learners.MMC_Supervised(),
    learners.MMC_Supervised(diagonal=True),
    learners.SDML_Supervised(),
    EmbeddingAdapter(strength=10.0),
    EmbeddingAdapter(strengths=[100.0], cv=2),
    EncoderBridge(random_state=0, n_maps=2, neighbor_weight=0, strength=0.1),
    MaximumVarianceUnfolding(on_disconnected="separate", tol=1e-2),
    NearestClass(),
    NearestVote(),
]
#: Further settings, which take longer, or differ little from these.
CHECKED_FOR_LONG = [
    FrobMetricCV(Cs=[1.0, 10.0], cv=2, prior=None, n_neighbors=3, n_passes=1),
    FrobMetricCV(),
    FrobMetric(units="within", prior="identity", n_passes=3),
    FrobMetric(prior="shrunk", C=10.0),
    FrobMetric(n_neighbors=1, n_impostors=5, C=10.0, n_components=1),
    FrobMetric(loss="squared_hinge", n_components="rank", tol=1e-4),
    FrobMetric(loss="smoothed_hinge", n_passes=2, keep_dual=True, n_jobs=1),
    FrobMetric(kernel="rbf", C=10, n_components="rank"),
    FrobMetric(kernel="polynomial", C=10, n_components="rank"),
    BoostMetric(loss="logistic", n_components="rank", keep_dual=True),
    BoostMetric(loss="exponential", C=10.0, corrective=False, n_components=1),
    learners.Covariance(),
    learners.LFDA(),
    learners.LMNN(),
    learners.LSML_Supervised(),
    learners.MLKR(),
    learners.NCA(),
    learners.RCA(),
    learners.RCA_Supervised(),
    learners.SCML_Supervised(),
    EmbeddingAdapter(strength=10.0, unit_length=False, structure="diagonal"),
    EmbeddingAdapter(strength=10.0, side="query"),
    EmbeddingAdapter(strength=10.0, n_components=1),
    EncoderBridge(unit_length=False),
    MaximumVarianceUnfolding(),
    MaximumVarianceUnfolding(on_disconnected="separate"),
    MaximumVarianceUnfolding(metric="precomputed"),
    MaximumVarianceUnfolding(
        n_components=1,
        n_neighbors=2,
        n_landmarks=10,
        random_state=0,
        constraints="equal",
        max_iter=20,
        on_disconnected="separate",
    ),
    NearestVote(9, weights="distance"),
]
