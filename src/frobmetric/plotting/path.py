"""`PathDisplay`: the metrics along C in one figure."""

from __future__ import annotations

import numpy as np

from .._extras import require
from ..neighbors.classification import knn_error
from .metric import COLOURS, _lighten


class PathDisplay:
    """What C does to a metric: its error, its rank, its active triplets, and the proof.

    Make one with `from_path`, as scikit-learn's displays are made.

    Parameters
    ----------
    Cs : ndarray of shape (n_points,)
    errors : ndarray of shape (n_points,)
        Share of the test part that a k-nearest-neighbour vote gets wrong, at each C.
    euclidean_error : float
        The same without a learned metric.
    ranks, active_shares, relative_gaps : ndarray of shape (n_points,)
        Rank of the metric, share of the triplets with u > 0, proven relative gap.
    k : int
        Neighbours that vote.
    tol : float, optional
        The relative gap that was asked for.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 4 matplotlib Axes
        Error, rank, active triplets, gap.

    Examples
    --------
    >>> from frobmetric.plotting.path import PathDisplay
    >>> display = PathDisplay.from_path(path, *train, *test)  # doctest: +SKIP
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    def __init__(
        self, *, Cs, errors, euclidean_error, ranks, active_shares, relative_gaps, k=3, tol=None
    ):
        self.Cs = Cs
        self.errors = errors
        self.euclidean_error = euclidean_error
        self.ranks = ranks
        self.active_shares = active_shares
        self.relative_gaps = relative_gaps
        self.k = k
        self.tol = tol

    @classmethod
    def from_path(cls, path, X_train, y_train, X_test, y_test, *, k=3, tol=None, axes=None):
        """Judge each metric of a path on a test part, and draw.

        Parameters
        ----------
        path : FrobPath
            Of `frob_path(X_train, y_train)`.
        X_train, X_test : array-like of shape (n_train, n_features) and (n_test, n_features)
        y_train, y_test : array-like of shape (n_train,) and (n_test,)
        k : int
            Neighbours that vote.
        tol : float, optional
            The `tol` that the path was asked for; drawn as a line.
        axes : sequence of 4 matplotlib Axes, optional

        Returns
        -------
        PathDisplay
        """
        if not path.points:
            raise ValueError("the path has no points; expected at least one value of C")
        X_train, X_test = np.asarray(X_train), np.asarray(X_test)

        def error(L):
            return knn_error(X_train @ L, y_train, X_test @ L, y_test, n_neighbors=k)

        points = path.points
        display = cls(
            Cs=path.Cs,
            errors=np.array([error(point.components.T) for point in points]),
            euclidean_error=knn_error(X_train, y_train, X_test, y_test, n_neighbors=k),
            ranks=np.array([point.rank for point in points]),
            active_shares=np.array([point.n_active / path.n_triplets for point in points]),
            relative_gaps=np.array([point.certificate.relative_gap for point in points]),
            k=k,
            tol=tol,
        )
        return display.plot(axes=axes)

    def plot(self, axes=None):
        """Draw the four panels, on these axes or in a new figure."""
        plt = require("matplotlib.pyplot", "plot")
        if axes is None:
            figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, layout="constrained")
            figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
        axes = np.ravel(axes)
        if len(axes) != 4:
            raise ValueError(f"{len(axes)} axes were given; expected 4")
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_errors(axes[0])
        self._plot_ranks(axes[1])
        self._plot_active(axes[2])
        self._plot_gaps(axes[3])
        for ax in axes:
            ax.set_xscale("log")
            ax.set_xlabel("C")
            ax.xaxis.set_tick_params(labelbottom=True)  # also where axes are shared
            _lighten(ax)
        return self

    def _plot_errors(self, ax):
        best = self.errors.argmin()  # the smallest C of several, as FrobMetricCV chooses
        self._plot_line(ax, 100 * self.errors)
        ax.plot(
            self.Cs[best],
            100 * self.errors[best],
            "o",
            markersize=11,
            color=COLOURS[5],
            fillstyle="none",
            markeredgewidth=1.5,
        )
        _draw_level(ax, 100 * self.euclidean_error, f"Euclidean: {self.euclidean_error:.1%}")
        ax.set_ylim(0, 115 * max(self.errors.max(), self.euclidean_error, 1e-3))
        ax.set_title(f"Error: {self.errors[best]:.1%} at C = {self.Cs[best]:.3g}")
        ax.set_ylabel(f"{self.k}-NN error on the test part, %")

    def _plot_ranks(self, ax):
        self._plot_line(ax, self.ranks)
        ax.set_ylim(0, 1.12 * max(1, self.ranks.max()))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_title(f"Rank: {self.ranks.min()} to {self.ranks.max()}")
        ax.set_ylabel("rank of the metric")

    def _plot_active(self, ax):
        self._plot_line(ax, 100 * self.active_shares)
        ax.set_ylim(0, 112 * max(self.active_shares.max(), 1e-3))
        ax.set_title(f"Active triplets: {self.active_shares[-1]:.1%} at the largest C")
        ax.set_ylabel("triplets with u > 0, %")

    def _plot_gaps(self, ax):
        is_zero = self.relative_gaps <= 0  # a logarithm has none: a mark on the axis
        gaps = np.where(is_zero, np.nan, self.relative_gaps)
        self._plot_line(ax, gaps)
        if is_zero.any():
            ax.plot(
                self.Cs[is_zero],
                np.full(is_zero.sum(), 0.03),
                "v",
                color=COLOURS[0],
                fillstyle="none",
                transform=ax.get_xaxis_transform(),
                label="gap 0: exact",
            )
            ax.legend(frameon=False, loc="lower right")
        ax.set_yscale("log")
        if self.tol is not None:
            _draw_level(ax, self.tol, f"tol = {self.tol:g}")
        ax.set_ylim(*_decades(gaps, self.tol))
        ax.set_title(f"Certificate: relative gap at most {self.relative_gaps.max():.1e}")
        ax.set_ylabel("proven relative gap")

    def _plot_line(self, ax, values):
        ax.plot(self.Cs, values, "o-", markersize=4, color=COLOURS[0])


def _draw_level(ax, height, label):
    """A dashed line across the axes, its name above it."""
    ax.axhline(height, color="0.4", linestyle="--", linewidth=1)
    ax.annotate(
        label,
        (0.98, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        color="0.3",
        ha="right",
    )


def _decades(gaps, tol):
    """Limits with room around all that is drawn, so that a small change looks small."""
    drawn = np.append(gaps, np.nan if tol is None else tol)
    drawn = drawn[np.isfinite(drawn)]
    return (drawn.min() / 10, drawn.max() * 4) if len(drawn) else (1e-16, 1)
