"""`QualityDisplay` and `SpreadDisplay`: how good an embedding is, in figures."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frobmetric_paper.mvu.spread import local_spread

from .._extras import require
from ..manifold.quality import neighborhood_quality
from .embedding import label_plane, new_axes, plane, plane_size
from .metric import COLOURS, _colours, _lighten

#: Lines differ in style, too: in a print without colours they can still be told apart.
STYLES = ("-", "--", "-.", ":")


class QualityDisplay:
    """Neighbourhoods kept, Q_NX or R_NX, and intrusion, B_NX, of one or several embeddings.

    Make one with `from_embeddings`, or with `from_qualities` from what was computed before.

    Parameters
    ----------
    qualities : dict of str to NeighborhoodQuality
        By the name for the legend.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 2 matplotlib Axes
        Q_NX or R_NX, and B_NX.

    Examples
    --------
    >>> from frobmetric.plotting.quality import QualityDisplay
    >>> embeddings = {"Isomap": Y_isomap, "LLE": Y_lle}  # doctest: +SKIP
    >>> display = QualityDisplay.from_embeddings(X, embeddings)  # doctest: +SKIP
    >>> display.figure_.savefig("quality.png")  # doctest: +SKIP
    """

    def __init__(self, *, qualities):
        self.qualities = qualities

    @classmethod
    def from_embeddings(
        cls, X, embeddings, *, metric="euclidean", rows=None, random_state=None, **options
    ):
        """Judge embeddings of the same data, and draw.

        Parameters
        ----------
        X, metric, rows, random_state
            As of `neighborhood_quality`.
        embeddings : dict of str to array-like of shape (n_samples, n_components)
        **options
            Of `plot`.

        Returns
        -------
        QualityDisplay
        """
        qualities = {
            name: neighborhood_quality(X, Y, metric=metric, n_rows=rows, random_state=random_state)
            for name, Y in embeddings.items()
        }
        return cls.from_qualities(qualities, **options)

    @classmethod
    def from_qualities(cls, qualities, **options):
        """Draw a dict of `NeighborhoodQuality`; the options are those of `plot`."""
        if not qualities:
            raise ValueError("no embeddings were given; expected at least one, by its name")
        return cls(qualities=dict(qualities)).plot(**options)

    def plot(self, axes=None, *, rescaled=False, log=False):
        """Draw both panels, on these axes or in a new figure.

        Parameters
        ----------
        axes : sequence of 2 matplotlib Axes, optional
        rescaled : bool
            R_NX, by which a random embedding has 0, instead of Q_NX.
        log : bool
            A logarithmic axis of K, which shows the small neighbourhoods.

        Returns
        -------
        QualityDisplay
        """
        plt = require("matplotlib.pyplot", "plot")
        if axes is None:
            _, axes = plt.subplots(2, 1, figsize=(6.5, 7), sharex=True, layout="constrained")
        axes = np.ravel(axes)
        if len(axes) != 2:
            raise ValueError(f"{len(axes)} axes were given; expected 2")
        self.axes_, self.figure_ = axes, axes[0].figure
        self._plot_kept(axes[0], "r_nx" if rescaled else "q_nx")
        self._plot_behaviour(axes[1])
        for ax in axes:
            ax.set_xscale("log" if log else "linear")
            ax.set_xlabel("K, size of the neighbourhood")
            ax.xaxis.set_tick_params(labelbottom=True)  # also where axes are shared
            _lighten(ax)
        return self

    def _plot_kept(self, ax, attribute):
        self._plot_lines(ax, attribute)
        if attribute == "q_nx":
            ax.set_ylabel("$Q_{NX}(K)$, share of neighbours kept")
        else:
            ax.set_ylabel("$R_{NX}(K)$, neighbours kept (0: random)")
        ax.set_ylim(top=1.03)
        # above the axes, where no line can be
        ax.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, ncols=2, borderaxespad=0.2
        )

    def _plot_behaviour(self, ax):
        ax.axhline(0, color="0.4", linewidth=1)
        self._plot_lines(ax, "b_nx")
        largest = max(np.abs(quality.b_nx).max() for quality in self.qualities.values())
        ax.set_ylim(-1.1 * (largest or 1), 1.1 * (largest or 1))
        ax.set_ylabel("$B_{NX}(K)$")
        for word, height in (("intrusive", 0.75), ("extrusive", 0.25)):
            ax.annotate(
                word,
                (1.0, height),
                xycoords="axes fraction",
                xytext=(6, 0),
                textcoords="offset points",
                rotation=90,
                va="center",
                color="0.3",
            )

    def _plot_lines(self, ax, attribute):
        colours = _colours(len(self.qualities))
        for i, (name, quality) in enumerate(self.qualities.items()):
            curve = getattr(quality, attribute)
            ax.plot(
                np.arange(1, len(curve) + 1),
                curve,
                STYLES[i % len(STYLES)],
                color=colours[i],
                label=f"{name} (area {quality.area:.3f})",
            )


class SpreadDisplay:
    """The principal spread directions at every point of an embedding.

    The longer line at a point is the first direction, the shorter the second, orthogonal to it;
    both are as long as the points around spread. Make one with `from_estimator` or
    `from_embedding`, or from what `local_spread` gave.

    Parameters
    ----------
    spread : LocalSpread

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting.quality import SpreadDisplay
    >>> display = SpreadDisplay.from_estimator(unfolded)  # doctest: +SKIP
    >>> display.figure_.savefig("spread.png")  # doctest: +SKIP
    """

    def __init__(self, *, spread):
        self.spread = spread

    @classmethod
    def from_estimator(cls, estimator, *, n_neighbors=6, **options):
        """Draw the `embedding_` of a fitted estimator; the options are those of `plot`."""
        check_is_fitted(estimator, "embedding_")
        return cls.from_embedding(estimator.embedding_, n_neighbors=n_neighbors, **options)

    @classmethod
    def from_embedding(cls, embedding, *, n_neighbors=6, **options):
        """Draw points; the options are those of `plot`."""
        return cls(spread=local_spread(embedding, n_neighbors)).plot(**options)

    def plot(self, ax=None, *, scale=0.5, title=None):
        """Draw, on these axes or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : float
            Half the length of a line, in units of the local spread.
        title : str, optional
            Above the numbers on smoothness and consistence.

        Returns
        -------
        SpreadDisplay
        """
        self.ax_, self.figure_ = ax, _ = new_axes(ax, plane_size(plane(self.spread.points)))
        lines = require("matplotlib.collections", "plot").LineCollection
        for j in range(min(2, self.spread.scales.shape[1])):
            ax.add_collection(
                lines(
                    self._segments(j, scale),
                    colors=COLOURS[(0, 5)[j]],
                    linewidths=(1.2, 0.8)[j],
                    label=("first", "second")[j],
                    zorder=2 + j,
                )
            )
        ax.autoscale_view()
        label_plane(ax, self.spread.points.shape[1])
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title="direction")
        ax.set_title("\n".join(filter(None, [title, self._numbers()])), fontsize="medium")
        return self

    def _segments(self, j, scale):
        """The j-th line at each point, from end to end, of shape (n_samples, 2, 2)."""
        half = scale * self.spread.scales[:, j, None] * self.spread.directions[:, j]
        return np.stack([plane(self.spread.points - half), plane(self.spread.points + half)], 1)

    def _numbers(self):
        lines = ("ALSTD", "ALED"), ("ALCD", "GSCD")  # two, so that they fit above a small panel
        return "\n".join(
            "   ".join(f"{name} {getattr(self.spread, name.lower()):#.3g}" for name in line)
            for line in lines
        )
