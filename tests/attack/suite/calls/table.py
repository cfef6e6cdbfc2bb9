"""The table of all public entry points, and the names that are none."""

from __future__ import annotations

from functools import cache

from . import estimators, functions, problems
from .entry import Entry

#: Public names that are not called with data: records of answers, protocols, errors and modules.
RECORDS = {
    "CertificateError", "Comparisons", "Cone", "Constraints", "InterruptedComparison", "Loss",
    "NumericalError", "SDPAError", "TooFewExamplesError",
}  # fmt: skip
#: Public names that need what others make: parts of a stack, other cones, programs of unfolding,
#: and figures and pages of answers, whose data were checked when the answer was made.
INNER = {
    "AllMatrices", "Hard", "Product", "certify_unfolding", "report",
}  # fmt: skip


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entry points."""
    return (*estimators.ENTRIES, *functions.entries(), *problems.entries())


def find(name: str) -> Entry:
    """Return the entry point of a name."""
    return next(entry for entry in entries() if entry.name == name)
