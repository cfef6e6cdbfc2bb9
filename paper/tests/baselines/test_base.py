"""All baselines have the interface; those of the paper's table learn."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frobmetric import mine_triplets
from frobmetric.app.cli import app
from frobmetric.model.sets import GivenTriplets
from frobmetric.neighbors import knn_error
from frobmetric_paper.baselines import (
    BASELINES,
    EMBEDDING,
    MAP,
    METRIC,
    SDP,
    TABLE,
    Fitted,
    MetricBaseline,
    ProgramFailedError,
    ProgramMissingError,
    TimeLimitError,
    set_up,
)
from frobmetric_paper.harness.run import first_parameters
from frobmetric_paper.harness.worker import Target

C = 20.0
#: These learn nothing.
PLAIN = ("euclid", "pca")
#: These run in an environment of their own.
METRIC_LEARN = ("itml", "itml_pairs", "lmnn", "scml")


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.name)
def test_interface(baseline):
    assert baseline.label
    assert baseline.is_available() == (not baseline.missing())
    assert baseline in [kind.get(baseline.name) for kind in (METRIC, SDP, EMBEDDING, MAP)]


@pytest.mark.parametrize("name", METRIC)
def test_interface_of_those_that_learn_a_metric(name):
    baseline = METRIC[name]
    assert baseline.learns_from in ("labels", "triplets", "pairs")
    assert baseline.answers in ("map", "classes")
    assert baseline.features in ("reduced", "all")
    assert all(isinstance(values, tuple) and values for values in baseline.search.values())
    assert set(json.loads(json.dumps(baseline.search))) == set(baseline.search)
    assert all(names.split() for names in baseline.search)


def test_no_two_baselines_of_a_kind_have_one_name():
    assert len(BASELINES) == len(METRIC) + len(SDP) + len(EMBEDDING) + len(MAP)


def test_the_table_has_the_rows_of_the_paper_in_its_order():
    names = "euclid pca lda svm rca nca lmnn lmnn_matrix itml boost "
    names += "frob frob_tuned frob_kernel frob_default frob_cv frob_cv_rule"
    assert " ".join(TABLE) == names
    published = [METRIC[name].paper_name for name in TABLE if METRIC[name].paper_name]
    labels = "Euclidean PCA LDA SVM RCA NCA LMNN ITML BoostMetric FrobMetric"
    assert " ".join(published) == labels
    assert [name for name in TABLE if METRIC[name].features == "all"] == ["euclid"]


def first_values(name):
    """Return the first values of the search; of an easier problem where they take long."""
    first = first_parameters(METRIC[name].search)
    return first | ({"C": 1e3} if name == "lmnn_matrix" else {})


def error_of(fitted, parts):
    X, y, X_test, y_test = parts
    if fitted.predictions:
        return np.mean(fitted.predictions["test"] != y_test)
    return knn_error(fitted.transform(X), y, fitted.transform(X_test), y_test)


@pytest.mark.parametrize("name", [name for name in TABLE if name not in METRIC_LEARN])
def test_rows_of_the_table_learn(name, parts, in_process):
    X, y, X_test, y_test = parts
    fitted = METRIC[name].fit(X, y, queries={"test": X_test}, parameters=first_values(name))
    plain = knn_error(X, y, X_test, y_test)
    error = error_of(fitted, parts)
    assert error == plain if name in PLAIN else error < 0.8 * plain
    assert fitted.seconds > 0
    json.dumps(fitted.detail)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRIC_LEARN)
def test_learners_of_metric_learn_map_the_data(name, points, available):
    X, y = points
    pairs = np.column_stack(np.triu_indices(len(X), 1))
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    fitted = available(METRIC[name]).fit(X, y, pairs=(pairs, signs), limit=120)
    assert isinstance(fitted, Fitted)
    assert len(fitted.L) == X.shape[1]
    assert fitted.seconds > 0
    np.testing.assert_allclose(fitted.transform(X), X @ fitted.L)


def test_triplets_are_mined_when_they_are_needed(points, in_process):
    X, y = points
    baseline = METRIC["paper_recipe"]
    mined, given = (
        baseline.fit(X, y, parameters={"C": C}, triplets=t) for t in (None, mine_triplets(X, y))
    )
    np.testing.assert_array_equal(mined.L, given.L)


def test_a_worker_learns_within_its_limit_and_is_used_again(points):
    X, y = points
    for _ in range(2):
        # imports take seconds, learning none
        fitted = METRIC["rca"].fit(X, y, limit=1, threads=1)
        assert fitted.transform(X).shape == X.shape
    assert fitted.detail["threads"] == 1


@pytest.mark.slow
def test_the_time_limit_ends_a_fit(rng):
    X, y = rng.normal(size=(4000, 50)), rng.integers(5, size=4000)
    with pytest.raises(TimeLimitError, match="> 1 s"):
        METRIC["nca"].fit(X, y, limit=1)


class Answer(Target):
    """A target that answers at once."""

    def run(self, arrays, values, limit, threads=None):
        return {"L": np.full((4, 4), np.nan)}, {"seconds": 0.1, "stderr": "oh"}


def test_nan_is_a_failure(points):
    broken = MetricBaseline(name="broken", target=Answer("a:b"))
    with pytest.raises(
        ProgramFailedError, match=r"broken answered with NaN or infinity; stderr: oh"
    ):
        broken.fit(*points)


def test_absent_ones_say_what_to_do(points, tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissingError, match="frobmetric reproduce baselines"):
        METRIC["lmnn"].fit(*points)
    with pytest.raises(ProgramMissingError, match="apt-get install g"):
        METRIC["dlib"].fit(*points, parameters={"C": C})
    absent = MetricBaseline(name="absent", target=Target("a:b", ("no_such_package",)))
    with pytest.raises(ProgramMissingError, match="pip install no_such_package"):
        absent.fit(*points)
    assert "apt-get" in dict(set_up(["dlib"]))["dlib"]


def test_setup_knows_the_baselines():
    assert list(set_up(["nca", "scs"])) == [("scs", ""), ("scs", ""), ("nca", "")]
    words = ["reproduce", "baselines"]
    result = CliRunner().invoke(app, [*words, "nca", "scs"])
    assert result.exit_code == 0
    assert result.stderr == "scs: ready\nscs: ready\nnca: ready\n"
    assert result.stdout == "2 of 2 are ready\n"
    result = CliRunner().invoke(app, [*words, "nobody"])
    assert result.exit_code == 2
    assert "unknown baselines ['nobody']; the known ones are" in result.stderr


def test_what_is_needed_is_asked_for(points):
    X, y = points
    with pytest.raises(ValueError, match="needs C"):
        METRIC["paper_recipe"].fit(X, y)
    with pytest.raises(ValueError, match="give y"):
        METRIC["nca"].fit(X)
    with pytest.raises(ValueError, match="give pairs"):
        METRIC["ldml"].fit(X, y)
    weighted = GivenTriplets(np.array([[0, 1, 2], [1, 2, 3]]), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="same weight"):
        METRIC["paper_recipe"].fit(X, triplets=weighted, parameters={"C": C})
