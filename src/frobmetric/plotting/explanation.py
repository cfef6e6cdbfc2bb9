"""ExplanationDisplay: the parts of a squared distance, or of its change, as bars."""

from __future__ import annotations

from typing import Any, Self

from ..checks.text import drawn
from ..model.explanation import N_SHOWN, Explanation
from .style import COLOURS, Axes, lighten, new_axes


class ExplanationDisplay:
    """Largest parts of an `Explanation`, a bar each, and the rest together.

    Create one with `from_explanation`, as with scikit-learn's displays. Parts that are negative,
    which bring the points nearer to each other, have another colour. The bars add up to the total.

    Parameters
    ----------
    explanation : Explanation
        Result of `explain` of a metric, or of one candidate of `explain_search`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting import ExplanationDisplay
    >>> display = ExplanationDisplay.from_explanation(metric.explain(a, b))  # doctest: +SKIP
    >>> display.figure_.savefig("why.png")  # doctest: +SKIP
    """

    def __init__(self, *, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, n: int | None = N_SHOWN, ax: Axes | None = None
    ) -> Self:
        """Draw the n largest parts, all if None, on the given axes or in a new figure."""
        return cls(explanation=explanation).plot(n=n, ax=ax)

    def plot(self, *, n: int | None = N_SHOWN, ax: Axes | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display."""
        rows = self.explanation.largest(n)[::-1]  # the largest at the top
        self.ax_, self.figure_ = ax, _ = new_axes(ax, (6.5, 1.2 + 0.32 * len(rows)))
        values = [value for _, value in rows]
        colour = [COLOURS[0] if value >= 0 else COLOURS[5] for value in values]
        if len(rows) < len(self.explanation.parts):
            colour[0] = "0.6"  # the rest
        ax.barh(range(len(rows)), values, color=colour, height=0.7)
        ax.axvline(0, color="0.4", linewidth=1)
        for height, value in enumerate(values):
            # right of the bar or of zero, where no label of the axis is in the way
            place: dict[str, Any] = {
                "textcoords": "offset points",
                "xytext": (4, 0),
                "va": "center",
            }
            ax.annotate(f"{value:.3g}", (max(value, 0.0), height), **place, color="0.3")
        ax.set_yticks(range(len(rows)), [drawn(name) for name, _ in rows])
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.margins(x=0.15)
        quantity, total = self.explanation.quantity, self.explanation.total
        ax.set_xlabel(f"part of the {quantity}, {total:.4g} in all")
        lighten(ax)
        ax.grid(visible=False, axis="y")
        return self
