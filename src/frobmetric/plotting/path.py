"""PathDisplay: the metrics along a path of C in one figure."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.points import Array, Vector
from ..neighbors.classification import knn_error
from .style import COLOURS, Axes, Panels, draw_level, lighten, new_panels, whole_numbers


class PathDisplay:
    """Effect of C on a metric: error, rank, active triplets and proven gap.

    Create one with `from_path`, as with scikit-learn's displays.

    Parameters
    ----------
    Cs : ndarray of shape (n_points,)
    errors : ndarray of shape (n_points,)
        Share of the test samples that a vote of the nearest neighbours gets wrong, at each C.
    euclidean_error : float
        The same share under the Euclidean metric.
    ranks, active_shares, relative_gaps : ndarray of shape (n_points,)
        Rank of the metric, share of the triplets with u > 0, proven relative gap.
    n_neighbors : int
        Number of neighbours that vote.
    tol : float, optional
        Relative gap that was requested.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 4 matplotlib Axes
        Error, rank, active triplets, gap.

    Examples
    --------
    >>> from frobmetric.plotting import PathDisplay
    >>> display = PathDisplay.from_path(path, *train, *test)  # doctest: +SKIP
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        Cs: np.ndarray,
        errors: np.ndarray,
        euclidean_error: float,
        ranks: np.ndarray,
        active_shares: np.ndarray,
        relative_gaps: np.ndarray,
        n_neighbors: int = 3,
        tol: float | None = None,
    ) -> None:
        self.Cs = Cs
        self.errors = errors
        self.euclidean_error = euclidean_error
        self.ranks = ranks
        self.active_shares = active_shares
        self.relative_gaps = relative_gaps
        self.n_neighbors = n_neighbors
        self.tol = tol

    @classmethod
    def from_path(
        cls,
        path: Any,
        X_train: ArrayLike,
        y_train: ArrayLike,
        X_test: ArrayLike,
        y_test: ArrayLike,
        *,
        n_neighbors: int = 3,
        tol: float | None = None,
        axes: Panels | None = None,
    ) -> Self:
        """Evaluate each metric of a path on test samples, and draw.

        Parameters
        ----------
        path : FrobPath
            Result of `frob_path(X_train, y_train)`.
        X_train, X_test : array-like of shape (n_train, n_features) and (n_test, n_features)
        y_train, y_test : array-like of shape (n_train,) and (n_test,)
        n_neighbors : int
            Number of neighbours that vote.
        tol : float, optional
            The `tol` of the path; drawn as a line.
        axes : sequence of 4 matplotlib Axes, optional

        Returns
        -------
        PathDisplay
        """
        if not path.points:
            raise ValueError("the path has no points; expected at least one value of C")
        X_train, X_test = np.asarray(X_train), np.asarray(X_test)

        def error(L: Array) -> float:
            return knn_error(X_train @ L, y_train, X_test @ L, y_test, n_neighbors=n_neighbors)

        points = path.points
        display = cls(
            Cs=path.Cs,
            errors=np.array([error(point.components.T) for point in points]),
            euclidean_error=knn_error(X_train, y_train, X_test, y_test, n_neighbors=n_neighbors),
            ranks=np.array([point.rank for point in points]),
            active_shares=np.array([point.n_active / path.n_triplets for point in points]),
            relative_gaps=np.array([point.certificate.relative_gap for point in points]),
            n_neighbors=n_neighbors,
            tol=tol,
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Panels | None = None) -> Self:
        """Draw the four panels on the given axes or in a new figure."""
        self.axes_, self.figure_ = axes, _ = new_panels(axes, (2, 2), (10, 7), sharex=True)
        self._plot_errors(axes[0])
        ranks, shares = self.ranks, self.active_shares
        self._plot_line(axes[1], ranks, f"Rank: {ranks.min()} to {ranks.max()}")
        axes[1].set(ylim=(0, 1.12 * max(1, ranks.max())), ylabel="rank of the metric")
        whole_numbers(axes[1].yaxis)
        title = f"Active triplets: {shares[-1]:.1%} at the largest C"
        self._plot_line(axes[2], 100 * shares, title)
        axes[2].set(ylim=(0, 112 * max(shares.max(), 1e-3)), ylabel="triplets with u > 0, %")
        self._plot_gaps(axes[3])
        for ax in axes:
            ax.set(xscale="log", xlabel="C")
            ax.xaxis.set_tick_params(labelbottom=True)  # also on shared axes
            lighten(ax)
        return self

    def _plot_errors(self, ax: Axes) -> None:
        best = self.errors.argmin()  # the smallest C of several, as FrobMetricCV chooses
        title = f"Error: {self.errors[best]:.1%} at C = {self.Cs[best]:.3g}"
        self._plot_line(ax, 100 * self.errors, title)
        ring: dict[str, Any] = {
            "markersize": 11,
            "markeredgewidth": 1.5,
            "fillstyle": "none",
            "color": COLOURS[5],
        }
        ax.plot(self.Cs[best], 100 * self.errors[best], "o", **ring)
        draw_level(ax, 100 * self.euclidean_error, f"Euclidean: {self.euclidean_error:.1%}")
        highest = max(self.errors.max(), self.euclidean_error, 1e-3)
        ax.set(ylim=(0, 115 * highest), ylabel=f"{self.n_neighbors}-NN error on the test part, %")

    def _plot_gaps(self, ax: Axes) -> None:
        is_zero = self.relative_gaps <= 0  # no place on a logarithmic axis: marked below
        gaps = np.where(is_zero, np.nan, self.relative_gaps)
        title = f"Certificate: relative gap at most {self.relative_gaps.max():.1e}"
        self._plot_line(ax, gaps, title)
        if is_zero.any():
            height = np.full(is_zero.sum(), 0.03)  # as a share of the axis
            style: dict[str, Any] = {
                "color": COLOURS[0],
                "fillstyle": "none",
                "label": "gap 0: exact",
            }
            ax.plot(self.Cs[is_zero], height, "v", transform=ax.get_xaxis_transform(), **style)
            ax.legend(frameon=False, loc="lower right")
        ax.set(yscale="log", ylabel="proven relative gap")
        if self.tol is not None:
            draw_level(ax, self.tol, f"tol = {self.tol:g}")
        drawn = np.append(gaps, np.nan if self.tol is None else self.tol)
        drawn = drawn[np.isfinite(drawn)]
        # room around all values, so that a small change looks small
        ax.set_ylim(*((drawn.min() / 10, drawn.max() * 4) if len(drawn) else (1e-16, 1)))

    def _plot_line(self, ax: Axes, values: Vector, title: str) -> None:
        ax.plot(self.Cs, values, "o-", markersize=4, color=COLOURS[0])
        ax.set_title(title)
