"""Accuracy of a rule over the folds of View 2: means, and differences between methods."""

from __future__ import annotations

from ..harness.summary import Mean, paired_difference
from ..harness.task import done


def rule_mean(cells, rule, name="accuracy"):
    """Return the Mean of a result of `decide` over finished folds, in percent; None if none is."""
    return Mean.of([100 * cell.rules[rule][name] for cell in done(cells)])


def compare(cells, rule, other_cells, other_rule):
    """Return the Difference of accuracy, in points of percent, over the folds of both."""
    others = {cell.task.split: cell for cell in done(other_cells)}
    pairs = [(cell, others[cell.task.split]) for cell in done(cells) if cell.task.split in others]
    first = pairs[0][0]
    return paired_difference(
        [
            100 * (cell.rules[rule]["accuracy"] - other.rules[other_rule]["accuracy"])
            for cell, other in pairs
        ],
        first.n_test / first.n_held_out,
    )
