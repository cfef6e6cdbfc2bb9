"""`MetricDisplay`: a learned metric in one figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from .._extras import require

#: More classes than this get no legend: nobody can tell so many colours apart.
MAX_LEGEND = 10
#: Colours that people with common colour-vision deficiencies can tell apart come first.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
    "#8C564B",
    "#7F7F7F",
)
#: Eigenvalues below this share of the largest are rounding.
NEGLIGIBLE = 1e-12


@dataclass
class Embedding:
    """Points in the plane, and the share of the variance that the plane shows."""

    points: np.ndarray
    share: float


class MetricDisplay:
    """The spectrum of a metric, how its fit converged, and the data before and after.

    Make one with `from_estimator`, as scikit-learn's displays are made.

    Parameters
    ----------
    spectrum : ndarray of shape (n_features,)
        Eigenvalues of the metric, falling.
    gaps : ndarray of shape (n_iter,)
        Proven relative gap of each step.
    proven_gap, tol : float
        What the certificate says, and what was asked for.
    before, after : Embedding
    y : ndarray of shape (n_samples,), optional

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 4 matplotlib Axes
        Spectrum, gap, before, after.

    Examples
    --------
    >>> from frobmetric.plotting.metric import MetricDisplay
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
            before=_embed(np.asarray(X)),
            after=_embed(np.asarray(estimator.transform(X))),
            y=None if y is None else np.asarray(y),
        )
        return display.plot(axes=axes)

    def plot(self, *, axes=None):
        """Draw the four panels, on these axes or in a new figure."""
        plt = require("matplotlib.pyplot", "plot")
        if axes is None:
            figure, axes = plt.subplots(2, 2, figsize=(10, 8.5), layout="constrained")
            figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
        axes = np.ravel(axes)
        if len(axes) != 4:
            raise ValueError(f"{len(axes)} axes were given; expected 4")
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_spectrum(axes[0])
        self._plot_gaps(axes[1])
        self._plot_embedding(axes[2], self.before, "Before: Euclidean distance")
        self._plot_embedding(axes[3], self.after, "After: learned distance")
        self._add_legend(axes[3])
        return self

    def _plot_spectrum(self, ax):
        kept = self.spectrum[self.spectrum > NEGLIGIBLE * max(self.spectrum.max(), 1e-300)]
        ax.plot(np.arange(1, len(kept) + 1), kept, "o-", markersize=3, color=COLOURS[0])
        if len(kept):
            ax.set_yscale("log")
        ax.set_xlim(0, len(self.spectrum) + 1)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(f"Spectrum: rank {len(kept)} of {len(self.spectrum)}")
        ax.set_xlabel("direction")
        ax.set_ylabel("eigenvalue of the metric")
        _lighten(ax)

    def _plot_gaps(self, ax):
        positive = np.where(self.gaps > 0, self.gaps, np.nan)  # a logarithm has no zero
        ax.plot(np.arange(1, len(positive) + 1), positive, color=COLOURS[0])
        ax.axhline(self.tol, color="0.4", linestyle="--", linewidth=1)
        ax.annotate(
            f"tol = {self.tol:g}",
            (0.02, self.tol),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            color="0.3",
        )
        ax.set_yscale("log")
        ax.set_title(f"Certificate: relative gap {self.proven_gap:.1e}")
        ax.set_xlabel("step of the solver")
        ax.set_ylabel("proven relative gap")
        _lighten(ax)

    def _plot_embedding(self, ax, embedding, title):
        classes, labels = self._classes()
        # in random order, so that no class hides another
        order = np.random.default_rng(0).permutation(len(embedding.points))
        size = np.clip(6000 / max(1, len(order)), 2, 20)
        ax.scatter(
            *embedding.points[order].T,
            c=_colours(len(classes))[labels[order]],
            s=size,
            alpha=0.8,
            linewidths=0,
        )
        ax.set_title(f"{title}\n(2 principal components, {embedding.share:.0%} of the variance)")
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xticks([])
        ax.set_yticks([])

    def _classes(self):
        if self.y is None:
            return np.array([""]), np.zeros(len(self.before.points), dtype=int)
        return np.unique(self.y, return_inverse=True)

    def _add_legend(self, ax):
        classes, _ = self._classes()
        if self.y is None or len(classes) > MAX_LEGEND:
            return
        for name, colour in zip(classes, _colours(len(classes)), strict=True):
            ax.scatter([], [], color=[colour], label=str(name), s=20)
        ax.legend(title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _embed(X):
    """The two leading principal components; a second one of zeros if there is only one."""
    X = X.astype(np.float64)
    n_components = min(2, *X.shape)
    pca = PCA(n_components, svd_solver="full").fit(X)
    points = np.pad(pca.transform(X), ((0, 0), (0, 2 - n_components)))
    return Embedding(points, float(np.nansum(pca.explained_variance_ratio_)))


def _colours(n_classes):
    """One colour a class, as an array of shape (n_classes, 4)."""
    import matplotlib as mpl

    if n_classes <= len(COLOURS):
        return np.array(mpl.colors.to_rgba_array(COLOURS[:n_classes]))
    return mpl.colormaps["turbo"](np.linspace(0, 1, n_classes))


def _lighten(ax):
    ax.grid(True, color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
