"""scikit-learn's own checks: every one passed, none skipped, none expected to fail."""

import pytest

from frobmetric import BoostMetric, FrobMetric, FrobMetricCV
from sklearn_checks import FURTHER_CHECKS, assert_all_passed, assert_passes, print_counts

#: One setting of each class, and further ones.
QUICK = [FrobMetric(), BoostMetric(C=100.0)]
LONG = [
    FrobMetricCV(Cs=[1.0, 10.0], cv=2, prior=None, n_neighbors=3, n_passes=1),
    FrobMetricCV(),
    FrobMetric(units="within", prior="identity", n_passes=3),
    FrobMetric(prior="shrunk", C=10.0),
    FrobMetric(n_neighbors=1, n_impostors=5, C=10.0, n_components=1),
    FrobMetric(loss="squared_hinge", n_components="rank", tol=1e-4),
    FrobMetric(loss="smoothed_hinge", n_passes=2, keep_dual=True, n_jobs=1),
    FrobMetric(kernel="rbf", C=10, n_components="rank"),
    FrobMetric(kernel="polynomial", C=10, n_components="rank"),
    BoostMetric(loss="logistic", n_components="rank", keep_dual=True),
    BoostMetric(loss="exponential", C=10.0, corrective=False, n_components=1),
]
SETTINGS = [*QUICK, *(pytest.param(setting, marks=pytest.mark.slow) for setting in LONG)]

# Tiny random problems have classes of one or two samples, and folds without some class.
pytestmark = [
    pytest.mark.filterwarnings("ignore:classes with fewer than n_neighbors:UserWarning"),
    pytest.mark.filterwarnings("ignore:the learned metric (is zero|satisfies):UserWarning"),
    pytest.mark.filterwarnings("ignore:the learned metric does not help here:UserWarning"),
    pytest.mark.filterwarnings("ignore:the chosen metric has:UserWarning"),
    pytest.mark.filterwarnings("ignore:the best C is .* at the end of Cs:UserWarning"),
    pytest.mark.filterwarnings("ignore:The least populated class in y:UserWarning"),
    pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", SETTINGS, ids=str)
def test_check_estimator(estimator):
    assert assert_all_passed(estimator) > 30


@pytest.mark.parametrize("name", FURTHER_CHECKS)
@pytest.mark.parametrize("estimator", SETTINGS, ids=str)
def test_further_checks(name, estimator):
    assert_passes(name, estimator)


if __name__ == "__main__":  # for `make sklearn-matrix`
    print_counts(QUICK + LONG)
