"""Cells of faces in numbers: means over folds, and the mean of their curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_curve

#: Where curves are averaged: false positive rates.
RATES = np.linspace(0, 1, 301)


@dataclass(frozen=True)
class Mean:
    """A rule of a method over its finished folds, in percent.

    Attributes
    ----------
    folds : int
    accuracy : float
        Mean share of right decisions.
    std : float, optional
        Standard deviation over folds; None of a single one.
    area : float
        Mean area below the ROC.
    """

    folds: int
    accuracy: float
    std: float | None
    area: float

    @property
    def error(self):
        """Standard error of the mean; None of a single fold."""
        return None if self.std is None else self.std / np.sqrt(self.folds)


def done(cells):
    """Those with an answer."""
    return [cell for cell in cells if cell.is_done]


def mean(cells, rule):
    """The Mean of a rule; None if no fold is finished."""
    found = [cell.judged(rule) for cell in done(cells)]
    if not found:
        return None
    shares = 100 * np.array([each.accuracy for each in found])
    std = float(shares.std(ddof=1)) if len(shares) > 1 else None
    area = 100 * float(np.mean([each.area for each in found]))
    return Mean(len(found), float(shares.mean()), std, area)


def curve(cells, rule):
    """Mean true positive rates of a rule at `RATES`, over finished folds, of which there are some.

    Returns
    -------
    ndarray of shape (n_rates,)
    """
    curves = []
    for cell in done(cells):
        same = np.array(list(cell.same)) == "1"
        fpr, tpr, _ = roc_curve(same, cell.judged(rule).scores)
        curves.append(np.interp(RATES, fpr, tpr))  # at vertical pieces, the upper end
    return np.mean(curves, axis=0)


def mean_seconds(cells):
    """Of the fits; None if no fold is finished."""
    return float(np.mean([cell.seconds for cell in done(cells)])) if done(cells) else None


def largest_gap(cells):
    """The largest relative gap of the fits; None if none is known."""
    gaps = [cell.detail.get("relative_gap") for cell in done(cells)]
    return max((gap for gap in gaps if gap is not None), default=None)
