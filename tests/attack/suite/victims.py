"""Models of all classes that files can hold, with the proof of each from its data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

from frobmetric import (
    BoostMetric,
    EmbeddingAdapter,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
    learners,
)
from frobmetric.core.solution import Certificate
from frobmetric.embeddings import EncoderBridge


@dataclass(frozen=True)
class Victim:
    """A fitted model, new samples for it, and its proof: None if its file has none.

    `prove_exactly` is the proof in exact arithmetic, None if the class has none.
    """

    model: Any
    X: Any
    prove: Callable[[Any], Certificate] | None = None
    prove_exactly: Callable[[Any], Certificate] | None = None


def make_victims(seed: int) -> dict[str, Victim]:
    """Return models by name, learned from samples that depend on the seed."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**_metrics(rng), **_tuple_metrics(rng), **_others(rng)}


def _samples(load, rng):
    """Return a share of a data set, with noise of its own."""
    X, y = load(return_X_y=True)
    rows = rng.permutation(len(y))[:90]
    return X[rows] * (1 + 1e-3 * rng.normal(size=X[rows].shape)), y[rows]


def _metrics(rng):
    """Return metrics of labels: every kind of prior, units, kernel and precision."""
    X, y = _samples(load_iris, rng)
    W, z = _samples(load_wine, rng)
    species = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {
        "plain": {},
        "one pass": {"n_passes": 1, "n_neighbors": 2, "n_impostors": 4},
        "unconverged": {"max_iter": 4, "tol": 1e-6},
        "within": {"prior": "within", "pull": 0.1},
        "discriminant": {"prior": "discriminant"},
        "covariance": {"prior": "covariance"},
        "units within": {"units": "within"},
        "deviation": {"units": "deviation", "loss": "squared_hinge"},
        "prior matrix": {"prior": np.diag([1.0, 2.0, 3.0, 4.0])},
        "rbf": {"kernel": "rbf", "n_passes": 1},
        "polynomial": {"kernel": "polynomial", "n_directions": 6, "n_passes": 1},
        "rank": {"n_components": "rank"},
    }
    found = {
        name: _of_labels(FrobMetric(keep_dual=True, **each), X, y) for name, each in options.items()
    }
    found["single precision"] = _of_labels(FrobMetric(keep_dual=True), W.astype(np.float32), z)
    found["chosen"] = _of_labels(FrobMetricCV(keep_dual=True, Cs=[10.0, 100.0], cv=2), X, species)
    found["boosted"] = _of_labels(BoostMetric(keep_dual=True), X, y)
    repeated = np.repeat(np.arange(len(y)), 1 + (np.arange(len(y)) % 3 == 0))
    found["repeated rows"] = _of_labels(FrobMetric(keep_dual=True), X[repeated], y[repeated])
    return found


def _of_labels(model, X, y):
    return _proven(model.fit(X, y), X, (X, y))


def _tuple_metrics(rng):
    X, y = _samples(load_iris, rng)
    four = rng.permuted(np.tile(np.arange(len(y)), (60, 1)), axis=1)[:, :4]
    kinds = np.where(y[four[:, 0]] == y[four[:, 1]], 1, -1)
    given = {
        "triplets": (TripletFrobMetric, (X[four[:, :3]],)),
        "quadruplets": (QuadrupletFrobMetric, (X[four],)),
        "pairs": (PairFrobMetric, (X[four[:, :2]], kinds)),
    }
    return {
        name: _proven(kind(keep_dual=True, C=10.0).fit(*answers), X, answers)
        for name, (kind, answers) in given.items()
    }


def _proven(model, X, data):
    """Return the victim whose proofs are those of `certify` from the training data."""
    prove = partial(_prove, data=data)
    is_exact = "exact" in signature(model.certify).parameters
    return Victim(model, X, prove, partial(prove, exact=True) if is_exact else None)


def _prove(loaded, data, **options):
    return loaded.certify(*data, **options)


def _others(rng):
    """Return adapters, bridges and learners of other methods, whose files have no dual."""
    X, y = _samples(load_iris, rng)
    new = rng.normal(size=(80, 5))
    old = new @ rng.normal(size=(5, 6))
    named = {
        name: getattr(learners, name)(**options)
        for name, options in {"LMNN": {}, "NCA": {"max_iter": 20}, "RCA": {}, "LFDA": {}}.items()
    }
    pairs = X[rng.integers(len(y), size=(60, 2))]
    kinds = np.where(rng.random(60) < 0.5, 1, -1)
    fitted = {
        "adapter": EmbeddingAdapter(strength=10.0).fit(X, y),
        "ITML": learners.ITML().fit(pairs, kinds),
        **{name: model.fit(X, y) for name, model in named.items()},
    }
    bridge = EncoderBridge(n_maps=1, random_state=0).fit(new, old)
    return {"bridge": Victim(bridge, new)} | {n: Victim(m, X) for n, m in fitted.items()}
