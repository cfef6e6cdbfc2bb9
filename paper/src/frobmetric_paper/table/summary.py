"""Cells in numbers: a row of the table, and how two methods differ on the same data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

#: Of an interval.
CONFIDENCE = 0.95
#: Standard deviations above which a difference from the paper is marked.
LARGE = 2.0


@dataclass(frozen=True)
class Summary:
    """A method on a data set, over its finished runs; errors are in percent.

    Attributes
    ----------
    runs, asked : int
        Finished runs, and all.
    outcome, remark : str
        Those of the first cell without an answer; "done" and empty if there is none.
    error, std : float, optional
        Mean test error and standard deviation over runs, None below two.
    spread : float, optional
        The same standard deviation; of a single run that of a binomial distribution.
    validation : float, optional
    best_rule : str
        That chosen most often on validation parts.
    best_rule_error : float, optional
        Mean test error, each run by the rule chosen in it.
    recall, ari, recall_before, ari_before : float, optional
        Means of what `measure_map` gives; "before" is without a metric.
    seconds, total_seconds : float, optional
        Mean of the measured fits; sum of all fits of all runs, searches included.
    parameters : dict
        Those chosen most often.
    parameters_runs : int
        In so many runs.
    """

    runs: int
    asked: int
    outcome: str = "done"
    remark: str = ""
    error: float | None = None
    std: float | None = None
    spread: float | None = None
    validation: float | None = None
    best_rule: str = ""
    best_rule_error: float | None = None
    recall: float | None = None
    ari: float | None = None
    recall_before: float | None = None
    ari_before: float | None = None
    seconds: float | None = None
    total_seconds: float = 0.0
    parameters: dict | None = None
    parameters_runs: int = 0


def summarise(cells):
    """The Summary of the cells of a method on a data set."""
    done = [cell for cell in cells if cell.is_done]
    ended = next((cell for cell in cells if not cell.is_done), None)
    known = {
        "runs": len(done),
        "asked": len(cells),
        "total_seconds": sum(cell.total_seconds for cell in cells),
    }
    if ended:
        known |= {"outcome": ended.outcome, "remark": ended.remark}
    else:
        known["remark"] = next((cell.remark for cell in done if cell.remark), "")
    return Summary(**known | _of_done(done)) if done else Summary(**known)


def _of_done(cells):
    errors = np.array([cell.test_error for cell in cells])
    std = float(100 * errors.std(ddof=1)) if len(cells) > 1 else None
    chosen = Counter(_frozen(cell.parameters) for cell in cells).most_common(1)[0]
    return {
        "error": float(100 * errors.mean()),
        "std": std,
        "spread": binomial_std(100 * errors[0], len(cells[0].wrong)) if std is None else std,
        "validation": _mean([100 * cell.validation_error for cell in cells]),
        "best_rule": Counter(cell.best_rule for cell in cells).most_common(1)[0][0],
        "best_rule_error": _mean([100 * cell.best_rule_error for cell in cells if cell.best_rule]),
        "recall": _mean([cell.measures.get("recall_at_10") for cell in cells]),
        "ari": _mean([cell.measures.get("ari") for cell in cells]),
        "recall_before": _mean([cell.before.get("recall_at_10") for cell in cells]),
        "ari_before": _mean([cell.before.get("ari") for cell in cells]),
        "seconds": _mean([cell.seconds for cell in cells]),
        "parameters": dict(chosen[0]),
        "parameters_runs": chosen[1],
    }


def _frozen(parameters):
    return tuple(parameters.items())


def _mean(values):
    """The mean of what is known; None of nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def binomial_std(percent, n):
    """Standard deviation of a share of n independent samples, in percent."""
    return float(sqrt(max(0.0, percent * (100 - percent) / n)))


def is_far(summary, published, n_test):
    """Whether the error is more than two standard deviations from the paper's.

    It is the larger of both; where there is one run only, that of a binomial distribution over the
    test samples.
    """
    if summary.error is None or published is None or published.error is None:
        return False
    theirs = published.std
    theirs = binomial_std(published.error, n_test) if theirs is None else theirs
    return abs(summary.error - published.error) > LARGE * max(summary.spread, theirs)


@dataclass(frozen=True)
class Difference:
    """Mean difference of two test errors in points of percent, and its 95 % interval.

    Attributes
    ----------
    mean, low, high : float
    n : int
        Of runs, or of test samples.
    over : {"runs", "samples"}
    """

    mean: float
    low: float
    high: float
    n: int
    over: str

    @property
    def is_clear(self):
        """Whether the interval leaves zero out; not if it has no width, which tells nothing."""
        return (self.low > 0 or self.high < 0) and self.low < self.high


def compare(cells, base):
    """How the errors of one method differ from those of another, on the runs that both finished.

    Over two runs or more: Student's t interval of the differences by run, with the variance of
    Nadeau and Bengio (2003): runs are splits of the same samples, and the more they share, the less
    a further one tells. Over one: the normal interval of the differences by test sample (-1, 0 or
    1), which is that of McNemar's table.

    Parameters
    ----------
    cells, base : list of Cell

    Returns
    -------
    Difference or None
        None without a common run; positive where `cells` err more often.
    """
    other = {_key(cell): cell for cell in base if cell.is_done}
    pairs = [(cell, other[_key(cell)]) for cell in cells if cell.is_done and _key(cell) in other]
    if not pairs:
        return None
    if len(pairs) > 1:
        steps = [100 * (mine.test_error - theirs.test_error) for mine, theirs in pairs]
        first = pairs[0][0]
        shared = len(first.wrong) / first.task.n
        return _interval(steps, "runs", stats.t(len(steps) - 1).ppf, shared)
    ((mine, theirs),) = pairs
    return _interval(100.0 * (_digits(mine) - _digits(theirs)), "samples", stats.norm.ppf)


def _key(cell):
    return cell.task.run, cell.task.data


def _digits(cell):
    return np.frombuffer(cell.wrong.encode(), dtype=np.uint8).astype(int)


def _interval(steps, over, quantile, shared=0.0):
    """`shared` is the size of a test part relative to its training part."""
    mean, n = float(np.mean(steps)), len(steps)
    std = float(np.std(steps, ddof=1)) if n > 1 else 0.0
    half = float(quantile((1 + CONFIDENCE) / 2)) * std * sqrt(1 / n + shared)
    return Difference(mean, mean - half, mean + half, n, over)
