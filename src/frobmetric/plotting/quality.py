"""QualityDisplay: the neighbourhoods that embeddings preserve, in one figure."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..checks.text import drawn
from ..core.points import Data
from ..manifold.quality import NeighborhoodQuality, neighborhood_quality
from ..search.exact import Metric
from .style import Axes, Panels, colours, lighten, new_panels

#: Line styles, so that lines can be told apart in a print without colours.
STYLES = ("-", "--", "-.", ":")


class QualityDisplay:
    """Preserved neighbourhoods (Q_NX or R_NX) and intrusion (B_NX) of one or several embeddings.

    Create one with `from_embeddings`, or with `from_qualities` from results of
    `neighborhood_quality`.

    Parameters
    ----------
    qualities : dict of str to NeighborhoodQuality
        Keys are the names in the legend.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of 2 matplotlib Axes
        Q_NX or R_NX, and B_NX.

    Examples
    --------
    >>> from frobmetric.plotting import QualityDisplay
    >>> embeddings = {"Isomap": Y_isomap, "LLE": Y_lle}  # doctest: +SKIP
    >>> display = QualityDisplay.from_embeddings(X, embeddings)  # doctest: +SKIP
    >>> display.figure_.savefig("quality.png")  # doctest: +SKIP
    """

    def __init__(self, *, qualities: dict[str, NeighborhoodQuality]) -> None:
        self.qualities = qualities

    @classmethod
    def from_embeddings(
        cls,
        X: Data,
        embeddings: dict[str, Any],
        *,
        metric: Metric = "euclidean",
        n_rows: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        **options: Any,
    ) -> Self:
        """Evaluate embeddings of the same data, and draw.

        Parameters
        ----------
        X, metric, n_rows, random_state
            As for `neighborhood_quality`.
        embeddings : dict of str to array-like of shape (n_samples, n_components)
        **options
            Options of `plot`.
        """
        given: dict[str, Any] = {"metric": metric, "n_rows": n_rows, "random_state": random_state}
        qualities = {name: neighborhood_quality(X, Y, **given) for name, Y in embeddings.items()}
        return cls.from_qualities(qualities, **options)

    @classmethod
    def from_qualities(cls, qualities: dict[str, NeighborhoodQuality], **options: Any) -> Self:
        """Draw a dict of `NeighborhoodQuality`; the options are as in `plot`."""
        if not qualities:
            raise ValueError("no embeddings were given; expected at least one, by its name")
        return cls(qualities=dict(qualities)).plot(**options)

    def plot(
        self, *, axes: Panels | None = None, rescaled: bool = False, log: bool = False
    ) -> Self:
        """Draw both panels on the given axes or in a new figure, and return the display.

        Parameters
        ----------
        axes : sequence of 2 matplotlib Axes, optional
        rescaled : bool
            Whether to draw R_NX, which is 0 for a random embedding, instead of Q_NX.
        log : bool
            Whether to use a logarithmic axis of K, which shows small neighbourhoods.
        """
        self.axes_, self.figure_ = axes, _ = new_panels(axes, (2, 1), (6.5, 7), sharex=True)
        self._plot_quality(axes[0], "r_nx" if rescaled else "q_nx")
        self._plot_behaviour(axes[1])
        for ax in axes:
            ax.set(xscale="log" if log else "linear", xlabel="K, size of the neighbourhood")
            ax.xaxis.set_tick_params(labelbottom=True)  # also on shared axes
            lighten(ax)
        return self

    def _plot_quality(self, ax: Axes, attribute: str) -> None:
        self._plot_lines(ax, attribute)
        labels = {"q_nx": "$Q_{NX}(K)$, share of neighbours kept"}
        labels["r_nx"] = "$R_{NX}(K)$, neighbours kept (0: random)"
        ax.set_ylabel(labels[attribute])
        ax.set_ylim(top=1.03)
        place: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0.0, 1.0),
        }  # where it covers no line
        ax.legend(**place, frameon=False, ncols=2, borderaxespad=0.2)

    def _plot_behaviour(self, ax: Axes) -> None:
        ax.axhline(0, color="0.4", linewidth=1)
        self._plot_lines(ax, "b_nx")
        largest = max(np.abs(quality.b_nx).max() for quality in self.qualities.values()) or 1
        ax.set(ylim=(-1.1 * largest, 1.1 * largest), ylabel="$B_{NX}(K)$")
        for word, height in (("intrusive", 0.75), ("extrusive", 0.25)):
            place: dict[str, Any] = {
                "xycoords": "axes fraction",
                "textcoords": "offset points",
                "xytext": (6, 0),
            }
            ax.annotate(word, (1.0, height), **place, rotation=90, va="center", color="0.3")

    def _plot_lines(self, ax: Axes, attribute: str) -> None:
        line_colours = colours(len(self.qualities))
        for i, (name, quality) in enumerate(self.qualities.items()):
            curve, label = getattr(quality, attribute), f"{drawn(name)} (area {quality.area:.3f})"
            sizes, style = np.arange(1, len(curve) + 1), STYLES[i % len(STYLES)]
            ax.plot(sizes, curve, style, color=line_colours[i], label=label)
