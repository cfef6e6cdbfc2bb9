"""TrustDisplay: recall of queries against the share of them that is re-embedded."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..checks.text import drawn
from ..embeddings.bridge.choice import trust_curve
from .style import Axes, colours, lighten, new_axes

#: Line styles, so that lines can be told apart in a print without colours.
STYLES = ("-", "--", "-.", ":")


class TrustDisplay:
    """Recall of all queries if the least trusted share of them is embedded by the old encoder.

    A straight line from the left end to the upper right corner is a score that knows nothing.
    Create one with `from_estimator`, or with `from_scores` from several sets of queries.

    Parameters
    ----------
    curves : dict of str to (shares, recalls)
        Keys are the names in the legend.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting import TrustDisplay
    >>> display = TrustDisplay.from_estimator(bridge)  # doctest: +SKIP
    >>> display.figure_.savefig("trust.png")  # doctest: +SKIP
    """

    def __init__(self, *, curves: dict[str, tuple[Any, Any]]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, bridge: Any, *, name: str = "held-out pairs", ax: Axes | None = None
    ) -> Self:
        """Draw the curve of a fitted `EncoderBridge` on its calibration pairs."""
        report = bridge.report_
        if not report.shares:
            raise ValueError("the bridge kept no pairs to calibrate with; fit with calibration=0.2")
        return cls(curves={name: (report.shares, report.recalls)}).plot(ax=ax)

    @classmethod
    def from_scores(cls, scores: dict[str, tuple[Any, Any]], *, ax: Axes | None = None) -> Self:
        """Draw curves of queries.

        Parameters
        ----------
        scores : dict of str to (trust, recall)
            Both of shape (n_queries,); see `EncoderBridge.trust`.
        ax : matplotlib Axes, optional
        """
        if not scores:
            raise ValueError("no queries were given; expected trust and recall, by their name")
        pairs = {name: map(np.asarray, pair) for name, pair in scores.items()}
        return cls(curves={name: trust_curve(*pair) for name, pair in pairs.items()}).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display."""
        self.ax_, self.figure_ = ax, _ = new_axes(ax, (7, 4.5))
        for i, (colour, (name, (shares, recalls))) in enumerate(
            zip(colours(len(self.curves)), self.curves.items(), strict=True)
        ):
            style = STYLES[i % len(STYLES)]
            ax.plot(100 * np.asarray(shares), 100 * np.asarray(recalls), style, color=colour)
            ax.lines[-1].set_label(drawn(name))
            ax.plot([0, 100], [100 * recalls[0], 100], color=colour, linewidth=0.6, alpha=0.5)
        ax.set(xlabel="queries embedded by the old encoder, %", ylabel="recall of all queries, %")
        ax.legend(frameon=False, loc="lower right")
        lighten(ax)
        return self
