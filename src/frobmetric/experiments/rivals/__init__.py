"""Programs that learn a metric as well: one file and one interface each, every one of them real."""

from . import clarabel, dlib, dlib_fast_math, itml, lmnn, nca, paper_recipe, scml, scs
from .rival import Fitted, Rival, RivalFailed, RivalMissing, TimeLimitExceeded

#: Every rival by name.
RIVALS = {
    module.RIVAL.name: module.RIVAL
    for module in (clarabel, dlib, dlib_fast_math, itml, lmnn, nca, paper_recipe, scml, scs)
}

__all__ = ["RIVALS", "Fitted", "Rival", "RivalFailed", "RivalMissing", "TimeLimitExceeded"]
