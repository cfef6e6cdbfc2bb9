"""Every row of the paper's table learns, with the parameters that its search begins with."""

import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric import FrobMetric, mine_triplets
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.neighbors import knn_error
from frobmetric_paper.rivals import RIVALS, TABLE, child, rival
from frobmetric_paper.rivals.rival import first_parameters

NAMES = np.array(["oak", "elm", "ash"])
#: These learn nothing.
PLAIN = ("euclid", "pca")
#: These run in an environment of their own, and tests/experiments/test_rivals.py starts them.
ELSEWHERE = ("itml", "lmnn")


@pytest.fixture
def in_process(monkeypatch):
    """Rivals' commands without their processes: starting one takes seconds, most of it imports."""

    def run(command, limit, threads=None):
        assert command[1:3] == ["-P", child.__file__]
        child.main(*command[3:])
        return ""

    monkeypatch.setattr(rival.HOUSEHOLD, "run", run)


@pytest.fixture(scope="module")
def parts():
    """Two directions with the classes in them and four of noise: training and test part."""
    rng = np.random.default_rng(1)
    y = np.arange(240) % 3
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    X = np.column_stack([centres[y] + rng.normal(size=(240, 2)), 3 * rng.normal(size=(240, 4))])
    Z = unit_mean_square(X)[0]
    return Z[:120], NAMES[y[:120]], Z[120:], NAMES[y[120:]]


def first_values(name):
    """Those that the search begins with; where that takes long, of an easier problem."""
    first = first_parameters(RIVALS[name].search)
    return first | ({"C": 1e3} if name == "lmnn_matrix" else {})


def test_error(fitted, parts):
    X, y, X_test, y_test = parts
    if hasattr(fitted, "predict"):
        return np.mean(fitted.predict(X_test) != y_test)
    return knn_error(fitted.transform(X), y, fitted.transform(X_test), y_test)


test_error.__test__ = False


@pytest.mark.parametrize("name", [name for name in TABLE if name not in ELSEWHERE])
def test_rows_learn(name, parts, in_process):
    X, y, X_test, y_test = parts
    fitted = RIVALS[name].fit(X, y, parameters=first_values(name))
    plain = knn_error(X, y, X_test, y_test)
    error = test_error(fitted, parts)
    assert error == plain if name in PLAIN else error < 0.8 * plain
    assert fitted.seconds > 0
    json.dumps(fitted.detail)


@pytest.mark.parametrize("name", ["frob", "frob_tuned", "boost", "lmnn_matrix"])
def test_ours_carry_their_certificate(name, parts, in_process):
    X, y = parts[:2]
    detail = RIVALS[name].fit(X, y, parameters=first_values(name)).detail
    assert detail["status"] == "optimal"
    assert 0 <= detail["relative_gap"] <= 1e-3
    assert detail["dual"] <= detail["primal"]
    assert detail["n_triplets"] == mine_triplets(X, y).n_triplets
    assert 1 <= detail["rank"] <= X.shape[1]


def test_neighbour_lists_reach_the_estimator(parts, in_process):
    X, y = parts[:2]
    triplets = mine_triplets(X, y, n_neighbors=2)
    expected = FrobMetric(C=50.0).fit(X, triplets=triplets)
    fitted = RIVALS["frob"].fit(X, triplets=triplets, parameters={"C": 50.0})
    np.testing.assert_allclose(fitted.L @ fitted.L.T, expected.get_mahalanobis_matrix())
    rows = RIVALS["frob"].fit(X, triplets=triplets.to_array()[::2], parameters={"C": 50.0})
    assert rows.detail["n_triplets"] == len(triplets.to_array()[::2])


def test_what_did_not_converge_is_remarked(parts):
    X, y = parts[:2]
    fitted = RIVALS["frob"].fit(X, y, parameters={"C": 1e4, "max_iter": 1})
    assert "raise max_iter" in fitted.detail["remark"]
    assert fitted.detail["status"] == "max_iter"


def test_other_warnings_are_shown_once(capsys):
    def learn():
        warnings.warn("steps ran out", ConvergenceWarning, stacklevel=1)
        warnings.warn("something else", UserWarning, stacklevel=1)
        return np.eye(2), {"steps": 3}

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, detail = child.remarking(learn)
    assert detail == {"steps": 3, "remark": "steps ran out"}
    assert "something else" in capsys.readouterr().err


def test_estimators_get_the_parameters_and_the_scale():
    class Estimator:
        def __init__(self, random_state, depth):
            self.random_state, self.depth = random_state, depth

        def fit(self, X, y):
            self.components_ = np.full((1, 2), X.sum() + self.depth + self.random_state)
            return self

    task = {
        "X": np.ones((3, 2)),
        "y": np.arange(3),
        "seed": 5,
        "parameters": {"depth": 100, "scale": 10.0},
    }
    L, _ = child.fit_estimator(Estimator, task)
    np.testing.assert_array_equal(L, np.full((2, 1), 10 * (60 + 100 + 5)))
