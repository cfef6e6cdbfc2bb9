"""SCML: the minimum of its linear program, its proof, its directions and degenerate input."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from frobmetric.core import Triplets
from frobmetric.core.threads import one_thread
from frobmetric.learners import SCML, SCML_Supervised, bases, combination
from frobmetric.learning.constraints import DrawnConstraints

pytestmark = pytest.mark.filterwarnings("ignore:.*directions have a positive weight")


def _random_triplets(rng, n_points, n_triplets, n_features):
    """Return points, and triplets of which a metric satisfies most."""
    X = rng.normal(size=(n_points, n_features))
    index = rng.permuted(np.tile(np.arange(n_points), (n_triplets, 1)), axis=1)[:, :3]
    Z = X * np.linspace(0.2, 2, n_features) + 0.2 * rng.normal(size=X.shape)
    near, far = (np.linalg.norm(Z[index[:, 0]] - Z[index[:, i]], axis=1) for i in (1, 2))
    index[near > far] = index[near > far][:, [0, 2, 1]]
    return X, index


def _program(X, index, basis, beta, share=None):
    share = np.full(len(index), 1 / len(index)) if share is None else share
    return combination.SparseCombination(X, index, Triplets(X, index), share, basis, beta)


def _oracle(X, index, basis, beta, share):
    """Return the minimum of the program with all numbers written out, by scipy."""
    near, far = (((X[index[:, 0]] - X[index[:, i]]) @ basis.T) ** 2 for i in (1, 2))
    n_triplets, n_basis = near.shape
    costs = np.concatenate([np.full(n_basis, beta), share])
    rows = np.hstack([near - far, -np.eye(n_triplets)])
    return linprog(costs, A_ub=rows, b_ub=-np.ones(n_triplets)).fun


def _separation(X, y):
    """Return distances within a class over distances from it to others, in the mean of classes."""
    distances = pairwise_distances(X)
    return np.mean(
        [
            distances[y == c][:, y == c].mean() / distances[y == c][:, y != c].mean()
            for c in np.unique(y)
        ]
    )


@pytest.mark.parametrize("few_numbers", [0, 10**9])
@pytest.mark.parametrize("beta", [1e-4, 1e-2])
def test_minimum_is_that_of_the_linear_program(rng, monkeypatch, few_numbers, beta):
    """Both ways, by Newton's method and by the simplex method."""
    monkeypatch.setattr(combination, "FEW_NUMBERS", few_numbers)
    X, index = _random_triplets(rng, 40, 300, 4)
    basis, share = rng.normal(size=(30, 4)), rng.uniform(0.1, 1, 300)
    share /= share.sum()
    problem = _program(X, index, basis, beta, share)
    answer = problem.minimise(1e-5, 1000)
    certificate = problem.certify(answer.weight, answer.u)
    best = _oracle(X, index, basis, beta, share)
    assert answer.is_converged
    assert certificate.dual * (1 - 1e-6) <= best <= certificate.primal * (1 + 1e-6)
    assert certificate.relative_gap <= 2e-5


def test_satisfiable_triplets_of_any_scale(rng):
    X, index = _random_triplets(rng, 60, 600, 3)
    basis, weight = rng.normal(size=(90, 3)), np.r_[np.ones(5), np.zeros(85)]
    wrong = _program(X, index, basis, 1e-6).margins(weight) < 0
    index[wrong] = index[wrong][:, [0, 2, 1]]
    for scale in (1e-2, 1.0, 100.0):
        problem = _program(scale * X, index, basis, 1e-6)
        answer = problem.minimise(1e-3, 10_000)
        assert answer.is_converged
        assert problem.certify(answer.weight, answer.u).relative_gap <= 1e-3


def test_any_multipliers_prove_a_bound(rng):
    X, index = _random_triplets(rng, 20, 50, 3)
    problem = _program(X, index, rng.normal(size=(12, 3)), 1e-2)
    best = problem.certify(*problem.minimise(1e-6, 1000)[:2]).primal
    for _ in range(20):
        certificate = problem.certify(rng.uniform(size=12), rng.uniform(-0.1, 0.1, size=50))
        assert certificate.dual <= best <= certificate.primal


def test_a_step_of_a_sample_of_the_rows_leads_to_the_same_minimum(rng, monkeypatch):
    X, index = _random_triplets(rng, 200, 3000, 5)
    basis = rng.normal(size=(40, 5))
    whole = _program(X, index, basis, 1e-4).minimise(1e-4, 1000)
    monkeypatch.setattr(combination, "MOST_NUMBERS", 4000)
    part = _program(X, index, basis, 1e-4).minimise(1e-4, 1000)
    value = _program(X, index, basis, 1e-4).certify
    assert part.is_converged
    assert value(*part[:2]).primal == pytest.approx(value(*whole[:2]).primal, rel=3e-4)


def test_an_early_end_warns_and_proves_its_interval(rng):
    X, index = _random_triplets(rng, 100, 2000, 5)
    options = {"preprocessor": X, "random_state": 0, "n_basis": 50}
    best = SCML(**options, tol=1e-5).fit(index).certificate_
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        rough = SCML(**options, max_iter=4, output_iter=1).fit(index)
    assert rough.n_iter_ == 4
    assert rough.certificate_.dual <= best.primal <= rough.certificate_.primal * (1 + 1e-5)


def test_certificate_is_about_the_learned_metric(rng):
    X, index = _random_triplets(rng, 100, 1000, 4)
    metric = SCML(preprocessor=X, random_state=0, basis=np.vstack([np.eye(4), np.ones((1, 4))]))
    metric.fit(index)
    M = metric.get_mahalanobis_matrix()
    near, far = (X[index[:, 0]] - X[index[:, i]] for i in (1, 2))
    margins = np.einsum("ij,jk,ik->i", far, M, far) - np.einsum("ij,jk,ik->i", near, M, near)
    loss = np.maximum(0, 1 - margins).mean()
    cost = metric.certificate_.primal - loss
    # the cost is beta times the sum of the weights, which is between trace / 4 and trace here
    assert 1e-5 * np.trace(M) / 4 <= cost * (1 + 1e-6) <= 1e-5 * np.trace(M) * (1 + 1e-5)


def test_weights_are_repetitions(rng):
    X, index = _random_triplets(rng, 50, 200, 3)
    options = {"preprocessor": X, "basis": rng.normal(size=(20, 3)), "tol": 1e-7}
    weight = np.r_[np.full(40, 2.0), np.ones(160)]
    first = SCML(**options).fit(np.concatenate([index, index[:40]]))
    second = SCML(**options).fit(index, sample_weight=weight)
    assert second.certificate_.primal == pytest.approx(first.certificate_.primal, rel=1e-6)


def test_few_positive_weights_are_rows_with_a_warning(rng):
    X, index = _random_triplets(rng, 30, 60, 4)
    basis = np.eye(4)[:2]
    with pytest.warns(UserWarning, match="directions have a positive weight"):
        metric = SCML(preprocessor=X, basis=basis).fit(index)
    assert metric.components_.shape[0] <= 2
    assert metric.transform(X).shape == (30, metric.components_.shape[0])


def test_no_useful_direction_gives_the_zero_metric_with_a_warning(rng):
    X, index = _random_triplets(rng, 30, 60, 2)
    with pytest.warns(UserWarning, match="the learned metric is zero"):
        metric = SCML(beta=1e6, preprocessor=X).fit(index)
    assert not metric.components_.any()
    assert metric.components_.shape == (1, 2)
    assert metric.certificate_.primal == pytest.approx(1)
    assert metric.certificate_.relative_gap < 1e-9


def test_verbose_writes_a_line_for_each_step(rng, capsys):
    X, index = _random_triplets(rng, 100, 2000, 4)
    metric = SCML(preprocessor=X, random_state=0, verbose=True).fit(index)
    assert capsys.readouterr().out.count("objective") == metric.n_iter_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_basis", 4.0),
        ("max_iter", 1.0),
        ("output_iter", 1.0),
        ("batch_size", 1.0),
        ("beta", 0),
        ("basis", "lda"),
        ("basis", "bad"),
        ("tol", 0),
        ("max_iter", 1),
    ],
)
def test_wrong_parameters_are_refused(name, value):
    triplets = np.array([[[0, 1], [2, 1], [0, 0]]])
    with pytest.raises(ValueError, match=name):
        SCML(**{name: value}).fit(triplets)


@pytest.mark.filterwarnings("ignore:classes with fewer")
def test_basis_of_other_features_is_refused(rng):
    with pytest.raises(ValueError, match="basis has shape"):
        SCML(basis=np.eye(3)).fit(rng.normal(size=(3, 3, 2)))
    with pytest.raises(ValueError, match="basis has shape"):
        SCML_Supervised(basis=np.eye(3)).fit([[0, 0], [0, 1], [2, 0], [2, 1]], [1, 0, 1, 0])


def test_triplet_directions_are_unit_vectors(rng):
    X, index = _random_triplets(rng, 30, 60, 4)
    found = bases.triplet_directions(X, index, None, np.random.RandomState(0))
    assert found.shape == (320, 4)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    few = bases.triplet_directions(X, index[:2], 10, np.random.RandomState(0))
    assert 1 <= len(few) <= 4


@pytest.mark.parametrize("n_features", [3, 55])
def test_local_discriminants_are_unit_vectors(n_features):
    X, y = make_classification(
        200, n_features, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1
    )
    samples = SCML_Supervised()._read(X, y, None)
    with one_thread():
        found = bases.local_discriminants(samples, 11, np.random.RandomState(0))
    assert found.shape == (11, n_features)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


@pytest.mark.filterwarnings("ignore:classes with fewer")
def test_numbers_of_local_discriminants():
    X, y = np.array([[0.0, 0], [1, 1], [2, 2], [3, 4]]), [0, 0, 1, 1]
    with pytest.raises(ValueError, match="n_basis is 8; expected at most 7"):
        SCML_Supervised(n_basis=8).fit(X, y)
    with pytest.warns(UserWarning, match="less than the 2 classes"):
        assert SCML_Supervised(n_basis=1).fit(X, y).components_.shape == (1, 2)


@pytest.mark.filterwarnings("ignore:classes with fewer")
@pytest.mark.parametrize("basis", ["lda", "triplet_diffs"])
def test_degenerate_samples(rng, basis):
    """Points on a line, constant features, more features than samples, equal points."""
    line = np.outer(np.arange(8.0), [1, 1, 0])
    wide, y = rng.normal(size=(8, 30)), np.repeat([0, 1], 4)
    twice = np.concatenate([line, line[:4]])
    for X, labels in ((line, y), (wide, y), (twice, np.r_[y, 1 - y[:4]])):
        metric = SCML_Supervised(basis=basis, random_state=0).fit(X, labels)
        assert np.isfinite(metric.components_).all()
        assert metric.certificate_.relative_gap <= 1e-3


def test_one_class_and_nan_are_refused(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="1 class"):
        SCML_Supervised().fit(X, np.zeros(6))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SCML_Supervised().fit(X, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("basis", ["lda", "triplet_diffs"])
def test_iris_is_separated_better(basis):
    X, y = load_iris(return_X_y=True)
    options = {"n_basis": 85, "k_genuine": 7, "k_impostor": 5, "random_state": 42}
    metric = SCML_Supervised(basis=basis, **options).fit(X, y)
    assert _separation(metric.transform(X), y) < _separation(X, y) - 0.03
    assert metric.certificate_.relative_gap <= 1e-3


def test_many_features_are_separated():
    X, y = make_classification(
        100, 60, n_classes=3, n_informative=60, n_redundant=0, n_repeated=0, random_state=42
    )
    X = StandardScaler().fit_transform(X)
    metric = SCML_Supervised(random_state=42, n_basis=399).fit(X, y)
    assert _separation(metric.transform(X), y) < 0.7


def test_triplets_of_labels_are_those_of_the_constraints():
    X, y = load_iris(return_X_y=True)
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    index = DrawnConstraints(y).generate_knntriplets(X, 3, 10)
    basis = np.vstack([np.eye(4), np.ones((1, 4)), [[1, -1, 0, 0]]])
    first = SCML_Supervised(basis=basis, tol=1e-6).fit(X, y).certificate_
    second = SCML(basis=basis, tol=1e-6, preprocessor=X).fit(index).certificate_
    assert first.primal == pytest.approx(second.primal, rel=1e-5)
