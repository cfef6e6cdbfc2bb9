"""Samples with weights, repeated rows and rows without label, in every fit from labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.datasets import load_wine

from frobmetric import BoostMetric, FrobMetric, FrobMetricCV, frob_path, mine_triplets
from frobmetric.core import CertificateError
from frobmetric.evaluation.division import stratified_folds
from frobmetric.evaluation.race import Race
from frobmetric.evaluation.selection import NO_LEARNING, Setting
from frobmetric.io import load, save
from frobmetric.learning.options import RunOptions
from frobmetric.learning.priors import PRIORS, named_prior_factor
from frobmetric.learning.samples import Samples
from frobmetric.model.recipe import Recipe

X, Y = (part[::3] for part in load_wine(return_X_y=True))
WEIGHT = np.arange(len(Y)) % 4
REPEATED = np.repeat(np.arange(len(Y)), WEIGHT)
QUICK = {"C": 10.0, "n_passes": 1}
LEARNERS = [
    FrobMetric(C=10.0),
    FrobMetric(**QUICK, n_directions=4),
    FrobMetric(**QUICK, pull=0.3, units="within"),
    FrobMetric(**QUICK, kernel="rbf", n_components="rank", n_directions=10),
    FrobMetric(**QUICK, kernel="polynomial", n_components="rank", gamma=1e-4),
    BoostMetric(C=100.0),
    FrobMetricCV(Cs=[10.0, 100.0], prior=None, n_neighbors=3, cv=2),
    *(FrobMetric(**QUICK, prior=name) for name in PRIORS),
]

pytestmark = pytest.mark.filterwarnings("ignore:(classes with|the learned|the best C):UserWarning")


@pytest.fixture
def shuffled(rng):
    return rng.permutation(len(Y))


@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_a_weight_is_a_number_of_repetitions(model, shuffled):
    weighted = model.fit(X[shuffled], Y[shuffled], WEIGHT[shuffled]).transform(X)
    repeated = model.fit(X[REPEATED], Y[REPEATED]).transform(X)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("model", LEARNERS[:3], ids=str)
def test_sparse_rows_have_weights_too(model, shuffled):
    rows = sp.csr_array(X)
    weighted = model.fit(rows[shuffled], Y[shuffled], WEIGHT[shuffled]).transform(X)
    repeated = model.fit(rows[REPEATED], Y[REPEATED]).transform(X)
    np.testing.assert_array_equal(weighted, repeated)


def test_the_statistics_are_those_of_repeated_rows():
    metric = FrobMetric(units="deviation", C=10.0).fit(X, Y, WEIGHT)
    np.testing.assert_allclose(metric.feature_weight_, 1 / X[REPEATED].std(axis=0))
    scaled = X[REPEATED] * metric.feature_weight_
    deviations = scaled - scaled.mean(axis=0)
    assert metric.scale_ == pytest.approx(np.sqrt(np.mean(np.sum(deviations**2, axis=1))))


@pytest.mark.parametrize("name", [name for name, (_, needs) in PRIORS.items() if needs])
def test_priors_by_name_count_weights(name):
    share = WEIGHT / WEIGHT.sum()
    Z = (X - share @ X) / X.std(axis=0)
    weighted = named_prior_factor(name, Z[WEIGHT > 0], Y[WEIGHT > 0], WEIGHT[WEIGHT > 0] * 1.0)
    repeated = named_prior_factor(name, Z[REPEATED], Y[REPEATED])
    np.testing.assert_allclose(weighted @ weighted.T, repeated @ repeated.T, rtol=1e-6, atol=1e-9)


def test_triplets_have_the_weights_of_their_anchors():
    mined = mine_triplets(X, Y, sample_weight=WEIGHT, n_neighbors=2)
    index = mined.to_array()
    np.testing.assert_array_equal(mined.weight, WEIGHT[index[:, 0]])
    assert WEIGHT[index].min() > 0
    repeated = mine_triplets(X[REPEATED], Y[REPEATED], n_neighbors=2)
    np.testing.assert_array_equal(REPEATED[repeated.to_array()], index)
    np.testing.assert_array_equal(repeated.weight, mined.weight)
    P = mined.near_scatter(X)
    pairs = X[index[:, 0]] - X[index[:, 1]]
    np.testing.assert_allclose(P, (pairs * mined.share[:, None]).T @ pairs)


def test_a_row_of_two_classes_is_two_samples():
    rows, y = np.vstack([X, X[:5]]), np.append(Y, (Y[:5] + 1) % 3)
    metric = FrobMetric()
    samples = Samples.check(metric._recipe(), metric._reader(), rows, y)
    assert samples.merge is None
    assert len(samples.X) == len(rows)


@pytest.mark.parametrize(
    "model",
    [
        FrobMetric(C=10.0, keep_dual=True),
        FrobMetric(C=10.0, keep_dual=True, prior="within"),
        FrobMetric(**QUICK, keep_dual=True, kernel="rbf"),
        BoostMetric(C=100.0, keep_dual=True),
    ],
    ids=str,
)
def test_the_certificate_is_of_the_weighted_problem(model, tmp_path):
    model.fit(X, Y, WEIGHT)
    again = model.certify(X)
    assert again.relative_gap <= model.tol
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    triplets = model.triplets_.to_array()
    assert WEIGHT[triplets].min() > 0
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert loaded.certify(X).primal == pytest.approx(again.primal)
    with pytest.raises(CertificateError, match="rows"):
        model.certify(X[: len(X) // 2])


def test_a_precomputed_kernel_takes_weights_and_repeated_rows():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K, kept = Z @ Z.T, np.flatnonzero(WEIGHT)
    options = {**QUICK, "kernel": "precomputed", "n_components": "rank", "tol": 1e-9}
    model = FrobMetric(**options, keep_dual=True).fit(K, Y, WEIGHT)
    assert model.components_.shape[1] == len(Y)
    assert not model.components_[:, WEIGHT == 0].any()
    assert model.certify(K).relative_gap <= model.tol
    repeated = FrobMetric(**options).fit(K[REPEATED][:, REPEATED], Y[REPEATED])
    found, expected = model.transform(K[kept]), repeated.transform(K[kept][:, REPEATED])
    np.testing.assert_allclose(pdist(found), pdist(expected), rtol=1e-3)


def test_weights_beside_triplets():
    triplets = [(0, 1, 40), (40, 41, 0)]
    both = FrobMetric(C=10.0).fit(X, Y, np.full(len(Y), 2.0), triplets=triplets)
    twice = FrobMetric(C=10.0).fit(np.vstack([X, X]), np.append(Y, Y), triplets=triplets)
    np.testing.assert_array_equal(both.components_, twice.components_)
    assert both.n_triplets_ > 2
    with pytest.raises(ValueError, match=r"triplets\[0\] = \(0, 1, 40\) names row 40, whose samp"):
        FrobMetric().fit(X, Y, np.arange(len(Y)) != 40, triplets=triplets)
    with pytest.raises(ValueError, match="without y"):
        FrobMetric().fit(X, sample_weight=np.ones(len(X)), triplets=triplets)


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (np.zeros(len(Y)), "zero for all rows"),
        (np.full(len(Y), -1.0), "non-negative"),
        (np.ones(3), r"shape \(3,\); there are 60 rows of X"),
        (np.full(len(Y), np.nan), "non-negative and finite"),
    ],
)
def test_weights_that_are_none(weight, text):
    with pytest.raises(ValueError, match=text):
        FrobMetric().fit(X, Y, weight)


def test_weights_of_one_class_alone():
    with pytest.raises(ValueError, match="one class"):
        FrobMetric().fit(X, Y, Y == 0)


def test_a_checkpoint_belongs_to_its_weights(tmp_path):
    path = tmp_path / "fit"

    def stop(step):
        raise RuntimeError

    model = FrobMetric(C=10.0, callback=stop)
    with pytest.raises(RuntimeError):
        model.fit(X, Y, WEIGHT, checkpoint=path)
    with pytest.raises(ValueError, match="sample_weight"):
        FrobMetric(C=10.0).fit(X, Y, WEIGHT + 1 * (WEIGHT > 0), checkpoint=path)
    resumed = FrobMetric(C=10.0).fit(X, Y, WEIGHT, checkpoint=path)
    whole = FrobMetric(C=10.0).fit(X, Y, WEIGHT)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


def test_paths_and_updates_take_weights():
    path = frob_path(X, Y, sample_weight=WEIGHT, Cs=[1.0, 10.0])
    repeated = frob_path(X[REPEATED], Y[REPEATED], Cs=[1.0, 10.0])
    np.testing.assert_array_equal(path.points[1].components, repeated.points[1].components)
    first = FrobMetric(C=10.0).fit(X, Y)
    second = FrobMetric(C=10.0).fit(X, Y).partial_fit(X[REPEATED], Y[REPEATED])
    first.partial_fit(X, Y, WEIGHT)
    np.testing.assert_array_equal(first.components_, second.components_)


class TestCrossValidation:
    def test_held_out_errors_are_weighted(self):
        y, weight = (Y == 2).astype(int), 1.0 + 9.0 * (Y == 2)
        raw = Setting("identity", "raw", NO_LEARNING, 3, 1)
        folds, options = stratified_folds(y, 2, 99)[:2], FrobMetric().get_params()
        recipe, run = Recipe.of(options), RunOptions.of(options)
        runs = [Race(recipe, run, X, y, folds, w) for w in (None, weight)]
        for run in runs:
            run.run([raw])
        wrong = runs[0].mistakes(lambda _: raw)[0]
        tested = np.concatenate([test for _, test in runs[0].folds])
        assert runs[1].error(raw) == pytest.approx(np.average(wrong, weights=weight[tested]))
        assert runs[0].error(raw) == pytest.approx(wrong.mean())
        assert runs[0].error(raw) != runs[1].error(raw)
        assert runs[1].results()["error"][0] == pytest.approx(runs[1].error(raw))

    def test_given_folds_are_of_rows(self):
        group = np.arange(len(Y)) % 3
        folds = [(np.flatnonzero(group != i), np.flatnonzero(group == i)) for i in range(3)]
        rows = np.concatenate([np.arange(len(Y)), np.arange(len(Y))])
        twice = [tuple(np.concatenate([part, part + len(Y)]) for part in fold) for fold in folds]
        options = {"Cs": [10.0], "prior": None, "n_neighbors": 3, "n_passes": 1}
        weighted = FrobMetricCV(cv=folds, **options).fit(X, Y, np.full(len(Y), 2.0))
        repeated = FrobMetricCV(cv=twice, **options).fit(X[rows], Y[rows])
        np.testing.assert_array_equal(weighted.components_, repeated.components_)
        assert str(weighted.report_) == str(repeated.report_)
        np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
        assert weighted.report_.n_folds == 3


class TestRowsWithoutLabel:
    Y_SOME = np.where(np.arange(len(Y)) % 3 == 1, -1, Y)

    @pytest.mark.parametrize("model", [LEARNERS[0], LEARNERS[5], LEARNERS[6]], ids=str)
    def test_they_are_counted_and_have_no_triplet(self, model):
        with pytest.warns(UserWarning, match="of 60 rows have the label -1"):
            model.fit(X, self.Y_SOME)
        assert model.n_unlabeled_ == np.count_nonzero(self.Y_SOME < 0)

    def test_no_triplet_names_them(self):
        model = FrobMetric(C=10.0, keep_dual=True)
        with pytest.warns(UserWarning, match="label -1"):
            model.fit(X, self.Y_SOME)
        assert (self.Y_SOME[model.triplets_.to_array()] >= 0).all()
        assert model.certify(X).relative_gap <= model.tol

    def test_they_count_for_the_scale(self):
        with pytest.warns(UserWarning, match="label -1"):
            some = FrobMetric(units="deviation", C=10.0).fit(X, self.Y_SOME)
        every = FrobMetric(units="deviation", C=10.0).fit(X, Y)
        assert some.scale_ == every.scale_
        np.testing.assert_array_equal(some.feature_weight_, every.feature_weight_)

    def test_minus_one_and_one_are_two_classes(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            signs = FrobMetric(C=10.0).fit(X[Y < 2], np.where(Y[Y < 2] == 0, -1, 1))
        names = FrobMetric(C=10.0).fit(X[Y < 2], Y[Y < 2])
        np.testing.assert_array_equal(signs.components_, names.components_)
        assert not hasattr(signs, "n_unlabeled_")

    def test_predict_never_answers_that(self):
        model = FrobMetricCV(Cs=[10.0], prior=None, n_neighbors=3, n_passes=1, cv=2)
        with pytest.warns(UserWarning, match="label -1"):
            model.fit(X, self.Y_SOME)
        assert set(model.predict(X)) <= {0, 1, 2}
        assert model.classes_.tolist() == [0, 1, 2]
