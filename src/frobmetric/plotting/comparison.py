"""ComparisonDisplay: errors of a metric and of baselines with their intervals."""

from __future__ import annotations

from typing import Any, Self

from ..checks.text import drawn
from ..evaluation import Comparison
from .style import COLOURS, Axes, lighten, new_axes


class ComparisonDisplay:
    """Errors of a `Comparison`, a dot with its 95 % interval for each method.

    Create one with `from_comparison`, as with scikit-learn's displays. Intervals are for
    single errors: as all methods are tested on the same samples, two can differ significantly
    although their intervals overlap. The verdict in the title takes that into account.

    Parameters
    ----------
    comparison : Comparison
        Result of `frobmetric.compare`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting import ComparisonDisplay
    >>> display = ComparisonDisplay.from_comparison(compare(model, X, y))  # doctest: +SKIP
    >>> display.figure_.savefig("errors.png")  # doctest: +SKIP
    """

    def __init__(self, *, comparison: Comparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Axes | None = None) -> Self:
        """Draw a comparison on the given axes or in a new figure."""
        return cls(comparison=comparison).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display."""
        rows = self.comparison.measured[::-1]  # the first row at the top
        self.ax_, self.figure_ = ax, _ = new_axes(ax, (6.5, 1.2 + 0.4 * len(rows)))
        for height, row in enumerate(rows):
            colour = COLOURS[5] if row.key in ("model", "rule") else COLOURS[0]
            ends, error = [100 * end for end in row.interval], 100 * row.error
            ax.plot(ends, [height, height], color=colour, linewidth=2)
            ax.plot(error, height, "o", color=colour)
            place: dict[str, Any] = {
                "textcoords": "offset points",
                "xytext": (6, 0),
                "va": "center",
            }
            ax.annotate(row.percent(), (ends[1], height), **place, color="0.3")
        euclidean = self.comparison.euclidean.error
        ax.axvline(100 * euclidean, color="0.4", linestyle="--", linewidth=1, zorder=0)
        ax.set_yticks(range(len(rows)), [drawn(row.label) for row in rows])
        widest = max(row.interval[1] for row in rows)
        ax.set(xlim=(0, 115 * widest), ylim=(-0.6, len(rows) - 0.4))
        ax.set_xlabel(f"errors of {self.comparison.n_neighbors} nearest neighbours, %")
        ax.set_title(f"{drawn(self.comparison['model'].label)}: {self.comparison.verdict}")
        lighten(ax)
        return self
