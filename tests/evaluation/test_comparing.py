"""Comparison of learners: choice of options, budgets, lost processes, Ctrl-C, findings, numbers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frobmetric.learners
from fake_learners import InProcess, Raiser, Sleeper, Spy, Suicide, Unsendable, Warner, Weigher
from frobmetric import BoostMetric, Comparison, FrobMetric, TripletFrobMetric, compare, knn_error
from frobmetric.evaluation.comparing import (
    InterruptedComparison,
    LearnerRow,
    LearnersComparison,
    race,
)
from frobmetric.evaluation.comparing.candidates import GRIDS, label_learners, read_learners
from frobmetric.evaluation.comparing.evaluation import Average, Vote

X, y = load_iris(return_X_y=True)
SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(scope="module")
def noisy():
    """Of twenty features, only the first tells the classes apart, and it is small."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=150)
    useful = labels + 0.2 * rng.normal(size=150)
    return np.column_stack([useful, 5 * rng.normal(size=(150, 19))]), labels


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr(race, "FitWorker", InProcess)


@pytest.fixture(scope="module")
def wines():
    learners = ["FrobMetric", ("PCA", PCA(), {"n_components": [2, 5]}), Raiser()]
    return compare(*load_wine(return_X_y=True), learners=learners)


# What is measured


def test_errors_are_those_of_the_held_out_samples(wines):
    X, y = load_wine(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    assert (wines.n_train, wines.n_test) == (len(y_train), len(y_test))
    assert wines.error(wines["raw"]) == knn_error(X_train, y_train, X_test, y_test)
    scaler = StandardScaler().fit(X_train)
    Z_train, Z_test = scaler.transform(X_train), scaler.transform(X_test)
    assert wines.error(wines["scaled"]) == knn_error(Z_train, y_train, Z_test, y_test)
    for key in ("FrobMetric", "PCA"):
        model = wines[key].model.fit(X_train, y_train)
        maps = model.transform(X_train), model.transform(X_test)
        assert wines.error(wines[key]) == knn_error(maps[0], y_train, maps[1], y_test)


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
    frob, boost, given = read_learners(
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
    result = compare(*noisy, learners=[("weigher", Weigher(), grid)])
    row = result["weigher"]
    assert row.options == {"weight": 30.0}
    assert (row.n_tried, row.n_settings) == (3, 3)
    assert result.error(row) < result.error(result["scaled"])
    assert result.against(result.euclidean, row).verdict == "helped"


def test_a_setting_that_fails_is_no_candidate(noisy, in_process):
    grid = {"n_components": [1, 99]}
    row = compare(*noisy, learners=[("PCA", PCA(), grid)])["PCA"]
    assert row.losses is not None
    assert row.options in ({}, {"n_components": 1})
    assert row.n_tried == 3


def test_only_training_samples_are_fitted(tmp_path, noisy, in_process):
    data, labels = noisy
    file = tmp_path / "fits"
    spy = make_pipeline(Spy(str(file)))
    grid = {"spy__weight": [1.0, 2.0]}
    result = compare(data, labels, learners=[("spy", spy, grid)])
    sizes = [int(line.split()[0]) for line in file.read_text().splitlines()]
    assert sizes[0] == result.n_train
    assert sizes[1:7] == [result.n_train * 2 // 3] * 6
    chosen = result["spy"].options
    assert len(sizes) == (8 if chosen else 7)


def test_given_test_samples(noisy, in_process):
    data, labels = noisy
    result = compare(
        data[:100],
        labels[:100],
        X_test=data[100:],
        y_test=labels[100:],
        learners=[Weigher(weight=30.0)],
    )
    assert (result.n_train, result.n_test) == (100, 50)
    assert result.error(result["raw"]) == knn_error(
        data[:100], labels[:100], data[100:], labels[100:]
    )


def test_labels_may_be_texts_and_minus_one(in_process):
    names = np.array(["-", "0", "+"])[y]
    signs = np.array([-1, 0, 1])[y]
    results = [compare(X, labels, learners=["Covariance"]) for labels in (names, signs)]
    assert all(not result["Covariance"].warning for result in results)
    assert results[1].error(results[1]["Covariance"]) < 0.2


def test_a_sample_alone_in_its_class_is_learned_from(in_process):
    labels = np.where(np.arange(150) == 7, "single", np.array(["a", "b", "c"])[y])
    result = compare(X, labels, learners=["Covariance"])
    assert result.notes == ("1 samples, alone in their class, are in the training part.",)
    assert result.n_train + result.n_test == 150


def test_sparse_samples(noisy, in_process):
    data, labels = noisy
    result = compare(sp.csr_array(data), labels, learners=[FrobMetric(n_passes=1), "Covariance"])
    assert result["FrobMetric"].losses is not None
    assert "parse" in result["lda"].reason
    assert "parse" in result["Covariance"].reason


# Budgets, and processes that end


@pytest.mark.slow
def test_a_learner_that_is_never_done_is_stopped(noisy):
    grid = {"weight": [2.0, 3.0]}
    learners = [Sleeper(), ("napper", Sleeper(naps=True), grid)]
    result = compare(*noisy, learners=learners, budget=3.0)
    row = result["Sleeper"]
    assert row.losses is None
    assert (row.reason, row.ending) == ("no answer in 3 s", "budget")
    assert result.is_complete
    assert "Sleeper: no answer in 3 s." in result.sentences()
    row = result["napper"]  # its last complete answer counts
    assert row.losses is not None
    assert (row.options, row.ending, row.n_tried, row.n_settings) == ({}, "budget", 1, 3)
    assert "time was up after 1 of 3 settings" in str(result).replace("\n  ", " ")


def test_an_error_of_a_learner_is_one_line(wines):
    assert wines["Raiser"].reason == "ValueError: the matrix is singular at row 3"
    assert "Raiser: ValueError: the matrix is singular at row 3." in wines.sentences()


@pytest.mark.slow
def test_a_killed_process_and_one_that_cannot_be_sent(noisy):
    result = compare(*noisy, learners=[Suicide(), Unsendable(), Weigher()])
    assert result["Suicide"].reason == "its process was killed, or ran out of memory"
    assert result["Unsendable"].reason.startswith("it cannot be sent to a process: ")
    assert result["Weigher"].losses is not None


def test_a_warning_of_the_fit_is_told(noisy, in_process):
    result = compare(*noisy, learners=[Warner()])
    assert result["Warner"].warning == "not converged; raise max_iter"
    assert "Warner warns: not converged; raise max_iter." in result.sentences()


@pytest.mark.slow
def test_ctrl_c_keeps_the_finished_rows(noisy):
    def interrupt(progress):
        if progress.label == "Sleeper" and progress.seconds > 0:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedComparison, match="the 4 finished rows") as caught:
        compare(*noisy, learners=[Weigher(), Sleeper(), Raiser()], callback=interrupt)
    result = caught.value.comparison
    assert [row.key for row in result.rows] == ["raw", "scaled", "lda", "Weigher", "Sleeper"]
    assert (result["Sleeper"].reason, result["Sleeper"].ending) == ("stopped", "stopped")
    assert not result.is_complete
    assert "stopped before all learners were done" in str(result)


@pytest.mark.slow
def test_a_true_result_of_the_callback_ends_the_comparison(noisy):
    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.label == "Sleeper"

    result = compare(*noisy, learners=[Weigher(), Sleeper()], callback=stop, budget=30)
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

result = compare(*load_iris(return_X_y=True), learners=[Own()])
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
    (candidate,) = read_learners([name], **names)
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
    (candidate,) = read_learners(["Random"], has_classes=True, is_sparse=False, random_state=7)
    assert candidate.model[-1].random_state == 7


# Findings


def made(**errors):
    """A comparison of 200 samples: for each row the number of errors, its seconds and its proof."""
    rows = []
    for key, (n_errors, seconds, is_proven) in errors.items():
        losses = np.arange(200) < n_errors
        gap = 1e-4 if is_proven else None
        rows.append(LearnerRow(key, key, losses, seconds, gap=gap, is_proven=is_proven))
    return LearnersComparison(tuple(rows), Vote(3), 400, 200, 60.0)


EUCLID = {"raw": (90, 0.0, False), "scaled": (60, 0.0, False)}


def test_findings_prefer_a_proven_learner():
    result = made(**EUCLID, fast=(21, 0.1, False), proven=(22, 5.0, True), slow=(22, 9.0, True))
    assert result.best.key == "fast"
    assert [row.key for row in result.indistinguishable] == ["proven", "slow"]
    assert result.preferred.key == "proven"
    assert result.sentences()[0] == (
        "fast has the smallest error, 10.5 %. Not distinguishable from it by these 200 samples: "
        "proven, slow. Prefer proven: of the proven ones the fastest (11.0 % in 5.00 s)."
    )


def test_findings_without_proofs():
    result = made(**EUCLID, fast=(22, 0.1, False), slow=(21, 9.0, False))
    assert result.sentences()[0].endswith("Prefer fast: the fastest (11.0 % in 0.10 s).")
    result = made(**EUCLID, one=(10, 0.1, False))
    assert result.sentences() == [
        "one has the smallest error, 5.0 %. All others are significantly worse."
    ]


def test_findings_when_euclid_is_as_good():
    result = made(raw=(10, 0.0, False), one=(9, 0.1, True))
    assert "it is not shown that learning helps. Prefer one" in result.sentences()[0]
    result = made(raw=(10, 0.0, False), one=(40, 0.1, True))
    assert result.preferred.key == "raw"
    assert result.sentences()[0] == (
        "raw has the smallest error, 5.0 %. All others are significantly worse. Nothing learned is "
        "shown to be better."
    )


def test_findings_without_answers():
    result = LearnersComparison((LearnerRow("A", "A", reason="x"),), Vote(3), 4, 2, 60.0)
    assert result.sentences() == ["There is no answer: no learner was done in 60 s.", "A: x."]
    assert result.best is result.preferred is result.euclidean is None
    assert re.search("^A +none$", str(result), re.M)
    assert np.isnan(result.error(result["A"]))
    assert "nan" not in str(result) + result.to_markdown() + str(result.to_dict())


def test_proofs(noisy, in_process):
    learners = [
        ("proven", Weigher(gap=1e-5), {}),
        ("loose", Weigher(gap=0.1), {}),
        ("own tolerance", Weigher(gap=0.1, tol=0.2), {}),
        NeighborhoodComponentsAnalysis(max_iter=1),
    ]
    result = compare(*noisy, learners=learners)
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
    assert repr(wines).startswith("LearnersComparison(n_test=54, raw=0.3")


def test_json_has_everything(wines):
    data = json.loads(json.dumps(wines.to_dict(), allow_nan=False))
    assert list(data["rows"]) == [row.key for row in wines.rows]
    row = data["rows"]["FrobMetric"]
    assert row["error"] == wines.error(wines["FrobMetric"])
    assert row["minus_euclid"]["verdict"] in ("unclear", "helped")
    assert "error" not in data["rows"]["Raiser"]
    assert data["euclidean"] == "scaled"
    assert data["sentences"] == wines.sentences()


def test_options_that_json_has_not():
    row = LearnerRow("A", "A", np.ones(4, bool), 0.1, options={"init": np.eye(2), "k": np.int64(3)})
    data = LearnersComparison((row,), Vote(3), 4, 4, 60.0).to_dict()
    options = data["rows"]["A"]["options"]
    assert options["k"] == 3
    assert options["init"].startswith("array([[1., 0.]")
    assert len(options["init"]) <= 30


def test_html_and_markdown_escape():
    row = LearnerRow("A", "<a|b>", np.ones(4, bool), 0.1)
    result = LearnersComparison((row,), Vote(3), 4, 4, 60.0)
    assert "&lt;a|b&gt;" in result._repr_html_()
    assert "<a|b>" not in result._repr_html_()
    assert r"| \<a\|b\> | 100.0 % |" in result.to_markdown()


# Numbers


def test_numbers_are_predicted_by_the_mean(in_process):
    X, y = load_diabetes(return_X_y=True)
    y = y + 0.5
    result = compare(X, y, learners=[("PCA", PCA(), {"n_components": [2]}), "Covariance"])
    assert [row.key for row in result.rows] == ["raw", "scaled", "PCA", "Covariance"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    predicted = KNeighborsRegressor(3).fit(X_train, y_train).predict(X_test)
    spread = np.sqrt(np.mean((y_test - y_train.mean()) ** 2))
    expected = np.sqrt(np.mean((predicted - y_test) ** 2)) / spread
    assert result.error(result["raw"]) == pytest.approx(expected, rel=1e-12)
    low, high = result.interval(result["raw"])
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
    result = compare(data, data[:, 0] * 3.0, learners=[Weigher(100.0), ("bad", Weigher(1e-3), {})])
    verdicts = [result.against(result.euclidean, result[key]).verdict for key in ("Weigher", "bad")]
    assert verdicts == ["helped", "hurt"]
    assert isinstance(result.evaluation, Average)


# The two forms, and mistakes


def test_both_forms_by_position_and_by_name(in_process):
    options = {"cv": 3, "baselines": ("raw",)}
    for one in (
        compare(PCA(), X, y, **options),
        compare(PCA(), X=X, y=y, **options),
        compare(model=PCA(), X=X, y=y, **options),
    ):
        assert isinstance(one, Comparison)
    for many in (
        compare(X, y, learners=[PCA()]),
        compare(X, y=y, learners=[PCA()]),
        compare(X=X, y=y, learners=[PCA()]),
    ):
        assert isinstance(many, LearnersComparison)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((X,), {}, TypeError, "got 1 of model, X and y; expected"),
        ((X, y, y), {}, TypeError, r"ndarray as model; expected compare\(model, X, y\)"),
        ((PCA(), X), {}, TypeError, "got PCA as X"),
        ((PCA(), X, y), {"learners": ["LMNN"]}, TypeError, "learners, which compare.model"),
        ((X, y), {"cv": 5}, TypeError, r"cv, which compare\(X, y\) does not take; expected of lea"),
        ((X, y), {"learners": "FrobMetric"}, TypeError, "expected a list of names"),
        ((X, y), {"learners": []}, ValueError, "learners is empty; expected some of FrobMetric"),
        (
            (X, y),
            {"learners": ["LNMM"]},
            ValueError,
            "'LNMM', which is no learner .*expected of Fr",
        ),
        ((X, y), {"learners": [FrobMetric]}, TypeError, "the class FrobMetric; expected an estim"),
        ((X, y), {"learners": [3]}, TypeError, "'int' is 3; expected an estimator"),
        ((X, y), {"learners": [("a", PCA())]}, TypeError, r"expected \(name, estimator, grid\)"),
        (
            (X, y),
            {"learners": [("a", PCA(), {"k": [1]})]},
            ValueError,
            "'k', which is no parameter",
        ),
        ((X, y), {"learners": [TripletFrobMetric()]}, TypeError, "takes tuples; expected"),
        ((X, y), {"budget": 0}, ValueError, "budget is 0; expected a number of seconds"),
        ((X, y), {"n_neighbors": 0}, ValueError, "n_neighbors is 0; expected an integer"),
        ((X, y), {"n_neighbors": 100}, ValueError, "a fold has 70 samples .*choose a smaller"),
        ((X, y), {"X_test": X}, ValueError, "X_test and y_test belong together"),
        ((X, y), {"X_test": X, "y_test": y + 9}, ValueError, "no label of the test samples"),
        ((X, y * 0), {}, ValueError, "y has one class"),
        ((X, np.where(y == 1, np.nan, y)), {}, ValueError, r"y\[50\] is nan; every sample needs"),
        ((X[:8], np.arange(8) // 2 * 1.0), {"test_size": 1}, ValueError, "should be greater or eq"),
        ((X, np.column_stack([y, y])), {}, ValueError, "y should be a 1d array"),
    ],
)
def test_mistakes(arguments, options, error, message):
    with pytest.raises(error, match=message):
        compare(*arguments, **options)
