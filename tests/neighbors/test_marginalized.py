"""Marginalised nearest neighbours against the sum of the definition."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.neighbors import marginalized as verification
from frobmetric.neighbors.marginalized import MarginalizedKNN
from frobmetric.neighbors.thresholds import best_threshold


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


def test_a_point_is_recognised_although_the_reference_was_rounded(people):
    X, names, _, _ = people
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    model = MarginalizedKNN(n_neighbors=5).fit(X.astype(np.float32), names)
    rounded = pairs.astype(np.float32)
    expected = by_hand(X.astype(np.float32).astype(float), names, rounded.astype(float), 5)
    np.testing.assert_array_equal(model.score_pairs(pairs), expected)
    np.testing.assert_array_equal(model.score_pairs(rounded), expected)


COLUMNS = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
}


@pytest.mark.parametrize("library", sorted(FRAMES))
def test_a_metric_of_a_frame_does_not_warn(people, library):
    X, names, pairs, same = people
    frame = FRAMES[library](X)
    model = MarginalizedKNN(FrobMetric().fit(frame, names), 7).fit(frame, names)
    plain = MarginalizedKNN(FrobMetric().fit(X, names), 7).fit(X, names)
    assert model.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_array_equal(model.score_pairs(pairs), plain.score_pairs(pairs))
    model.calibrate(pairs, same, (3, 5))
    assert model.n_neighbors_ == plain.calibrate(pairs, same, (3, 5)).n_neighbors_
    of_array = MarginalizedKNN(plain.metric, 7).fit(frame, names)
    score = of_array.score_pairs(pairs)
    np.testing.assert_array_equal(score, of_array.fit(X, names).score_pairs(pairs))


def test_a_metric_may_choose_columns_by_name(people):
    X, names, pairs, _ = people
    frame = FRAMES["pandas"](X)
    metric = make_column_transformer((StandardScaler(), ["c", "a"])).fit(frame)
    score = MarginalizedKNN(metric, 4).fit(frame, names).score_pairs(pairs)
    L = np.zeros((3, 2))
    L[[2, 0], [0, 1]] = 1 / X.std(axis=0)[[2, 0]]
    np.testing.assert_allclose(score, by_hand(X, names, pairs, 4, L=L), atol=1e-12)


def test_columns_in_another_order_are_said(people):
    X, names, _, _ = people
    frame = FRAMES["pandas"](X)
    metric = FrobMetric().fit(frame, names)
    with pytest.raises(ValueError, match="same order"):
        MarginalizedKNN(metric, 7).fit(frame[["b", "a", "c"]], names)


def test_a_frame_without_names_is_an_array(people):
    X, names, pairs, _ = people
    frame = pd.DataFrame(X)
    model = MarginalizedKNN(FrobMetric().fit(frame, names), 7).fit(frame, names)
    plain = MarginalizedKNN(FrobMetric().fit(X, names), 7).fit(X, names)
    np.testing.assert_array_equal(model.score_pairs(pairs), plain.score_pairs(pairs))


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
        by_code.score_pairs(pairs, [-30, 0]), by_name.score_pairs(pairs, ["person 0", "person 3"])
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
        quality[k] = (
            threshold,
            {
                "accuracy": accuracy_score(same, said),
                "max_tpr": (tpr, (~said[~same]).mean()),
                "f_beta": 2 * tpr * precision / (tpr + precision),
            }[strategy],
        )
    best = max(value for _, value in quality.values())
    assert model.n_neighbors_ == min(k for k in quality if quality[k][1] == best)
    assert model.threshold_ == quality[model.n_neighbors_][0]
    chosen = by_hand(X, names, pairs, model.n_neighbors_, exclude=["person 1"])
    np.testing.assert_array_equal(model.score_pairs(pairs, ["person 1"]), chosen)


@pytest.mark.parametrize(("n", "tried"), [(120, (10, 20, 50, 100)), (20, (10, 20)), (9, (9,))])
def test_by_default_the_possible_k_are_tried(people, n, tried):
    X, names, pairs, same = people
    model = MarginalizedKNN().fit(X[:n], names[:n]).calibrate(pairs, same)
    other = MarginalizedKNN().fit(X[:n], names[:n]).calibrate(pairs, same, tried)
    assert (model.n_neighbors_, model.threshold_) == (other.n_neighbors_, other.threshold_)
    assert model._search(model._query(pairs.reshape(-1, 3), None), tried[-1]).shape[1] == tried[-1]
    with pytest.raises(ValueError, match=f"n_neighbors=200, but only {n} of {n}"):
        model.calibrate(pairs, same, (10, 20, 50, 100, 200))


def test_by_default_the_point_itself_and_the_excluded_are_not_counted(people):
    X, names, _, same = people
    X, names = X[:21], names[:21]
    pairs = X[np.random.default_rng(0).integers(21, size=(50, 2))]
    model = MarginalizedKNN().fit(X, names)
    query = model._query(pairs.reshape(-1, 3), None)
    assert query.possible((10, 20, 50)) == [10, 20]
    gone = [names[0]]
    query = model._query(pairs.reshape(-1, 3), gone)
    assert query.possible((10, 20, 50)) == [10]
    assert model.calibrate(pairs, same, exclude=gone).n_neighbors_ == 10
    with pytest.raises(ValueError, match="n_neighbors=1, but only 0 of 21"):
        model.calibrate(pairs, same, exclude=np.unique(names))


def never(*args, **options):
    raise AssertionError("neighbours were searched")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"strategy": "best"}, "strategy is 'best'; expected one of"),
        ({"strategy": "max_tpr"}, "strategy='max_tpr' needs min_rate"),
        ({"min_rate": 0.9}, "min_rate is 0.9 with strategy='accuracy'"),
        ({"strategy": "f_beta", "beta": -1}, "beta is -1; expected"),
        ({"same": np.ones(50)}, "all 50 pairs are matched"),
        ({"same": [True]}, r"same has shape \(1,\); there are 50 pairs"),
    ],
)
def test_bad_goals_are_said_before_the_search(people, monkeypatch, changes, words):
    X, names, pairs, same = people
    model = MarginalizedKNN().fit(X, names)
    monkeypatch.setattr(verification, "NearestNeighbors", never)
    with pytest.raises(ValueError, match=words):
        model.calibrate(pairs, **{"same": same, "n_neighbors": 5, **changes})


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


def test_the_parameters_of_the_metric_are_its_own(people):
    metric = PCA(2).fit(people[0])
    twin = clone(MarginalizedKNN(metric))
    assert twin.get_params() == {"metric": metric, "n_neighbors": 50, "n_jobs": None}
    with pytest.raises(ValueError, match="metric__n_components cannot be set: a metric is used as"):
        twin.set_params(n_neighbors=3, metric__n_components=1)
    with pytest.raises(ValueError, match="metric__n_components cannot be set"):
        make_pipeline(twin).set_params(marginalizedknn__metric__n_components=1)
    assert metric.n_components == 2
    assert twin.n_neighbors == 50
    assert twin.set_params(n_neighbors=3, metric=None).get_params()["metric"] is None


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
        (
            1,
            ["person 0", "Person 1", "x"],
            "exclude has 2 identities that the reference set does "
            r"not have, the first is Person 1; .*np.intersect1d",
        ),
        (1, [0], "exclude has 1 identities"),
        (
            1,
            {"person 0", 1},
            "exclude has 1 strings and 1 other values; expected identities of the "
            "reference set, all of one type",
        ),
        (1, ["person 0", 1, 2], "exclude has 1 strings and 2 other values"),
        (121, None, "n_neighbors=121, but only 120 of 120 reference points are left"),
        (
            100,
            ["person 0", "person 1", "person 2", "person 3"],
            r"n_neighbors=100, but only \d\d "
            "of 120",
        ),
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
        model.calibrate(pairs, same, (10, 200))
    for threshold in (np.nan, True, np.True_, "0.5", None):
        with pytest.raises(ValueError, match=f"threshold is .*{threshold}.*; expected a finite"):
            model.set_threshold(threshold)
    with pytest.raises(NotFittedError):
        MarginalizedKNN().score_pairs(pairs)
