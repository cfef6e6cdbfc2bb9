"""scikit-learn's own checks of the learners from labels: every one passed, none left out."""

import pytest

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
from sklearn_checks import FURTHER_CHECKS, assert_all_passed, assert_passes, print_counts

#: Learners that need milliseconds, and others.
QUICK = [
    GMML_Supervised(),
    ITML_Supervised(),
    MMC_Supervised(),
    MMC_Supervised(diagonal=True),
    SDML_Supervised(),
]
LONG = [
    Covariance(),
    LFDA(),
    LMNN(),
    LSML_Supervised(),
    MLKR(),
    NCA(),
    RCA(),
    RCA_Supervised(),
    SCML_Supervised(),
]
LEARNERS = [*QUICK, *(pytest.param(learner, marks=pytest.mark.slow) for learner in LONG)]

# Tiny random problems have few pairs, small classes, and labels of -1.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_check_estimator(learner):
    assert assert_all_passed(learner) > 30


@pytest.mark.parametrize("name", FURTHER_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_further_checks(name, learner):
    assert_passes(name, learner)


if __name__ == "__main__":  # for `make sklearn-matrix`
    print_counts(QUICK + LONG)
