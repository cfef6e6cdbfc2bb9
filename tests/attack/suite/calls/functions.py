"""Entry points that are functions: neighbours, comparisons, embeddings, unfolding and files."""

from __future__ import annotations

import re
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import frobmetric
from frobmetric import comparisons, embeddings, evaluation, export, manifold, model, neighbors
from frobmetric.io import load, save
from frobmetric.learning.constraints import DrawnConstraints, wrap_pairs

from . import data
from .entry import Entry, function
from .estimators import adapter, frob_metric
from .verdict import NoAnswer

X, Y = data.X, data.Y
RETRIEVAL = {"queries": X[:6] + 0.5, "documents": X, "relevance": data.RELEVANCE}
SCORE = np.arange(20) % 7 + 0.5
LISTS = [[0, 4, 8, 2], [5, 7], [9, 3, 1]]
LEARNED = {
    "index": data.QUADRUPLET_INDEX, "weight": data.WEIGHT[:12], "C": 10.0, "max_iter": 100,
    "start": None, "callback": None,
}  # fmt: skip
ALL_PAIRS = np.column_stack(np.triu_indices(12, 1))
#: Numbers in a text.
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
CLASSES = np.array(["a", "b"])[np.arange(20) % 2]


def _metric_function(**given: Any) -> Any:
    return evaluation.make_retrieval_scorer(**given)(frob_metric(), X, Y)


def _feedback(kind: type) -> Any:
    """Return a function that makes feedback of a kind and uses it in all its methods."""

    def call(documents: Any = X, n_folds: Any = 2, random_state: Any = 0, **given: Any) -> Any:
        cleaned, cleaning = kind(**given).cleaned(documents)
        queries = documents if cleaned.queries is None else cleaned.queries
        parts = cleaned.folds(documents, n_folds, random_state)
        compared = cleaned.comparisons(queries, documents, random_state=random_state)
        return cleaning, len(parts), compared, cleaned.scores(queries, documents)

    return call


def _constraints(**given: Any) -> Any:
    made = DrawnConstraints(given.pop("partial_labels"))
    return made.positive_negative_pairs(**given)


def _chunks(**given: Any) -> Any:
    return DrawnConstraints(given.pop("partial_labels")).chunks(**given)


def _knn_triplets(**given: Any) -> Any:
    made = DrawnConstraints(given.pop("partial_labels"))
    return made.generate_knntriplets(**given)


def _split(**given: Any) -> Any:
    of_split = {name: given.pop(name) for name in ("tuples", "y")}
    return list(evaluation.ObjectSplit(**given).split(**of_split))


@wraps(export.map_function)
def map_function(*given: Any, **named: Any) -> Any:
    """Return the numbers of the text, and the text; in DuckDB its precision is that of the data."""
    text = export.map_function(*given, **named)
    numbers = [float(each) for each in NUMBER.findall(text)]
    return np.array(numbers), NUMBER.sub("0", text).replace("::FLOAT[]", "::DOUBLE[]")


def _save(path: Any, estimator: Any) -> Any:
    save(estimator, path)
    return load(path).components_


def _export(path: Any, **given: Any) -> Any:
    export.export(given.pop("model"), path, **given)
    return Path(path).stat().st_size


def _read_rows(path: Any, **given: Any) -> Any:
    np.save("rows.npy", X)
    return frobmetric.RowFile(path, **given).load()


def _compare_model(**given: Any) -> Any:
    return frobmetric.compare(**given).to_dict()


def _compare_learners(**given: Any) -> Any:
    """Return the error of each row; where there is no answer, there must be a reason."""
    found = frobmetric.compare(**given)
    if re.search(r"\bnan\b", found.to_text()):
        raise AssertionError("the table shows NaN")
    return [(row.key, _error_or_none(row)) for row in found.rows]


def _error_or_none(row: Any) -> Any:
    """Return the error of a row, None without an answer if the row says why.

    A row may lack an answer that the same samples in another form have if it had no time, or if the
    learner takes no sparse samples.
    """
    if row.losses is not None or not row.reason:
        return row.error
    is_form = row.reason.startswith("no answer in") or "Sparse data" in row.reason
    return NoAnswer() if is_form else None


def _neighborhoods() -> list[Entry]:
    search = {"X_train": X, "y_train": Y, "X_test": X + 0.5}
    tuned = {"score": SCORE, "y": data.PAIR_SIGN}
    many = {"score": np.tile(SCORE, 5), "y": np.tile(data.PAIR_SIGN, 5)}
    return [
        function("knn_error", frobmetric.knn_error, **search, y_test=Y, weight=2.0),
        function("knn_predict", neighbors.knn_predict, **search, weight=2.0),
        function("best_threshold", neighbors.best_threshold, **tuned,
                 sample_weight=data.PAIR_WEIGHT, optional="sample_weight", weight=2.0),
        function("promised_threshold", neighbors.promised_threshold, **many,
                 max_false_match=0.5, groups=np.tile(CLASSES, 5), optional="groups", weight=2.0),
        function("units_needed", neighbors.units_needed, max_false_match=0.01, confidence=0.95),
        function("ndcg_at_k", evaluation.ndcg_at_k, **RETRIEVAL, k=3, weight=2.0),
        function("recall_at_k", evaluation.recall_at_k, **RETRIEVAL, k=3, weight=2.0),
        function("reciprocal_rank", evaluation.retrieval.reciprocal_rank, **RETRIEVAL, weight=2.0),
        function("make_retrieval_scorer", evaluation.make_retrieval_scorer, measure="recall@3",
                 weight=0.3),
        Entry("RetrievalScorer", _metric_function, {"measure": "recall@3", "metric": "euclidean"}),
        function("pair_auc", evaluation.pair_auc, X=X, pairs=data.PAIR_INDEX, y=data.PAIR_SIGN),
        function("spearman", evaluation.spearman, X=X, pairs=data.PAIR_INDEX, score=SCORE),
        function("Measure.parse", evaluation.ranking.Measure.parse, name="nDCG@10", weight=0.3),
        function("Measure", evaluation.ranking.Measure, kind="ndcg", k=10, weight=0.3),
        function("PairedErrors.from_mistakes", evaluation.paired.PairedErrors.from_mistakes,
                 before=data.CORRECT, after=~data.CORRECT[::-1], sample_weight=data.PAIR_WEIGHT,
                 optional="sample_weight"),
    ]  # fmt: skip


def _comparisons() -> list[Entry]:
    voted = {"index": data.TRIPLET_INDEX, "y": data.TRIPLET_SIGN,
             "sample_weight": data.WEIGHT[:15]}  # fmt: skip
    either = voted | {"optional": "y sample_weight", "weight": 2.0}
    repeated = either | {"index": np.repeat(data.TRIPLET_INDEX[:5], 3, axis=0)}
    correct = {"sample_weight": data.PAIR_WEIGHT, "objects": data.PAIR_INDEX, "n_resamples": 50,
               "optional": "sample_weight objects"}  # fmt: skip
    return [
        function("read_comparisons", comparisons.read_comparisons, query=data.TRIPLET_INDEX,
                 response=data.TRIPLET_SIGN, optional="response"),
        function("write_comparisons", comparisons.write_comparisons, **either),
        function("merge_comparisons", comparisons.merge_comparisons, **either),
        function("count_contradictions", comparisons.count_contradictions, **either),
        function("noise_ceiling", evaluation.noise_ceiling, **repeated),
        function("paired_residuals", evaluation.paired_residuals, before=SCORE**2,
                 after=SCORE**2 + 1.0),
        function("comparison_accuracy", evaluation.comparison_accuracy, correct=data.CORRECT,
                 **correct),
        function("accuracy_difference", evaluation.accuracy_difference, correct_a=data.CORRECT,
                 correct_b=data.CORRECT[::-1].copy(), **correct),
        Entry("ObjectSplit.split", _split, {
            "tuples": data.TRIPLET_INDEX, "y": data.TRIPLET_SIGN, "n_splits": 2, "shuffle": True,
            "random_state": 0, "groups": None}, data=frozenset({"tuples", "y", "n_splits"})),
    ]  # fmt: skip


def _triplets() -> list[Entry]:
    return [
        function("mine_triplets", frobmetric.mine_triplets, X=X, y=Y, sample_weight=data.WEIGHT,
                 optional="sample_weight", weight=2.0),
        function("triplets_from_pairs", frobmetric.triplets_from_pairs, X=X,
                 pairs=data.PAIR_INDEX, y=data.PAIR_SIGN, random_state=0, weight=2.0),
        function("frob_path", frobmetric.frob_path, X=X, y=Y, Cs=np.array([1.0, 2.0]),
                 sample_weight=data.WEIGHT, optional="sample_weight"),
        function("wrap_pairs", wrap_pairs, X=X, constraints=[
            data.PAIR_INDEX[:5, 0], data.PAIR_INDEX[:5, 1], data.PAIR_INDEX[5:, 0],
            data.PAIR_INDEX[5:, 1]]),
        Entry("DrawnConstraints.positive_negative_pairs", _constraints,
              {"partial_labels": Y, "n_constraints": 10, "same_length": False, "random_state": 0},
              data=frozenset({"partial_labels", "n_constraints"})),
        Entry("DrawnConstraints.chunks", _chunks,
              {"partial_labels": Y, "n_chunks": 4, "chunk_size": 2, "random_state": 0},
              data=frozenset({"partial_labels", "n_chunks", "chunk_size"})),
        Entry("DrawnConstraints.generate_knntriplets", _knn_triplets,
              {"partial_labels": Y, "X": X, "k_genuine": 2, "k_impostor": 3},
              data=frozenset({"partial_labels", "X", "k_genuine", "k_impostor"})),
        function("explain_distance", model.explain_distance, components=np.eye(3), a=X[0],
                 b=X[1], weight=2.0),
        function("explain_search", model.explain_search, model=frob_metric(), query=X[0],
                 candidates=X, weight=2.0),
        Entry("compare.one", _compare_model, {
            "models": frobmetric.FrobMetric(n_passes=1), "X": X, "y": Y, "cv": 2, "n_neighbors": 3,
            "baselines": ["raw"], "random_state": 0, "X_test": X + 0.5, "y_test": Y},
            frozenset({"X_test"}), 0.3, frozenset({"X", "y", "X_test", "y_test"})),
        Entry("compare", _compare_learners, {
            "models": ["Covariance"], "X": X, "y": Y, "n_neighbors": 3, "random_state": 0,
            "budget": 5.0, "test_size": 0.5}, weight=0.1, data=frozenset({"X", "y", "test_size"})),
    ]  # fmt: skip


def _embeddings() -> list[Entry]:
    used = {"documents": X, "n_folds": 2, "random_state": 0}
    kinds: dict[type, dict[str, Any]] = {
        embeddings.Labels: {"y": Y, "n_neighbors": None, "n_impostors": 2, "hold_out": "samples"},
        embeddings.SimilarPairs: {"pairs": ALL_PAIRS, "y": Y[ALL_PAIRS].std(axis=1) == 0,
                                  "hold_out": "objects"},
        embeddings.GradedPairs: {"pairs": ALL_PAIRS, "score": np.arange(66) % 5 + 0.5,
                                 "margin": None, "hold_out": "objects"},
        embeddings.ComparedTriplets: {"triplets": data.TRIPLET_INDEX, "hold_out": "objects"},
        embeddings.RankedLists: {"queries": X[:3] + 0.5, "lists": LISTS},
        embeddings.Clicks: {"queries": X[:3] + 0.5, "shown": LISTS, "clicked": [[2], [1], [1]]},
        embeddings.RelevantDocuments: {"queries": X[:6] + 0.5, "relevance": data.RELEVANCE,
                                       "n_negatives": 3, "margin": 0.25, "twin": 0.1},
    }  # fmt: skip
    weights = np.array([1.5, 0.5, 2.0])
    model = adapter()
    return [
        *(Entry(kind.__name__, _feedback(kind), used | own, data=frozenset(own))
          for kind, own in kinds.items()),
        Entry("learn_query_map", embeddings.learn_query_map,
              {"A": X, "B": X, "tol": 1e-3} | LEARNED, data=frozenset({"A", "B", *LEARNED})),
        Entry("learn_structured_map", embeddings.learn_structured_map,
              {"X": X, "structure": "full", "tol": 1e-3} | LEARNED,
              data=frozenset({"X", "structure", *LEARNED})),
        function("map_function", map_function, dialect="duckdb", components=np.eye(3)),
        function("dimension_snippet", export.dimension_snippet, database="qdrant",
                 weights=weights),
        function("search_snippet", export.search_snippet, database="pgvector",
                 weights=weights, names=["a", "b", "c"]),
        function("weights_table", embeddings.weights_table, weights=weights),
        function("check_abilities", embeddings.check_abilities, adapter=model,
                 tasks={"labels": (X, Y)}, weight=0.5),
        function("move_stored", embeddings.move_stored, adapter=model, X=X, y=Y, weight=0.3),
        function("quality_by_length", embeddings.quality_by_length, adapter=model, X=X, y=Y,
                 lengths=[1, 2], weight=0.5),
        function("paired_scores", evaluation.paired_scores, before=SCORE, after=SCORE + 1.0,
                 confidence=0.95),
    ]  # fmt: skip


def _unfolding() -> list[Entry]:
    graph = manifold.neighbor_graph(X, 3)
    return [
        function("neighbor_graph", manifold.neighbor_graph, X=X, n_neighbors=3),
        function("connect_components", manifold.graph.connect_components, graph=graph, X=X,
                 n_neighbors=3),
        function("neighborhood_quality", manifold.neighborhood_quality, X=X, Y=X[:, :2]),
        function("coranking_matrix", manifold.quality.coranking_matrix, X=X, Y=X[:, :2]),
    ]  # fmt: skip


def _files() -> list[Entry]:
    model = frob_metric()
    return [
        Entry("save", _save, {"path": "model.frob", "estimator": model}, weight=0.5),
        Entry("export", _export, {"path": "map.npy", "model": model, "to": "npy",
                                  "dtype": "float32"}, weight=0.5),
        function("export_recall", export.export_recall,
                 model=model, X=X, dtype="int8", n_neighbors=3),
        function("load", load, path="missing.frob", weight=0.3),
        Entry("RowFile", _read_rows, {"path": "rows.npy", "columns": None, "memory": None,
                                      "folder": None}, weight=0.5),
    ]  # fmt: skip


def entries() -> list[Entry]:
    """Return the entry points of this module; some need a fitted model, which is made here."""
    parts = (_neighborhoods, _comparisons, _triplets, _embeddings, _unfolding, _files)
    return [entry for part in parts for entry in part()]
