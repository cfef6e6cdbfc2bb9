"""Rules of the parameters that estimators share."""

from __future__ import annotations

from ..checks.parameters import CALLABLE, FLAG, NONE, POSITIVE, WHOLE, choice, integer

#: Rules of the parameters that all estimators have.
SHARED_RULES = {
    "C": POSITIVE,
    "n_components": integer(1) | choice(["rank"]) | NONE,
    "tol": POSITIVE,
    "max_iter": integer(1),
    "keep_dual": FLAG,
    "n_jobs": WHOLE | NONE,
    "verbose": integer(0) | FLAG,
    "callback": CALLABLE | NONE,
}
#: Largest number of passes. Each solves the problem of the triplets of all passes before it, so the
#: work grows with the square of the number.
MOST_PASSES = 30
#: Rules of the parameters of estimators that mine triplets from labels.
LABEL_RULES = {
    "n_neighbors": integer(1),
    "n_impostors": integer(1) | NONE,
    "n_passes": integer(1, MOST_PASSES),
}
