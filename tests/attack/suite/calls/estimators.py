"""Entry points of the estimators: their fits, and every method of the fitted ones."""

from __future__ import annotations

from typing import Any

import numpy as np

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
from frobmetric.embeddings import EncoderBridge
from frobmetric.neighbors import NearestVote

from . import data
from .entry import Entry, fit, methods

SAMPLES = {"X": data.X, "y": data.Y, "sample_weight": data.WEIGHT}
PAIRS = {"pairs": data.PAIRS, "y": data.PAIR_SIGN, "sample_weight": data.PAIR_WEIGHT}
TRIPLETS = {"y": data.TRIPLET_SIGN, "sample_weight": data.WEIGHT[:15]}
QUADRUPLETS = {"y": data.QUADRUPLET_SIGN, "sample_weight": data.WEIGHT[:12]}
WEIGHTS = "sample_weight"

#: Methods of every metric, with their data.
OF_METRIC: dict[str, dict[str, Any]] = {
    "transform": {"X": data.X},
    "pair_distance": {"pairs": data.PAIRS},
    "pair_score": {"pairs": data.PAIRS},
    "explain": {"a": data.X[0], "b": data.X[1], "by": "features", "feature_names": None},
    "get_feature_names_out": {"input_features": None},
    "get_mahalanobis_matrix": {},
}
OF_PAIRS: dict[str, dict[str, Any]] = OF_METRIC | {
    "predict": {"pairs": data.PAIRS},
    "decision_function": {"pairs": data.PAIRS},
    "score": PAIRS,
    "set_threshold": {"threshold": 1.5},
    "calibrate_threshold": PAIRS | {"strategy": "accuracy", "beta": 1.0, "min_rate": None},
    "promise_threshold": {
        "pairs": data.PAIRS, "y": data.PAIR_SIGN, "max_false_match": 0.5, "confidence": 0.5,
        "identities": data.IDENTITIES,
    },
}  # fmt: skip


def _of_tuples(tuples: Any, others: dict[str, Any]) -> dict[str, dict[str, Any]]:
    given = {"tuples": tuples}
    return OF_METRIC | {"predict": given, "decision_function": given, "score": given | others}


class Metric:
    """Call of `get_metric()`, whose function takes two points."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def distance(self, u: Any, v: Any, squared: Any = False) -> Any:
        return self.model.get_metric()(u, v, squared=squared)


def frob_metric() -> FrobMetric:
    """Return a metric learned from labels."""
    return FrobMetric(n_passes=1, keep_dual=True).fit(data.X, data.Y)


def kernel_metric() -> FrobMetric:
    """Return a metric of a kernel."""
    return FrobMetric(n_passes=1, kernel="rbf").fit(data.X, data.Y)


def boost_metric() -> BoostMetric:
    """Return a metric learned by boosting."""
    return BoostMetric(keep_dual=True).fit(data.X, data.Y)


def metric_function() -> Metric:
    """Return the function of a metric."""
    return Metric(frob_metric())


def pair_metric() -> PairFrobMetric:
    """Return a metric learned from pairs."""
    return PairFrobMetric(keep_dual=True, C=10.0).fit(**PAIRS)


def triplet_metric() -> TripletFrobMetric:
    """Return a metric learned from triplets."""
    return TripletFrobMetric(keep_dual=True).fit(data.TRIPLETS)


def quadruplet_metric() -> QuadrupletFrobMetric:
    """Return a metric learned from quadruplets."""
    return QuadrupletFrobMetric(keep_dual=True).fit(data.QUADRUPLETS)


def chosen_metric() -> FrobMetricCV:
    """Return a metric with chosen options."""
    return FrobMetricCV(units="raw", prior="identity", Cs=[10.0], n_passes=1, n_neighbors=3).fit(
        data.X, data.Y
    )


def itml() -> learners.ITML:
    """Return a learner of pairs."""
    return learners.ITML(random_state=0).fit(data.PAIRS, data.PAIR_SIGN)


def lsml() -> learners.LSML:
    """Return a learner of quadruplets."""
    return learners.LSML(random_state=0).fit(data.QUADRUPLETS)


def lfda() -> learners.LFDA:
    """Return a learner of labels."""
    return learners.LFDA().fit(data.X, data.Y)


def marginalized() -> MarginalizedKNN:
    """Return a verifier by neighbours."""
    return MarginalizedKNN(n_neighbors=5).fit(data.X, data.Y).set_threshold(0.5)


def nearest_class() -> NearestClass:
    """Return a classifier by classes."""
    return NearestClass(3).fit(data.X, data.Y)


def nearest_vote() -> NearestVote:
    """Return a classifier by neighbours."""
    return NearestVote(3).fit(data.X, data.Y)


def distance_vote() -> NearestVote:
    """Return a classifier by neighbours whose votes count by distance."""
    return NearestVote(3, weights="distance").fit(data.X, data.Y)


def unfolding() -> MaximumVarianceUnfolding:
    """Return an unfolding."""
    return MaximumVarianceUnfolding(n_neighbors=5).fit(data.X)


def adapter() -> EmbeddingAdapter:
    """Return an adapter of embeddings."""
    return EmbeddingAdapter(strength=10.0).fit(data.X, data.Y).set_threshold(0.5)


def bridge() -> EncoderBridge:
    """Return a bridge between encoders."""
    return EncoderBridge(n_maps=1, n_neighbors=3, random_state=0).fit(data.X, data.X[:, :2] + 1.0)


OF_MARGINALIZED = {
    name: {k: v for k, v in OF_PAIRS[name].items() if k != "self"} | {"exclude": None}
    for name in ("predict", "decision_function", "calibrate_threshold", "promise_threshold")
}
OF_MARGINALIZED |= {
    "pair_score": {"pairs": data.PAIRS, "exclude": np.array([1])},
    "score": PAIRS | {"exclude": None},
    "set_threshold": {"threshold": 0.5},
}
OF_MARGINALIZED["calibrate_threshold"] |= {"n_neighbors": None}


def _fits() -> list[Entry]:
    pairs = {"weight": 1.0, "optional": WEIGHTS} | PAIRS
    samples = {"optional": WEIGHTS} | SAMPLES
    short = {"max_iter": 100}
    entries = [
        fit(FrobMetric, **samples, weight=4.0, n_passes=1, C=10.0),
        fit(BoostMetric, **samples, weight=1.5, C=10.0),
        fit(FrobMetricCV, **samples, weight=0.4, Cs=[10.0], n_passes=1, n_neighbors=3,
            units="raw", prior="identity"),
        fit(PairFrobMetric, **pairs | {"weight": 3.0}, C=10.0),
        fit(TripletFrobMetric, tuples=data.TRIPLETS, optional="y sample_weight", weight=3.0,
            **TRIPLETS),
        fit(QuadrupletFrobMetric, tuples=data.QUADRUPLETS, optional="y sample_weight", weight=3.0,
            **QUADRUPLETS),
        fit(NearestClass, X=data.X, y=data.Y, weight=2.0),
        fit(NearestVote, X=data.X, y=data.Y, weight=2.0),
        fit(MarginalizedKNN, X=data.X, y=data.Y, weight=2.0),
        fit(MaximumVarianceUnfolding, X=data.X, n_neighbors=5, weight=1.0),
        fit(EmbeddingAdapter, X=data.X, y=data.Y, strength=10.0, weight=1.0),
        fit(EncoderBridge, X=data.X, y=data.X[:, :2] + 1.0, n_maps=1, n_neighbors=3,
            random_state=0, weight=0.5),
        fit(learners.Covariance, X=data.X, sample_weight=data.WEIGHT, optional=WEIGHTS),
        fit(learners.LFDA, **samples),
        fit(learners.LMNN, **samples, **short, random_state=0, weight=0.7),
        fit(learners.NCA, **samples, max_iter=20, random_state=0, weight=0.7),
        fit(learners.MLKR, X=data.X, y=data.TARGETS, sample_weight=data.WEIGHT, optional=WEIGHTS,
            max_iter=20, random_state=0, weight=0.7),
        fit(learners.RCA, X=data.X, y=data.Y, sample_weight=data.WEIGHT, optional=WEIGHTS),
        fit(learners.RCA_Supervised, **samples, random_state=0, n_chunks=10),
        fit(learners.GMML, **pairs, random_state=0),
        fit(learners.ITML, **pairs, **short, random_state=0),
        fit(learners.MMC, **pairs, random_state=0),
        fit(learners.SDML, **pairs, random_state=0, balance_param=2.0**-16),
        fit(learners.LSML, quadruplets=data.QUADRUPLETS, optional="y sample_weight", **QUADRUPLETS,
            **short, random_state=0),
        fit(learners.SCML, triplets=data.TRIPLETS, optional="y sample_weight", **TRIPLETS,
            max_iter=500, random_state=0),
    ]  # fmt: skip
    supervised = (
        learners.GMML_Supervised, learners.ITML_Supervised, learners.LSML_Supervised,
        learners.MMC_Supervised, learners.SDML_Supervised,
    )  # fmt: skip
    few = {"n_constraints": 20, "random_state": 0, "weight": 0.7}
    return [
        *entries,
        *(fit(kind, **samples, **few) for kind in supervised),
        fit(learners.SCML_Supervised, **samples, max_iter=500, random_state=0),
    ]


def _methods() -> list[Entry]:
    of_class = {"X": data.X, "y": data.Y, "sample_weight": data.WEIGHT}
    vector = {"query": data.X[0], "candidates": data.X, "by": "features", "feature_names": None}
    tables = {
        frob_metric: OF_METRIC | {"certify": {"X": data.X}},
        boost_metric: OF_METRIC | {"certify": {"X": data.X}},
        kernel_metric: {n: OF_METRIC[n] for n in ("transform", "pair_distance", "pair_score")},
        metric_function: {"distance": {"u": data.X[0], "v": data.X[1], "squared": False}},
        chosen_metric: OF_METRIC | {"predict": {"X": data.X}, "score": of_class},
        pair_metric: OF_PAIRS | {"certify": PAIRS},
        triplet_metric: _of_tuples(data.TRIPLETS, TRIPLETS)
        | {"certify": {"tuples": data.TRIPLETS, "y": None, "sample_weight": None}},
        quadruplet_metric: _of_tuples(data.QUADRUPLETS, QUADRUPLETS)
        | {"certify": {"tuples": data.QUADRUPLETS, "y": None, "sample_weight": None}},
        itml: OF_PAIRS,
        lsml: _of_tuples(data.QUADRUPLETS, QUADRUPLETS),
        lfda: OF_METRIC,
        marginalized: OF_MARGINALIZED,
        nearest_class: {"predict": {"X": data.X}, "energies": {"X": data.X}, "score": of_class},
        nearest_vote: {"predict": {"X": data.X}, "score": of_class},
        distance_vote: {"predict": {"X": data.X}},
        unfolding: {"transform": {"X": data.X + 0.5}, "get_feature_names_out": {}},
        adapter: {
            name: OF_PAIRS[name]
            for name in ("transform", "pair_distance", "pair_score", "explain", "predict",
                         "set_threshold", "calibrate_threshold", "promise_threshold")
        } | {"transform_query": {"X": data.X}, "explain_search": vector,
             "check": {"X": data.X, "y": data.Y}},
        bridge: {
            "transform": {"X": data.X}, "trust": {"X": data.X}, "predict": {"X": data.X},
            "predict_trusted": {"X": data.X, "alpha": 0.1},
            "score": {"X": data.X, "y": data.X[:, :2] + 1.0},
        },
    }  # fmt: skip
    return [entry for make, table in tables.items() for entry in methods(make, table)]


ENTRIES = [*_fits(), *_methods()]
