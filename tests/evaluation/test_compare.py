"""The comparison of a metric with baselines: what is measured, said and suggested."""

import json
import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    NearestClass,
    TripletFrobMetric,
    compare,
    knn_error,
)
from frobmetric.evaluation.compare import compare as function
from frobmetric.evaluation.comparison import Comparison, ComparisonRow
from frobmetric.evaluation.hints import Hint, Situation, find_hints

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


def made(model_wrong, raw_wrong, n=100, **options):
    """Return a comparison with given mistakes, as numbers of samples from the first on."""
    rows = [("raw", "Euclid, raw", raw_wrong), ("model", "FrobMetric", model_wrong)]
    rows = [ComparisonRow(key, name, np.arange(n) < wrong) for key, name, wrong in rows]
    return Comparison(tuple(rows), n_neighbors=3, n_train=50, **options)


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
    assert result.certified == (True,) * 3


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
    assert 0.4 < helped.majority_error < 0.6


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
    assert result["lda"].skipped == result["nca"].skipped == "X is sparse"
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
    assert result["scaled"].skipped == "X holds values of a kernel, and no features"
    assert result.euclidean.key == "raw"
    parts = {"X_test": K[1::2, ::2], "y_test": y[1::2]}
    held_out = compare(FrobMetric(kernel="precomputed", C=1), K[::2, ::2], y[::2], **parts)
    assert held_out["raw"].error == knn_error(A[::2], y[::2], A[1::2], y[1::2])


def test_nca_is_left_out_if_it_would_take_long(monkeypatch, noisy):
    monkeypatch.setattr(import_module("frobmetric.evaluation.compare"), "NCA_WORK", 1e6)
    row = compare(PCA(), *noisy, baselines=("raw", "nca"))["nca"]
    assert row.skipped == "192 samples of 21 features would take it too long"
    assert np.isnan(row.error)
    assert np.isnan(row.interval).all()


def test_a_baseline_that_fails_is_left_out():
    A = np.arange(12.0)[:, None] * [1, 2]
    labels = np.repeat(np.arange(6), 2)  # in each fold as many classes as samples
    result = compare(PCA(), A, labels, cv=2, n_neighbors=1, baselines=("raw", "lda"))
    assert "number of samples must be more than the number of classes" in result["lda"].skipped


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
    assert all(row.mistakes.sum() >= 1 for row in result.rows)


def test_folds_that_are_given():
    folds = list(StratifiedKFold(4).split(X, y))[:2]
    assert compare(PCA(), X, y, cv=folds, baselines=EUCLID).n_test == 76
    assert compare(PCA(), X, y, cv=StratifiedKFold(4), baselines=EUCLID).n_folds == 4
    one = compare(PCA(), X, y, cv=folds[:1], baselines=EUCLID)
    assert "38 test samples, neighbours from 112 others" in " ".join(str(one).split())
    again = compare(PCA(), X, y, random_state=1, baselines=EUCLID)
    assert not np.array_equal(again["raw"].mistakes, compare(PCA(), X, y)["raw"].mistakes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"cv": 60}, ValueError, "cv=60, but the largest class has 50 samples"),
        ({"cv": 1}, ValueError, "cv is 1; expected an integer of at least 2"),
        ({"cv": RepeatedStratifiedKFold(n_splits=2)}, ValueError, "tests sample 0 10 times"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0"),
        ({"n_neighbors": 121}, ValueError, "n_neighbors=121, but there are 120 training samples"),
        ({"baselines": ("lda",)}, ValueError, "with 'raw' or 'scaled'"),
        ({"baselines": "raw"}, ValueError, "baselines='raw'; expected a list"),
        ({"baselines": ("raw", "svm")}, ValueError, "expected a list of"),
        ({"X_test": X}, ValueError, "X_test and y_test belong together"),
        ({"X_test": X, "y_test": ["a"] * 150}, ValueError, "labels of one problem"),
        ({"X_test": X, "y_test": y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"y": y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"y": np.zeros(150)}, ValueError, "y has one class"),
        ({"y": np.where(y == 0, np.nan, y)}, ValueError, r"y\[0\] is nan; every sample needs a"),
        ({"y": np.linspace(0, 1, 150)}, ValueError, "Unknown label type"),
        ({"y": np.append(np.zeros(149), 1)}, ValueError, "leaves samples of one class"),
        ({"X": np.where(X > 7, np.nan, X)}, ValueError, "Input X contains NaN"),
        ({"X": np.char.add(X.astype(str)[:, :1], "a")}, ValueError, "could not convert string"),
        ({"model": KNeighborsClassifier()}, TypeError, "has no `transform`"),
        ({"model": NearestCentroid()}, TypeError, "has no `transform`"),
    ],
)
def test_mistakes(changes, error, message):
    arguments = {"model": PCA(2), "X": X, "y": y, "baselines": EUCLID} | changes
    with pytest.raises(error, match=message):
        compare(arguments.pop("model"), arguments.pop("X"), arguments.pop("y"), **arguments)


# What is said


def test_the_text_fits_a_terminal(helped, wine):
    model = make_pipeline(StandardScaler(), FrobMetric(), NearestClass())
    A, labels = np.tile(wine[0], (6, 1)), np.tile(wine[1], 6)  # 1,068 samples: two decimals
    A += np.random.default_rng(0).normal(size=A.shape) * A.std(axis=0)
    long = compare(model, A, labels, cv=2, baselines=("raw", "scaled", "lda"))
    for result in (helped, long):
        lines = str(result).splitlines()
        assert max(map(len, lines)) <= 79
        table = str(result).split("\n\n")[1].splitlines()
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
    assert made(*wrong).sentences()[0].startswith(opening)


def test_no_difference_needs_many_samples():
    assert made(200, 201, n=5000).sentences()[0].startswith("FrobMetric makes no difference here")


def test_html_is_escaped_and_complete():
    rows = list(made(5, 20).rows)
    rows[1] = ComparisonRow("model", "<i>&", rows[1].mistakes, 1.5)
    result = Comparison(tuple(rows), n_neighbors=3, n_train=50, notes=("a < b",))
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
    assert data["rows"]["lda"]["model_minus_it"]["n_samples"] == 240
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


HURT, HELPED = made(20, 5), made(5, 20)


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
    beaten = Comparison(rows, n_neighbors=3, n_train=50)
    assert (beaten.verdict, beaten.against("lda").verdict) == ("helped", "nothing to gain")
    assert hints(FrobMetric(), beaten) == []
    rows = (*made(10, 30).rows, rows[-1])
    beaten = Comparison(rows, n_neighbors=3, n_train=50)
    assert (beaten.verdict, beaten.against("lda").verdict) == ("helped", "hurt")
    assert hints(FrobMetric(), beaten) == ['prior="discriminant"']
    assert hints(FrobMetric(prior="discriminant"), beaten) == ["LinearDiscriminantAnalysis()"]
    assert hints(FrobMetricCV(), beaten) == ["LinearDiscriminantAnalysis()"]


def test_baselines_with_fewer_errors_are_named():
    lda = ComparisonRow("lda", "LDA", np.arange(100) < 2)
    beaten = Comparison((*made(10, 30).rows, lda), n_neighbors=3, n_train=50)
    (sentence,) = beaten.better_baselines()
    assert sentence.startswith("LDA has fewer errors than FrobMetric: 2")
    assert sentence in beaten.sentences()
    worse = ComparisonRow("lda", "LDA", np.arange(100) < 90)
    assert (
        Comparison((*made(10, 30).rows, worse), n_neighbors=3, n_train=50).better_baselines() == []
    )


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
    *_, last = find_hints(Situation(FrobMetric(), (), X, y, made(15, 19)))
    assert (
        last.reason == "more samples would tell: about 140 tested, if the difference stays as it is"
    )
    *_, last = find_hints(Situation(FrobMetric(), (), X, y, made(15, 15)))
    assert last.reason == "more samples would tell"


def test_the_function_has_the_name_of_its_module():
    assert function is import_module("frobmetric.evaluation.compare").compare


# Answers behind the counts


def test_answers_and_classes_of_the_tested_rows_are_kept():
    X, y = load_wine(return_X_y=True)
    result = compare(FrobMetric(), X, y, cv=3, baselines=["raw", "scaled"])
    np.testing.assert_array_equal(np.sort(result.tested), np.arange(len(y)))
    np.testing.assert_array_equal(result.truth, y[result.tested])
    for row in result.rows:
        np.testing.assert_array_equal(row.predicted != result.truth, row.mistakes)


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
