"""Classification by votes and by the nearest samples of each class."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator

from frobmetric import NearestClass, _neighbors
from frobmetric.neighbors.classification import knn_error, knn_predict

LINE = np.array([[0.0], [1.0], [2.0], [10.0]])


def test_majority_wins():
    assert knn_predict(LINE, np.array(["a", "b", "b", "a"]), [[0.1]], n_neighbors=3).tolist() == [
        "b"
    ]


def test_a_tie_goes_to_the_nearest():
    assert knn_predict(LINE, np.array([2, 1, 0, 0]), [[0.1]], n_neighbors=3).tolist() == [2]


def test_error_is_the_share_of_mistakes():
    assert (
        knn_error(LINE, [0, 0, 1, 1], [[0.0], [2.0], [10.0], [10.0]], [0, 1, 1, 0], n_neighbors=1)
        == 0.25
    )


def test_votes_do_not_depend_on_the_origin(rng):
    X, y, new = rng.normal(size=(80, 9)), rng.integers(4, size=80), rng.normal(size=(40, 9))
    near = knn_predict(X, y, new, n_neighbors=5)
    np.testing.assert_array_equal(knn_predict(X + 1e8, y, new + 1e8, n_neighbors=5), near)


def test_too_few_training_samples_are_said():
    with pytest.raises(ValueError, match="n_neighbors=5, but there are 4 training samples"):
        knn_predict(LINE, [0, 1, 0, 1], [[0.1]], n_neighbors=5)


def energy_by_hand(x, members, k, rule):
    order = np.argsort(((members - x) ** 2).sum(axis=1))[:k]
    if rule == "center":
        return ((x - members[order].mean(axis=0)) ** 2).sum()
    return ((members[order] - x) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("rule", ["center", "distances"])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_energies_are_those_of_the_definition(rule, k, rng):
    X, y = rng.normal(size=(60, 4)) + 1e4, rng.choice(["a", "b", "c"], size=60)
    new = rng.normal(size=(15, 4)) + 1e4
    model = NearestClass(k, rule=rule).fit(X, y)
    expected = [[energy_by_hand(x, X[y == c], k, rule) for c in "abc"] for x in new]
    np.testing.assert_allclose(model.energies(new), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), np.array(list("abc"))[np.argmin(expected, 1)])


def test_one_neighbour_is_the_nearest_neighbour_rule(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(4, size=80)
    new = rng.normal(size=(30, 3))
    nearest = y[np.argmin(((new[:, None] - X[None]) ** 2).sum(axis=2), axis=1)]
    for rule in ("center", "distances"):
        np.testing.assert_array_equal(NearestClass(1, rule=rule).fit(X, y).predict(new), nearest)


def test_blocks_change_nothing(rng, monkeypatch):
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    whole = NearestClass(4).fit(X, y).energies(X)
    monkeypatch.setattr(_neighbors, "BLOCK", 24)
    np.testing.assert_array_equal(NearestClass(4).fit(X, y).energies(X), whole)


def test_bad_input_is_said(rng):
    X, y = rng.normal(size=(10, 3)), np.repeat([0, 1], 5)
    with pytest.raises(ValueError, match=r"one class \(4\)"):
        NearestClass().fit(X, np.full(10, 4))
    with pytest.raises(ValueError, match="'rule' parameter of NearestClass must be one of"):
        NearestClass(rule="vote").fit(X, y)
    with pytest.raises(ValueError, match="'n_neighbors' parameter"):
        NearestClass(0).fit(X, y)


def test_scikit_learn_finds_nothing_wrong():
    results = check_estimator(NearestClass(), on_fail=None)
    assert {r["status"] for r in results} == {"passed"}, [
        r for r in results if r["status"] != "passed"
    ]


def test_votes_among_sparse_samples(rng):
    X = rng.random((80, 9)) * (rng.random((80, 9)) < 0.4)
    y, new = rng.integers(4, size=80), rng.random((40, 9))
    expected = knn_predict(X, y, new)
    for train, test in ((sp.csr_array(X), sp.csr_matrix(new)), (X, sp.csr_array(new))):
        np.testing.assert_array_equal(knn_predict(train, y, test), expected)
