"""InformationBottleneck: merges bins of histograms that say the same about the class."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from frobmetric.checks.parameters import check_parameters, integer

#: Losses are rounded to multiples of this many nats: equal ones then stay equal in floating point.
GRID = 2.0**-44


class InformationBottleneck(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Merge bins of histograms, losing as little as possible of what they say about the class.

    The agglomerative information bottleneck. The counts give the joint distribution p(bin, class)
    of one draw from all of them, so that a sample weighs as much as it has counts. Merging the
    bins i and j loses

        (p_i + p_j) JS(p(class | i), p(class | j))

    of the mutual information I(bin; class), where JS is the Jensen-Shannon divergence with the
    weights p_i / (p_i + p_j) and p_j / (p_i + p_j). The pair with the smallest loss is merged, of
    equal ones that with the lowest bins, until `n_bins` are left.

    Parameters
    ----------
    n_bins : int, default=500
        Number of bins that remain; at most as many as X has features.

    Attributes
    ----------
    labels_ : ndarray of shape (n_features_in_,)
        The merged bin of each bin. Merged bins are in the order of their first ones.
    merges_ : ndarray of shape (n_features_in_ - n_bins, 2)
        The two parts of each merge, as in scikit-learn's `children_`: numbers below n_features_in_
        are bins, and n_features_in_ + i is the result of merge i.
    losses_ : ndarray of shape (n_features_in_ - n_bins,)
        Information, in nats, that each merge loses.
    information_ : float
        I(merged bin; class), in nats.
    information_full_ : float
        I(bin; class) before any merge.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    The answer is that of trying all pairs before each merge, in time about (number of bins)^2 times
    the number of classes. Losses that differ by less than 6e-14 nats count as equal. A bin without
    counts is merged with the first bin, at no loss.

    References
    ----------
    Slonim and Tishby, Agglomerative information bottleneck, NIPS 1999. Fulkerson, Vedaldi and
    Soatto, Localizing objects with smart dictionaries, ECCV 2008.

    Examples
    --------
    >>> from frobmetric_paper.action.bottleneck import InformationBottleneck
    >>> counts = [[3, 1, 0, 0], [5, 2, 0, 1], [0, 0, 4, 2], [1, 0, 6, 3]]
    >>> bottleneck = InformationBottleneck(n_bins=2).fit(counts, ["sea", "sea", "sky", "sky"])
    >>> bottleneck.labels_
    array([0, 0, 1, 1])
    >>> bottleneck.transform(counts)
    array([[4., 0.],
           [7., 1.],
           [0., 6.],
           [1., 9.]])
    """

    _rules: ClassVar = {"n_bins": integer(1)}

    def __init__(self, *, n_bins=500):
        self.n_bins = n_bins

    def fit(self, X, y):
        """Choose the merges from counts X, not negative, possibly sparse, and classes y."""
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, **_FORM)
        check_non_negative(X, "InformationBottleneck.fit")
        if self.n_bins > X.shape[1]:
            raise ValueError(
                f"n_bins={self.n_bins} is more than n_features={X.shape[1]} of X: merging only "
                f"makes fewer bins. Choose n_bins of at most {X.shape[1]}."
            )
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        joint = joint_distribution(X, codes)
        self.labels_, self.merges_, self.losses_ = merge(joint, self.n_bins)
        self.information_full_ = mutual_information(joint)
        self.information_ = mutual_information(indicator(self.labels_).T @ joint)
        return self

    def transform(self, X):
        """Add up the columns of each merged bin; sparse if X is."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_FORM)
        check_non_negative(X, "InformationBottleneck.transform")
        return X @ indicator(self.labels_, X.dtype)

    @property
    def _n_features_out(self):
        return int(self.labels_.max()) + 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_FORM = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


def indicator(labels, dtype=np.float64):
    """Return 1 where a bin (row) belongs to the merged bin (column) of its label."""
    n = len(labels)
    entries = np.ones(n, dtype), labels, np.arange(n + 1)
    return scipy.sparse.csr_array(entries, shape=(n, int(labels.max()) + 1))


def joint_distribution(X, codes):
    """Return p(bin, class) of one draw from all counts, of shape (n_features, n_classes)."""
    if codes.max() == 0:
        raise ValueError(
            "y holds 1 class only, about which bins say nothing; give samples of at least 2 classes"
        )
    counts = indicator(codes).T @ X.astype(np.float64)
    counts = counts.toarray() if scipy.sparse.issparse(counts) else counts
    largest = counts.max()
    if not 0 < largest < np.inf:
        raise ValueError(
            f"the largest sum of counts over a class is {largest:g}; expected a positive finite "
            "number. Give samples with counts, in a unit in which their sums are finite."
        )
    joint = (counts / largest).T  # sums of 1e308 overflow
    return np.ascontiguousarray(joint / joint.sum())


def mutual_information(joint):
    """Return I(row; column) of a joint distribution, in nats."""
    margins = (_x_log_x(joint.sum(axis=axis)).sum() for axis in (0, 1))
    return max(0.0, float(_x_log_x(joint).sum() - sum(margins)))


def _x_log_x(x):
    logarithms = np.maximum(x, np.finfo(np.float64).tiny)
    np.log(logarithms, out=logarithms)
    return np.multiply(x, logarithms, out=logarithms)


def merge(joint, n_bins):
    """Merge rows of a joint distribution until n_bins are left; return labels, merges, losses."""
    n = len(joint)
    clusters = _Clusters(joint)
    firsts, nodes = np.arange(n), np.arange(n)
    merges, losses = np.empty((n - n_bins, 2), dtype=np.intp), np.empty(n - n_bins)
    for step in range(n - n_bins):
        first, second, losses[step] = clusters.merge_closest()
        merges[step] = sorted((nodes[first], nodes[second]))
        nodes[first] = n + step
        firsts[firsts == second] = first
    return np.unique(firsts, return_inverse=True)[1], merges, losses


class _Clusters:
    """Clusters of bins in the order of their first bins, each with its best later partner.

    `bound` is the loss with `partner`; where partner is -1, because that one is gone or has
    changed, it is a lower bound of the loss with the best. A loss with a merged cluster can be
    smaller than those with its parts, so each merged cluster is tried with all others: a chain of
    nearest neighbours would be wrong.
    """

    def __init__(self, joint):
        n = len(joint)
        self.firsts = np.arange(n)
        # mass of (class, cluster), in the last row of the cluster; and w log w of each
        self.weights = np.vstack([joint.T, joint.sum(axis=1)])
        self.terms = _x_log_x(self.weights)
        self.is_gone = np.zeros(n, dtype=bool)
        self.bound = np.full(n, np.inf)
        self.partner = np.full(n, -1)
        for row in range(n):
            self._set_partner(row, self._losses(row, row + 1))

    def merge_closest(self):
        """Merge the pair with the smallest loss; return their first bins and that loss."""
        if self.is_gone.mean() > 0.2:
            self._compact()
        row = int(self.bound.argmin())
        while self.partner[row] < 0:
            self._set_partner(row, self._losses(row, row + 1))
            row = int(self.bound.argmin())
        other, loss = int(self.partner[row]), float(self.bound[row])
        self._join(row, other)
        return self.firsts[row], self.firsts[other], loss

    def _join(self, row, other):
        self.weights[:, row] += self.weights[:, other]
        self.terms[:, row] = _x_log_x(self.weights[:, row])
        self.is_gone[other], self.bound[other], self.partner[other] = True, np.inf, -1
        losses = self._losses(row, 0)
        self._offer(row, losses[:row])
        self.partner[self.partner == other] = -1
        self._set_partner(row, losses[row + 1 :])

    def _offer(self, row, losses):
        """Make a merged cluster the partner of earlier ones for which it is the best."""
        bound, partner = self.bound[:row], self.partner[:row]
        takes = (losses < bound) | ((losses == bound) & (row <= partner))
        partner[partner == row] = -1
        partner[takes] = row
        bound[takes] = losses[takes]

    def _set_partner(self, row, losses):
        """Store the best partner of a cluster, from its losses with all later ones."""
        best = int(losses.argmin()) if len(losses) else 0
        self.bound[row] = losses[best] if len(losses) else np.inf
        self.partner[row] = row + 1 + best if self.bound[row] < np.inf else -1

    def _losses(self, row, start):
        """Return (p_i + p_j) JS for i = row and each j from start on."""
        # logarithms take most of the time; classes that the row does not have need none
        held = np.flatnonzero(self.weights[:, row])
        gains = _x_log_x(self.weights[held, start:] + self.weights[held, row, None])
        gains -= self.terms[held, start:]
        gains -= self.terms[held, row, None]
        losses = 2 * gains[-1:].sum(axis=0) - gains.sum(axis=0)
        losses = np.maximum(0.0, np.round(losses / GRID) * GRID)
        losses[self.is_gone[start:]] = np.inf
        return losses

    def _compact(self):
        """Remove the places of clusters that are gone."""
        stays = ~self.is_gone
        places = np.append(np.cumsum(stays) - 1, -1)  # the last is for partner = -1
        self.partner, self.firsts = places[self.partner[stays]], self.firsts[stays]
        self.bound, self.is_gone = self.bound[stays], self.is_gone[stays]
        self.weights, self.terms = self.weights[:, stays], self.terms[:, stays]
