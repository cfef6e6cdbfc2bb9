"""Marginalised nearest neighbours against the sum of the definition."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.metric.thresholds import best_threshold
from frobmetric.metric.verification import MarginalizedKNN


def by_hand(X, y, pairs, k, exclude=(), L=None):
    """k^-2 sum_c n_c(i) n_c(j), one pair and one identity at a time."""
    L = np.eye(X.shape[1]) if L is None else L
    names = sorted(set(y.tolist()) - set(exclude))
    scores = []
    for pair in pairs:
        counts = []
        for point in pair:
            distance = np.linalg.norm((X - point) @ L, axis=1)
            barred = np.isin(y, list(exclude)) | (point == X).all(axis=1)
            near = [i for i in np.argsort(distance, kind="stable") if not barred[i]][:k]
            counts.append([int((y[near] == name).sum()) for name in names])
        scores.append(np.dot(*counts) / k**2)
    return np.array(scores)


@pytest.fixture
def people(rng):
    """Reference points of eight people, and pairs of people who are not among them."""
    centers = rng.normal(size=(14, 3)) * 2
    who = rng.integers(8, size=120)
    X = centers[who] + rng.normal(size=(120, 3))
    strangers = rng.integers(8, 14, size=(50, 2))
    strangers[::2, 1] = strangers[::2, 0]
    pairs = centers[strangers] + rng.normal(size=(50, 2, 3))
    names = np.array([f"person {i}" for i in who])
    return X, names, pairs, strangers[:, 0] == strangers[:, 1]


@pytest.mark.parametrize("k", [1, 5, 119])
def test_the_sum_of_the_definition(people, k):
    X, names, pairs, _ = people
    score = MarginalizedKNN(n_neighbors=k).fit(X, names).score_pairs(pairs)
    np.testing.assert_array_equal(score, by_hand(X, names, pairs, k))


def test_by_hand_on_a_line():
    # neighbours of 0.4: 0 a, 1 a, 2 b; of 8.6: 9 c, 8 c, 7 b; of 4.4: 2 b, 7 b, 1 a
    X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    model = MarginalizedKNN(n_neighbors=3).fit(X, list("aabbcc"))
    pairs = [[[0.4], [0.4]], [[0.4], [8.6]], [[0.4], [4.4]], [[4.4], [8.6]]]
    np.testing.assert_allclose(model.score_pairs(pairs), np.array([5, 1, 4, 2]) / 9, rtol=1e-15)


def test_on_any_map(people):
    X, names, pairs, _ = people
    metric = FrobMetric().fit(X, names)
    score = MarginalizedKNN(metric, 7).fit(X, names).score_pairs(pairs)
    expected = by_hand(X, names, pairs, 7, L=metric.components_.T)
    np.testing.assert_allclose(score, expected, atol=1e-12)
    pipeline = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    score = MarginalizedKNN(pipeline, 7).fit(X, names).score_pairs(pairs)
    L = pipeline[1].components_.T / pipeline[0].scale_[:, None]
    np.testing.assert_allclose(score, by_hand(X, names, pairs, 7, L=L), atol=1e-12)


def test_exclusion_is_as_if_they_were_not_there(people):
    X, names, pairs, _ = people
    out = ["person 2", "person 5"]
    model = MarginalizedKNN(n_neighbors=6).fit(X, names)
    score = model.score_pairs(pairs, exclude=out)
    np.testing.assert_array_equal(score, by_hand(X, names, pairs, 6, exclude=out))
    assert (score != model.score_pairs(pairs)).any()
    left = ~np.isin(names, out)
    without = MarginalizedKNN(n_neighbors=6).fit(X[left], names[left])
    np.testing.assert_array_equal(score, without.score_pairs(pairs))
    np.testing.assert_array_equal(score, model.score_pairs(pairs, exclude=set(out)))
    np.testing.assert_array_equal(model.score_pairs(pairs, []), model.score_pairs(pairs))


def test_a_point_is_not_its_own_neighbour(people):
    X, names, _, _ = people
    X = np.concatenate([X, X[:4]])  # these are there twice
    names = np.concatenate([names, names[:4]])
    pairs = np.stack([X[:40], X[1:41]], axis=1)
    model = MarginalizedKNN(n_neighbors=5).fit(X, names)
    np.testing.assert_array_equal(model.score_pairs(pairs), by_hand(X, names, pairs, 5))


def test_zero_has_no_sign():
    X = np.array([[0.0], [1.0], [5.0]])
    model = MarginalizedKNN(n_neighbors=1).fit(X, [0, 1, 2])
    assert model.score_pairs([[[-0.0], [1.2]]]).tolist() == [1.0]  # both have 1 as neighbour


def test_single_precision_is_the_same_point(people):
    X, names, _, _ = people
    X = X.astype(np.float32)
    model = MarginalizedKNN(n_neighbors=3).fit(X, names)
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    expected = by_hand(X.astype(float), names, pairs.astype(float), 3)
    np.testing.assert_array_equal(model.score_pairs(pairs), expected)
    np.testing.assert_array_equal(model.score_pairs(pairs.astype(np.float64)), expected)


def test_symmetry_and_repetition(people):
    X, names, pairs, _ = people
    model = MarginalizedKNN(n_neighbors=9).fit(X, names)
    score = model.score_pairs(pairs)
    np.testing.assert_array_equal(model.score_pairs(pairs[:, ::-1]), score)
    rows = np.concatenate([np.arange(50), [3, 3, 0]])
    np.testing.assert_array_equal(model.score_pairs(pairs[rows]), score[rows])
    np.testing.assert_array_equal(model.score_pairs(pairs[7:8]), score[7:8])


def test_identities_may_be_numbers(people):
    X, names, pairs, _ = people
    codes = np.unique(names, return_inverse=True)[1] * 10 - 30
    by_code = MarginalizedKNN(n_neighbors=4).fit(X, codes)
    by_name = MarginalizedKNN(n_neighbors=4).fit(X, names.astype(object))
    np.testing.assert_array_equal(by_code.score_pairs(pairs), by_name.score_pairs(pairs))
    np.testing.assert_array_equal(
        by_code.score_pairs(pairs, [-30, 0]),
        by_name.score_pairs(pairs, ["person 0", "person 3"]),
    )


@pytest.mark.parametrize(
    ("strategy", "options"), [("accuracy", {}), ("max_tpr", {"min_rate": 0.9}), ("f_beta", {})]
)
def test_k_and_threshold_of_the_development_pairs(people, strategy, options):
    X, names, pairs, same = people
    tried = (30, 2, 5, 90)
    model = MarginalizedKNN(n_neighbors=4).fit(X, names)
    model.calibrate(pairs, same, tried, strategy, exclude=["person 1"], **options)
    quality = {}
    for k in sorted(tried):
        score = by_hand(X, names, pairs, k, exclude=["person 1"])
        threshold = best_threshold(score, same, strategy, **options)
        said = score >= threshold
        tpr, precision = said[same].mean(), same[said].mean()
        quality[k] = threshold, {
            "accuracy": accuracy_score(same, said),
            "max_tpr": (tpr, (~said[~same]).mean()),
            "f_beta": 2 * tpr * precision / (tpr + precision),
        }[strategy]
    best = max(value for _, value in quality.values())
    assert model.n_neighbors_ == min(k for k in quality if quality[k][1] == best)
    assert model.threshold_ == quality[model.n_neighbors_][0]
    chosen = by_hand(X, names, pairs, model.n_neighbors_, exclude=["person 1"])
    np.testing.assert_array_equal(model.score_pairs(pairs, ["person 1"]), chosen)


def test_predictions_and_curve(people):
    X, names, pairs, same = people
    model = MarginalizedKNN().fit(X, names).calibrate(pairs[:30], same[:30], (5, 20))
    score, said = model.score_pairs(pairs), model.predict(pairs)
    assert set(said.tolist()) == {-1, 1}
    np.testing.assert_array_equal(said == 1, score >= model.threshold_)
    np.testing.assert_array_equal(model.decision_function(pairs), score - model.threshold_)
    assert model.roc(pairs, same).area == pytest.approx(roc_auc_score(same, score))
    assert model.roc(pairs, same).area > 0.7  # strangers, all of them
    model.set_threshold(score[4])
    assert model.predict(pairs)[4] == 1


def test_a_new_fit_forgets_the_calibration(people):
    X, names, pairs, same = people
    model = MarginalizedKNN(n_neighbors=3).fit(X, names).calibrate(pairs, same, 10)
    assert model.n_neighbors_ == 10
    model.fit(X, names)
    assert model.n_neighbors_ == 3
    with pytest.raises(NotFittedError, match=r"call calibrate\(pairs, same\).* or set_threshold"):
        model.predict(pairs)


def test_a_clone_keeps_the_fitted_metric(people):
    X, names, pairs, _ = people
    metric = PCA(2).fit(X)
    model = MarginalizedKNN(metric, n_neighbors=3, n_jobs=1)
    twin = clone(model.fit(X, names))
    assert twin.metric is metric
    assert twin.get_params(deep=False) == model.get_params(deep=False)
    with pytest.raises(NotFittedError):
        twin.score_pairs(pairs)
    np.testing.assert_array_equal(twin.fit(X, names).score_pairs(pairs), model.score_pairs(pairs))


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        ({}, [0, 1, None, 1], r"y\[2\] is None; every row needs an identity"),
        ({}, [0, 1, np.nan, 1], r"y\[2\] is nan; every row needs an identity"),
        ({}, [0, 1], r"y has shape \(2,\); X has 4 rows"),
        ({}, [3, 3, 3, 3], r"y has one identity \(3\)"),
        ({"n_neighbors": 0}, [0, 0, 1, 1], "'n_neighbors' parameter of MarginalizedKNN must be"),
        ({"metric": "cosine"}, [0, 0, 1, 1], "'metric' parameter .* None or a fitted object with"),
        ({"metric": PCA}, [0, 0, 1, 1], "'metric' parameter"),
        ({"metric": PCA()}, [0, 0, 1, 1], "not fitted"),
    ],
)
def test_a_bad_reference_is_said(rng, parameters, y, words):
    with pytest.raises(ValueError, match=words):
        MarginalizedKNN(**parameters).fit(rng.normal(size=(4, 2)), y)


@pytest.mark.parametrize(
    ("k", "exclude", "words"),
    [
        (1, ["person 0", "Person 1", "x"], "exclude has 2 identities that the reference set does "
                                           r"not have, the first is Person 1; .*np.intersect1d"),
        (1, [0], "exclude has 1 identities"),
        (121, None, "n_neighbors=121, but only 120 of 120 reference points are left"),
        (100, ["person 0", "person 1", "person 2", "person 3"], r"n_neighbors=100, but only \d\d "
                                                                "of 120"),
    ],
)
def test_bad_exclusions_are_said(people, k, exclude, words):
    X, names, pairs, _ = people
    with pytest.raises(ValueError, match=words):
        MarginalizedKNN(n_neighbors=k).fit(X, names).score_pairs(pairs, exclude)


def test_the_point_itself_counts_as_gone(people):
    X, names, _, _ = people
    model = MarginalizedKNN(n_neighbors=120).fit(X, names)
    with pytest.raises(ValueError, match="n_neighbors=120, but only 119 of 120"):
        model.score_pairs([[X[0], X[1]]])


def test_bad_pairs_are_said(people):
    X, names, pairs, same = people
    model = MarginalizedKNN(n_neighbors=3).fit(X, names)
    with pytest.raises(ValueError, match=r"shape \(50, 2, 2\); expected \(n_pairs, 2, 3\)"):
        model.score_pairs(pairs[:, :, :2])
    with pytest.raises(ValueError, match=r"shape \(1, 2\).*not their row numbers"):
        model.score_pairs([(0, 1)])
    with pytest.raises(ValueError, match="contains NaN"):
        model.score_pairs(np.where(pairs > 3, np.nan, pairs))
    with pytest.raises(ValueError, match="all 50 pairs are matched"):
        model.calibrate(pairs, np.ones(50), 3)
    with pytest.raises(ValueError, match=r"n_neighbors is \(0, 5\); expected one or more integers"):
        model.calibrate(pairs, same, (0, 5))
    with pytest.raises(ValueError, match="n_neighbors=200, but only 120 of 120"):
        model.calibrate(pairs, same)
    with pytest.raises(ValueError, match="threshold is nan; expected a finite number"):
        model.set_threshold(np.nan)
    with pytest.raises(NotFittedError):
        MarginalizedKNN().score_pairs(pairs)
