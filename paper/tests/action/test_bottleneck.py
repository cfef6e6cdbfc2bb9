"""InformationBottleneck against its definition, tried pair by pair."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from scipy.special import rel_entr
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from frobmetric_paper.action.bottleneck import InformationBottleneck


def counts(seed=0, n_samples=30, n_features=14, n_classes=3, whole=True):
    """Counts that depend on the class, with bins that have none; and classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    rates = rng.gamma(0.5, 2.0, (n_classes, n_features))
    X = rng.poisson(rates[y]) if whole else rates[y] * rng.uniform(0.5, 2.0, (len(y), n_features))
    return X.astype(float), y


def joint_of(X, y):
    joint = np.array([X[y == label].sum(axis=0) for label in np.unique(y)]).T
    return joint / joint.sum()


def loss(a, b):
    """(p_a + p_b) times the Jensen-Shannon divergence, by its definition."""
    p, q = a.sum(), b.sum()
    if p == 0 or q == 0:
        return 0.0
    middle = (a + b) / (p + q)
    divergence = p * rel_entr(a / p, middle).sum() + q * rel_entr(b / q, middle).sum()
    return round(divergence, 13)


def merge_naively(joint, n_bins):
    """Groups of bins and losses, from all pairs before each merge; of equal ones the first."""
    groups = {bin_: [bin_] for bin_ in range(len(joint))}
    mass = {bin_: joint[bin_] for bin_ in groups}
    losses = []
    while len(groups) > n_bins:
        pairs = itertools.combinations(sorted(groups), 2)
        i, j = min(pairs, key=lambda pair: (loss(mass[pair[0]], mass[pair[1]]), pair))
        losses.append(loss(mass[i], mass[j]))
        groups[i] += groups.pop(j)
        mass[i] = mass[i] + mass.pop(j)
    labels = np.empty(len(joint), dtype=int)
    for label, first in enumerate(sorted(groups)):
        labels[groups[first]] = label
    return labels, losses


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_bins", [1, 4, 9])
@pytest.mark.parametrize("whole", [True, False])
def test_it_is_the_greedy_algorithm(seed, n_bins, whole):
    X, y = counts(seed, n_classes=2 + seed % 4, whole=whole)
    labels, losses = merge_naively(joint_of(X, y), n_bins)
    model = InformationBottleneck(n_bins=n_bins).fit(X, y)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.losses_, losses, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_equal_losses_are_merged_in_the_order_of_bins(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (4, 24))  # few distinct columns: most merges lose the same
    y = [0, 1, 2, 2]
    labels, _ = merge_naively(joint_of(X, np.array(y)), 5)
    np.testing.assert_array_equal(InformationBottleneck(n_bins=5).fit(X, y).labels_, labels)


def test_many_bins_are_merged_as_all_pairs_would_be():
    X, y = counts(3, n_features=70, n_classes=5, whole=False)
    labels, losses = merge_naively(joint_of(X, y), 12)
    model = InformationBottleneck(n_bins=12).fit(X, y)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.losses_, losses, atol=1e-12)


def test_losses_add_up_to_the_information_that_is_lost():
    X, y = counts(1, n_features=40)
    model = InformationBottleneck(n_bins=6).fit(X, y)
    table = np.array([X[y == label].sum(axis=0) for label in range(3)], dtype=int)
    full = mutual_info_score(None, None, contingency=table)
    assert model.information_full_ == pytest.approx(full)
    assert model.information_ == pytest.approx(model.information_full_ - model.losses_.sum())
    assert 0 < model.information_ < model.information_full_


def test_one_bin_says_nothing():
    model = InformationBottleneck(n_bins=1).fit(*counts())
    assert model.information_ == pytest.approx(0, abs=1e-12)


def test_all_bins_are_kept_if_asked_for():
    X, y = counts()
    model = InformationBottleneck(n_bins=14).fit(X, y)
    np.testing.assert_array_equal(model.labels_, np.arange(14))
    assert model.merges_.shape == (0, 2)
    assert model.information_ == model.information_full_


def test_the_order_of_bins_does_not_matter():
    X, y = counts(5, n_features=40, whole=False)
    order = np.random.default_rng(0).permutation(40)
    plain, shuffled = (InformationBottleneck(n_bins=7).fit(Z, y) for Z in (X, X[:, order]))
    together = plain.labels_[:, None] == plain.labels_
    np.testing.assert_array_equal(
        together[np.ix_(order, order)], shuffled.labels_[:, None] == shuffled.labels_
    )


def test_neither_the_unit_nor_the_names_of_classes_matter():
    X, y = counts(2, n_features=40)
    plain = InformationBottleneck(n_bins=7).fit(X, y)
    other = InformationBottleneck(n_bins=7).fit(1e-200 * X, np.array(["c", "a", "b"])[y])
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    assert other.information_ == pytest.approx(plain.information_)


def test_merges_lead_to_the_labels():
    X, y = counts(4)
    model = InformationBottleneck(n_bins=5).fit(X, y)
    members = {bin_: {bin_} for bin_ in range(14)}
    for step, (a, b) in enumerate(model.merges_):
        members[14 + step] = members.pop(a) | members.pop(b)
    expected = {frozenset(np.flatnonzero(model.labels_ == label)) for label in range(5)}
    assert {frozenset(group) for group in members.values()} == expected


def test_merged_bins_are_in_the_order_of_their_first_ones():
    labels = InformationBottleneck(n_bins=6).fit(*counts(8)).labels_
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()


def test_bins_without_counts_go_first_and_lose_nothing():
    X, y = counts(6, n_features=10, whole=False)
    X = np.insert(X, [2, 7, 10], 0.0, axis=1)
    model = InformationBottleneck(n_bins=10).fit(X, y)
    np.testing.assert_array_equal(model.losses_, 0)
    np.testing.assert_array_equal(model.transform(X), np.delete(X, [2, 8, 12], axis=1))


def test_transform_adds_columns():
    X, y = counts(7)
    model = InformationBottleneck(n_bins=5).fit(X, y)
    expected = np.array([X[:, model.labels_ == label].sum(axis=1) for label in range(5)]).T
    np.testing.assert_allclose(model.transform(X), expected)
    np.testing.assert_allclose(model.transform(X).sum(axis=1), X.sum(axis=1))


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_counts_stay_sparse(form, dtype):
    X, y = counts()
    sparse = getattr(scipy.sparse, form)(X.astype(dtype))
    model = InformationBottleneck(n_bins=5).fit(sparse, y)
    Z = model.transform(sparse)
    assert scipy.sparse.issparse(Z)
    assert Z.dtype == (np.float32 if dtype == np.float32 else np.float64)
    dense = InformationBottleneck(n_bins=5).fit(X, y)
    np.testing.assert_array_equal(model.labels_, dense.labels_)
    np.testing.assert_allclose(Z.toarray(), dense.transform(X))


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    X, y = counts()
    frame = pandas.DataFrame(X, columns=[f"word{i}" for i in range(14)])
    model = InformationBottleneck(n_bins=2).set_output(transform="pandas").fit(frame, y)
    assert list(model.feature_names_in_[:2]) == ["word0", "word1"]
    names = ["informationbottleneck0", "informationbottleneck1"]
    assert list(model.transform(frame).columns) == names


def test_it_works_in_a_pipeline():
    X, y = counts()
    steps = make_pipeline(Normalizer("l1"), InformationBottleneck(n_bins=4))
    assert clone(steps).fit_transform(X, y).sum() == pytest.approx(len(X))


def spoil(X, value):
    X = X.copy()
    X[3, 4] = value
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (spoil(X, -1.0), y), "Negative values in data"),
        (lambda X, y: (scipy.sparse.csr_array(spoil(X, -1.0)), y), "Negative values in data"),
        (lambda X, y: (spoil(X, np.nan), y), "NaN"),
        (lambda X, y: (spoil(X, np.inf), y), "infinity"),
        (lambda X, y: (X[:, :3], y), "n_bins=4 is more than n_features=3"),
        (lambda X, y: (X, np.zeros(len(X))), "1 class only"),
        (lambda X, y: (0 * X, y), "largest sum of counts over a class is 0"),
        (lambda X, y: (X, y + 0.5), "Unknown label type"),
        (lambda X, y: (X, y[1:]), "inconsistent numbers of samples"),
    ],
)
def test_bad_counts_are_refused(change, message):
    X, y = change(*counts())
    with pytest.raises(ValueError, match=message):
        InformationBottleneck(n_bins=4).fit(X, y)


def test_negative_new_counts_are_refused():
    X, y = counts()
    with pytest.raises(ValueError, match="Negative values"):
        InformationBottleneck(n_bins=4).fit(X, y).transform(-X)


@pytest.mark.parametrize("n_bins", [0, 2.5, None, True])
def test_bad_numbers_of_bins_are_refused(n_bins):
    with pytest.raises(ValueError, match="'n_bins' parameter of InformationBottleneck"):
        InformationBottleneck(n_bins=n_bins).fit(*counts())


@parametrize_with_checks([InformationBottleneck(n_bins=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
