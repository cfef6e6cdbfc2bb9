"""Our own learners carry their certificate and get their triplets as they are."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import make_circles
from sklearn.neighbors import NearestCentroid

from frobmetric import FrobeniusSDP, FrobMetric, FrobMetricCV, mine_triplets, solve
from frobmetric.core import Hinge
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric_paper.baselines import METRIC
from frobmetric_paper.baselines.ours import FIRST, PAPER, kernel_model
from frobmetric_paper.harness.run import first_parameters


@pytest.mark.parametrize("name", ["frob", "frob_tuned", "boost", "lmnn_matrix"])
def test_the_certificate_is_in_the_detail(name, parts, in_process):
    X, y = parts[:2]
    first = first_parameters(METRIC[name].search)
    parameters = first | ({"C": 1e3} if name == "lmnn_matrix" else {})  # 1e6 takes long
    detail = METRIC[name].fit(X, y, parameters=parameters).detail
    assert detail["status"] == "optimal"
    assert 0 <= detail["relative_gap"] <= 1e-3
    assert detail["dual"] <= detail["primal"]
    assert detail["n_triplets"] == first.get("n_passes", 1) * mine_triplets(X, y).n_triplets
    assert 1 <= detail["rank"] <= X.shape[1]
    assert "frobmetric" in detail["versions"]


def test_neighbour_lists_reach_the_estimator(parts, in_process):
    X, y = parts[:2]
    triplets = mine_triplets(X, y, n_neighbors=2)
    expected = FrobMetric(**PAPER | {"C": 50.0}).fit(X, triplets=triplets)
    fitted = METRIC["frob"].fit(X, triplets=triplets, parameters={"C": 50.0})
    np.testing.assert_allclose(fitted.L @ fitted.L.T, expected.get_mahalanobis_matrix())
    rows = METRIC["frob"].fit(X, triplets=triplets.to_array()[::2], parameters={"C": 50.0})
    assert rows.detail["n_triplets"] == len(triplets.to_array()[::2])


def test_the_paper_has_neither_prior_nor_units(parts, in_process):
    X, y = parts[0] * np.geomspace(0.1, 10, 6), parts[1]
    triplets = mine_triplets(X, y)
    Z = unit_mean_square(X)[0]
    problem = FrobeniusSDP(triplets.constraints(Z), Hinge(1e3 * triplets.share))
    detail = METRIC["frob"].fit(X, y, parameters={"C": 1e3, "tol": 1e-7}).detail
    assert detail["primal"] == pytest.approx(solve(problem, tol=1e-7).certificate.primal, rel=1e-6)


@pytest.mark.slow
def test_the_defaults_are_those_of_the_library(parts, in_process):
    X, y, others = parts[:3]
    for name, model in {"frob_default": FrobMetric(), "frob_cv": FrobMetricCV()}.items():
        model.fit(X, y)
        fitted = METRIC[name].fit(X, y)
        np.testing.assert_allclose(fitted.L @ fitted.L.T, model.get_mahalanobis_matrix())
        assert fitted.detail["chosen"]["units"] == model.units_
        assert fitted.detail["status"] == "optimal"
    fitted = METRIC["frob_cv_rule"].fit(X, y, queries={"test": others})
    np.testing.assert_array_equal(fitted.predictions["test"], model.predict(others))
    assert fitted.detail["chosen"] == model.best_params_ | {"rule": model.report_.rule}


@pytest.mark.slow
def test_a_fit_that_did_not_converge_is_remarked(parts):
    X, y = parts[:2]
    fitted = METRIC["frob"].fit(X, y, parameters={"C": 1e4, "max_iter": 1})
    assert "raise max_iter" in fitted.detail["remark"]
    assert fitted.detail["status"] == "max_iter"


@pytest.mark.parametrize("first", ["none", "plain"])
@pytest.mark.slow
def test_the_map_of_a_kernel_is_that_of_its_pipeline(first, parts, in_process):
    X, y, others = parts[:3]
    options = {"C": 1e3, "n_neighbors": 3, "n_points": 60, "n_directions": 20}
    fitted = METRIC["frob_kernel"].fit(X, y, parameters={"first": first, "gamma": 0.3, **options})
    assert fitted.detail["status"] == "optimal"
    assert fitted.detail["rank"] == fitted.L.shape[1] <= 20
    L = np.eye(X.shape[1])
    if first != "none":
        L = FrobMetric(n_components="rank", **PAPER | FIRST[first]).fit(X, y).components_.T
    model = kernel_model(X @ L, 0.3, **options).fit(X @ L, y)
    distances = [pdist(Z) for Z in (fitted.transform(others), model.transform(others @ L))]
    np.testing.assert_allclose(*distances, rtol=1e-6, atol=1e-9)


def test_a_kernel_does_not_depend_on_the_unit(parts, in_process):
    X, y, others = parts[:3]
    parameters = {"C": 1e3, "n_points": 60, "n_directions": 20}
    maps = [METRIC["frob_kernel"].fit(unit * X, y, parameters=parameters) for unit in (1.0, 1e3)]
    distances = [pdist(each.transform(u * others)) for each, u in zip(maps, (1, 1e3), strict=True)]
    np.testing.assert_allclose(*distances, rtol=1e-4)


def test_a_kernel_separates_rings(in_process):
    X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    X = np.column_stack([X, 0.3 * np.random.default_rng(0).normal(size=(400, 3))])
    parameters = {"frob_tuned": {"C": 1e2}, "frob_kernel": {"C": 1e2, "gamma": 1.0}}
    errors = {}
    for name, given in parameters.items():
        Z = METRIC[name].fit(X[:200], y[:200], parameters=given).transform(X)
        means = NearestCentroid().fit(Z[:200], y[:200])
        errors[name] = 1 - means.score(Z[200:], y[200:])
    assert errors["frob_kernel"] < 0.1 < 0.3 < errors["frob_tuned"]
