"""MetricDisplay: a learned metric in one figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from .style import (
    COLOURS,
    add_class_legend,
    colours,
    draw_level,
    drawing_order,
    lighten,
    new_panels,
    plane,
)

#: Eigenvalues below this share of the largest one are rounding errors.
NEGLIGIBLE = 1e-12


@dataclass
class Projection:
    """Points in the plane, and the share of the variance that the plane shows."""

    points: np.ndarray
    share: float


class MetricDisplay:
    """Spectrum of a metric, convergence of its fit, and the data before and after.

    Create one with `from_estimator`, as with scikit-learn's displays.

    Parameters
    ----------
    spectrum : ndarray of shape (n_features,)
        Eigenvalues of the metric, largest first.
    gaps : ndarray of shape (n_iter,)
        Proven relative gap of each step.
    proven_gap : float
        Relative gap of the certificate.
    tol : float
        Relative gap that was requested.
    before, after : Projection
        The samples and the transformed samples in their first two principal components.
    y : ndarray of shape (n_samples,), optional
        Classes, for the colours.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 4 matplotlib Axes
        Spectrum, gap, before, after.

    Examples
    --------
    >>> from frobmetric.plotting import MetricDisplay
    >>> display = MetricDisplay.from_estimator(metric, X, y)  # doctest: +SKIP
    >>> display.figure_.savefig("metric.png")  # doctest: +SKIP
    """

    def __init__(self, *, spectrum, gaps, proven_gap, tol, before, after, y=None):
        self.spectrum = spectrum
        self.gaps = gaps
        self.proven_gap = proven_gap
        self.tol = tol
        self.before = before
        self.after = after
        self.y = y

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, axes=None):
        """Draw a fitted metric and these samples.

        Parameters
        ----------
        estimator : FrobMetric
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Classes, for the colours.
        axes : sequence of 4 matplotlib Axes, optional

        Returns
        -------
        MetricDisplay
        """
        check_is_fitted(estimator)
        singular = np.linalg.svd(estimator.components_, compute_uv=False)
        spectrum = np.zeros(estimator.n_features_in_)
        spectrum[: len(singular)] = singular**2
        display = cls(
            spectrum=spectrum,
            gaps=np.array([step.relative_gap for step in estimator.history_]),
            proven_gap=estimator.certificate_.relative_gap,
            tol=estimator.tol,
            before=_project(np.asarray(X)),
            after=_project(np.asarray(estimator.transform(X))),
            y=None if y is None else np.asarray(y),
        )
        return display.plot(axes=axes)

    def plot(self, *, axes=None):
        """Draw the four panels on the given axes or in a new figure."""
        self.axes_, self.figure_ = axes, _ = new_panels(axes, (2, 2), (10, 8.5))
        self._plot_spectrum(axes[0])
        self._plot_gaps(axes[1])
        classes, labels = np.array([""]), np.zeros(len(self.before.points), dtype=int)
        if self.y is not None:
            classes, labels = np.unique(self.y, return_inverse=True)
        colour_of = colours(len(classes))[labels]
        _plot_points(axes[2], self.before, colour_of, "Before: Euclidean distance")
        _plot_points(axes[3], self.after, colour_of, "After: learned distance")
        if self.y is not None:
            add_class_legend(axes[3], classes, "class")
        return self

    def _plot_spectrum(self, ax):
        positive = self.spectrum[self.spectrum > NEGLIGIBLE * max(self.spectrum.max(), 1e-300)]
        ax.plot(np.arange(1, len(positive) + 1), positive, "o-", markersize=3, color=COLOURS[0])
        if len(positive):
            ax.set_yscale("log")
        ax.set_xlim(0, len(self.spectrum) + 1)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(f"Spectrum: rank {len(positive)} of {len(self.spectrum)}")
        ax.set_xlabel("direction")
        ax.set_ylabel("eigenvalue of the metric")
        lighten(ax)

    def _plot_gaps(self, ax):
        positive = np.where(self.gaps > 0, self.gaps, np.nan)  # a logarithmic axis has no zero
        ax.plot(np.arange(1, len(positive) + 1), positive, color=COLOURS[0])
        draw_level(ax, self.tol, f"tol = {self.tol:g}", x=0.02, align="left")
        ax.set_yscale("log")
        ax.set_title(f"Certificate: relative gap {self.proven_gap:.1e}")
        ax.set_xlabel("step of the solver")
        ax.set_ylabel("proven relative gap")
        lighten(ax)


def _plot_points(ax, projection, colour_of, title):
    order = drawing_order(len(projection.points))
    size = np.clip(6000 / max(1, len(order)), 2, 20)
    ax.scatter(*projection.points[order].T, c=colour_of[order], s=size, alpha=0.8, linewidths=0)
    ax.set_title(f"{title}\n(2 principal components, {projection.share:.0%} of the variance)")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])


def _project(X):
    """Project the rows of X to their first two principal components."""
    pca = PCA(min(2, *X.shape), svd_solver="full").fit(X.astype(np.float64))
    points = plane(pca.transform(X.astype(np.float64)))
    return Projection(points, float(np.nansum(pca.explained_variance_ratio_)))
