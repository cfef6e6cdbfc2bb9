"""Comparisons of one model with baselines and of several models: what is measured and said."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestCentroid,
    NeighborhoodComponentsAnalysis,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frobmetric.learners
from fake_learners import InProcess, Raiser, Sleeper, Spy, Suicide, Unsendable, Warner, Weigher
from frobmetric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    NearestClass,
    TripletFrobMetric,
    compare,
    knn_error,
)
from frobmetric.evaluation import InterruptedComparison, candidates
from frobmetric.evaluation.candidates import GRIDS, label_learners, read_models
from frobmetric.evaluation.hints import Hint, Situation, find_hints
from frobmetric.evaluation.row import ComparisonRow
from frobmetric.evaluation.table import Comparison

compare_module = import_module("frobmetric.evaluation.compare")
SOURCE = Path(__file__).resolve().parents[2] / "src"

X, y = load_iris(return_X_y=True)
EUCLID = ("raw", "scaled")


@pytest.fixture(scope="module")
def noisy():
    """Of 21 features of unit variance or so, one tells the classes apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=240)
    useful = 4 * labels + rng.normal(size=240)
    return np.column_stack([useful, 2 * rng.normal(size=(240, 20))]), labels


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def helped(noisy):
    return compare(FrobMetric(), *noisy)


def made_one(model_wrong, raw_wrong, n=100, **options):
    """Return a comparison with given mistakes, as numbers of samples from the first on."""
    rows = [("raw", "Euclid, raw", raw_wrong), ("model", "FrobMetric", model_wrong)]
    rows = [ComparisonRow(key, name, np.arange(n) < wrong) for key, name, wrong in rows]
    return Comparison(tuple(rows), n_train=50, **options)


# What is measured


def test_errors_are_those_of_a_cross_validation_by_hand(wine):
    A, labels = wine
    result = compare(FrobMetric(C=10), A, labels, cv=3, baselines=EUCLID)
    wrong = dict.fromkeys(("raw", "scaled", "model"), 0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(A, labels)
    for train, test in folds:
        deviation = A[train].std(axis=0)
        metric = FrobMetric(C=10).fit(A[train], labels[train])
        for key, Z in (("raw", A), ("scaled", A / deviation), ("model", metric.transform(A))):
            error = knn_error(Z[train], labels[train], Z[test], labels[test])
            wrong[key] += round(error * len(test))
    assert {row.key: row.n_errors for row in result.rows} == wrong
    assert result.n_test == 178
    assert result.n_train == 118
    assert result["model"].proofs == (True,) * 3


def test_given_test_samples(wine):
    A, labels = wine
    train, test = np.arange(178) % 2 == 0, np.arange(178) % 2 == 1
    parts = {"X_test": A[test], "y_test": labels[test]}
    metric = FrobMetric().fit(A[test], labels[test])  # not the samples of X: it is used as it is
    result = compare(metric, A[train], labels[train], **parts)
    Z = metric.transform(A)
    assert result["model"].error == knn_error(Z[train], labels[train], Z[test], labels[test])
    assert result["model"].seconds is None
    assert (result.n_test, result.n_train, result.n_folds) == (89, 89, 0)
    fitted_here = compare(FrobMetric(), A[train], labels[train], **parts)
    assert fitted_here["model"].seconds > 0


def test_the_model_is_not_changed(noisy):
    model = FrobMetric()
    compare(model, *noisy, cv=2, baselines=EUCLID)
    assert not hasattr(model, "components_")


def test_a_metric_that_must_help(helped):
    assert helped.verdict == "helped"
    assert [row.key for row in helped.rows] == ["raw", "scaled", "lda", "nca", "model"]
    assert helped.errors.n_after == helped["model"].n_errors
    assert helped.errors.n_before == helped.euclidean.n_errors
    low, high = helped["model"].interval
    assert low <= helped["model"].error <= high
    assert 0.4 < helped.constant_error < 0.6


def test_the_verdict_is_against_the_better_euclid(wine):
    result = compare(PCA(whiten=True), *wine)
    assert result.against("raw").verdict == "helped"
    assert result.euclidean is result["scaled"]
    assert result.verdict == result.against("scaled").verdict != "helped"
    assert "Euclid on scaled features, the better Euclid," in result.sentences()[0]


def test_labels_of_any_kind(wine):
    A, labels = wine
    expected = repr(compare(PCA(2), A, labels, baselines=EUCLID))
    for names in (np.array(["a", "b", "c"])[labels], ["xyz"[i] for i in labels]):
        assert repr(compare(PCA(2), A, names, baselines=EUCLID)) == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(A, columns=[f"f{j}" for j in range(13)])
    assert repr(compare(PCA(2), frame, pandas.Series(labels), baselines=EUCLID)) == expected


def test_a_classifier_behind_the_metric_is_a_further_row(wine):
    model = make_pipeline(StandardScaler(), FrobMetric(), NearestClass())
    result = compare(model, *wine, baselines=EUCLID)
    assert result.rows[-1].key == "rule"
    assert result.rows[-1].label == "with NearestClass"
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(*wine)
    A, labels = wine
    wrong = sum((model.fit(A[a], labels[a]).predict(A[b]) != labels[b]).sum() for a, b in folds)
    assert result["rule"].n_errors == wrong
    assert any("with NearestClass:" in text for text in result.sentences())


@pytest.mark.slow
def test_a_search_is_a_model(wine):
    search = GridSearchCV(BoostMetric(), {"C": [1e3]}, scoring=_one)
    result = compare(make_pipeline(StandardScaler(), search), *wine, cv=2, baselines=EUCLID)
    assert result["model"].error < 0.2
    assert result["model"].label == "GridSearchCV"


def _one(*_):
    return 1.0


def test_predictions_that_are_no_classes_are_no_row():
    assert [row.key for row in compare(KMeans(3, n_init=1), X, y, baselines=EUCLID).rows] == [
        "raw",
        "scaled",
        "model",
    ]


def test_a_metric_from_tuples():
    triplets = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 110]]
    metric = TripletFrobMetric(preprocessor=X).fit(triplets)
    with pytest.raises(TypeError, match="learns from tuples"):
        compare(metric, X, y)
    with pytest.raises(TypeError, match="learns from tuples"):
        compare(TripletFrobMetric(), X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    result = compare(metric, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    assert [row.key for row in result.rows][-1] == "model"
    frozen = compare(FrozenEstimator(metric), X, y, cv=3)
    assert frozen["model"].label == "TripletFrobMetric"
    assert frozen.n_folds == 3


def test_sparse_samples(wine):
    A, labels = wine
    dense = compare(FrobMetric(C=1), A, labels, baselines=EUCLID)
    result = compare(FrobMetric(C=1), sp.csr_array(A), labels)
    assert result["scaled"].n_errors == dense["scaled"].n_errors
    assert result["raw"].n_errors == dense["raw"].n_errors
    assert result["lda"].reason == result["nca"].reason == "X is sparse"
    assert "LDA was left out: X is sparse." in result.sentences()
    assert result.hints == compare(FrobMetric(C=1), A, labels, baselines=EUCLID).hints


@pytest.mark.slow
def test_a_kernel_is_compared_with_euclid_in_its_space():
    A = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no equal distances
    K = rbf_kernel(A, gamma=0.2)
    result = compare(FrobMetric(kernel="precomputed", C=1), K, y)
    direct = compare(FrobMetric(kernel="rbf", gamma=0.2, C=1), A, y, baselines=EUCLID)
    assert result["model"].n_errors == direct["model"].n_errors
    assert result["raw"].n_errors == direct["raw"].n_errors  # the kernel falls with the distance
    assert result["scaled"].reason == "X holds values of a kernel, and no features"
    assert result.euclidean.key == "raw"
    parts = {"X_test": K[1::2, ::2], "y_test": y[1::2]}
    held_out = compare(FrobMetric(kernel="precomputed", C=1), K[::2, ::2], y[::2], **parts)
    assert held_out["raw"].error == knn_error(A[::2], y[::2], A[1::2], y[1::2])


def test_nca_is_left_out_if_it_would_take_long(monkeypatch, noisy):
    monkeypatch.setattr(candidates, "NCA_WORK", 1e6)
    row = compare(PCA(), *noisy, baselines=("raw", "nca"))["nca"]
    assert row.reason == "192 samples of 21 features would take it too long"
    assert np.isnan(row.error)
    assert np.isnan(row.interval).all()


def test_a_baseline_that_fails_is_left_out():
    A = np.arange(12.0)[:, None] * [1, 2]
    labels = np.repeat(np.arange(6), 2)  # in each fold as many classes as samples
    result = compare(PCA(), A, labels, cv=2, n_neighbors=1, baselines=("raw", "lda"))
    assert "number of samples must be more than the number of classes" in result["lda"].reason


def test_constant_features(wine):
    A, labels = wine
    B = np.column_stack([A, np.full(178, 7.0)])
    expected = compare(FrobMetric(C=1), A, labels)
    assert repr(compare(FrobMetric(C=1), B, labels)) == repr(expected)


# Folds and mistakes


def test_small_classes_are_noted():
    A = np.vstack([X, X[:1] + 9, X[:3] + 5])
    labels = np.concatenate([y, [3], [4, 4, 4]])
    result = compare(PCA(), A, labels, baselines=EUCLID)
    assert result.notes == (
        "2 classes have fewer samples than there are folds (5).",
        "1 samples are the only ones of their class: errors of every method.",
    )
    assert all(row.losses.sum() >= 1 for row in result.rows)


def test_folds_that_are_given():
    folds = list(StratifiedKFold(4).split(X, y))[:2]
    assert compare(PCA(), X, y, cv=folds, baselines=EUCLID).n_test == 76
    assert compare(PCA(), X, y, cv=StratifiedKFold(4), baselines=EUCLID).n_folds == 4
    one = compare(PCA(), X, y, cv=folds[:1], baselines=EUCLID)
    assert "38 held-out samples, neighbours from 112 others" in " ".join(str(one).split())
    again = compare(PCA(), X, y, random_state=1, baselines=EUCLID)
    assert not np.array_equal(again["raw"].losses, compare(PCA(), X, y)["raw"].losses)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"cv": 60}, ValueError, "cv=60, but the largest class has 50 samples"),
        ({"cv": 1}, ValueError, "cv is 1; expected an integer of at least 2"),
        ({"cv": RepeatedStratifiedKFold(n_splits=2)}, ValueError, "tests sample 0 10 times"),
        ({"cv": 3, "test_size": 0.2}, ValueError, "cv and test_size are two ways"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0; expected an integer"),
        ({"n_neighbors": 121}, ValueError, "n_neighbors=121, but a fold has 120 samples"),
        ({"models": ["LMNN"], "n_neighbors": 100}, ValueError, "a fold has 70 samples .*choose a"),
        ({"baselines": ("lda",)}, ValueError, "with 'raw' or 'scaled'"),
        ({"baselines": "raw"}, ValueError, "baselines='raw'; expected a list"),
        ({"baselines": ("raw", "svm")}, ValueError, "expected a list of"),
        ({"budget": 0}, ValueError, "budget is 0; expected a number of seconds"),
        ({"X_test": X}, ValueError, "X_test and y_test belong together"),
        ({"X_test": X, "y_test": ["a"] * 150}, ValueError, "labels of one problem"),
        ({"X_test": X, "y_test": y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"y": y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"y": np.zeros(150)}, ValueError, "y has one class"),
        ({"y": np.where(y == 0, np.nan, y)}, ValueError, r"y\[0\] is nan; every sample needs a"),
        ({"y": np.column_stack([y, y])}, ValueError, "y should be a 1d array"),
        ({"y": np.append(np.zeros(149), 1)}, ValueError, "leaves samples of one class"),
        ({"y": np.arange(150) // 2 * 1.0, "test_size": 1}, ValueError, "should be greater or eq"),
        ({"X": np.where(X > 7, np.nan, X)}, ValueError, "Input X contains NaN"),
        ({"X": np.char.add(X.astype(str)[:, :1], "a")}, ValueError, "could not convert string"),
        ({"models": KNeighborsClassifier()}, TypeError, "has no `transform`"),
        ({"models": NearestCentroid()}, TypeError, "has no `transform`"),
        ({"models": X}, TypeError, "expected an estimator, a list of estimators"),
        ({"models": "FrobMetric"}, TypeError, "models is 'FrobMetric'; expected an estimator"),
        ({"models": FrobMetric}, TypeError, "the class FrobMetric; expected an estimator"),
        ({"models": []}, ValueError, "models is empty; expected some of FrobMetric"),
        ({"models": ["LNMM"]}, ValueError, "'LNMM', which is no learner .*expected of Fr"),
        ({"models": [FrobMetric]}, TypeError, "the class FrobMetric; expected an estim"),
        ({"models": [3]}, TypeError, "int is 3; expected an estimator"),
        ({"models": [("a", PCA())]}, TypeError, r"expected \(name, estimator, grid\)"),
        ({"models": [("a", PCA(), {"k": [1]})]}, ValueError, "'k', which is no parameter"),
        ({"models": [TripletFrobMetric()]}, TypeError, "learns from tuples"),
        ({"models": [FrobMetric(kernel="precomputed")]}, TypeError, "takes values of a kernel"),
    ],
)
def test_mistakes(changes, error, message):
    arguments = {"models": PCA(2), "X": X, "y": y, "baselines": EUCLID} | changes
    with pytest.raises(error, match=message):
        compare(**arguments)


# What is said


def test_the_text_fits_a_terminal(helped, wine):
    model = make_pipeline(StandardScaler(), FrobMetric(), NearestClass())
    A, labels = np.tile(wine[0], (6, 1)), np.tile(wine[1], 6)  # 1,068 samples: two decimals
    A += np.random.default_rng(0).normal(size=A.shape) * A.std(axis=0)
    long = compare(model, A, labels, cv=2, baselines=("raw", "scaled", "lda"))
    for result in (helped, long):
        lines = str(result).splitlines()
        assert max(map(len, lines)) <= 79
        table = str(result).split("\n\n")[2].splitlines()
        assert len({len(line) for line in table if "FrobMetric" not in line}) == 1
    assert re.search(r"Euclid, raw +\d+\.\d\d %", str(long))
    assert "FrobMetric helps here:" in str(helped)


def test_optimal_is_kept_apart_from_useful(noisy, helped):
    assert "All 5 fits are certified as optimal, which does not mean useful" in str(helped)
    with pytest.warns(UserWarning, match="max_iter"):
        rough = compare(FrobMetric(max_iter=2), *noisy, cv=2, baselines=EUCLID)
    assert rough.is_certified is False
    assert "2 of 2 fits are NOT certified" in str(rough)
    assert rough.hints[0].python == "max_iter=20"
    plain = compare(PCA(), *noisy, cv=2, baselines=EUCLID)
    assert plain.is_certified is None
    assert "ptimi" not in str(plain).replace("options", "")


@pytest.mark.parametrize(
    ("wrong", "opening"),
    [
        ((5, 20), "FrobMetric helps here: 5.0 % errors, where Euclid on raw features has 20.0 %"),
        ((20, 5), "FrobMetric does harm here"),
        ((18, 20), "These samples are too few to tell whether FrobMetric helps"),
        (
            (1, 0),
            "There is nothing to gain here: 1.0 % errors, where Euclid on raw features has 0.0",
        ),
    ],
)
def test_openings(wrong, opening):
    assert made_one(*wrong).sentences()[0].startswith(opening)


def test_no_difference_needs_many_samples():
    assert (
        made_one(200, 201, n=5000).sentences()[0].startswith("FrobMetric makes no difference here")
    )


def test_html_is_escaped_and_complete():
    rows = list(made_one(5, 20).rows)
    rows[1] = ComparisonRow("model", "<i>&", rows[1].losses, 1.5)
    result = Comparison(tuple(rows), n_train=50, notes=("a < b",))
    html = result._repr_html_()
    assert "&lt;i&gt;&amp;" in html
    assert "<i>" not in html
    assert "a &lt; b" in html
    assert html.count("<tr") == 3
    assert "1.50 s" in html
    assert "color" not in html  # light and dark pages have their own
    for tag in ("div", "table", "tr", "td", "th", "b"):
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")


def test_repr_and_dict(helped):
    assert re.fullmatch(
        r"Comparison\(verdict='helped', n_test=240, raw=0\.\d{4}, .*\)", repr(helped)
    )
    data = helped.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["rows"]["lda"]["model_minus_it"]["n_units"] == 240
    with pytest.raises(KeyError, match="the rows are"):
        helped["svm"]


# What is suggested


def hints(metric, comparison, *, steps=(), data=(X, y)):
    """Return the hints in Python words for a metric that did as in the comparison."""
    return [hint.python for hint in find_hints(Situation(metric, steps, *data, comparison))]


class Units(BaseEstimator):
    """An estimator with the parameter `units`."""

    def __init__(self, units="auto"):
        self.units = units


HURT, HELPED = made_one(20, 5), made_one(5, 20)


def test_hints_know_what_was_tried():
    plain = hints(FrobMetric(n_passes=1), HURT)
    assert plain == ["FrobMetricCV()", 'prior="within"', "n_passes=3", "n_neighbors=10"]
    assert "n_passes=3" not in hints(FrobMetric(), HURT)
    assert hints(FrobMetric(), HELPED) == []
    tried = FrobMetric(prior="within", n_passes=2, n_neighbors=10)
    assert hints(tried, HURT) == ["FrobMetricCV()", "make_pipeline(FrobMetric(), NearestClass())"]
    assert hints(FrobMetricCV(), HURT) == ['FrobMetric(kernel="rbf")']  # it chooses the rest
    assert hints(FrobMetric(kernel="rbf", n_passes=1), HURT)[0] == "n_passes=3"
    assert hints(None, HURT) == ["FrobMetricCV()"]


def test_hints_at_units_if_these_are_uneven_and_not_tried(wine):
    scaler = "make_pipeline(StandardScaler(), BoostMetric())"
    assert hints(BoostMetric(), HURT, data=wine)[0] == scaler
    assert scaler not in hints(BoostMetric(), HURT)  # the features of iris are alike
    assert scaler not in hints(BoostMetric(), HURT, steps=(StandardScaler(),), data=wine)
    assert hints(Units("raw"), HURT, data=wine)[0] == 'units="auto"'
    assert hints(Units("auto"), HURT, data=wine)[0] == "FrobMetricCV()"
    assert hints(Units("deviation"), HURT, data=wine)[0] == "FrobMetricCV()"
    (first, *_) = find_hints(Situation(Units("raw"), (), *wine, HURT))
    assert first.reason == "one feature has 388 times the median standard deviation"
    assert first.sentence(command_line=True) == f"--units auto: {first.reason}"


def test_hints_at_priors():
    few = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 2
    assert 'prior="diagonal"' in hints(FrobMetric(prior="within"), HURT, data=few)
    assert not any("prior" in text for text in hints(FrobMetric(), HURT, data=few))
    rows = (*HELPED.rows, ComparisonRow("lda", "LDA", np.zeros(100, dtype=bool)))
    beaten = Comparison(rows, n_train=50)
    assert (beaten.verdict, beaten.against("lda").verdict) == ("helped", "nothing to gain")
    assert hints(FrobMetric(), beaten) == []
    rows = (*made_one(10, 30).rows, rows[-1])
    beaten = Comparison(rows, n_train=50)
    assert (beaten.verdict, beaten.against("lda").verdict) == ("helped", "hurt")
    assert hints(FrobMetric(), beaten) == ['prior="discriminant"']
    assert hints(FrobMetric(prior="discriminant"), beaten) == ["LinearDiscriminantAnalysis()"]
    assert hints(FrobMetricCV(), beaten) == ["LinearDiscriminantAnalysis()"]


def test_baselines_with_fewer_errors_are_named():
    lda = ComparisonRow("lda", "LDA", np.arange(100) < 2)
    beaten = Comparison((*made_one(10, 30).rows, lda), n_train=50)
    (sentence,) = beaten.better_baselines()
    assert sentence.startswith("LDA has fewer errors than FrobMetric: 2")
    assert sentence in beaten.sentences()
    worse = ComparisonRow("lda", "LDA", np.arange(100) < 90)
    assert Comparison((*made_one(10, 30).rows, worse), n_train=50).better_baselines() == []


def test_no_hint_where_there_is_nothing_to_do(helped):
    assert helped.hints == ()
    far = np.where(y[:100, None] == 0, -100.0, 100.0) + X[:100]
    assert compare(PCA(), far, y[:100]).hints == ()


@pytest.mark.filterwarnings("ignore:the learned metric satisfies")
def test_labels_that_carry_nothing():
    rng = np.random.default_rng(1)
    result = compare(FrobMetric(), rng.normal(size=(120, 3)), np.arange(120) % 2, baselines=EUCLID)
    (hint,) = result.hints
    assert hint.reason.startswith("no method is clearly better than always answering the most")
    assert "check that y belongs to the rows of X" in hint.reason
    rare = compare(PCA(), rng.normal(size=(120, 3)), np.arange(120) % 20 == 0, baselines=EUCLID)
    assert "with classes this uneven" in rare.hints[0].reason


def test_hints_in_the_words_of_the_command_line():
    found = find_hints(Situation(FrobMetric(n_passes=1), (), X, y, HURT))
    text = replace(HURT, hints=(*found, Hint("because", "call()"))).to_text(command_line=True)
    for words in ("--cv 3: chooses", "--prior within: ", "--n-passes 3: ", "in Python, call(): "):
        assert f"\n* {words}" in text
    assert "n_passes=" not in text
    assert "prior=" not in text


def test_an_unclear_answer_says_how_many_samples_would_tell():
    *_, last = find_hints(Situation(FrobMetric(), (), X, y, made_one(15, 19)))
    assert (
        last.reason == "more samples would tell: about 140 tested, if the difference stays as it is"
    )
    *_, last = find_hints(Situation(FrobMetric(), (), X, y, made_one(15, 15)))
    assert last.reason == "more samples would tell"


# Answers behind the counts


def test_answers_and_classes_of_the_tested_rows_are_kept():
    X, y = load_wine(return_X_y=True)
    result = compare(FrobMetric(), X, y, cv=3, baselines=["raw", "scaled"])
    np.testing.assert_array_equal(np.sort(result.tested), np.arange(len(y)))
    np.testing.assert_array_equal(result.truth, y[result.tested])
    for row in result.rows:
        np.testing.assert_array_equal(row.predicted != result.truth, row.losses)


def test_given_test_samples_have_no_row_numbers():
    X, y = load_wine(return_X_y=True)
    metric = FrobMetric().fit(X[::2], y[::2])
    result = compare(metric, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2], baselines=["raw"])
    assert result.tested is None
    np.testing.assert_array_equal(result.truth, y[1::2])


def test_a_choice_without_the_samples_of_its_rule_is_tested_by_votes_alone():
    X, y = load_wine(return_X_y=True)
    model = FrobMetricCV(Cs=[100.0], n_passes=1, n_neighbors=3, prior="within").fit(X, y)
    test = {"X_test": X, "y_test": y, "baselines": ["raw"]}
    assert "rule" in [row.key for row in compare(model, X, y, **test).rows]
    del model.classifier_  # as in a file
    assert "rule" not in [row.key for row in compare(model, X, y, **test).rows]


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr(compare_module, "FitWorker", InProcess)


@pytest.fixture(scope="module")
def wines():
    learners = ["FrobMetric", ("PCA", PCA(), {"n_components": [2, 5]}), Raiser()]
    return compare(learners, *load_wine(return_X_y=True))


# Several models: what is measured


def test_errors_are_those_of_the_held_out_samples(wines):
    X, y = load_wine(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    assert (wines.n_train, wines.n_test) == (len(y_train), len(y_test))
    assert wines["raw"].error == knn_error(X_train, y_train, X_test, y_test)
    scaler = StandardScaler().fit(X_train)
    Z_train, Z_test = scaler.transform(X_train), scaler.transform(X_test)
    assert wines["scaled"].error == knn_error(Z_train, y_train, Z_test, y_test)
    for key in ("FrobMetric", "PCA"):
        model = wines[key].model.fit(X_train, y_train)
        maps = model.transform(X_train), model.transform(X_test)
        assert wines[key].error == knn_error(maps[0], y_train, maps[1], y_test)


def test_a_row_has_all_that_is_known(wines):
    row = wines["FrobMetric"]
    assert row.is_proven
    assert row.gap <= 1e-3
    assert (row.n_tried, row.n_settings, row.ending) == (6, 6, "complete")
    assert 0 < row.seconds <= row.total_seconds
    assert set(row.options) <= {"C", "prior"}
    assert wines["PCA"].proof == ""
    assert wines["raw"].losses.dtype == bool
    with pytest.raises(KeyError, match=r"'LMNN'; the rows are \['raw'"):
        wines["LMNN"]


def test_learners_get_scaled_features_unless_they_scale_themselves():
    names = {"has_classes": True, "is_sparse": False, "random_state": 0}
    frob, boost, given = read_models(
        [FrobMetric(), BoostMetric(), make_pipeline(PCA(), BoostMetric())], **names
    )
    assert isinstance(frob.model, FrobMetric)
    assert [type(step).__name__ for _, step in boost.model.steps] == [
        "StandardScaler",
        "BoostMetric",
    ]
    assert len(given.model) == 2
    assert (frob.key, boost.key, given.key) == ("FrobMetric", "BoostMetric", "BoostMetric 2")
    assert len(boost.settings) == 4
    assert len(given.settings) == 1


def test_options_are_chosen_on_the_training_part(noisy, in_process):
    grid = {"weight": [0.01, 30.0]}
    result = compare([("weigher", Weigher(), grid)], *noisy)
    row = result["weigher"]
    assert row.options == {"weight": 30.0}
    assert (row.n_tried, row.n_settings) == (3, 3)
    assert row.error < result["scaled"].error
    assert result.against(result.euclidean.key, row.key).verdict == "helped"


def test_a_setting_that_fails_is_no_candidate(noisy, in_process):
    grid = {"n_components": [1, 99]}
    row = compare([("PCA", PCA(), grid)], *noisy)["PCA"]
    assert row.losses is not None
    assert row.options in ({}, {"n_components": 1})
    assert row.n_tried == 3


def test_only_training_samples_are_fitted(tmp_path, noisy, in_process):
    data, labels = noisy
    file = tmp_path / "fits"
    spy = make_pipeline(Spy(str(file)))
    grid = {"spy__weight": [1.0, 2.0]}
    result = compare([("spy", spy, grid)], data, labels)
    sizes = [int(line.split()[0]) for line in file.read_text().splitlines()]
    assert sizes[0] == result.n_train
    assert sizes[1:7] == [result.n_train * 2 // 3] * 6
    chosen = result["spy"].options
    assert len(sizes) == (8 if chosen else 7)


def test_given_test_samples_of_several(noisy, in_process):
    data, labels = noisy
    result = compare(
        [Weigher(weight=30.0)], data[:100], labels[:100], X_test=data[100:], y_test=labels[100:]
    )
    assert (result.n_train, result.n_test) == (100, 140)
    assert result["raw"].error == knn_error(data[:100], labels[:100], data[100:], labels[100:])


def test_labels_may_be_texts_and_minus_one(in_process):
    names = np.array(["-", "0", "+"])[y]
    signs = np.array([-1, 0, 1])[y]
    results = [compare(["Covariance"], X, labels) for labels in (names, signs)]
    assert all(not result["Covariance"].warning for result in results)
    assert results[1]["Covariance"].error < 0.2


def test_a_sample_alone_in_its_class_is_learned_from(in_process):
    labels = np.where(np.arange(150) == 7, "single", np.array(["a", "b", "c"])[y])
    result = compare(["Covariance"], X, labels)
    assert result.notes == ("1 samples, alone in their class, are in the training part.",)
    assert result.n_train + result.n_test == 150


def test_sparse_samples_of_several(noisy, in_process):
    data, labels = noisy
    result = compare([FrobMetric(n_passes=1), "Covariance"], sp.csr_array(data), labels)
    assert result["FrobMetric"].losses is not None
    assert "parse" in result["lda"].reason
    assert "parse" in result["Covariance"].reason


# Budgets, and processes that end


@pytest.mark.slow
def test_a_learner_that_is_never_done_is_stopped(noisy):
    grid = {"weight": [2.0, 3.0]}
    learners = [Sleeper(), ("napper", Sleeper(naps=True), grid)]
    result = compare(learners, *noisy, budget=3.0)
    row = result["Sleeper"]
    assert row.losses is None
    assert (row.reason, row.ending) == ("no answer in 3 s", "budget")
    assert result.is_complete
    assert "Sleeper was left out: no answer in 3 s." in result.sentences()
    row = result["napper"]  # its last complete answer counts
    assert row.losses is not None
    assert (row.options, row.ending, row.n_tried, row.n_settings) == ({}, "budget", 1, 3)
    assert "time was up after 1 of 3 settings" in str(result).replace("\n  ", " ")


def test_an_error_of_a_learner_is_one_line(wines):
    assert wines["Raiser"].reason == "ValueError: the matrix is singular at row 3"
    assert "Raiser was left out: ValueError: the matrix is singular at row 3." in wines.sentences()


@pytest.mark.slow
def test_a_killed_process_and_one_that_cannot_be_sent(noisy):
    result = compare([Suicide(), Unsendable(), Weigher()], *noisy)
    assert result["Suicide"].reason == "its process was killed, or ran out of memory"
    assert result["Unsendable"].reason.startswith("it cannot be sent to a process: ")
    assert result["Weigher"].losses is not None


def test_a_warning_of_the_fit_is_told(noisy, in_process):
    result = compare([Warner()], *noisy)
    assert result["Warner"].warning == "not converged; raise max_iter"
    assert "Warner warns: not converged; raise max_iter." in result.sentences()


@pytest.mark.slow
def test_ctrl_c_keeps_the_finished_rows(noisy):
    def interrupt(progress):
        if progress.label == "Sleeper" and progress.seconds > 0:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedComparison, match="the 4 finished rows") as caught:
        compare([Weigher(), Sleeper(), Raiser()], *noisy, callback=interrupt)
    result = caught.value.comparison
    assert [row.key for row in result.rows] == ["raw", "scaled", "lda", "Weigher", "Sleeper"]
    assert (result["Sleeper"].reason, result["Sleeper"].ending) == ("stopped", "stopped")
    assert not result.is_complete
    assert "stopped before all models were done" in str(result)


@pytest.mark.slow
def test_a_true_result_of_the_callback_ends_the_comparison(noisy):
    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.label == "Sleeper"

    result = compare([Weigher(), Sleeper()], *noisy, callback=stop, budget=30)
    assert not result.is_complete
    assert result["Weigher"].losses is not None
    last = seen[-1]
    assert (last.number, last.n_learners, last.setting, last.n_settings) == (5, 5, 1, 1)
    assert last.share == pytest.approx(0.8, abs=0.19)
    assert 0 <= last.seconds_left <= 30
    assert [progress.number for progress in seen] == sorted(progress.number for progress in seen)


SCRIPT = """
import time
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from frobmetric import compare

class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y):
        if {is_slow}:
            print("fitting", flush=True)
            time.sleep(1e6)
        self.n_features_in_ = X.shape[1]
        return self
    def transform(self, X):
        return X

result = compare([Own()], *load_iris(return_X_y=True))
print(result["Own"].losses is not None)
"""


def _start(tmp_path, **values):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(**values))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {"PYTHONPATH": str(SOURCE), "PATH": ""}
    return subprocess.Popen([sys.executable, str(script)], env=environment, **pipes)


@pytest.mark.slow
def test_a_script_needs_no_guard_and_may_define_learners(tmp_path):
    out, error = _start(tmp_path, is_slow=False).communicate()
    assert out == "True\n", error


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.slow
def test_the_process_of_a_fit_ends_with_its_parent(tmp_path):
    parent = _start(tmp_path, is_slow=True)
    assert parent.stdout.readline() == "fitting\n"
    parent.kill()
    assert parent.stdout.read() == ""  # the end of the file: no process holds the pipe any more
    parent.communicate()


# Learners


def test_learners_are_looked_up_when_they_are_needed(monkeypatch):
    assert [*label_learners()][:3] == ["FrobMetric", "FrobMetricCV", "BoostMetric"]
    assert "Covariance" in label_learners()

    class Newest(frobmetric.learners.Covariance):
        pass

    class OfChunks(frobmetric.learners.Covariance):
        def fit(self, X, chunks):
            return self

    class OfNumbers(frobmetric.learners.Covariance):
        _has_classes = False

    for kind in (Newest, OfChunks, OfNumbers):
        monkeypatch.setattr(frobmetric.learners, kind.__name__, kind, raising=False)
    names = [*frobmetric.learners.__all__, "Newest", "OfChunks", "OfNumbers"]
    monkeypatch.setattr(frobmetric.learners, "__all__", names)
    assert "Newest" in label_learners()
    assert "OfNumbers" not in label_learners()
    assert "OfNumbers" in label_learners(has_classes=False)
    assert "OfChunks" not in label_learners() | label_learners(has_classes=False)


@pytest.mark.parametrize("name", [name for name in GRIDS if name in label_learners()])
def test_grids_have_options_of_their_learner(name):
    names = {"has_classes": True, "is_sparse": False, "random_state": 0}
    (candidate,) = read_models([name], **names)
    assert 1 < len(candidate.settings) <= 8
    for setting in candidate.settings:
        candidate.with_options(setting)


def test_learners_by_name_get_the_seed(monkeypatch):
    class Random(frobmetric.learners.Covariance):
        def __init__(self, preprocessor=None, random_state=None):
            super().__init__(preprocessor)
            self.random_state = random_state

    monkeypatch.setattr(frobmetric.learners, "Random", Random, raising=False)
    monkeypatch.setattr(frobmetric.learners, "__all__", [*frobmetric.learners.__all__, "Random"])
    (candidate,) = read_models(["Random"], has_classes=True, is_sparse=False, random_state=7)
    assert candidate.model[-1].random_state == 7


# Findings on several models


def made_many(**errors):
    """A comparison of 200 samples: for each row the number of errors, its seconds and its proof."""
    rows = []
    for key, (n_errors, seconds, is_proven) in errors.items():
        losses = np.arange(200) < n_errors
        gap = 1e-4 if is_proven else None
        rows.append(ComparisonRow(key, key, losses, seconds, gap=gap, proofs=(True,) * is_proven))
    return Comparison(tuple(rows), n_train=400, budget=60.0)


BOTH = {"raw": (90, 0.0, False), "scaled": (60, 0.0, False)}


def test_findings_prefer_a_proven_learner():
    result = made_many(**BOTH, fast=(21, 0.1, False), proven=(22, 5.0, True), slow=(22, 9.0, True))
    assert result.best.key == "fast"
    assert [row.key for row in result.indistinguishable] == ["proven", "slow"]
    assert result.preferred.key == "proven"
    assert result.sentences()[0] == (
        "fast has the smallest error, 10.5 %. Not distinguishable from it by these 200 samples: "
        "proven, slow. Prefer proven: of the proven ones the fastest (11.0 % in 5.00 s)."
    )


def test_findings_without_proofs():
    result = made_many(**BOTH, fast=(22, 0.1, False), slow=(21, 9.0, False))
    assert result.sentences()[0].endswith("Prefer fast: the fastest (11.0 % in 0.10 s).")
    result = made_many(**BOTH, one=(10, 0.1, False))
    assert result.sentences() == [
        "one has the smallest error, 5.0 %. All others are significantly worse."
    ]


def test_findings_when_euclid_is_as_good():
    result = made_many(raw=(10, 0.0, False), one=(9, 0.1, True))
    assert "it is not shown that learning helps. Prefer one" in result.sentences()[0]
    result = made_many(raw=(10, 0.0, False), one=(40, 0.1, True))
    assert result.preferred.key == "raw"
    assert result.sentences()[0] == (
        "raw has the smallest error, 5.0 %. All others are significantly worse. Nothing learned is "
        "shown to be better."
    )


def test_findings_without_answers():
    result = Comparison((ComparisonRow("A", "A", reason="x"),), n_train=4, budget=60.0)
    assert result.sentences() == [
        "There is no answer: no model was done in 60 s.",
        "A was left out: x.",
    ]
    assert result.best is result.preferred is None
    assert re.search("^A +none$", str(result), re.M)
    assert np.isnan(result["A"].error)
    assert "nan" not in str(result) + result.to_markdown() + str(result.to_dict())


def test_proofs(noisy, in_process):
    learners = [
        ("proven", Weigher(gap=1e-5), {}),
        ("loose", Weigher(gap=0.1), {}),
        ("own tolerance", Weigher(gap=0.1, tol=0.2), {}),
        NeighborhoodComponentsAnalysis(max_iter=1),
    ]
    result = compare(learners, *noisy)
    proofs = [row.proof for row in result.rows[3:]]
    assert proofs == ["gap 1e-05", "not proven", "gap 1e-01", "not convex"]


# Forms of the result


def test_text_fits_on_a_terminal(wines):
    text = str(wines)
    assert max(map(len, text.splitlines())) < 80
    assert re.search(
        r"^FrobMetric +\d+\.\d % +\[.*\] +[-+]\d+\.\d \w+ +\d.* s +gap \de-", text, re.M
    )
    assert re.search(r"^FrobMetric: .*; tried 6 of 6 settings in ", text, re.M)
    assert "scaled features (FrobMetric scales them" in text
    assert text == wines.to_text()
    assert repr(wines).startswith("Comparison(n_test=54, raw=0.3")


def test_json_has_everything(wines):
    data = json.loads(json.dumps(wines.to_dict(), allow_nan=False))
    assert list(data["rows"]) == [row.key for row in wines.rows]
    row = data["rows"]["FrobMetric"]
    assert row["error"] == wines["FrobMetric"].error
    assert row["minus_euclid"]["verdict"] in ("unclear", "helped")
    assert "error" not in data["rows"]["Raiser"]
    assert data["euclidean"] == "scaled"
    assert data["sentences"] == wines.sentences()


def test_options_that_json_has_not():
    row = ComparisonRow(
        "A", "A", np.ones(4, bool), 0.1, options={"init": np.eye(2), "k": np.int64(3)}
    )
    data = Comparison((row,), n_train=4, budget=60.0).to_dict()
    options = data["rows"]["A"]["options"]
    assert options["k"] == 3
    assert options["init"].startswith("array([[1., 0.]")
    assert len(options["init"]) <= 30


def test_html_and_markdown_escape():
    row = ComparisonRow("A", "<a|b>", np.ones(4, bool), 0.1)
    result = Comparison((row,), n_train=4, budget=60.0)
    assert "&lt;a|b&gt;" in result._repr_html_()
    assert "<a|b>" not in result._repr_html_()
    assert r"| \<a\|b\> | 100.0 % |" in result.to_markdown()


# Numbers


def test_numbers_are_predicted_by_the_mean(in_process):
    X, y = load_diabetes(return_X_y=True)
    y = y + 0.5
    result = compare([("PCA", PCA(), {"n_components": [2]}), "Covariance"], X, y)
    assert [row.key for row in result.rows] == ["raw", "scaled", "PCA", "Covariance"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    predicted = KNeighborsRegressor(3).fit(X_train, y_train).predict(X_test)
    spread = np.sqrt(np.mean((y_test - y_train.mean()) ** 2))
    expected = np.sqrt(np.mean((predicted - y_test) ** 2)) / spread
    assert result["raw"].error == pytest.approx(expected, rel=1e-12)
    low, high = result["raw"].interval
    assert low < expected < high
    assert str(result).count("RMSE, relative to the spread, of the mean of the 3") == 1
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_default_learners_of_numbers():
    names = [*label_learners(has_classes=False)]
    assert names[0] == "FrobMetric"
    assert "Covariance" in names
    assert "BoostMetric" not in names


def test_average_of_neighbours_helps_or_hurts(in_process):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 4))
    result = compare([Weigher(100.0), ("bad", Weigher(1e-3), {})], data, data[:, 0] * 3.0)
    verdicts = [result.against(result.euclidean.key, key).verdict for key in ("Weigher", "bad")]
    assert verdicts == ["helped", "hurt"]
    assert not result.evaluation.has_classes


# What one model and several models have in common


def test_one_model_learns_numbers():
    X, y = load_diabetes(return_X_y=True)
    y = y + 0.5
    result = compare(PCA(2), X, y, cv=KFold(4))
    assert [row.key for row in result.rows] == ["raw", "scaled", "model"]
    assert (result.n_test, result.n_folds, result.constant_error) == (442, 4, 1.0)
    losses = []
    for train, test in KFold(4).split(X):
        predicted = KNeighborsRegressor(3).fit(X[train], y[train]).predict(X[test])
        losses.append((predicted - y[test]) ** 2 / np.mean((y[test] - y[train].mean()) ** 2))
    assert result["raw"].error == pytest.approx(np.sqrt(np.mean(np.concatenate(losses))), rel=1e-12)
    assert result.verdict == "hurt"
    assert "points" in result.sentences()[0]
    left_out = compare(PCA(2), X, y, cv=2, baselines=("raw", "lda"))["lda"]
    assert left_out.reason == "y holds numbers, and no classes"


def test_several_models_by_folds(noisy, in_process):
    grid = {"weight": [0.01, 30.0]}
    result = compare([("weigher", Weigher(gap=1e-5), grid), Raiser()], *noisy, cv=3)
    assert (result.n_folds, result.n_test) == (3, 240)
    row, one = result["weigher"], compare(Weigher(30.0), *noisy, cv=3)
    assert (row.n_tried, row.n_settings, row.proofs) == (3, 3, (True,) * 3)
    assert row.options == {"weight": 30.0}
    assert row.error < one["scaled"].error
    np.testing.assert_array_equal(result["raw"].losses, one["raw"].losses)
    np.testing.assert_array_equal(row.predicted != result.truth, row.losses)
    assert result["Raiser"].reason.startswith("ValueError")


def test_one_model_with_a_budget_chooses_its_options(noisy, in_process):
    result = compare(BoostMetric(), *noisy, budget=30, cv=2, baselines=EUCLID)
    assert result["model"].n_settings == 4
    assert result.budget == 30
    assert result.verdict == "helped"
    assert "BoostMetric: " in str(result)


def test_ctrl_c_keeps_the_baselines_of_one_model(noisy):
    class Interrupted(Weigher):
        def fit(self, X, y):
            raise KeyboardInterrupt

    with pytest.raises(InterruptedComparison) as caught:
        compare(Interrupted(), *noisy, baselines=EUCLID)
    result = caught.value.comparison
    assert [row.key for row in result.measured] == ["raw", "scaled"]
    assert "Interrupted was left out: stopped." in str(result)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "nan" not in result.to_markdown() + repr(result)
