"""Learners from pairs that are drawn from labels: all checks of scikit-learn."""

import inspect
from numbers import Real

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from frobmetric import GMML_Supervised, ITML_Supervised, MMC_Supervised, SDML_Supervised

LEARNERS = [
    GMML_Supervised(),
    ITML_Supervised(),
    MMC_Supervised(),
    MMC_Supervised(diagonal=True),
    SDML_Supervised(),
]
#: Checks that `check_estimator` does not call by itself.
MORE_CHECKS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
    "check_param_validation",
]

# Tiny random problems have few pairs, and labels of -1.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.* pairs were found of:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*dissimilar pairs differ and similar pairs:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* rows have the label -1:UserWarning"),
    pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.slow
def test_check_estimator(learner):
    results = check_estimator(learner, on_skip=None, on_fail=None)
    failures = {
        result["check_name"]: str(result["exception"])
        for result in results
        if result["status"] != "passed"
    }
    assert failures == {}
    assert len(results) > 30


@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_further_checks(name, learner):
    learner._parameter_constraints = {rule: [Real] for rule in learner._rules}
    check = getattr(estimator_checks, name)
    assert len(inspect.signature(check).parameters) == 2
    check(type(learner).__name__, learner)
