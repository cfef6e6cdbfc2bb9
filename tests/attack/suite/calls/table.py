"""The table of all public entry points, and the names that are none."""

from __future__ import annotations

from functools import cache

from . import estimators, functions, problems
from .entry import Entry

#: Public names that are not called with data: records of answers, protocols, errors and modules.
RECORDS = {
    "AbilityReport", "AdapterReport", "Certificate", "CertificateError", "Cleaning", "Comparison",
    "ComparisonRow", "Comparisons", "Cone", "Evaluation", "Explanation", "Feedback",
    "InterruptedComparison", "LearnedMap", "LengthTable", "Loss", "NearestMatrix", "NeighborGraph",
    "NeighborhoodQuality", "NumericalError", "PairedDifference", "PairwiseCorrelation", "Point",
    "Promise",
    "Ray", "SDPAAnswer", "SDPAError", "SDPCertificate", "SDPSolution", "SDPStep",
    "SearchExplanation", "Solution", "Step", "StoredVectors", "TooFewExamplesError", "Unfactored",
    "UnfoldingCertificate", "WeightsTable",
}  # fmt: skip
#: Public names that need what others make: parts of a stack, other cones, programs of unfolding,
#: and figures and pages of answers, whose data were checked when the answer was made.
INNER = {
    "AllMatrices", "Beside", "Face", "Hard", "Mixed", "Product", "certify_unfolding",
    "ComparisonDisplay", "EmbeddingDisplay", "ExplanationDisplay",
    "LengthDisplay", "MetricDisplay", "NeighborsDisplay", "PathDisplay", "QualityDisplay",
    "SpectrumDisplay", "TrustDisplay", "report",
}  # fmt: skip


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entry points."""
    return (*estimators.ENTRIES, *functions.entries(), *problems.entries())


def find(name: str) -> Entry:
    """Return the entry point of a name."""
    return next(entry for entry in entries() if entry.name == name)
