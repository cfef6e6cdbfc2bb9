"""From scores of pairs to decisions: the best threshold, and the curve over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ..comparisons.encoding import as_weights


def as_same(same, n_pairs):
    """Which pairs are matched, as booleans.

    Parameters
    ----------
    same : array-like of shape (n_pairs,)
        Booleans, or numbers of {0, 1} or {-1, +1}.
    n_pairs : int

    Returns
    -------
    ndarray of bool of shape (n_pairs,)
    """
    same = np.asarray(same)
    if same.shape != (n_pairs,):
        raise ValueError(
            f"same has shape {same.shape}; there are {n_pairs} pairs, so expected ({n_pairs},)"
        )
    if same.dtype == bool:
        return same
    is_known = np.isin(same, [-1, 0, 1]) if same.dtype.kind in "iuf" else np.zeros(n_pairs, bool)
    if not is_known.all():
        i = np.flatnonzero(~is_known)[0]
        raise ValueError(
            f"same[{i}] = {same[i]!r}; expected booleans, 0 and 1, or -1 and +1 for each pair"
        )
    if (same == 0).any() and (same == -1).any():
        raise ValueError(
            "same has both 0 and -1; mark mismatched pairs with one of them, or use booleans"
        )
    return same == 1


def best_threshold(score, same, strategy="accuracy", *, beta=1.0, min_rate=None, weight=None):
    """The threshold that decides best between matched and mismatched pairs.

    A pair is called matched if and only if its score is at least the threshold. All cuts between
    distinct scores are tried, those that call all or none matched among them, so the optimum on
    these pairs is exact. The threshold is midway between the two scores at the cut; beyond the
    largest or smallest score it is the next number outside.

    Parameters
    ----------
    score : array-like of shape (n_pairs,)
        Similarities: larger for pairs more likely to match. Minus a distance is one.
    same : array-like of shape (n_pairs,)
        Booleans, or {0, 1}, or {-1, +1}.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
        What is largest: the share of right answers; the F score of the matched pairs; the true
        positive rate while the true negative rate is at least `min_rate`; the other way round.
    beta : float, default=1.0
        For "f_beta": how many times recall weighs more than precision.
    min_rate : float in [0, 1], optional
        For "max_tpr" and "max_tnr", which need it.
    weight : array-like of shape (n_pairs,), optional
        Of each pair; 2 is the same as the pair twice.

    Returns
    -------
    float
        Of cuts with equal accuracy or F score, the middle one (of two, the higher threshold). Of
        cuts with an equal largest rate, the one where the rate that `min_rate` bounds is largest.

    Examples
    --------
    >>> from frobmetric.neighbors.thresholds import best_threshold
    >>> best_threshold([1.0, 2.0, 3.0, 5.0], [False, False, True, True])
    2.5
    >>> best_threshold([1.0, 2.0, 3.0, 5.0], [0, 1, 0, 1], "max_tpr", min_rate=1.0)
    4.0
    """
    options = {"beta": beta, "min_rate": min_rate, "weight": weight}
    return best_cut(score, same, strategy, **options)[0]


def best_cut(score, same, strategy="accuracy", *, beta=1.0, min_rate=None, weight=None):
    """The threshold of `best_threshold`, and what it is worth.

    Returns
    -------
    threshold : float
    worth : float
        Larger is better; comparable between scores of the same pairs under the same strategy.
    """
    _check_strategy(strategy, beta, min_rate)
    thresholds, tp, fp = _cuts(score, same, weight)
    worth = STRATEGIES[strategy](tp, fp, beta=beta, min_rate=min_rate)
    best = np.flatnonzero(worth == worth.max())
    middle = best[(len(best) - 1) // 2]
    return float(thresholds[middle]), float(worth[middle])


@dataclass(frozen=True, eq=False)
class Roc:
    """True positive rate over false positive rate, for every threshold.

    The curve starts at (0, 0), where no pair is called matched, and ends at (1, 1). Pairs of equal
    score enter together, as one straight piece.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_cuts,)
        Not falling.
    thresholds : ndarray of shape (n_cuts,)
        Falling; `score >= thresholds[i]` has the rates `fpr[i]`, `tpr[i]`.

    Examples
    --------
    >>> from frobmetric.neighbors.thresholds import Roc
    >>> roc = Roc.of([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    >>> roc.area
    0.75
    >>> roc.tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def of(cls, score, same):
        """The curve of these scores; `score` and `same` as for `best_threshold`."""
        thresholds, tp, fp = _cuts(score, same)
        return cls(fp / fp[-1], tp / tp[-1], thresholds)

    @property
    def area(self):
        """The chance that a matched pair scores above a mismatched one; a tie counts one half."""
        return float(np.diff(self.fpr) @ (self.tpr[1:] + self.tpr[:-1]) / 2)

    @property
    def equal_error_rate(self):
        """The error where as large a share of matched as of mismatched pairs is judged wrong."""
        return float(np.interp(0.0, self.fpr + self.tpr - 1, self.fpr))

    def at(self, fpr):
        """The true positive rate at these false positive rates.

        Straight between the points of the curve; where the curve is vertical, its upper end.

        Parameters
        ----------
        fpr : array-like of shape (n,), in [0, 1]

        Returns
        -------
        ndarray of shape (n,)
        """
        fpr = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
        if fpr.ndim != 1 or not ((fpr >= 0) & (fpr <= 1)).all():
            raise ValueError("fpr must be a list of numbers in [0, 1]")
        after = np.searchsorted(self.fpr, fpr, side="right")
        left, right = after - 1, np.minimum(after, len(self.fpr) - 1)
        width = self.fpr[right] - self.fpr[left]
        share = (fpr - self.fpr[left]) / np.where(width > 0, width, 1)
        return self.tpr[left] + share * (self.tpr[right] - self.tpr[left])


def mean_roc(rocs, fpr):
    """The mean of several curves, as over the folds of a protocol, at common false positive rates.

    Parameters
    ----------
    rocs : sequence of Roc
    fpr : array-like of shape (n,), in [0, 1]

    Returns
    -------
    ndarray of shape (n,)
        Mean true positive rates.

    Examples
    --------
    >>> from frobmetric.neighbors.thresholds import Roc, mean_roc
    >>> rocs = [Roc.of([1, 2, 3], [0, 0, 1]), Roc.of([1, 2, 3], [1, 0, 0])]
    >>> mean_roc(rocs, [0.0, 1.0])
    array([0.5, 1. ])
    """
    rocs = list(rocs)
    if not rocs:
        raise ValueError("rocs is empty; give at least one curve")
    return np.mean([roc.at(fpr) for roc in rocs], axis=0)


def _accuracy(tp, fp, **_):
    return tp - fp


def _f_beta(tp, fp, *, beta, **_):
    return (1 + beta**2) * tp / (tp + fp + beta**2 * tp[-1])


def _max_tpr(tp, fp, *, min_rate, **_):
    tn = fp[-1] - fp
    return np.where(tn / fp[-1] >= min_rate, tp * (fp[-1] + 1) + tn, -1)


def _max_tnr(tp, fp, *, min_rate, **_):
    tn = fp[-1] - fp
    return np.where(tp / tp[-1] >= min_rate, tn * (tp[-1] + 1) + tp, -1)


#: The worth of each cut, from its numbers of true and of false positives.
STRATEGIES = {"accuracy": _accuracy, "f_beta": _f_beta, "max_tpr": _max_tpr, "max_tnr": _max_tnr}


def _is_real(value):
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _check_strategy(strategy, beta, min_rate):
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy is {strategy!r}; expected one of {sorted(STRATEGIES)}")
    if not (_is_real(beta) and 0 < beta < np.inf):
        raise ValueError(f"beta is {beta!r}; expected a positive finite number")
    if strategy not in ("max_tpr", "max_tnr"):
        if min_rate is not None:
            raise ValueError(
                f"min_rate is {min_rate!r} with strategy={strategy!r}, which does not use it; "
                "leave it out, or choose 'max_tpr' or 'max_tnr'"
            )
    elif min_rate is None:
        other = "negative" if strategy == "max_tpr" else "positive"
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, the smallest true {other} rate allowed"
        )
    elif not (_is_real(min_rate) and 0 <= min_rate <= 1):
        raise ValueError(f"min_rate is {min_rate!r}; expected a rate in [0, 1]")


def _cuts(score, same, weight=None):
    """Threshold, true and false positives of every cut, from none called matched to all."""
    score = _as_score(score)
    same = as_same(same, len(score))
    weight = as_weights(weight, len(score))
    score, same, weight = score[weight > 0], same[weight > 0], weight[weight > 0]
    # none below one, as the strategies take a smaller step for a tie; by a power of two, so that
    # sums of whole numbers stay exact
    weight = weight / np.ldexp(1.0, np.frexp(weight.min())[1] - 1)
    if same.all() or not same.any():
        kind = "matched" if same.any() else "mismatched"
        raise ValueError(
            f"all {len(same)} pairs are {kind}; a threshold needs matched and mismatched pairs"
        )
    order = np.argsort(-score, kind="stable")
    score, same, weight = score[order], same[order], weight[order]
    last = np.flatnonzero(np.append(score[1:] < score[:-1], True))
    tp, fp = (np.concatenate([[0], np.cumsum(weight * kind)[last]]) for kind in (same, ~same))
    return _between(score[last]), tp, fp


def _as_score(score):
    score = np.asarray(score)
    if score.ndim != 1 or score.dtype.kind not in "iuf" or not len(score):
        raise ValueError(
            f"score has shape {score.shape} and dtype {score.dtype}; expected one number a pair"
        )
    # single precision stays: a threshold between its numbers must hold when compared with them
    score = score if score.dtype == np.float32 else score.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(score))
    if len(bad):
        raise ValueError(f"score[{bad[0]}] = {score[bad[0]]} must be finite")
    return score


def _between(falling):
    """Midway between neighbours, and one step outside at either end."""
    high, low = falling[:-1], falling[1:]
    middle = high / 2 + low / 2
    # between neighbours so close that rounding would reach the lower one, the upper one itself
    middle = np.where((middle > low) & (middle <= high), middle, high)
    above, below = np.nextafter(falling[:1], np.inf), np.nextafter(falling[-1:], -np.inf)
    return np.concatenate([above, middle, below]).astype(falling.dtype)
