"""scikit-learn's own checks of the learners from labels: every one passed, none left out."""

import inspect
from collections import Counter
from numbers import Real

import pytest
import sklearn
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from frobmetric import (
    LFDA,
    LMNN,
    MLKR,
    NCA,
    RCA,
    Covariance,
    GMML_Supervised,
    ITML_Supervised,
    LSML_Supervised,
    MMC_Supervised,
    RCA_Supervised,
    SCML_Supervised,
    SDML_Supervised,
)

LEARNERS = [
    Covariance(),
    GMML_Supervised(),
    ITML_Supervised(),
    LFDA(),
    LMNN(),
    LSML_Supervised(),
    MLKR(),
    MMC_Supervised(),
    MMC_Supervised(diagonal=True),
    NCA(),
    RCA(),
    RCA_Supervised(),
    SCML_Supervised(),
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

# Tiny random problems have few pairs, small classes, and labels of -1.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
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
    assert len(inspect.signature(check).parameters) == 2, sklearn.__version__
    check(type(learner).__name__, learner)


if __name__ == "__main__":  # the statuses themselves, for `make sklearn-matrix`
    import sys
    import warnings

    warnings.simplefilter("ignore")
    for setting in LEARNERS:
        results = check_estimator(setting, on_skip=None, on_fail=None)
        counts = dict(Counter(result["status"] for result in results))
        sys.stdout.write(f"scikit-learn {sklearn.__version__}: {setting}: {counts}\n")
