"""Thresholds with a promise: the rate of false matches on new pairs is bounded with confidence."""

from __future__ import annotations

from math import ceil, log1p
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom

from ..checks.arguments import as_identities, as_signs
from ..checks.text import shown
from ..core.checks import read_values
from ..core.points import Index, Mask, Vector
from ..core.warning import warn_user
from ..model.promise import Promise
from .thresholds import as_score, is_real

#: Relative rounding error of probabilities and of ratios of logarithms.
ROUNDING = 1e-12
#: Rates below this need more pairs than there are.
LEAST_RATE = 1e-15


def promised_threshold(
    score: ArrayLike,
    y: ArrayLike,
    *,
    max_false_match: float = 0.01,
    confidence: float = 0.95,
    identities: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Promise | dict[object, Promise]:
    """Find the lowest threshold whose false match rate is bounded with confidence.

    The false match rate F(t) is the probability that a pair of two different people, drawn as the
    calibration pairs were, scores at least t. Of n independent dissimilar pairs let k be the
    largest number with P(Binomial(n, max_false_match) <= k) <= 1 - confidence. The threshold is
    the next number above the (k + 1)-th largest of their n scores.

    **Theorem.** P(F(threshold) <= max_false_match) >= confidence, for every distribution of the
    scores, with or without ties.

    *Proof.* Test the hypotheses F(t) > max_false_match from strict to loose t, each by the exact
    binomial test on the number of scores that reach t, and stop at the first that is not rejected.
    F does not rise with t, so a wrong threshold means that a true hypothesis was rejected, and then
    the strictest true one was: this has probability at most 1 - confidence, without a correction
    for many tests. (If no true one is the strictest, take the limit of those that approach it.) The
    tests reject while at most k scores reach t: above the (k + 1)-th largest score.

    **Assumptions.** (1) The scores come from a function that does not depend on these pairs: do not
    calibrate on pairs, or people, that the metric was learned from. (2) New pairs are drawn as the
    calibration pairs were: from the same population of people, every person with the same weight.
    (3) Which pairs were formed, and how many of a person, does not depend on the features. (4)
    Different people are independent. Pairs that share a person are not; given `identities`, the n
    pairs are a subset in which no person occurs twice, chosen without a look at the scores.

    Parameters
    ----------
    score : array-like of shape (n_pairs,)
        Similarities: larger for pairs more likely to be similar. An example is minus a distance.
    y : array-like of shape (n_pairs,)
        +1 for similar, -1 for dissimilar pairs. Only the dissimilar ones decide the threshold.
    max_false_match : float in (0, 1), default=0.01
        Bound on the false match rate.
    confidence : float in (0, 1), default=0.95
        Probability with which the bound holds.
    identities : array-like of shape (n_pairs, 2), default=None
        Who is shown by the two points of each pair, as strings or numbers; or any labels such that
        pairs without a common label are independent. If None, all pairs count as independent.
    groups : array-like of shape (n_pairs,), default=None
        Group of each pair. Every group has a threshold of its own, from its own pairs, and a
        promise of its own; that all of G promises are kept together has confidence
        1 - G (1 - confidence).

    Returns
    -------
    Promise, or dict of them by group if `groups` is given

    Raises
    ------
    ValueError
        If there are fewer independent pairs than `units_needed` with the same numbers: then not
        even zero false matches would prove the bound.

    References
    ----------
    Wilks: Determination of sample sizes for setting tolerance limits. Annals of Mathematical
    Statistics 12, 1941. Angelopoulos, Bates, Candes, Jordan, Lei: Learn then test. Annals of
    Applied Statistics 19, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.neighbors import promised_threshold
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1, 1], 1000)
    >>> promise = promised_threshold(rng.normal(size=2000) + 2 * y, y)
    >>> print(promise.n_false, "of", promise.n_units, "bound", round(promise.bound, 4))
    4 of 1000 bound 0.0091
    """
    _check_rate(max_false_match, "max_false_match")
    _check_rate(confidence, "confidence")
    scores = as_score(score)
    signs = as_signs(y, len(scores), of="pairs", positive="similar")
    ends = None if identities is None else _as_ends(identities, signs)
    options = float(max_false_match), float(confidence)
    if groups is None:
        return _promise(scores, signs, ends, *options)
    names, group = as_identities("groups", groups, len(scores), of="pairs")
    parts = {}
    for number, name in enumerate(names.tolist()):
        rows, where = group == number, f" in group {name!r}"
        some = None if ends is None else ends[rows]
        parts[name] = _promise(scores[rows], signs[rows], some, *options, where=where)
    return parts


def units_needed(*, max_false_match: float = 0.01, confidence: float = 0.95) -> int:
    """Return the number of independent dissimilar pairs without which no promise is possible.

    It is the smallest n with (1 - max_false_match)^n <= 1 - confidence: with fewer pairs, not even
    zero false matches prove the bound.

    Parameters
    ----------
    max_false_match : float in (0, 1), default=0.01
        Bound on the false match rate.
    confidence : float in (0, 1), default=0.95
        Probability with which the bound holds.

    Returns
    -------
    int

    Examples
    --------
    >>> from frobmetric.neighbors import units_needed
    >>> units_needed(max_false_match=0.01, confidence=0.95)
    299
    """
    _check_rate(max_false_match, "max_false_match")
    _check_rate(confidence, "confidence")
    return ceil(log1p(-confidence) / log1p(-max_false_match) * (1 - ROUNDING))


def promise_of_points(
    score: ArrayLike,
    y: ArrayLike,
    index: Index,
    identities: ArrayLike | None,
    is_known: Mask,
    **options: float,
) -> Promise:
    """Return the promise of pairs of points; without identities, every point has its own.

    Parameters
    ----------
    score, y, identities, **options
        As in `promised_threshold`.
    index : ndarray of shape (n_pairs, 2)
        Numbers of the two points of each pair.
    is_known : ndarray of bool of shape (n_points,)
        Whether the model was learned from a point; if from any, the promise may be broken, and a
        `UserWarning` says so.
    """
    if is_known.any():
        warn_user(
            f"{is_known.sum()} of the {len(is_known)} points are points that the model was learned "
            "from; the promise holds for pairs that it has not seen: calibrate on other pairs, of "
            "other people"
        )
    if identities is None:
        # a pair of two equal points is a pair of its own, and not one of a point with itself
        identities, is_equal = index.copy(), index[:, 0] == index[:, 1]
        identities[is_equal, 1] = len(is_known) + np.arange(is_equal.sum())
    promise = promised_threshold(score, y, identities=identities, **options)
    return cast(Promise, promise)


def disjoint_pairs(ends: Index) -> Index:
    """Return a maximal set of pairs, by row, no two of which share an identity.

    Pairs of identities that occur in few others are taken first, which finds nearly as many as
    there can be. Of the pairs of the same two identities one is drawn, with a fixed seed.

    Parameters
    ----------
    ends : ndarray of int of shape (n_pairs, 2)
        Numbers of the two identities of each pair, from 0; they differ.

    Returns
    -------
    ndarray of shape (n_disjoint,)
        Rising row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.neighbors.promise import disjoint_pairs
    >>> disjoint_pairs(np.array([[0, 1], [1, 2], [1, 0], [3, 2]])).tolist()[-1]
    3
    """
    order = np.random.default_rng(0).permutation(len(ends))
    low, high = np.sort(ends[order], axis=1).T
    n = int(ends.max(initial=0)) + 1
    # np.unique gives the first of equal pairs, which the permutation has drawn at random
    left = np.sort(np.unique(low * n + high, return_index=True)[1])
    chosen = [left[:0]]
    while len(left):
        a, b = low[left], high[left]
        degree = np.bincount(np.append(a, b), minlength=n)
        rank = np.argsort(np.argsort(np.minimum(degree[a], degree[b]), kind="stable"))
        first = np.full(n, len(left))
        np.minimum.at(first, np.append(a, b), np.tile(rank, 2))
        taken = left[(first[a] == rank) & (first[b] == rank)]
        chosen.append(taken)
        is_used = np.zeros(n, dtype=bool)
        is_used[low[taken]] = is_used[high[taken]] = True
        left = left[~(is_used[a] | is_used[b])]
    return np.sort(order[np.concatenate(chosen)])


def _promise(
    score: Vector,
    y: Index,
    ends: Index | None,
    max_false_match: float,
    confidence: float,
    where: str = "",
) -> Promise:
    """Return the promise of checked pairs."""
    different = np.flatnonzero(y < 0)
    units = different if ends is None else different[disjoint_pairs(ends[different])]
    allowed = _most_false(len(units), max_false_match, 1 - confidence)
    if allowed < 0:
        raise _impossible(len(units), len(different), max_false_match, confidence, ends, where)
    falling = np.sort(score[units])[::-1]
    threshold = np.nextafter(falling[allowed], np.inf, dtype=score.dtype)
    n_false = int(np.sum(falling >= threshold))
    bound = float(beta.ppf(confidence, n_false + 1, len(units) - n_false))
    is_match = score[y > 0] >= threshold
    rate = float(is_match.mean()) if len(is_match) else float("nan")
    promised = max_false_match, confidence, len(units), n_false, bound
    return Promise(float(threshold), *promised, rate)


def _most_false(n: int, rate: float, error: float) -> int:
    """Return the largest k with P(Binomial(n, rate) <= k) <= error; -1 if there is none."""
    k = int(binom.ppf(error, n, rate)) if n else 0
    return k if binom.cdf(k, n, rate) <= error * (1 + ROUNDING) else k - 1


def _impossible(
    n: int,
    n_different: int,
    max_false_match: float,
    confidence: float,
    ends: Index | None,
    where: str,
) -> ValueError:
    """Return the error for a promise that the pairs are too few for."""
    kind = "" if ends is None else f" without a common identity (of {n_different} in all)"
    hint = f"; {n} prove max_false_match={1 - (1 - confidence) ** (1 / n):.2g}" if n else ""
    needed = units_needed(max_false_match=max_false_match, confidence=confidence)
    return ValueError(
        f"max_false_match={max_false_match:g} with confidence={confidence:g} needs at least "
        f"{needed} independent dissimilar pairs, even if none "
        f"is a false match; there are {n}{kind}{where}. Give more, or promise less{hint}"
    )


def _check_rate(value: object, name: str) -> None:
    if not is_real(value) or not 0 < value < 1:
        raise ValueError(
            f"{name} is {value!r:.80}; expected a number between 0 and 1, without them"
        )
    if not LEAST_RATE < value < 1 - LEAST_RATE:
        raise ValueError(
            f"{name} is {value!r}; expected at least {LEAST_RATE:g} from 0 and 1: no number of "
            "pairs could prove it"
        )


def _as_ends(identities: ArrayLike, y: Index) -> Index:
    """Return the numbers of the two identities of each pair; in dissimilar pairs they differ."""
    names = read_values(identities, name="identities")
    if names.shape != (len(y), 2):
        raise ValueError(
            f"identities has shape {names.shape}; there are {len(y)} pairs, so expected "
            f"({len(y)}, 2): who is shown by either point"
        )
    for i in range(2):
        as_identities(f"identities[:, {i}]", names[:, i], len(y), of="pairs")
    flat = np.asarray(names).ravel()
    ends = as_identities("identities", flat, 2 * len(y))[1].reshape(-1, 2)
    bad = np.flatnonzero((y < 0) & (ends[:, 0] == ends[:, 1]))
    if len(bad):
        raise ValueError(
            f"identities[{bad[0]}] has {shown(names[bad[0], 0])} twice, and y[{bad[0]}] is "
            "-1; correct the label or the identities, or leave the pair out"
        )
    return ends
