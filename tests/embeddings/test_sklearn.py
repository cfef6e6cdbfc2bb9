"""EmbeddingAdapter passes scikit-learn's own checks."""

import inspect
from collections import Counter
from numbers import Real

import pytest
import sklearn
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from frobmetric import EmbeddingAdapter

SETTINGS = [
    EmbeddingAdapter(strength=10.0),
    EmbeddingAdapter(strengths=[100.0], cv=2),
    EmbeddingAdapter(strength=10.0, unit_length=False, structure="diagonal"),
    EmbeddingAdapter(strength=10.0, side="query"),
    EmbeddingAdapter(strength=10.0, n_components=1),
]
#: Checks that `check_estimator` does not call by itself.
MORE_CHECKS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_param_validation",
]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning"),
    pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("estimator", SETTINGS, ids=str)
def test_check_estimator(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failures = {
        result["check_name"]: str(result["exception"])
        for result in results
        if result["status"] != "passed"
    }
    assert failures == {}
    assert Counter(result["status"] for result in results)["passed"] == len(results) > 30


@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize("estimator", SETTINGS[:2], ids=str)
def test_further_checks(name, estimator):
    estimator._parameter_constraints = {rule: [Real] for rule in estimator._rules}
    check = getattr(estimator_checks, name)
    assert len(inspect.signature(check).parameters) == 2, sklearn.__version__
    check(type(estimator).__name__, estimator)
