"""scikit-learn's own checks: every one passed, none skipped, none expected to fail."""

import inspect
from collections import Counter
from numbers import Real

import pytest
import sklearn
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from frobmetric import BoostMetric, FrobMetric, FrobMetricCV

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

#: Checks that `check_estimator` does not call by itself.
MORE_CHECKS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
    "check_get_feature_names_out_error",
    "check_param_validation",
]

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
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    statuses = Counter(result["status"] for result in results)
    failures = {
        result["check_name"]: str(result["exception"])
        for result in results
        if result["status"] != "passed"
    }
    assert failures == {}
    assert statuses["passed"] == len(results) > 30


@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize("estimator", SETTINGS, ids=str)
def test_further_checks(name, estimator):
    estimator._parameter_constraints = {rule: [Real] for rule in estimator._rules}
    check = getattr(estimator_checks, name)
    assert len(inspect.signature(check).parameters) == 2, sklearn.__version__
    check(type(estimator).__name__, estimator)


if __name__ == "__main__":  # the statuses themselves, for `make sklearn-matrix`
    import sys
    import warnings

    warnings.simplefilter("ignore")
    for setting in QUICK + LONG:
        results = check_estimator(setting, on_skip=None, on_fail=None)
        counts = dict(Counter(result["status"] for result in results))
        sys.stdout.write(f"scikit-learn {sklearn.__version__}: {setting}: {counts}\n")
