"""Classification by votes and by the nearest samples of each class."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from frobmetric import NearestClass
from frobmetric.neighbors.classification import NearestVote, knn_error, knn_predict
from frobmetric.search import exact as _neighbors

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


def test_votes_among_sparse_samples(rng):
    X = rng.random((80, 9)) * (rng.random((80, 9)) < 0.4)
    y, new = rng.integers(4, size=80), rng.random((40, 9))
    expected = knn_predict(X, y, new)
    for train, test in ((sp.csr_array(X), sp.csr_matrix(new)), (X, sp.csr_array(new))):
        np.testing.assert_array_equal(knn_predict(train, y, test), expected)


@pytest.mark.parametrize("rule", ["center", "distances"])
def test_nearest_classes_of_sparse_samples(rule, rng):
    X = rng.random((80, 9)) * (rng.random((80, 9)) < 0.4)
    y, new = rng.integers(4, size=80), rng.random((40, 9)) * (rng.random((40, 9)) < 0.4)
    dense = NearestClass(3, rule=rule).fit(X, y)
    sparse = NearestClass(3, rule=rule).fit(sp.csr_array(X), y)
    for queries in (new, sp.csr_array(new), sp.csr_matrix(new)):
        for model in (dense, sparse):
            np.testing.assert_allclose(model.energies(queries), dense.energies(new), atol=1e-12)


class TestNearestVote:
    def test_equal_votes_are_those_of_knn_predict(self, rng):
        X, y = rng.normal(size=(80, 3)), rng.choice(["a", "b", "c"], size=80)
        new = rng.normal(size=(30, 3))
        for k in (1, 3, 8):
            expected = knn_predict(X, y, new, n_neighbors=k)
            np.testing.assert_array_equal(NearestVote(k).fit(X, y).predict(new), expected)

    @pytest.mark.parametrize("factor", [1e-150, 1.0, 1e150])
    def test_votes_by_distance_are_those_of_scikit_learn(self, factor, rng):
        X, y = rng.normal(size=(80, 3)), rng.integers(4, size=80)
        new = np.vstack([rng.normal(size=(60, 3)), X[:5]])  # some are training samples
        expected = KNeighborsClassifier(9, weights="distance").fit(X, y).predict(new)
        found = NearestVote(9, weights="distance").fit(X * factor, y).predict(new * factor)
        np.testing.assert_array_equal(found, expected)

    def test_an_equal_sample_decides_alone(self):
        X, y = [[0.0], [1e-3], [1.1e-3], [1.2e-3]], ["a", "b", "b", "b"]
        assert NearestVote(4, weights="distance").fit(X, y).predict([[0.0]]).tolist() == ["a"]
        assert NearestVote(4).fit(X, y).predict([[0.0]]).tolist() == ["b"]
        same = NearestVote(3, weights="distance").fit(np.zeros((3, 1)), ["a", "b", "b"])
        assert same.predict([[0.0]]).tolist() == ["b"]

    def test_fewer_samples_than_neighbours_all_vote(self):
        model = NearestVote(9).fit([[0.0], [1.0], [5.0]], [0, 1, 1])
        assert model.predict([[0.0]]).tolist() == [1]

    def test_samples_of_infinite_squared_distance_are_equally_near(self):
        rule = NearestVote(3, weights="distance").fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        assert rule.predict([[-1e300], [0.1], [1e300]]).tolist() == ["b", "a", "b"]

    @pytest.mark.parametrize("weights", ["uniform", "distance"])
    def test_sparse_samples(self, weights, rng):
        X = rng.random((80, 9)) * (rng.random((80, 9)) < 0.4)
        y, new = rng.integers(4, size=80), rng.random((40, 9))
        expected = NearestVote(5, weights=weights).fit(X, y).predict(new)
        for train in (X, sp.csr_array(X)):
            model = NearestVote(5, weights=weights).fit(train, y)
            for queries in (new, sp.csr_array(new)):
                np.testing.assert_array_equal(model.predict(queries), expected)

    @pytest.mark.parametrize(
        ("options", "match"),
        [({"n_neighbors": 0}, "'n_neighbors' parameter"), ({"weights": "rank"}, "'weights' para")],
        ids=str,
    )
    def test_bad_parameters_are_refused(self, options, match):
        with pytest.raises(ValueError, match=match):
            NearestVote(**options).fit(LINE, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        (NearestVote(9), {"n_neighbors": 1, "weights": "distance"}),
        (NearestVote(9, weights="distance"), {"n_neighbors": 1, "weights": "uniform"}),
        (NearestClass(3), {"n_neighbors": 9, "rule": "distances"}),
        (NearestClass(9, rule="distances"), {"n_neighbors": 1, "rule": "center"}),
    ],
    ids=str,
)
def test_parameters_changed_after_a_fit_change_no_answer(model, changed, rng):
    X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    model = clone(model).fit(X[:100], y[:100])
    before = model.predict(X)
    other = clone(model).set_params(**changed).fit(X[:100], y[:100])
    assert np.any(other.predict(X) != before)
    model.set_params(**changed)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), before)


@pytest.mark.parametrize("kind", [NearestVote, NearestClass])
def test_a_failed_fit_leaves_what_was(kind, rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=20)
    model = kind(2).fit(X, y)
    before = dict(vars(model))
    for bad in (np.linspace(0, 1, 20), np.zeros(19)):
        with pytest.raises(ValueError, match=r"Unknown label type|inconsistent numbers"):
            model.fit(X[:, :2], bad)
        assert vars(model) == before
    if kind is NearestClass:
        with pytest.raises(ValueError, match="one class"):
            model.fit(X[:, :2], np.zeros(20))
    assert vars(model) == before
    with pytest.raises(AttributeError, match="classes_ is read-only: it is part of rule_"):
        model.classes_ = y
