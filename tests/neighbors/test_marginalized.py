"""Marginalised nearest neighbours against the sum of the definition."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.neighbors import MarginalizedKNN, best_threshold


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
    return X, names, pairs, np.where(strangers[:, 0] == strangers[:, 1], 1, -1)


@pytest.mark.parametrize("k", [1, 5, 119])
def test_the_sum_of_the_definition(people, k):
    X, names, pairs, _ = people
    score = MarginalizedKNN(n_neighbors=k).fit(X, names).pair_score(pairs)
    np.testing.assert_array_equal(score, by_hand(X, names, pairs, k))


def test_by_hand_on_a_line():
    # neighbours of 0.4: 0 a, 1 a, 2 b; of 8.6: 9 c, 8 c, 7 b; of 4.4: 2 b, 7 b, 1 a
    X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    model = MarginalizedKNN(n_neighbors=3).fit(X, list("aabbcc"))
    pairs = [[[0.4], [0.4]], [[0.4], [8.6]], [[0.4], [4.4]], [[4.4], [8.6]]]
    np.testing.assert_allclose(model.pair_score(pairs), np.array([5, 1, 4, 2]) / 9, rtol=1e-15)


def test_on_any_map(people):
    X, names, pairs, _ = people
    metric = FrobMetric().fit(X, names)
    score = MarginalizedKNN(FrozenEstimator(metric), n_neighbors=7).fit(X, names).pair_score(pairs)
    expected = by_hand(X, names, pairs, 7, L=metric.components_.T)
    np.testing.assert_allclose(score, expected, atol=1e-12)
    pipeline = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    model = MarginalizedKNN(FrozenEstimator(pipeline), n_neighbors=7).fit(X, names)
    L = pipeline[1].components_.T / pipeline[0].scale_[:, None]
    expected = by_hand(X, names, pairs, 7, L=L)
    np.testing.assert_allclose(model.pair_score(pairs), expected, atol=1e-12)


def test_exclusion_is_as_if_they_were_not_there(people):
    X, names, pairs, _ = people
    out = ["person 2", "person 5"]
    model = MarginalizedKNN(n_neighbors=6).fit(X, names)
    score = model.pair_score(pairs, exclude=out)
    np.testing.assert_array_equal(score, by_hand(X, names, pairs, 6, exclude=out))
    assert (score != model.pair_score(pairs)).any()
    left = ~np.isin(names, out)
    without = MarginalizedKNN(n_neighbors=6).fit(X[left], names[left])
    np.testing.assert_array_equal(score, without.pair_score(pairs))
    np.testing.assert_array_equal(score, model.pair_score(pairs, exclude=set(out)))
    np.testing.assert_array_equal(model.pair_score(pairs, exclude=[]), model.pair_score(pairs))


def test_a_point_is_not_its_own_neighbour(people):
    X, names, _, _ = people
    X = np.concatenate([X, X[:4]])  # these are there twice
    names = np.concatenate([names, names[:4]])
    pairs = np.stack([X[:40], X[1:41]], axis=1)
    model = MarginalizedKNN(n_neighbors=5).fit(X, names)
    np.testing.assert_array_equal(model.pair_score(pairs), by_hand(X, names, pairs, 5))


def test_zero_has_no_sign():
    X = np.array([[0.0], [1.0], [5.0]])
    model = MarginalizedKNN(n_neighbors=1).fit(X, [0, 1, 2])
    assert model.pair_score([[[-0.0], [1.2]]]).tolist() == [1.0]  # both have 1 as neighbour


def test_single_precision_is_the_same_point(people):
    X, names, _, _ = people
    X = X.astype(np.float32)
    model = MarginalizedKNN(n_neighbors=3).fit(X, names)
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    expected = by_hand(X.astype(float), names, pairs.astype(float), 3)
    np.testing.assert_array_equal(model.pair_score(pairs), expected)
    np.testing.assert_array_equal(model.pair_score(pairs.astype(np.float64)), expected)


def test_a_point_is_recognised_although_the_reference_was_rounded(people):
    X, names, _, _ = people
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    model = MarginalizedKNN(n_neighbors=5).fit(X.astype(np.float32), names)
    rounded = pairs.astype(np.float32)
    expected = by_hand(X.astype(np.float32).astype(float), names, rounded.astype(float), 5)
    np.testing.assert_array_equal(model.pair_score(pairs), expected)
    np.testing.assert_array_equal(model.pair_score(rounded), expected)


COLUMNS = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
}


@pytest.mark.parametrize("library", sorted(FRAMES))
def test_a_metric_of_a_frame_does_not_warn(people, library):
    X, names, pairs, y = people
    frame = FRAMES[library](X)
    model = MarginalizedKNN(FrobMetric(), n_neighbors=7).fit(frame, names)
    plain = MarginalizedKNN(FrobMetric(), n_neighbors=7).fit(X, names)
    assert model.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_array_equal(model.pair_score(pairs), plain.pair_score(pairs))
    model.calibrate_threshold(pairs, y, n_neighbors=(3, 5))
    plain.calibrate_threshold(pairs, y, n_neighbors=(3, 5))
    assert model.n_neighbors_ == plain.n_neighbors_
    of_array = MarginalizedKNN(FrozenEstimator(plain.metric_), n_neighbors=7).fit(frame, names)
    score = of_array.pair_score(pairs)
    np.testing.assert_array_equal(score, of_array.fit(X, names).pair_score(pairs))


def test_a_metric_may_choose_columns_by_name(people):
    X, names, pairs, _ = people
    frame = FRAMES["pandas"](X)
    metric = make_column_transformer((StandardScaler(), ["c", "a"])).fit(frame)
    model = MarginalizedKNN(FrozenEstimator(metric), n_neighbors=4).fit(frame, names)
    L = np.zeros((3, 2))
    L[[2, 0], [0, 1]] = 1 / X.std(axis=0)[[2, 0]]
    expected = by_hand(X, names, pairs, 4, L=L)
    np.testing.assert_allclose(model.pair_score(pairs), expected, atol=1e-12)


def test_columns_in_another_order_are_said(people):
    X, names, _, _ = people
    frame = FRAMES["pandas"](X)
    metric = FrobMetric().fit(frame, names)
    with pytest.raises(ValueError, match="same order"):
        MarginalizedKNN(FrozenEstimator(metric), n_neighbors=7).fit(frame[["b", "a", "c"]], names)


def test_a_frame_without_names_is_an_array(people):
    X, names, pairs, _ = people
    frame = pd.DataFrame(X)
    model = MarginalizedKNN(FrobMetric(), n_neighbors=7).fit(frame, names)
    plain = MarginalizedKNN(FrobMetric(), n_neighbors=7).fit(X, names)
    np.testing.assert_array_equal(model.pair_score(pairs), plain.pair_score(pairs))


def test_symmetry_and_repetition(people):
    X, names, pairs, _ = people
    model = MarginalizedKNN(n_neighbors=9).fit(X, names)
    score = model.pair_score(pairs)
    np.testing.assert_array_equal(model.pair_score(pairs[:, ::-1]), score)
    rows = np.concatenate([np.arange(50), [3, 3, 0]])
    np.testing.assert_array_equal(model.pair_score(pairs[rows]), score[rows])
    np.testing.assert_array_equal(model.pair_score(pairs[7:8]), score[7:8])


def test_identities_may_be_numbers(people):
    X, names, pairs, _ = people
    codes = np.unique(names, return_inverse=True)[1] * 10 - 30
    by_code = MarginalizedKNN(n_neighbors=4).fit(X, codes)
    by_name = MarginalizedKNN(n_neighbors=4).fit(X, names.astype(object))
    np.testing.assert_array_equal(by_code.pair_score(pairs), by_name.pair_score(pairs))
    np.testing.assert_array_equal(
        by_code.pair_score(pairs, exclude=[-30, 0]),
        by_name.pair_score(pairs, exclude=["person 0", "person 3"]),
    )


@pytest.mark.parametrize(
    ("strategy", "options"), [("accuracy", {}), ("max_tpr", {"min_rate": 0.9}), ("f_beta", {})]
)
def test_k_and_threshold_of_the_development_pairs(people, strategy, options):
    X, names, pairs, y = people
    tried = (30, 2, 5, 90)
    model = MarginalizedKNN(n_neighbors=4).fit(X, names)
    goal = {"strategy": strategy, **options}
    model.calibrate_threshold(pairs, y, n_neighbors=tried, exclude=["person 1"], **goal)
    quality = {}
    for k in sorted(tried):
        score = by_hand(X, names, pairs, k, exclude=["person 1"])
        threshold, _ = best_threshold(score, y, **goal)
        same, said = y > 0, score >= threshold
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
    np.testing.assert_array_equal(model.pair_score(pairs, exclude=["person 1"]), chosen)


@pytest.mark.parametrize(("n", "tried"), [(120, (10, 20, 50, 100)), (20, (10, 20)), (9, (9,))])
def test_by_default_the_possible_k_are_tried(people, n, tried):
    X, names, pairs, y = people
    model = MarginalizedKNN().fit(X[:n], names[:n]).calibrate_threshold(pairs, y)
    other = MarginalizedKNN().fit(X[:n], names[:n])
    other.calibrate_threshold(pairs, y, n_neighbors=tried)
    assert (model.n_neighbors_, model.threshold_) == (other.n_neighbors_, other.threshold_)
    with pytest.raises(ValueError, match=f"n_neighbors=200, but only {n} of {n}"):
        model.calibrate_threshold(pairs, y, n_neighbors=(10, 20, 50, 100, 200))


def test_by_default_the_point_itself_and_the_excluded_are_not_counted(people):
    X, names, _, y = people
    X, names = X[:21], names[:21]
    pairs = X[np.random.default_rng(0).integers(21, size=(50, 2))]
    model = MarginalizedKNN().fit(X, names)
    twin = MarginalizedKNN().fit(X, names).calibrate_threshold(pairs, y, n_neighbors=(10, 20))
    assert model.calibrate_threshold(pairs, y).n_neighbors_ == twin.n_neighbors_
    assert model.threshold_ == twin.threshold_
    with pytest.raises(ValueError, match="n_neighbors=21, but only 20 of 21"):
        model.calibrate_threshold(pairs, y, n_neighbors=21)
    gone = [names[0]]
    assert model.calibrate_threshold(pairs, y, exclude=gone).n_neighbors_ == 10
    with pytest.raises(ValueError, match="n_neighbors=1, but only 0 of 21"):
        model.calibrate_threshold(pairs, y, exclude=np.unique(names))


def never(*args, **options):
    raise AssertionError("neighbours were searched")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"strategy": "best"}, "strategy is 'best'; expected one of"),
        ({"strategy": "max_tpr"}, "strategy='max_tpr' needs min_rate"),
        ({"min_rate": 0.9}, "min_rate is 0.9 with strategy='accuracy'"),
        ({"strategy": "f_beta", "beta": -1}, "beta is -1; expected"),
        ({"y": np.ones(50)}, r"all 50 pairs are similar \(\+1\)"),
        ({"y": [1]}, r"y has shape \(1,\); there are 50 pairs"),
    ],
)
def test_bad_goals_are_said_before_the_search(people, changes, words):
    X, names, pairs, y = people
    model = MarginalizedKNN(PCA(2)).fit(X, names)
    model.metric_.transform = never  # which a search begins with
    with pytest.raises(ValueError, match=words):
        model.calibrate_threshold(pairs, **{"y": y, "n_neighbors": 5, **changes})


def test_predictions_and_score(people):
    X, names, pairs, y = people
    model = MarginalizedKNN().fit(X, names)
    model.calibrate_threshold(pairs[:30], y[:30], n_neighbors=(5, 20))
    score, said = model.pair_score(pairs), model.predict(pairs)
    assert set(said.tolist()) == {-1, 1}
    np.testing.assert_array_equal(said == 1, score >= model.threshold_)
    np.testing.assert_array_equal(model.decision_function(pairs), score - model.threshold_)
    assert model.score(pairs, y) == pytest.approx(roc_auc_score(y, score))
    assert model.score(pairs, y) > 0.7  # strangers, all of them
    with pytest.raises(ValueError, match="all 50 pairs are similar"):
        model.score(pairs, np.ones(50))
    model.set_threshold(score[4])
    assert model.predict(pairs)[4] == 1


def test_a_new_fit_forgets_the_calibration(people):
    X, names, pairs, y = people
    model = MarginalizedKNN(n_neighbors=3).fit(X, names)
    model.calibrate_threshold(pairs, y, n_neighbors=10)
    assert model.n_neighbors_ == 10
    model.fit(X, names)
    assert model.n_neighbors_ == 3
    with pytest.raises(NotFittedError, match=r"calibrate_threshold\(pairs, y\).* or set_threshold"):
        model.predict(pairs)


def test_a_metric_is_cloned_and_fitted_unless_it_is_frozen(people):
    X, names, pairs, _ = people
    pca = PCA(2)
    model = MarginalizedKNN(pca, n_neighbors=3).fit(X, names)
    assert not hasattr(pca, "components_")
    np.testing.assert_array_equal(model.metric_.components_, PCA(2).fit(X).components_)
    fitted = PCA(2).fit(X[:50])
    frozen = MarginalizedKNN(FrozenEstimator(fitted), n_neighbors=3).fit(X, names)
    np.testing.assert_array_equal(frozen.metric_.components_, fitted.components_)
    twin = clone(frozen)
    assert twin.metric.estimator is fitted
    with pytest.raises(NotFittedError):
        twin.pair_score(pairs)
    np.testing.assert_array_equal(twin.fit(X, names).pair_score(pairs), frozen.pair_score(pairs))


def test_parameters_changed_after_a_fit_change_no_answer(people):
    X, names, pairs, _ = people
    for metric in (None, PCA(2), FrozenEstimator(PCA(2).fit(X))):
        model = MarginalizedKNN(metric, n_neighbors=5).fit(X, names).set_threshold(0.1)
        before = model.decision_function(pairs)
        if isinstance(metric, FrozenEstimator):
            model.set_params(metric__estimator=PCA(1).fit(X))
        model.set_params(n_neighbors=1, metric=PCA(1))
        np.testing.assert_array_equal(model.decision_function(pairs), before)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(pairs), before)
        assert again.threshold_ == 0.1


class Failing(PCA):
    def fit(self, X, y=None):
        raise RuntimeError("a fit that fails")


def test_a_failed_fit_leaves_what_was(people):
    X, names, pairs, y = people
    model = MarginalizedKNN(n_neighbors=5).fit(X, names).calibrate_threshold(pairs, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one identity"):
        model.fit(X[:, :2], np.zeros(len(X)))
    assert vars(model) == before
    for name, value in (("metric", Failing()), ("n_neighbors", 2)):
        model.set_params(**{name: value})
    with pytest.raises(RuntimeError, match="a fit that fails"):
        model.fit(X[:, :2], names)
    assert model.reference_ is before["reference_"]
    with pytest.raises(ValueError, match="n_neighbors"):  # nor does a failed choice
        model.calibrate_threshold(pairs, y, n_neighbors=10_000)
    assert model.reference_ is before["reference_"]
    with pytest.raises(AttributeError, match="threshold_ is read-only: it is part of reference_"):
        model.threshold_ = 0.0


def test_the_parameters_of_the_metric_can_be_set(people):
    X, names, _, _ = people
    model = MarginalizedKNN(PCA(2)).set_params(metric__n_components=1, n_neighbors=3)
    assert model.fit(X, names).metric_.components_.shape == (1, 3)
    assert model.get_params()["metric__n_components"] == 1


def test_pairs_may_be_indices_of_a_preprocessor(people):
    X, names, pairs, y = people
    plain = MarginalizedKNN(n_neighbors=5).fit(X, names)
    index = np.arange(100).reshape(50, 2)
    indexed = MarginalizedKNN(n_neighbors=5, preprocessor=pairs.reshape(-1, 3)).fit(X, names)
    np.testing.assert_array_equal(indexed.pair_score(index), plain.pair_score(pairs))
    assert indexed.calibrate_threshold(index, y).score(index, y) > 0.7


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        ({}, [0, 1, None, 1], r"y\[2\] is None; every row needs an identity"),
        ({}, [0, 1, np.nan, 1], r"y\[2\] is nan; every row needs an identity"),
        ({}, [0, 1], r"y has shape \(2,\); there are 4 rows of X"),
        ({}, [3, 3, 3, 3], r"y has one identity \(3\)"),
        ({"n_neighbors": 0}, [0, 0, 1, 1], "'n_neighbors' parameter of MarginalizedKNN must be"),
        ({"metric": "cosine"}, [0, 0, 1, 1], "'metric' parameter .* None or an estimator with a"),
        ({"metric": PCA}, [0, 0, 1, 1], "'metric' parameter"),
        ({"metric": FrozenEstimator(PCA())}, [0, 0, 1, 1], "not fitted"),
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
        MarginalizedKNN(n_neighbors=k).fit(X, names).pair_score(pairs, exclude=exclude)


def test_the_point_itself_counts_as_gone(people):
    X, names, _, _ = people
    model = MarginalizedKNN(n_neighbors=120).fit(X, names)
    with pytest.raises(ValueError, match="n_neighbors=120, but only 119 of 120"):
        model.pair_score([[X[0], X[1]]])


def test_bad_pairs_are_said(people):
    X, names, pairs, y = people
    model = MarginalizedKNN(n_neighbors=3).fit(X, names)
    with pytest.raises(ValueError, match="points have 2 features; the metric was learned with 3"):
        model.pair_score(pairs[:, :, :2])
    with pytest.raises(ValueError, match="which are indices, and there is no preprocessor"):
        model.pair_score([(0, 1)])
    with pytest.raises(ValueError, match="contains NaN"):
        model.pair_score(np.where(pairs > 3, np.nan, pairs))
    with pytest.raises(ValueError, match="all 50 pairs are similar"):
        model.calibrate_threshold(pairs, np.ones(50), n_neighbors=3)
    with pytest.raises(ValueError, match=r"n_neighbors is \(0, 5\); expected one or more integers"):
        model.calibrate_threshold(pairs, y, n_neighbors=(0, 5))
    with pytest.raises(ValueError, match="n_neighbors=200, but only 120 of 120"):
        model.calibrate_threshold(pairs, y, n_neighbors=(10, 200))
    for threshold in (np.nan, True, np.True_, "0.5", None):
        with pytest.raises(
            (TypeError, ValueError), match=f"threshold is .*{threshold}.*; expected a finite"
        ):
            model.set_threshold(threshold)
    with pytest.raises(NotFittedError):
        MarginalizedKNN().pair_score(pairs)
