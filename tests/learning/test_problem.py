"""Exact proofs of the estimators: of each kind, from the data and the kept dual variables."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from frobmetric import FrobMetric, FrobMetricCV, PairFrobMetric, TripletFrobMetric, verify

X, y = load_iris(return_X_y=True)


def check_proof(metric, *data):
    """Return the proof of a fitted metric, which agrees with the certificate of its fit."""
    certificate, claimed = metric.certify(*data, exact=True), metric.certificate_
    assert certificate.primal == pytest.approx(claimed.primal, rel=1e-9)
    assert certificate.dual == pytest.approx(claimed.dual, rel=1e-9)
    assert certificate.relative_gap <= 1.001 * metric.tol
    assert certificate.scope == "verified in exact arithmetic"
    assert verify.verify(certificate.proof) == (certificate.dual, certificate.primal)
    return certificate.proof


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "squared_hinge", "pull": 0.1},
        {"loss": "smoothed_hinge", "prior": "within"},
        {"kernel": "rbf", "n_directions": 6},
        {"prior": np.diag([1.0, 2.0, 3.0, 0.5])},
    ],
)
def test_metrics_from_labels(options):
    proof = check_proof(FrobMetric(keep_dual=True, **options).fit(X, y), X)
    assert str(proof["loss"]) == options.get("loss", "hinge")
    assert len(proof["rows"]) == len(proof["u"])


def test_a_chosen_metric():
    metric = FrobMetricCV(Cs=[10.0], cv=2, units="raw", keep_dual=True).fit(X, y)
    check_proof(metric, X)


def test_single_precision():
    metric = FrobMetric(keep_dual=True).fit(X.astype(np.float32), y)
    assert metric.components_.dtype == np.float32
    check_proof(metric, X.astype(np.float32))


@pytest.mark.slow
def test_digits():
    images, labels = (part[:300] for part in load_digits(return_X_y=True))
    metric = FrobMetric(keep_dual=True).fit(images, labels)
    proof = check_proof(metric, images)
    assert 40 < proof["points"].shape[1] <= 64
    with pytest.raises(verify.ProofError):
        verify.verify(proof | {"rows": proof["rows"][::-1]})


def test_metrics_from_tuples(rng):
    triplets = np.array([rng.choice(150, 3, replace=False) for _ in range(100)])
    metric = TripletFrobMetric(preprocessor=X, keep_dual=True).fit(triplets)
    check_proof(metric, triplets)
    pairs = triplets[:, :2]
    same = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    for strategy in ("threshold", "triplets"):
        metric = PairFrobMetric(preprocessor=X, strategy=strategy, keep_dual=True).fit(pairs, same)
        check_proof(metric, pairs, same)
