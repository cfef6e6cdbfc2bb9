import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric, FrobMetricCV
from frobmetric.metric.knn import knn_error

IRIS = load_iris(return_X_y=True)


def test_the_chosen_c_has_the_smallest_error_and_is_refitted():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    chosen = FrobMetricCV(Cs=[1e4, 1e-3, 1.0, 1.0]).fit(X, y)
    np.testing.assert_array_equal(chosen.Cs_, [1e-3, 1.0, 1e4])
    assert chosen.cv_errors_.shape == (3, 3)
    means = chosen.cv_errors_.mean(axis=1)
    assert chosen.Cs_[np.flatnonzero(means == means.min())[0]] == chosen.C_
    plain = FrobMetric(C=chosen.C_).fit(X, y)
    np.testing.assert_array_equal(chosen.components_, plain.components_)
    assert chosen.certificate_ == plain.certificate_


def test_errors_are_those_of_the_held_out_part():
    X, y = IRIS
    folds = ShuffleSplit(2, test_size=0.3, random_state=0)
    chosen = FrobMetricCV(Cs=[10.0], cv=folds, n_neighbors=2).fit(X, y)
    for error, (train, test) in zip(chosen.cv_errors_[0], folds.split(X), strict=True):
        Z = FrobMetric(C=10.0, n_neighbors=2).fit(X[train], y[train]).transform(X)
        assert error == knn_error(Z[train], y[train], Z[test], y[test], k=2)


@pytest.mark.parametrize("Cs", [[], [1.0, 0.0], [-1.0], [np.nan], [np.inf]])
def test_bad_grids_are_refused(Cs):
    with pytest.raises(ValueError, match="must be positive finite numbers"):
        FrobMetricCV(Cs=Cs).fit(*IRIS)


def test_bad_parameters_name_this_class():
    with pytest.raises(ValueError, match=r"'cv' parameter of FrobMetricCV .* Got 'many'"):
        FrobMetricCV(cv="many").fit(*IRIS)
