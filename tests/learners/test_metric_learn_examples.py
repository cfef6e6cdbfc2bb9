"""Code as users of metric-learn have it, with `import frobmetric.learners as metric_learn`."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import frobmetric.learners as metric_learn
from frobmetric.exceptions import PreprocessorError
from frobmetric.learning.constraints import DrawnConstraints, wrap_pairs

X, Y = load_iris(return_X_y=True)
PAIRS = [
    [[1.2, 7.5], [1.3, 1.5]],
    [[6.4, 2.6], [6.2, 9.7]],
    [[1.3, 4.5], [3.2, 4.6]],
    [[6.2, 5.5], [5.4, 5.4]],
]
KINDS = [1, 1, -1, -1]
TRIPLETS = [
    [[1.2, 7.5], [1.3, 1.5], [6.2, 9.7]],
    [[1.3, 4.5], [3.2, 4.6], [5.4, 5.4]],
    [[3.2, 7.5], [3.3, 1.5], [8.2, 9.7]],
    [[3.3, 4.5], [5.2, 4.6], [7.4, 5.4]],
]
QUADRUPLETS = [
    [[1.2, 7.5], [1.3, 1.5], [6.4, 2.6], [6.2, 9.7]],
    [[1.3, 4.5], [3.2, 4.6], [6.2, 5.5], [5.4, 5.4]],
    [[3.2, 7.5], [3.3, 1.5], [8.4, 2.6], [8.2, 9.7]],
    [[3.3, 4.5], [5.2, 4.6], [8.2, 5.5], [7.4, 5.4]],
]
SUPERVISED = [
    metric_learn.LMNN(n_neighbors=5, learn_rate=1e-6),
    metric_learn.NCA(max_iter=1000),
    metric_learn.LFDA(k=2, n_components=2),
    metric_learn.MLKR(),
    metric_learn.MMC_Supervised(n_constraints=200),
    metric_learn.ITML_Supervised(n_constraints=200),
    metric_learn.LSML_Supervised(tol=0.0001, max_iter=10000, prior="covariance"),
    metric_learn.SDML_Supervised(sparsity_param=0.1, balance_param=0.0015, prior="covariance"),
    metric_learn.SCML_Supervised(random_state=33),
    metric_learn.RCA_Supervised(n_chunks=30, chunk_size=2),
    metric_learn.Covariance(),
]


def is_better_than_chance(metric):
    """Return whether nearest neighbours under a metric of iris are mostly of one class."""
    model = make_pipeline(metric, KNeighborsClassifier())
    return cross_val_score(model, X, Y).mean() > 0.8


@pytest.mark.parametrize("learner", SUPERVISED, ids=lambda learner: type(learner).__name__)
def test_learners_from_labels(learner):
    if hasattr(learner, "random_state"):
        learner.set_params(random_state=0)
    mapped = learner.fit_transform(X, Y)
    assert mapped.shape == (150, len(learner.components_))
    assert is_better_than_chance(learner)


def test_names_of_animals_as_labels():
    points, names = np.array([[2.3, 3.6], [0.2, 0.5], [6.7, 2.1]]), np.array(["dog", "cat", "dog"])
    nca = metric_learn.NCA(random_state=42).fit(points, names)
    assert nca.transform([[9.4, 4.1], [2.1, 4.4]]).shape == (2, 2)
    pairs = [[[3.5, 3.6], [5.6, 2.4]], [[1.2, 4.2], [2.1, 6.4]], [[3.3, 7.8], [10.9, 0.1]]]
    distances = nca.pair_distance(pairs)
    np.testing.assert_array_equal(nca.pair_score(pairs), -distances)
    assert nca.get_metric()([3.5, 3.6], [5.6, 2.4]) == pytest.approx(distances[0])
    M = nca.get_mahalanobis_matrix()
    difference = np.subtract(*pairs[1])
    assert difference @ M @ difference == pytest.approx(distances[1] ** 2)


def test_the_metric_as_a_function_in_scikit_learn():
    samples, labels = make_classification(random_state=0)
    metric = metric_learn.NCA().fit(samples, labels).get_metric()
    knn = KNeighborsClassifier(metric=metric).fit(samples, labels)
    assert knn.score(samples, labels) > 0.7
    assert DBSCAN(metric=metric).fit(samples).labels_.shape == (100,)


@pytest.mark.parametrize("name", ["ITML", "MMC", "SDML"])
def test_learners_from_pairs(name):
    options = {"balance_param": 0.01} if name == "SDML" else {}
    metric = getattr(metric_learn, name)(**options).fit(PAIRS, KINDS)
    d2 = metric.pair_distance([[[0, 0], [1, 0]], [[0, 0], [0, 1]]])
    assert d2[0] > d2[1]  # the first feature counts
    assert set(metric.predict(PAIRS)) <= {1, -1}
    np.testing.assert_allclose(metric.decision_function(PAIRS), -metric.pair_distance(PAIRS))
    assert 0 <= metric.score(PAIRS, KINDS) <= 1
    metric.calibrate_threshold(PAIRS, KINDS, strategy="f_beta", beta=1.0)
    assert metric.set_threshold(0.4).threshold_ == 0.4


@pytest.mark.filterwarnings("ignore:.*tuples have equal points")
def test_cross_validation_of_pairs_by_index():
    rng = np.random.RandomState(42)
    index = rng.randint(len(X), size=(30, 2))
    y = 2 * rng.randint(2, size=30) - 1
    for scoring in (None, "accuracy", "roc_auc", "f1"):
        scores = cross_val_score(metric_learn.MMC(preprocessor=X), index, y, scoring=scoring, cv=3)
        assert scores.shape == (3,)
        assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore:.*directions have a positive weight")
def test_learners_from_triplets():
    scml = metric_learn.SCML(random_state=0).fit(TRIPLETS)
    assert scml.score(TRIPLETS) == np.mean(scml.predict(TRIPLETS) > 0)
    assert (np.sign(scml.decision_function(TRIPLETS)) == scml.predict(TRIPLETS)).all()


def test_learners_from_quadruplets():
    lsml = metric_learn.LSML().fit(QUADRUPLETS)
    assert lsml.score(QUADRUPLETS) == np.mean(lsml.predict(QUADRUPLETS) > 0)
    assert lsml.certificate_.relative_gap <= lsml.tol


def test_chunks():
    samples = [[-0.05, 3.0], [0.05, -3.0], [0.1, -3.55], [-0.1, 3.55]]
    samples += [[-0.95, -0.05], [0.95, 0.05], [0.4, 0.05], [-0.4, -0.05]]
    rca = metric_learn.RCA().fit(samples, [0, 0, 1, 1, 2, 2, 3, 3])
    within = np.cov(rca.transform(samples), rowvar=False, bias=True)
    np.testing.assert_allclose(within, np.eye(2), atol=1e-8)  # each chunk has its mean at zero


@pytest.mark.filterwarnings("ignore:.*similar pairs do not vary")
def test_preprocessors():
    points = np.array([[-0.7, -0.23], [-0.43, -0.49], [0.14, -0.37]])
    index, y = np.array([2, 0, 1, 0]), np.array([1, 0, 1, 0])
    by_index = metric_learn.NCA(preprocessor=points).fit(index, y)
    formed = metric_learn.NCA().fit(points[index], y)
    np.testing.assert_array_equal(by_index.components_, formed.components_)
    np.testing.assert_array_equal(by_index.transform([1]), formed.transform(points[[1]]))

    def load_images(names):
        return np.stack([points[int(name[3:5])] for name in names])

    names = np.array([["img02.png", "img00.png"], ["img01.png", "img00.png"]])
    of_names = metric_learn.MMC(preprocessor=load_images).fit(names, [1, -1])
    of_rows = metric_learn.MMC(preprocessor=points).fit([[2, 0], [1, 0]], [1, -1])
    np.testing.assert_array_equal(of_names.components_, of_rows.components_)
    of_names = metric_learn.NCA(preprocessor=load_images).fit(["img01.png", "img00.png"] * 2, y)
    assert of_names.transform(["img02.png"]).shape == (1, 2)


def test_a_preprocessor_is_not_called_for_formed_tuples():
    def unfinished(names):
        raise NotImplementedError("This one does nothing yet.")

    mmc = metric_learn.MMC(preprocessor=unfinished).fit(PAIRS, KINDS)
    with pytest.raises(PreprocessorError, match="NotImplementedError"):
        mmc.predict([[0, 1]])


def test_pairs_from_labels_and_wrapped():
    constraints = DrawnConstraints(Y)
    pairs, y = wrap_pairs(
        X, constraints.positive_negative_pairs(100, random_state=np.random.RandomState(1))
    )
    train, test, y_train, y_test = train_test_split(pairs, y, random_state=0)
    itml = metric_learn.ITML().fit(train, y_train, bounds=[1.0, 3.0])
    assert itml.score(test, y_test) > 0.9


def test_regression():
    samples, y = make_regression(n_samples=100, n_features=5, n_informative=2, random_state=0)
    mlkr = metric_learn.MLKR().fit(samples, y / y.std())
    assert mlkr.transform(samples).shape == (100, 5)
