"""scikit-learn's checks of estimators: every one passed, none skipped, none expected to fail."""

import inspect
import sys
import warnings
from collections import Counter
from numbers import Real

import sklearn
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

#: Checks that `check_estimator` does not call by itself.
FURTHER_CHECKS = [
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


def assert_all_passed(estimator):
    """Assert that `check_estimator` passes every check, and return the number of checks."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failures = {
        result["check_name"]: str(result["exception"])
        for result in results
        if result["status"] != "passed"
    }
    assert failures == {}
    assert len(results) > 30
    return len(results)


def assert_passes(name, estimator):
    """Assert that an estimator passes one of `FURTHER_CHECKS`."""
    estimator = clone(estimator)
    estimator._parameter_constraints = {rule: [Real] for rule in estimator._rules}
    check = getattr(estimator_checks, name)
    assert len(inspect.signature(check).parameters) == 2, sklearn.__version__
    check(type(estimator).__name__, estimator)


def print_counts(estimators):
    """Run all checks, print how many each estimator passed, and end with code 1 if one fails."""
    warnings.simplefilter("ignore")
    outcomes = Counter()
    for estimator in estimators:
        checks = [assert_all_passed, *(_named(name) for name in FURTHER_CHECKS)]
        passed, failed = 0, []
        for check in checks:
            try:
                passed += check(estimator) or 1
            except Exception as error:
                failed.append(f"{type(error).__name__}: {error}")
        outcomes["passed"] += passed
        outcomes["failed"] += len(failed)
        lines = [f"{estimator}: {passed} passed", *failed]
        sys.stdout.write("\n  ".join(lines) + "\n")
        sys.stdout.flush()
    counts = f"{outcomes['passed']} passed, {outcomes['failed']} failed"
    sys.stdout.write(
        f"scikit-learn {sklearn.__version__}, {len(estimators)} estimators: {counts}\n"
    )
    sys.exit(bool(outcomes["failed"]))


def _named(name):
    return lambda estimator: assert_passes(name, estimator)
