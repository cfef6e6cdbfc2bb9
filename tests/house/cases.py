"""Cases: every estimator on its contract data, and the functions that answer beside them.

A case is a function without arguments that returns a fitted estimator, or anything else that has a
record. What a fitted estimator is asked then depends on what it was learned from.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from house import data
from house.library import find

#: A promise that few pairs can give.
PROMISE = {"max_false_match": 0.4, "confidence": 0.9}

#: SDML chooses a weight with which there is an optimum.
SMALL = {"balance_param": None}


@dataclass(frozen=True, eq=False)
class Questions:
    """What a fitted estimator is asked: arguments by the name of the method."""

    asked: dict[str, tuple[Any, ...]]
    is_saved: bool = True


@dataclass(frozen=True, eq=False)
class Case:
    """A name, the function that gives the answer, and the questions to it."""

    name: str
    answer: Callable[[], Any]
    questions: Questions | None = None


def all_cases() -> list[Case]:
    """Return all cases."""
    groups = (_frob, _cv, _tuples, _pairs, _boost, _label_learners, _pair_learners)
    groups += (_tuple_learners, _adapters, _bridges, _unfoldings, _neighbors, _paths, _functions)
    return [case for group in groups for case in group()]


# Questions


def about_rows(samples: data.Samples, X: Any = None, **more: tuple[Any, ...]) -> Questions:
    """Return the questions to an estimator that takes samples; X is their form, if another."""
    new, n = samples.new if X is None else X, len(samples.new)
    asked: dict[str, tuple[Any, ...]] = {
        "transform": (new,),
        "predict": (new,),
        "score": (new, samples.new_y),
    }
    if isinstance(new, np.ndarray) and new.shape[1] == samples.X.shape[1]:
        pairs = np.stack([new[: n // 2], new[n // 2 : 2 * (n // 2)]], axis=1)
        asked |= {"pair_distance": (pairs,), "pair_score": (pairs,), "score_pairs": (pairs,)}
        asked |= {"explain": (new[0], new[1], {"by": "components"})}
        asked |= {"explain_features": (new[0], new[1]), "_point_distance": (new[0], new[1])}
    return Questions({"get_mahalanobis_matrix": (), "get_feature_names_out": ()} | asked | more)


def about_tuples(samples: data.Samples, size: int, **more: tuple[Any, ...]) -> Questions:
    """Return the questions to an estimator that learns from tuples of this size."""
    held_out = data.Samples(samples.new, samples.new_y, samples.new, samples.new_y)
    if size == 2:
        rows, labels = held_out.pairs(40, seed=9)
        given: tuple[Any, ...] = (samples.new[rows], labels)
    else:
        rows = held_out.triplets(40, 9) if size == 3 else held_out.quadruplets(40, 9)
        given = (samples.new[rows],)
    asked = dict(about_rows(samples).asked)
    asked |= {"predict": given[:1], "decision_function": given[:1], "score": given}
    if size == 2:
        asked |= {"calibrate_threshold": given, "_predict_calibrated": given[:1]}
        asked |= {"promise_threshold": (*given, PROMISE), "_predict_promised": given[:1]}
    return Questions(asked | more)


def about_embeddings(new: np.ndarray, pairs: np.ndarray, labels: np.ndarray) -> Questions:
    """Return the questions to an adapter of embeddings; pairs are of rows of `new`."""
    vectors = new[pairs]
    asked: dict[str, tuple[Any, ...]] = {"transform": (new,), "transform_query": (new,)}
    asked |= {"pair_distance": (vectors,), "pair_score": (vectors,), "get_feature_names_out": ()}
    asked |= {"explain": (new[0], new[1]), "explain_search": (new[0], new[1:])}
    asked |= {"calibrate_threshold": (vectors, labels), "predict": (vectors,)}
    asked |= {"promise_threshold": (vectors, labels, PROMISE)}
    return Questions(asked)


# FrobMetric and its relatives


def _fit(name: str, options: dict[str, Any], *given: Any, **named: Any) -> Any:
    return find(name)(**options).fit(*given, **named)


def _frob() -> list[Case]:
    iris, wine, digits, values = data.iris(), data.wine(), data.digits(), data.values()
    options: dict[str, dict[str, Any]] = {
        "defaults": {},
        "raw": {"units": "raw", "C": 10.0},
        "deviation": {"units": "deviation", "n_components": 2},
        "within": {"units": "within", "n_components": "rank"},
        "rbf": {"kernel": "rbf", "C": 10.0},
        "rbf gamma": {"kernel": "rbf", "gamma": 0.01, "n_directions": 8, "n_components": 3},
        "polynomial": {"kernel": "polynomial", "C": 10.0},
        "polynomial options": {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "n_passes": 1},
        "one pass": {"n_passes": 1, "keep_dual": True},
        "three passes": {"n_passes": 3, "pull": 0.1, "keep_dual": True},
        "n_directions": {"n_directions": 5},
        "neighbors": {"n_neighbors": 2, "n_impostors": 5},
        "squared": {"loss": "squared_hinge", "tol": 1e-5},
        "smoothed": {"loss": "smoothed_hinge"},
        "exact": {"neighbors": "exact"},
        "prior matrix": {"prior": np.diag(np.linspace(0.1, 0.5, 13)), "C": 1.0},
    }
    names = ("identity", "diagonal", "within", "shrunk", "discriminant", "covariance")
    options |= {f"prior {name}": {"prior": name} for name in names}
    solvers = ("active_set", "lbfgsb", "newton", "quasi_newton", "smoothing")
    options |= {f"solver {name}": {"solver": name, "tol": 1e-2} for name in solvers}
    cases = [
        Case(
            f"FrobMetric/{name}",
            partial(_fit, "FrobMetric", each, wine.X, wine.y),
            about_rows(wine, certify=(wine.X, wine.y)) if "pass" in name else about_rows(wine),
        )
        for name, each in options.items()
    ]
    partly = wine.y.copy()
    partly[::3] = -1
    rows, weight = digits.triplets(300), data.weights(len(wine.X))
    table = pd.DataFrame(wine.X, columns=[f"column {i}" for i in range(13)])
    names_y = np.array(["first", "second", "third"])[wine.y]
    single = data.Samples(
        wine.X.astype(np.float32), wine.y, wine.new.astype(np.float32), wine.new_y
    )
    sparse = np.where(digits.X > 6, digits.X, 0.0)
    gram, new_gram = rbf_kernel(iris.X), rbf_kernel(iris.new, iris.X)
    dual, kept = {"keep_dual": True}, {"keep_dual": True, "n_passes": 1}
    few = {"C": 10.0, "n_passes": 1}
    twice = np.concatenate([wine.X, wine.X[:40]]), np.concatenate([wine.y, wine.y[:40]])
    more = {
        "unlabeled": ({}, wine, (wine.X, partly), {}),
        "weights": (dual, wine, (wine.X, wine.y, weight), {}),
        "repeated rows": (dual, wine, twice, {}),
        "values": ({"targets": "values"}, values, (values.X, values.y), {}),
        "digits": ({}, digits, (digits.X, digits.y), {}),
        "iris": (kept, iris, (iris.X, iris.y), {}),
        "triplets": (dual, digits, (digits.X,), {"triplets": rows}),
        "labels and triplets": (few, digits, (digits.X, digits.y), {"triplets": rows}),
        "float32": (dual, single, (single.X, single.y), {}),
        "data frame": ({}, wine, (table, names_y), {}),
    }
    cases += [
        Case(
            f"FrobMetric/{name}", partial(_fit, "FrobMetric", each, *given, **named), about_rows(of)
        )
        for name, (each, of, given, named) in more.items()
    ]
    new_table = pd.DataFrame(wine.new, columns=table.columns)
    cases += [
        Case(
            "FrobMetric/sparse",
            partial(_fit, "FrobMetric", few, sp.csr_array(sparse), digits.y),
            about_rows(digits, sp.csr_array(digits.new)),
        ),
        Case(
            "FrobMetric/sparse rbf",
            partial(_fit, "FrobMetric", few | {"kernel": "rbf"}, sp.csr_array(sparse), digits.y),
            about_rows(digits, sp.csr_array(digits.new)),
        ),
        Case(
            "FrobMetric/precomputed",
            partial(_fit, "FrobMetric", few | {"kernel": "precomputed"}, gram, iris.y),
            about_rows(iris, new_gram),
        ),
        Case(
            "FrobMetric/data frame, frames out",
            partial(_frames_out, table, names_y),
            about_rows(wine, new_table),
        ),
        Case("FrobMetric/update", partial(_updated, wine), about_rows(wine)),
        Case("FrobMetric/callback", partial(_stopped, wine), about_rows(wine)),
        Case("FrobMetric/checkpoint", partial(_checkpointed, wine), about_rows(wine)),
        Case("FrobMetric/row file", partial(_in_shards, digits), about_rows(digits)),
        Case("FrobMetric/dask", partial(_on_dask, digits), about_rows(digits)),
    ]
    return cases


def _frames_out(X: Any, y: Any) -> Any:
    return find("FrobMetric")(n_components=2).set_output(transform="pandas").fit(X, y)


def _updated(samples: data.Samples) -> Any:
    half = len(samples.X) // 2
    metric = find("FrobMetric")(keep_dual=True).fit(samples.X[:half], samples.y[:half])
    return metric.partial_fit(samples.X[half:], samples.y[half:])


def _stopped(samples: data.Samples) -> Any:
    seen: list[Any] = []

    def stop(step: Any) -> bool:
        seen.append(step)
        return len(seen) == 4

    return find("FrobMetric")(callback=stop, tol=1e-9).fit(samples.X, samples.y)


def _checkpointed(samples: data.Samples) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        options = {"checkpoint": path, "checkpoint_seconds": 1e9}
        return find("FrobMetric")().fit(samples.X, samples.y, **options)


def _in_shards(samples: data.Samples) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, samples.X)
        rows = find("RowFile")(path, memory=16 * 8 * 64 * 110, folder=Path(folder))
        return find("FrobMetric")(C=10.0).fit(rows, samples.y)


def _on_dask(samples: data.Samples) -> Any:
    import dask.array
    import distributed

    quiet = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**quiet):
        X = dask.array.from_array(samples.X, chunks=(110, samples.X.shape[1]))
        return find("FrobMetric")(C=10.0).fit(X, dask.array.from_array(samples.y, chunks=110))


def _cv() -> list[Case]:
    iris, wine, digits = data.iris(), data.wine(), data.digits(300)
    options: dict[str, tuple[data.Samples, dict[str, Any]]] = {
        "defaults": (wine, {}),
        "iris": (iris, {"keep_dual": True}),
        "few choices": (wine, {"Cs": [1.0, 100.0], "prior": None, "n_neighbors": 3, "n_passes": 1}),
        "digits": (digits, {"Cs": [10.0, 1000.0], "cv": 2, "max_samples": 200}),
        "components": (wine, {"n_components": 3, "keep_dual": True}),
        "within": (iris, {"units": "within", "prior": "identity", "loss": "squared_hinge"}),
    }
    cases = [
        Case(
            f"FrobMetricCV/{name}",
            partial(_fit, "FrobMetricCV", each, samples.X, samples.y),
            about_rows(samples, certify=(samples.X, samples.y)),
        )
        for name, (samples, each) in options.items()
    ]
    weight = data.weights(len(wine.X))
    update = partial(_updated_cv, wine)
    weighted = partial(_fit, "FrobMetricCV", {"Cs": [10.0, 1000.0]}, wine.X, wine.y, weight)
    cases += [
        Case("FrobMetricCV/weights", weighted, about_rows(wine)),
        Case("FrobMetricCV/update", update, about_rows(wine)),
    ]
    return cases


def _updated_cv(samples: data.Samples) -> Any:
    half = len(samples.X) // 2
    metric = find("FrobMetricCV")(Cs=[10.0, 1000.0], cv=2)
    metric.fit(samples.X[:half], samples.y[:half])
    return metric.partial_fit(samples.X[half:], samples.y[half:])


def _tuples() -> list[Case]:
    iris, wine, cases = data.iris(), data.wine(), []
    options: dict[str, dict[str, Any]] = {
        "defaults": {},
        "kept": {"keep_dual": True, "C": 100.0},
        "prior": {"prior": "identity", "n_components": 2},
        "squared": {"loss": "squared_hinge", "pull": 0.1},
        "rbf": {"kernel": "rbf", "gamma": 0.2},
        "polynomial": {"kernel": "polynomial", "degree": 2, "n_directions": 5},
    }
    for name, size in (("TripletFrobMetric", 3), ("QuadrupletFrobMetric", 4)):
        rows = iris.triplets() if size == 3 else iris.quadruplets()
        ask = about_tuples(iris, size)
        for key, each in options.items():
            more = {"certify": (iris.X[rows],)} if key == "kept" else {}
            questions = about_tuples(iris, size, **more)
            answer = partial(_fit, name, each, iris.X[rows])
            cases.append(Case(f"{name}/{key}", answer, questions))
        signs = np.where(np.arange(len(rows)) % 3, 1, -1)
        turned = rows[:, [0, 2, 1] if size == 3 else [2, 3, 0, 1]]
        flipped = np.where(signs[:, None] == 1, rows, turned)
        weight = data.weights(len(rows))
        by_rows = {"preprocessor": iris.X}
        single = iris.X[rows].astype(np.float32)
        cases += [
            Case(f"{name}/preprocessor", partial(_fit, name, by_rows, rows), ask),
            Case(f"{name}/signs", partial(_fit, name, {}, iris.X[flipped], signs), ask),
            Case(f"{name}/weights", partial(_fit, name, {}, iris.X[rows], None, weight), ask),
            Case(f"{name}/float32", partial(_fit, name, {}, single), ask),
        ]
    rows = wine.triplets(200)
    answer = partial(_fit, "TripletFrobMetric", {"C": 10.0}, wine.X[rows])
    return [*cases, Case("TripletFrobMetric/wine", answer, about_tuples(wine, 3))]


def _pairs() -> list[Case]:
    iris, cases = data.iris(), []
    rows, labels = iris.pairs()
    options: dict[str, dict[str, Any]] = {
        "defaults": {},
        "kept": {"keep_dual": True, "C": 100.0},
        "triplets": {"strategy": "triplets", "n_neighbors": 3},
        "prior": {"prior": "identity", "n_components": 2},
        "rbf": {"kernel": "rbf", "gamma": 0.2},
        "squared": {"loss": "squared_hinge"},
        "preprocessor": {"preprocessor": iris.X},
    }
    for name, each in options.items():
        pairs = rows if name == "preprocessor" else iris.X[rows]
        more = {"certify": (pairs, labels)} if name == "kept" else {}
        answer = partial(_fit, "PairFrobMetric", each, pairs, labels)
        cases.append(Case(f"PairFrobMetric/{name}", answer, about_tuples(iris, 2, **more)))
    weight = data.weights(len(rows))
    weighted = partial(_fit, "PairFrobMetric", {}, iris.X[rows], labels, weight)
    rate = {"calibration_params": {"strategy": "max_tpr", "min_rate": 0.8}}
    rated = partial(_fit, "PairFrobMetric", {}, iris.X[rows], labels, **rate)
    single = partial(_fit, "PairFrobMetric", {}, iris.X[rows].astype(np.float32), labels)
    for name, answer in {"weights": weighted, "calibration": rated, "float32": single}.items():
        cases.append(Case(f"PairFrobMetric/{name}", answer, about_tuples(iris, 2)))
    return cases


def _boost() -> list[Case]:
    iris, wine = data.iris(), data.wine()
    options: dict[str, tuple[data.Samples, dict[str, Any]]] = {
        "defaults": (iris, {}),
        "wine": (wine, {"C": 10.0, "keep_dual": True}),
        "logistic": (iris, {"loss": "logistic", "keep_dual": True}),
        "exponential": (iris, {"loss": "exponential", "C": 10.0, "corrective": False}),
        "two passes": (wine, {"C": 10.0, "n_passes": 2, "n_components": 2}),
    }
    cases = [
        Case(
            f"BoostMetric/{name}",
            partial(_fit, "BoostMetric", each, samples.X, samples.y),
            about_rows(samples, certify=(samples.X, samples.y)),
        )
        for name, (samples, each) in options.items()
    ]
    rows, weight = iris.triplets(), data.weights(len(iris.X))
    by_rows = partial(_fit, "BoostMetric", {"C": 10.0}, iris.X, triplets=rows)
    weighted = partial(_fit, "BoostMetric", {"C": 10.0}, iris.X, iris.y, weight)
    cases += [
        Case("BoostMetric/triplets", by_rows, about_rows(iris)),
        Case("BoostMetric/weights", weighted, about_rows(iris)),
    ]
    return cases


# Learners of other methods


def _label_learners() -> list[Case]:
    iris, wine, digits, values = data.iris(), data.wine(), data.digits(200), data.values()
    seed: dict[str, Any] = {"random_state": 0}
    options: dict[str, list[dict[str, Any]]] = {
        "Covariance": [{}],
        "LFDA": [{}, {"n_components": 2, "k": 3}, {"embedding_type": "orthonormalized"}],
        "LMNN": [seed, seed | {"n_components": 2, "init": "pca"}, seed | {"regularization": 0.2}],
        "MLKR": [seed, seed | {"n_components": 2}, seed | {"early_stopping": False}],
        "NCA": [seed, seed | {"n_components": 2, "init": "lda"}],
        "RCA": [{}],
        "RCA_Supervised": [seed | {"n_chunks": 20}],
        "GMML_Supervised": [seed, seed | {"t": 0.3, "prior": "covariance"}],
        "ITML_Supervised": [seed, seed | {"gamma": 0.5, "prior": "covariance"}],
        "LSML_Supervised": [seed, seed | {"prior": "covariance"}],
        "MMC_Supervised": [seed | {"n_constraints": 60}, seed | {"diagonal": True}],
        "SCML_Supervised": [seed, seed | {"basis": "lda", "n_basis": 20}],
        "SDML_Supervised": [seed, seed | {"sparsity_param": 0.1, "prior": "covariance"}],
    }
    cases = []
    for name, variants in options.items():
        samples = values if name == "MLKR" else iris
        for number, each in enumerate(variants):
            answer = partial(_fit, name, each, samples.X, samples.y)
            cases.append(Case(f"{name}/{number}", answer, about_rows(samples)))
        first = variants[0]
        weight = data.weights(len(samples.X))
        single = partial(_fit, name, first, samples.X.astype(np.float32), samples.y)
        weighted = partial(_fit, name, first, samples.X, samples.y, sample_weight=weight)
        by_rows = partial(
            _fit, name, first | {"preprocessor": samples.X}, range(90), samples.y[:90]
        )
        cases += [
            Case(f"{name}/float32", single, about_rows(samples)),
            Case(f"{name}/weights", weighted, about_rows(samples)),
            Case(f"{name}/preprocessor", by_rows, about_rows(samples)),
        ]
        if name != "MLKR":
            other = digits if name in ("LMNN", "NCA", "LFDA", "Covariance") else wine
            answer = partial(_fit, name, first, other.X, other.y)
            cases.append(Case(f"{name}/{'digits' if other is digits else 'wine'}", answer))
    return cases


def _pair_learners() -> list[Case]:
    iris, wine, cases = data.iris(), data.wine(), []
    rows, labels = iris.pairs()
    wide, wide_labels = wine.pairs(120)
    wine_pairs = ((wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0))[wide]
    seed: dict[str, Any] = {"random_state": 0}
    options: dict[str, list[dict[str, Any]]] = {
        "GMML": [seed, seed | {"t": 0.7, "reg": 0.1}],
        "ITML": [seed, seed | {"gamma": 0.1, "prior": "covariance"}],
        "MMC": [seed, seed | {"diagonal": True}],
        "SDML": [seed | SMALL, seed | SMALL | {"prior": "covariance", "sparsity_param": 0.1}],
    }
    for name, variants in options.items():
        first = variants[0]
        for number, each in enumerate(variants):
            answer = partial(_fit, name, each, iris.X[rows], labels)
            cases.append(Case(f"{name}/{number}", answer, about_tuples(iris, 2)))
        by_rows = partial(_fit, name, first | {"preprocessor": iris.X}, rows, labels)
        weight = data.weights(len(rows))
        weighted = partial(_fit, name, first, iris.X[rows], labels, sample_weight=weight)
        single = partial(_fit, name, first, iris.X[rows].astype(np.float32), labels)
        cases += [
            Case(f"{name}/preprocessor", by_rows, about_tuples(iris, 2)),
            Case(f"{name}/weights", weighted, about_tuples(iris, 2)),
            Case(f"{name}/float32", single, about_tuples(iris, 2)),
            Case(f"{name}/wine", partial(_fit, name, first, wine_pairs, wide_labels)),
        ]
    bounds = partial(_fit, "ITML", seed, iris.X[rows], labels, bounds=[0.5, 2.0])
    return [*cases, Case("ITML/bounds", bounds, about_tuples(iris, 2))]


def _tuple_learners() -> list[Case]:
    iris, cases = data.iris(), []
    seed: dict[str, Any] = {"random_state": 0}
    for name, size in (("LSML", 4), ("SCML", 3)):
        rows = iris.triplets() if size == 3 else iris.quadruplets()
        weight, ask = data.weights(len(rows)), about_tuples(iris, size)
        options = seed | ({"n_basis": 20} if name == "SCML" else {"prior": "covariance"})
        by_rows = seed | {"preprocessor": iris.X}
        cases += [
            Case(f"{name}/defaults", partial(_fit, name, seed, iris.X[rows]), ask),
            Case(f"{name}/options", partial(_fit, name, options, iris.X[rows]), ask),
            Case(f"{name}/preprocessor", partial(_fit, name, by_rows, rows), ask),
            Case(
                f"{name}/weights",
                partial(_fit, name, seed, iris.X[rows], sample_weight=weight),
                ask,
            ),
        ]
    return cases


# Embeddings


def _adapters() -> list[Case]:
    planted, (documents, queries, relevance) = data.planted(), data.searched()
    pairs, labels = planted.pairs(400)
    held_out = data.Samples(planted.new, planted.new_y, planted.new, planted.new_y)
    ask = about_embeddings(planted.new, *held_out.pairs(60, seed=9))
    graded = np.where(labels == 1, 0.9, 0.1) + 0.05 * np.sin(np.arange(len(labels)))
    lists = [np.flatnonzero(np.arange(80) % 20 == i % 20) for i in range(60)]
    shown = [(np.arange(6) * 13 + i) % 80 for i in range(60)]
    clicked = [np.flatnonzero(each % 20 == i % 20) for i, each in enumerate(shown)]
    clicked = [each if len(each) else np.array([3]) for each in clicked]
    feedback: dict[str, Callable[[], Any]] = {
        "labels": lambda: planted.y,
        "Labels": lambda: find("Labels")(planted.y, n_neighbors=2),
        "pairs": lambda: find("SimilarPairs")(pairs, labels),
        "graded": lambda: find("GradedPairs")(pairs, graded),
        "triplets": lambda: find("ComparedTriplets")(planted.triplets(400)),
    }
    search: dict[str, Callable[[], Any]] = {
        "documents": lambda: find("RelevantDocuments")(queries, relevance),
        "lists": lambda: find("RankedLists")(queries, [each[::-1] for each in lists]),
        "clicks": lambda: find("Clicks")(queries, shown, clicked),
    }
    options: dict[str, dict[str, Any]] = {
        "diagonal": {"structure": "diagonal"},
        "low rank": {"structure": "low_rank_plus_diagonal"},
        "blocks": {"structure": [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11]]},
        "not unit length": {"unit_length": False},
        "strength": {"strength": 100.0},
        "strengths": {"strengths": [10.0, 100.0], "cv": 3, "random_state": 4},
        "short": {"n_components": 5},
        "two-sided": {"side": "query"},
        "two-sided, short": {"side": "query", "strength": 50.0, "n_components": 6},
    }
    cases = [
        Case(f"EmbeddingAdapter/{name}", partial(_adapted, {}, planted.X, made), ask)
        for name, made in feedback.items()
    ]
    cases += [
        Case(f"EmbeddingAdapter/{name}", partial(_adapted, each, planted.X, lambda: planted.y), ask)
        for name, each in options.items()
    ]
    topics = np.arange(60) % 20
    far = about_embeddings(queries, *data.Samples(queries, topics, queries, topics).pairs(40))
    for name, made in search.items():
        for side in ("both", "query"):
            answer = partial(_adapted, {"side": side}, documents, made)
            cases.append(Case(f"EmbeddingAdapter/{name} {side}", answer, far))
    noise = np.random.default_rng(8).permutation(planted.y)
    unchanged = partial(_adapted, {}, planted.X, lambda: noise)
    single = partial(_adapted, {}, planted.X.astype(np.float32), lambda: planted.y)
    return [
        *cases,
        Case("EmbeddingAdapter/unchanged", unchanged, ask),
        Case("EmbeddingAdapter/float32", single, ask),
        Case("check_abilities", _abilities),
        Case("quality_by_length", _lengths),
        Case("move_stored", _stored),
    ]


def _adapted(options: dict[str, Any], X: np.ndarray, feedback: Callable[[], Any]) -> Any:
    return find("EmbeddingAdapter")(**options).fit(X, feedback())


def _abilities() -> Any:
    planted = data.planted()
    adapter = find("EmbeddingAdapter")(strength=100.0).fit(planted.X, planted.y)
    return find("check_abilities")(adapter, {"new": (planted.new, planted.new_y)})


def _lengths() -> Any:
    planted = data.planted()
    adapter = find("EmbeddingAdapter")(strength=100.0).fit(planted.X, planted.y)
    return find("quality_by_length")(adapter, planted.new, planted.new_y, [2, 4, 8])


def _stored() -> Any:
    planted = data.planted()
    adapter = find("EmbeddingAdapter")(strength=100.0).fit(planted.X, planted.y)
    return find("move_stored")(adapter, planted.X, planted.y)


def _bridges() -> list[Case]:
    new, old = data.encoders()
    asked: dict[str, tuple[Any, ...]] = {"transform": (new[240:],), "predict": (new[240:],)}
    asked |= {"trust": (new[240:],), "predict_trusted": (new[240:],)}
    asked |= {"score": (new[240:], old[240:]), "get_feature_names_out": ()}
    base = {"random_state": 0, "n_neighbors": 5}
    options: dict[str, dict[str, Any]] = {
        "defaults": base,
        "one map": base | {"n_maps": 1, "neighbor_weight": 0},
        "rotation": base | {"prior": "rotation", "n_maps": 1},
        "not unit length": base | {"unit_length": False, "n_maps": 2},
        "fixed": base | {"strength": 0.1, "neighbor_weight": 0.5, "n_maps": 1, "calibration": 0},
    }
    return [
        Case(
            f"EncoderBridge/{name}",
            partial(_fit, "EncoderBridge", each, new[:200], old[:200], index=old[200:]),
            Questions(asked),
        )
        for name, each in options.items()
    ]


# Unfolding, neighbours, paths and functions


def _unfoldings() -> list[Case]:
    X, new = data.roll()
    seed: dict[str, Any] = {"random_state": 0}
    options: dict[str, dict[str, Any]] = {
        "defaults": seed,
        "equal": seed | {"constraints": "equal", "n_neighbors": 4},
        "landmarks": seed | {"n_landmarks": 20},
        "sigma": seed | {"sigma": 10.0, "tol": 1e-4},
        "three": seed | {"n_components": 3, "n_neighbors": 5, "metric": "cityblock"},
    }
    asked: dict[str, tuple[Any, ...]] = {"transform": (new,), "get_feature_names_out": ()}
    return [
        Case(
            f"MaximumVarianceUnfolding/{name}",
            partial(_fit, "MaximumVarianceUnfolding", each, X),
            Questions(asked),
        )
        for name, each in options.items()
    ]


def _neighbors() -> list[Case]:
    iris, wine = data.iris(), data.wine()
    cases = []
    for rule in ("center", "distances"):
        answer = partial(_fit, "NearestClass", {"rule": rule}, iris.X, iris.y)
        asked = {"predict": (iris.new,), "score": (iris.new, iris.new_y), "energies": (iris.new,)}
        cases.append(Case(f"NearestClass/{rule}", answer, Questions(asked)))
    for each in ("uniform", "distance"):
        answer = partial(_fit, "NearestVote", {"weights": each}, wine.X, wine.y)
        asked = {"predict": (wine.new,), "score": (wine.new, wine.new_y)}
        cases.append(Case(f"NearestVote/{each}", answer, Questions(asked)))
    for name in ("alone", "metric"):
        answer = partial(_marginalized, name == "metric", iris)
        cases.append(Case(f"MarginalizedKNN/{name}", answer, about_tuples(iris, 2)))
    return cases


def _marginalized(with_metric: bool, samples: data.Samples) -> Any:
    metric = find("FrobMetric")(n_passes=1) if with_metric else None
    return find("MarginalizedKNN")(metric, n_neighbors=10).fit(samples.X, samples.y)


def _paths() -> list[Case]:
    iris, wine = data.iris(), data.wine()
    Cs = [1.0, 10.0, 100.0]
    plain = partial(_call, "frob_path", wine.X, wine.y, Cs=Cs)
    close = partial(_call, "frob_path", iris.X, iris.y, Cs=[10.0, 15.0, 20.0], units="raw")
    by_rows = partial(_call, "frob_path", iris.X, triplets=iris.triplets(), Cs=Cs)
    return [
        Case("frob_path/wine", plain),
        Case("frob_path/screened", close),
        Case("frob_path/triplets", by_rows),
    ]


def _call(name: str, *given: Any, **named: Any) -> Any:
    return find(name)(*given, **named)


def _functions() -> list[Case]:
    iris, wine, digits = data.iris(), data.wine(), data.digits()
    rows, labels = iris.pairs()
    rng = np.random.default_rng(7)
    noisy = np.corrcoef(rng.normal(size=(12, 30))) + 0.4 * rng.normal(size=(12, 12))
    noisy = (noisy + noisy.T) / 2
    np.fill_diagonal(noisy, 1)
    triplets = iris.triplets(120)
    turned = triplets[::4][:, [0, 2, 1]]
    asked = np.concatenate([triplets, triplets[::2], turned])
    compared = partial(_compared, wine)
    calls: dict[str, Callable[[], Any]] = {
        "mine_triplets": partial(_call, "mine_triplets", digits.X, digits.y),
        "triplets_from_pairs": partial(
            _call, "triplets_from_pairs", iris.X, rows, labels, random_state=0
        ),
        "knn_error": partial(_call, "knn_error", wine.X, wine.y, wine.new, wine.new_y),
        "knn_predict": partial(_call, "knn_predict", wine.X, wine.y, wine.new),
        "nearest_correlation": partial(_call, "nearest_correlation", noisy),
        "nearest_covariance": partial(_call, "nearest_covariance", 3 * noisy),
        "solve_sdp": _theta,
        "neighbor_graph": partial(_call, "neighbor_graph", data.roll()[0]),
        "neighborhood_quality": partial(
            _call, "neighborhood_quality", wine.X, wine.X[:, :2], random_state=0
        ),
        "noise_ceiling": partial(_call, "noise_ceiling", asked),
        "comparison_accuracy": partial(_call, "comparison_accuracy", labels > 0),
        "accuracy_difference": partial(
            _call, "accuracy_difference", labels > 0, np.roll(labels, 3) > 0, objects=rows
        ),
        "best_threshold": partial(
            _call, "best_threshold", labels + 2 * np.sin(np.arange(80)), labels
        ),
        "promised_threshold": partial(
            _call, "promised_threshold", 4 * labels + np.sin(np.arange(80)), labels, **PROMISE
        ),
        "compare/model": compared,
        "compare/learners": partial(_compared_learners, wine),
    }
    return [Case(f"function {name}", answer) for name, answer in calls.items()]


def _compared(samples: data.Samples) -> Any:
    return find("compare")(find("FrobMetric")(), samples.X, samples.y, cv=3)


def _compared_learners(samples: data.Samples) -> Any:
    compare, names = find("compare"), ["FrobMetric", "Covariance", "LFDA"]
    if "learners" in inspect.signature(compare).parameters:
        return compare(samples.X, samples.y, learners=names, budget=60.0)
    return compare(names, samples.X, samples.y)


def _theta() -> Any:
    rng, n = np.random.default_rng(11), 12
    edges = np.argwhere(np.triu(rng.random((n, n)) < 0.3, 1))
    A = [np.eye(n)]
    for i, j in edges:
        one = np.zeros((n, n))
        one[i, j] = one[j, i] = 1.0
        A.append(one)
    problem = find("make_sdp")(-np.ones((n, n)), A, [1.0] + [0.0] * len(edges))
    solution = find("solve_sdp")(problem)
    return {name: getattr(solution, name) for name in ("status", "X", "y", "Z", "certificate")}
