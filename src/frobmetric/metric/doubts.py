"""Warnings of a fit whose metric may not help: uneven units, and labels that look random."""

from __future__ import annotations

import warnings

from .units import labels_look_random, warn_of_uneven_units

#: Shares of satisfied triplets: up to the first a metric is hardly better than chance, up to the
#: second it is doubtful; and the number of samples from which on they tell something.
CHANCE, DOUBTFUL, ENOUGH_SAMPLES = 0.6, 0.75, 50


def warn_of_doubts(metric, learned, samples):
    """Warn of uneven units if raw ones were asked for, and of a metric no better than chance."""
    is_plain = metric.prior is None or (
        isinstance(metric.prior, str) and metric.prior == "identity"
    )
    if metric.units == "raw" and metric.kernel == "linear" and is_plain:
        names = samples.attributes["feature_names_in_"]
        warn_of_uneven_units(samples.X, names, samples.weight)
    _warn_of_chance(learned, samples)


def _warn_of_chance(learned, samples):
    """Warn if the metric satisfies hardly more triplets than chance, or the labels look random."""
    point, comparisons = learned.solution.point, learned.comparisons
    n_samples = len(learned.coordinates.Z)
    if not point.rank or learned.solution.status != "optimal" or n_samples < ENOUGH_SAMPLES:
        return
    is_satisfied = comparisons.constraints(learned.coordinates.Z).forward(point) > 0
    share = float(comparisons.share @ is_satisfied)
    reason = "they contradict each other, or the features do not tell the classes apart"
    if share > CHANCE:
        if share > DOUBTFUL or not labels_look_random(learned.coordinates.units, samples):
            return
        reason = "neighbours of a sample say no more about its class than its frequency"
    warnings.warn(
        f"the learned metric satisfies {share:.0%} of its triplets, where chance has 50%: "
        f"{reason}. Check y; compare(model, X, y) measures whether the metric helps",
        UserWarning,
        stacklevel=4,
    )
