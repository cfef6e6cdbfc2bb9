"""FrobMetricCV: what it chooses, what it says of it, and that it classifies."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from frobmetric import FrobMetric, FrobMetricCV, NearestClass, knn_error
from frobmetric.evaluation import race, selection
from frobmetric.evaluation.choice import SelectionReport, warn_of_choice
from frobmetric.evaluation.paired import PairedErrors
from frobmetric.evaluation.selection import NO_LEARNING, Setting
from frobmetric.metric import cv as module
from frobmetric.neighbors import NearestVote

WINE, IRIS = load_wine(return_X_y=True), load_iris(return_X_y=True)
#: Options with which a choice is quick, and still has something to choose from.
QUICK = {"Cs": [10.0, 100.0], "prior": None, "n_neighbors": 3, "n_passes": 1, "cv": 2}
#: Warnings that say what came out, where a test is not about that.
QUIET = "ignore:the best C is|the learned metric does not help|the chosen metric has|classes with"


def useful_direction(n=200, seed=0):
    """Samples of which one direction, and no single feature, tells the classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    Z = np.column_stack([4 * y + rng.normal(size=n), 2 * rng.normal(size=(n, 9))])
    return Z @ np.linalg.qr(rng.normal(size=(10, 10)))[0], y


def noise(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(2, size=n)


class TestChoice:
    def test_helps_where_learning_helps(self):
        X, y = useful_direction(600)
        metric = FrobMetricCV().fit(X[:300], y[:300])
        assert metric.report_.verdict == "helped"
        assert metric.report_.is_learned
        scaled = X / X[:300].std(axis=0)
        euclidean = min(knn_error(Z[:300], y[:300], Z[300:], y[300:]) for Z in (X, scaled))
        Z = metric.transform(X)
        assert knn_error(Z[:300], y[:300], Z[300:], y[300:]) < 0.7 * euclidean
        assert 1 - metric.score(X[300:], y[300:]) < 0.7 * euclidean

    @pytest.mark.slow
    def test_is_fitted_to_all_data_with_the_chosen_options(self):
        X, y = WINE
        metric = FrobMetricCV(keep_dual=True).fit(X, y)
        assert set(metric.best_params_) == {"units", "prior", "C", "n_neighbors", "n_passes"}
        plain = FrobMetric(keep_dual=True, **metric.best_params_).fit(X, y)
        np.testing.assert_array_equal(metric.components_, plain.components_)
        assert metric.certificate_ == plain.certificate_
        assert metric.certify(X) == plain.certify(X)
        assert metric.C_ == metric.map_.recipe.C == metric.best_params_["C"]
        assert metric.units_ == plain.units_

    @pytest.mark.parametrize("scale", [np.ones(13), 10.0 ** np.linspace(-6, 6, 13)[::-1]], ids=str)
    @pytest.mark.filterwarnings(QUIET)
    def test_hostile_units_do_not_matter(self, scale):
        """Raw wine has a feature 2,500 times as large as another; Euclid on it has 30 % errors."""
        X, y = WINE[0] * scale, WINE[1]
        metric = FrobMetricCV().fit(X[::2], y[::2])
        assert metric.score(X[1::2], y[1::2]) > 0.9

    def test_euclid_is_kept_where_nothing_is_clearly_better(self, monkeypatch):
        monkeypatch.setattr(selection, "AHEAD", 5.0)
        X, y = noise()
        with pytest.warns(UserWarning, match="the learned metric does not help here") as caught:
            metric = FrobMetricCV().fit(X, y)
        assert len(caught) == 1
        assert "Check that y belongs to the rows of X" in str(caught[0].message)
        assert metric.report_.verdict == "no difference"
        assert metric.report_.errors.estimate == 0
        assert metric.best_params_["prior"] == "identity"
        assert metric.C_ == NO_LEARNING
        M = metric.get_mahalanobis_matrix()
        expected = np.diag(getattr(metric, "feature_weight_", np.ones(4)) ** 2)
        np.testing.assert_allclose(M / M[0, 0], expected / expected[0, 0], atol=1e-5)

    @pytest.mark.parametrize("seed", range(5))
    def test_labels_that_are_noise_are_said(self, seed):
        words = "does not help here|the chosen metric has .* the most frequent class has|Euclid on"
        with pytest.warns(UserWarning, match=words) as caught:
            metric = FrobMetricCV().fit(*noise(seed=seed))
        assert len(caught) == 1
        assert metric.report_.verdict in ("no difference", "unclear")

    @pytest.mark.parametrize(
        ("n_both", "n_fixed", "n_broken", "words"),
        [
            (90, 5, 4, "47.0% errors on held-out samples; always answering the most .* has 50.0%"),
            (20, 1, 9, "14.5% errors on held-out samples; Euclid on raw features has 10.5%"),
            (20, 9, 1, ""),
        ],
    )
    def test_a_choice_that_is_no_better_is_said(self, n_both, n_fixed, n_broken, words):
        euclidean = Setting("identity", "raw", NO_LEARNING, 3, 1)
        report = SelectionReport(
            setting=Setting(None, "raw", 100.0, 3, 1),
            euclidean=euclidean,
            errors=PairedErrors.from_counts(200, n_both, n_fixed, n_broken),
            kinds=(),
            n_settings=2,
            rule="a vote",
            rule_error=0.1,
            n_folds=3,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_of_choice(report, 0.5, None)
        assert len(caught) == bool(words)
        assert not words or re.search(words, str(caught[0].message))

    @pytest.mark.filterwarnings(QUIET, "ignore:feature 12 has 99.8%")
    def test_scores_are_those_of_the_held_out_parts(self):
        X, y = WINE
        folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        metric = FrobMetricCV(Cs=[10.0], prior=None, units="within", n_passes=1, cv=folds)
        results = metric.fit(X, y).cv_results_
        for params, score, error in zip(
            results["params"], results["score"], results["error"], strict=True
        ):
            errors = {k: [] for k in (1, 3, 5)}
            fit = FrobMetric(**params, tol=race.RACE_TOL)
            for train, test in folds:
                Z = fit.fit(X[train], y[train]).transform(X)
                for k, wrong in errors.items():
                    share = knn_error(Z[train], y[train], Z[test], y[test], n_neighbors=k)
                    wrong.append(share * len(test))
            means = {k: sum(wrong) / len(y) for k, wrong in errors.items()}
            assert score == pytest.approx(np.mean(list(means.values())), abs=0.01)
            assert error == pytest.approx(means[3], abs=0.01)
        assert set(results["n_folds"].tolist()) <= {1, 2, 3}

    @pytest.mark.filterwarnings(QUIET)
    def test_euclid_in_all_units_is_measured_on_all_folds(self):
        metric = FrobMetricCV(**QUICK).fit(*WINE)
        results = metric.cv_results_
        euclidean = [
            (params["units"], n)
            for params, n in zip(results["params"], results["n_folds"], strict=True)
            if params["C"] == NO_LEARNING
        ]
        assert {units for units, _ in euclidean} == {"raw", "deviation", "within"}
        assert len({n for _, n in euclidean}) == 1
        assert metric.report_.n_settings == len(results["params"])

    def test_c_at_the_end_of_the_given_values_is_said(self):
        X, y = useful_direction()
        with pytest.warns(UserWarning, match=r"the best C is .*, at the end of Cs; give values"):
            metric = FrobMetricCV(**QUICK).fit(X, y)
        assert metric.C_ in QUICK["Cs"]

    @pytest.mark.filterwarnings(QUIET)
    def test_one_given_c_is_used(self):
        metric = FrobMetricCV(**QUICK | {"Cs": [123.0]}).fit(*useful_direction())
        assert metric.C_ == 123.0

    @pytest.mark.filterwarnings(QUIET)
    def test_many_samples_are_thinned_out_for_the_choice(self, monkeypatch):
        sizes = []
        learn = race.Race._learn

        def remember(self, family, train, weight):
            sizes.append(len(train))
            return learn(self, family, train, weight)

        monkeypatch.setattr(race.Race, "_learn", remember)
        X, y = useful_direction(600)
        metric = FrobMetricCV(**QUICK, max_samples=100).fit(X, y)
        assert max(sizes) <= 101
        assert metric.n_triplets_ == 600 * 9  # the answer is learned from all


class TestFixedOptions:
    """Options that are given are not chosen."""

    @pytest.mark.parametrize(
        "options",
        [
            {"prior": "within"},
            {"prior": "shrunk"},
            {"prior": "identity"},
            {"units": "raw"},
            {"units": "deviation"},
            {"n_neighbors": 2},
            {"n_passes": 1},
            {"n_passes": 3},
            {"Cs": [30.0, 300.0]},
        ],
        ids=str,
    )
    @pytest.mark.filterwarnings(QUIET)
    def test_are_respected(self, options):
        X, y = useful_direction(300)
        metric = FrobMetricCV(cv=2, **options).fit(X, y)
        assert metric.report_.is_learned
        for name, value in options.items():
            if name == "Cs":
                assert metric.C_ in value
            elif name != "units" or metric.best_params_["prior"] in (None, "identity"):
                assert metric.best_params_[name] == value

    def test_units_also_if_euclid_is_kept(self, monkeypatch):
        monkeypatch.setattr(selection, "AHEAD", 5.0)
        X, y = noise()
        with pytest.warns(UserWarning, match="Euclid on scaled features is kept"):
            metric = FrobMetricCV(units="deviation", **QUICK).fit(X * [1, 100, 1, 1], y)
        assert metric.units_ == "deviation"
        first, second, *_ = metric.report_.sentences()
        assert first == "The learned metric does not help here; Euclid on scaled features is kept."
        assert second.startswith("3-NN error of Euclid on scaled features: ")

    @pytest.mark.filterwarnings(QUIET)
    def test_a_prior_matrix(self):
        X, y = useful_direction()
        prior = np.diag(np.r_[5.0, np.full(9, 0.1)])
        metric = FrobMetricCV(**QUICK | {"prior": prior}, keep_dual=True).fit(X, y)
        assert metric.units_ == "raw"
        assert "prior" not in metric.best_params_
        plain = FrobMetric(prior=prior, n_neighbors=3, n_passes=1, C=metric.C_, units="raw")
        np.testing.assert_array_equal(metric.components_, plain.fit(X, y).components_)
        assert metric.certify(X).relative_gap <= 1e-3

    @pytest.mark.parametrize("rule", [NearestClass(), NearestVote(5), KNeighborsClassifier(7)])
    @pytest.mark.filterwarnings(QUIET)
    def test_the_rule(self, rule):
        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK, rule=rule).fit(X, y)
        assert metric.report_.rule == str(rule)
        assert metric.classifier_ is not rule
        expected = clone(rule).fit(metric.transform(X), y).predict(metric.transform(X[:20] + 0.1))
        np.testing.assert_array_equal(metric.predict(X[:20] + 0.1), expected)

    def test_others_of_the_fit(self):
        X, y = useful_direction()
        options = {"loss": "squared_hinge", "pull": 0.1, "n_components": 2, "tol": 1e-2}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", QUIET.removeprefix("ignore:"))
            metric = FrobMetricCV(**QUICK, **options).fit(X, y)
        plain = FrobMetric(**metric.best_params_, **options).fit(X, y)
        np.testing.assert_array_equal(metric.components_, plain.components_)
        assert metric.components_.shape == (2, 10)

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"cv": "many"}, r"'cv' parameter of FrobMetricCV .* Got 'many'"),
            ({"cv": 1}, "cv is 1; expected an integer of at least 2"),
            ({"units": "metres"}, "'units' parameter of FrobMetricCV"),
            ({"prior": "lda"}, "'prior' parameter of FrobMetricCV"),
            ({"rule": "vote"}, "'rule' parameter of FrobMetricCV must be .* a classifier"),
            ({"n_neighbors": 0}, "'n_neighbors' parameter"),
            ({"n_passes": "two"}, "'n_passes' parameter"),
            ({"max_samples": 1}, "'max_samples' parameter"),
            ({"Cs": []}, "must be positive finite numbers"),
            ({"Cs": [1.0, -1.0]}, "must be positive finite numbers"),
            ({"units": "within", "prior": np.eye(4)}, "units='within' was given with a prior mat"),
        ],
        ids=str,
    )
    def test_bad_ones_are_refused(self, options, match):
        metric = FrobMetricCV(**options)
        before = vars(metric).copy()
        with pytest.raises(ValueError, match=match):
            metric.fit(*IRIS)
        assert vars(metric).keys() == before.keys()


@pytest.mark.filterwarnings(QUIET)
class TestFolds:
    @pytest.mark.parametrize(
        "cv",
        [
            StratifiedKFold(4),
            ShuffleSplit(3, test_size=0.3, random_state=0),
            ShuffleSplit(1, test_size=0.3, random_state=0),
            PredefinedSplit(np.where(np.arange(200) % 4 == 0, 0, -1)),
            [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))],
            np.int64(2),
        ],
        ids=lambda cv: type(cv).__name__,
    )
    def test_may_be_any_splitter(self, cv):
        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK | {"cv": cv}).fit(X, y)
        errors = metric.report_.errors
        assert 0 < errors.n_units <= 200
        assert errors.n_after <= errors.n_before
        assert metric.score(X, y) > 0.9

    def test_that_overlap_count_each_sample_once(self):
        X, y = useful_direction()
        folds = list(ShuffleSplit(5, test_size=0.5, random_state=0).split(X, y))
        tested = np.unique(np.concatenate([test for _, test in folds]))
        metric = FrobMetricCV(**QUICK | {"cv": folds}).fit(X, y)
        assert metric.report_.errors.n_units == len(tested)

    def test_a_splitter_of_groups_says_what_it_needs(self):
        with pytest.raises(ValueError, match="groups"):
            FrobMetricCV(**QUICK | {"cv": GroupKFold(2)}).fit(*IRIS)

    def test_classes_of_one_or_two_samples(self):
        X, y = useful_direction()
        y = np.where(np.arange(200) < 1, 7, np.where(np.arange(200) < 3, 8, y))
        metric = FrobMetricCV(cv=3, Cs=[100.0]).fit(X, y)
        assert metric.classes_.tolist() == [0, 1, 7, 8]
        assert metric.score(X, y) > 0.85

    @pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 1, 2, 2, 3], [0, 1]])
    def test_too_few_samples_are_said(self, labels):
        X = np.random.default_rng(0).normal(size=(len(labels), 2))
        with pytest.raises(ValueError, match=r"a training part of \d samples .* more samples, or"):
            FrobMetricCV().fit(X, labels)

    def test_one_class_is_said(self):
        with pytest.raises(ValueError, match=r"y has one class \(0\)"):
            FrobMetricCV().fit(IRIS[0][:50], IRIS[1][:50])

    def test_the_smallest_data(self):
        X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
        metric = FrobMetricCV(n_neighbors=1).fit(X, np.repeat(["a", "b"], 3))
        assert metric.predict([[0.05], [1.15]]).tolist() == ["a", "b"]


@pytest.mark.filterwarnings(QUIET)
class TestData:
    def test_labels_may_be_text(self):
        X, y = useful_direction()
        words, numbers = (FrobMetricCV(**QUICK).fit(X, z) for z in (np.array(["no", "yes"])[y], y))
        np.testing.assert_array_equal(words.components_, numbers.components_)
        assert words.classes_.tolist() == ["no", "yes"]
        assert set(words.predict(X)) == {"no", "yes"}
        np.testing.assert_array_equal(words.predict(X) == "yes", numbers.predict(X) == 1)
        assert words.score(X, np.array(["no", "yes"])[y]) == numbers.score(X, y)

    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
    def test_sparse_samples(self, kind):
        X, y = useful_direction()
        X = X * (np.abs(X) > 1)
        metric = FrobMetricCV(**QUICK).fit(kind(X), y)
        assert metric.score(kind(X), y) > 0.9
        np.testing.assert_array_equal(metric.predict(kind(X)), metric.predict(X))

    @pytest.mark.parametrize("rule", ["auto", NearestClass(3), NearestClass(3, rule="distances")])
    def test_sparse_samples_with_labels_of_noise(self, rule):
        X, y = noise()
        metric = FrobMetricCV(rule=rule, Cs=[100.0]).fit(sp.csr_array(X * (np.abs(X) > 0.5)), y)
        assert metric.predict(sp.csr_array(X[:5])).shape == (5,)

    def test_duplicates_and_constant_features(self):
        X, y = useful_direction()
        X = np.column_stack([X, np.full(200, 3.0), np.zeros(200)])
        X, y = np.vstack([X, X[:50]]), np.r_[y, y[:50]]
        metric = FrobMetricCV(Cs=[100.0]).fit(X, y)
        assert metric.score(X, y) > 0.9
        assert np.isfinite(metric.components_).all()

    def test_equal_samples_of_different_classes(self):
        X, y = np.repeat(np.arange(20.0)[:, None], 4, axis=0), np.tile([0, 1], 40)
        metric = FrobMetricCV(Cs=[10.0]).fit(X, y)
        assert metric.rank_ == 1  # a metric that is zero is never chosen

    def test_more_features_than_samples(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 100)), np.arange(40) % 2
        X[:, 0] += 6 * y
        metric = FrobMetricCV(Cs=[10.0]).fit(X, y)
        assert metric.transform(X).shape[0] == 40

    @pytest.mark.slow
    @settings(max_examples=10, deadline=None)
    @given(
        seed=st.integers(0, 1000),
        n=st.integers(12, 40),
        d=st.integers(1, 15),
        n_classes=st.integers(2, 4),
        power=st.integers(-8, 8),
    )
    def test_any_small_data_set_has_an_answer(self, seed, n, d, n_classes, power):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, d)) * 10.0**power, np.arange(n) % n_classes
        X[n // 2] = X[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            metric = FrobMetricCV(Cs=[10.0, 1000.0], cv=2, keep_dual=True).fit(X, y)
        assert metric.certify(X).relative_gap <= 1.001e-3
        assert set(metric.predict(X)) <= set(y)
        assert str(metric.report_)
        assert metric.report_.euclidean.is_euclidean
        scores = metric.cv_results_["score"]
        assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.filterwarnings(QUIET)
class TestEstimator:
    def test_is_a_classifier_and_a_transformer(self):
        X, y = useful_direction()
        assert is_classifier(FrobMetricCV())
        scores = cross_val_score(FrobMetricCV(**QUICK), X, y, cv=3)
        assert scores.mean() > 0.9
        model = make_pipeline(FrobMetricCV(**QUICK), KNeighborsClassifier(3)).fit(X, y)
        assert model.score(X, y) > 0.9
        weighted = FrobMetricCV(**QUICK).fit(X, y).score(X, y, sample_weight=np.arange(200.0))
        assert 0.9 < weighted <= 1

    def test_what_it_tells_is_there_before_nothing_is_asked(self):
        metric = FrobMetricCV()
        with pytest.raises(NotFittedError):
            metric.predict(IRIS[0])
        with pytest.raises(AttributeError):
            metric.report_  # noqa: B018
        with pytest.raises(AttributeError):
            metric.C_  # noqa: B018

    def test_a_failed_update_keeps_the_classifier(self):
        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK).fit(X, y)
        with pytest.raises(ValueError, match="expecting 10 features"):
            metric.partial_fit(X[:, :3], y)
        assert metric.score(X, y) > 0.9

    def test_features_that_do_not_vary_are_said(self):
        X, y = useful_direction()
        with pytest.raises(ValueError, match="a training part of 2 samples"):
            FrobMetricCV(**QUICK).fit(np.ones_like(X), y)

    def test_an_interrupted_last_fit_keeps_the_best_metric(self):
        def press_ctrl_c(step):
            if step.gap < 0.3 * step.primal:
                raise KeyboardInterrupt

        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK, tol=1e-9, callback=press_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            metric.fit(X, y)
        assert metric.status_ == "interrupted"
        assert metric.best_params_["C"] == metric.C_
        assert metric.report_.n_settings > 3
        assert metric.transform(X).shape == (200, 10)

    def test_an_update_has_no_samples_to_predict_by(self):
        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK).fit(X, y).partial_fit(X[::2], y[::2])
        with pytest.raises(ValueError, match="there are no training samples to take neighbours"):
            metric.predict(X)

    def test_the_callback_sees_the_last_fit_only(self):
        steps = []
        X, y = useful_direction()
        metric = FrobMetricCV(**QUICK, callback=steps.append).fit(X, y)
        assert steps[-1] == metric.history_[-1]
        assert len(steps) == len(metric.history_)

    def test_the_names_of_the_rules_describe_them(self):
        for name, rule in module.CLASSIFIERS.items():
            assert str(rule.n_neighbors) in re.findall(r"\d+", name)
            assert ("distance" in name) == ("distance" in str(vars(rule).values()))
