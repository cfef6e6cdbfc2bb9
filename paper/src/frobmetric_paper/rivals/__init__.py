"""Programs that learn a metric, or to classify: one file and one interface each, all real."""

from . import (
    boost,
    clarabel,
    dlib,
    dlib_fast_math,
    euclid,
    frob,
    frob_tuned,
    itml,
    lda,
    ldml,
    lmnn,
    lmnn_matrix,
    nca,
    paper_recipe,
    pca,
    rca,
    scml,
    scs,
    svm,
)
from .fitted import Fitted, FittedClassifier
from .processes import RivalFailed, RivalMissing, TimeLimitExceeded
from .rival import Rival

_ROWS = (euclid, pca, lda, svm, rca, nca, lmnn, lmnn_matrix, itml, boost, frob, frob_tuned)
_OTHERS = (clarabel, dlib, dlib_fast_math, ldml, paper_recipe, scml, scs)

#: Every rival by name.
RIVALS = {module.RIVAL.name: module.RIVAL for module in (*_ROWS, *_OTHERS)}

#: The rows of the paper's table, in its order.
TABLE = tuple(module.RIVAL.name for module in _ROWS)

__all__ = [
    "RIVALS",
    "TABLE",
    "Fitted",
    "FittedClassifier",
    "Rival",
    "RivalFailed",
    "RivalMissing",
    "TimeLimitExceeded",
]
