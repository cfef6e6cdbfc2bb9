"""MetricDisplay: a learned metric in one figure."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from ..core.points import Array
from . import style
from .style import COLOURS, Axes, Panels, draw_level, lighten, whole_numbers

#: Eigenvalues below this share of the largest one are rounding errors.
NEGLIGIBLE = 1e-12


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
    before, after : (ndarray of shape (n_samples, 2), float)
        The samples and the transformed samples in their first two principal components, and the
        share of the variance that these have.
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

    def __init__(
        self,
        *,
        spectrum: np.ndarray,
        gaps: np.ndarray,
        proven_gap: float,
        tol: float,
        before: tuple[np.ndarray, float],
        after: tuple[np.ndarray, float],
        y: np.ndarray | None = None,
    ) -> None:
        self.spectrum = spectrum
        self.gaps = gaps
        self.proven_gap = proven_gap
        self.tol = tol
        self.before = before
        self.after = after
        self.y = y

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, *, axes: Panels | None = None
    ) -> Self:
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
        eigenvalues = np.linalg.svd(estimator.components_, compute_uv=False) ** 2
        spectrum = np.zeros(estimator.n_features_in_)
        spectrum[: len(eigenvalues)] = eigenvalues
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

    def plot(self, *, axes: Panels | None = None) -> Self:
        """Draw the four panels on the given axes or in a new figure."""
        self.axes_, self.figure_ = axes, _ = style.new_panels(axes, (2, 2), (10, 8.5))
        self._plot_spectrum(axes[0])
        self._plot_gaps(axes[1])
        y = np.zeros(len(self.before[0])) if self.y is None else self.y
        classes, labels = np.unique(y, return_inverse=True)
        colour_of = style.colours(len(classes))[labels]
        _plot_points(axes[2], *self.before, colour_of, "Before: Euclidean distance")
        _plot_points(axes[3], *self.after, colour_of, "After: learned distance")
        if self.y is not None:
            style.add_class_legend(axes[3], classes, "class")
        return self

    def _plot_spectrum(self, ax: Axes) -> None:
        n = len(self.spectrum)
        positive = self.spectrum[self.spectrum > NEGLIGIBLE * max(self.spectrum.max(), 1e-300)]
        ax.plot(np.arange(1, len(positive) + 1), positive, "o-", markersize=3, color=COLOURS[0])
        if len(positive):
            ax.set_yscale("log")
        whole_numbers(ax.xaxis)
        ax.set(title=f"Spectrum: rank {len(positive)} of {n}", xlim=(0, n + 1))
        ax.set(xlabel="direction", ylabel="eigenvalue of the metric")
        lighten(ax)

    def _plot_gaps(self, ax: Axes) -> None:
        positive = np.where(self.gaps > 0, self.gaps, np.nan)  # a logarithmic axis has no zero
        ax.plot(np.arange(1, len(positive) + 1), positive, color=COLOURS[0])
        draw_level(ax, self.tol, f"tol = {self.tol:g}", x=0.02, align="left")
        ax.set(title=f"Certificate: relative gap {self.proven_gap:.1e}", yscale="log")
        ax.set(xlabel="step of the solver", ylabel="proven relative gap")
        lighten(ax)


def _plot_points(ax: Axes, points: Array, share: float, colour_of: Array, title: str) -> None:
    style.draw_points(ax, points, (2, 20), c=colour_of, alpha=0.8)
    ax.set_title(f"{title}\n(2 principal components, {share:.0%} of the variance)")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])


def _project(X: NDArray[Any]) -> tuple[Array, float]:
    """Return the first two principal components of the rows, and their share of the variance."""
    X = X.astype(np.float64)
    pca = PCA(min(2, *X.shape), svd_solver="full").fit(X)
    return style.plane(pca.transform(X)), float(np.nansum(pca.explained_variance_ratio_))
