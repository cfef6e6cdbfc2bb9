"""Rows of the speed table against learners from labels, all at their defaults."""

from frobmetric import FrobMetric
from frobmetric.neighbors import knn_error

from .speed_measure import at_least, best_of, compare

RIVALS = ("scml", "itml", "lmnn", "nca")


def usps_learners(bench):
    return _against_learners(bench, "usps")


def letters_learners(bench):
    return _against_learners(bench, "letters")


def _against_learners(bench, name):
    """Whole fits, mining included, on the same data of unit mean square; and their test errors."""
    X, y = bench.labelled(name)

    def work():
        return FrobMetric().fit(X, y)

    ours = best_of(work, bench.repeat)
    error = _error(bench.split(name), ours.result.components_.T)
    lines = []
    for rival in RIVALS:
        timing = bench.rival(rival, X, y)
        other = _error(bench.split(name), timing.result.L) if timing.runs else None
        shown = "" if other is None else f" against {other:.2f} %"
        lines.append(
            compare(
                f"{name}, whole fit; test error {error:.2f} %{shown}",
                ours,
                timing,
                at_least(20),
                rival,
                and_also=other is None or error < other,
                gap=ours.result.certificate_.relative_gap,
                test_error=error,
                rival_error=other,
            )
        )
    return lines, work


def _error(split, L):
    """The 3-NN test error in per cent; L is of scaled data, which nearest neighbours do not see."""
    train, test = split.X_train @ L, split.X_test @ L
    return 100 * knn_error(train, split.y_train, test, split.y_test)
