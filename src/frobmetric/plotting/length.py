"""LengthDisplay: quality of a search against the length of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from ..checks.text import drawn
from ..embeddings.length import WAYS, LengthTable, quality_by_length
from .style import COLOURS, Axes, draw_level, lighten, new_axes

#: Lines of the figure: labels and markers of the ways to shorten vectors.
LABELS = {"adapter": "adapted", "PCA": "PCA, unchanged", "truncation": "first features, unchanged"}
MARKERS = {"adapter": "o", "PCA": "s", "truncation": "^"}


class LengthDisplay:
    """Quality of a search by shorter vectors: adapted ones, PCA, and plain truncation.

    Create one with `from_adapter` or `from_table`, as with scikit-learn's displays.

    Parameters
    ----------
    table : LengthTable
        Result of `quality_by_length`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting import LengthDisplay
    >>> display = LengthDisplay.from_adapter(adapter, X, y, [16, 64])  # doctest: +SKIP
    >>> display.figure_.savefig("length.png")  # doctest: +SKIP
    """

    def __init__(self, *, table: LengthTable) -> None:
        self.table = table

    @classmethod
    def from_adapter(
        cls,
        adapter: Any,
        X: ArrayLike,
        y: object,
        lengths: Sequence[int],
        *,
        scoring: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Measure by `quality_by_length`, whose arguments these are, and draw.

        Parameters
        ----------
        adapter, X, y, lengths, scoring
            As for `quality_by_length`.
        ax : matplotlib Axes, optional
        """
        table = quality_by_length(adapter, X, y, lengths, scoring=scoring)
        return cls.from_table(table, ax=ax)

    @classmethod
    def from_table(cls, table: LengthTable, *, ax: Axes | None = None) -> Self:
        """Draw a `LengthTable`."""
        return cls(table=table).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display."""
        self.ax_, self.figure_ = ax, _ = new_axes(ax, (6.5, 4))
        table = self.table
        order = table.lengths.argsort()
        for way, colour in zip(WAYS, COLOURS, strict=False):
            style: dict[str, Any] = {"marker": MARKERS[way], "color": colour, "label": LABELS[way]}
            ax.plot(table.lengths[order], table.scores[way][order], **style)
        draw_level(ax, table.full["unchanged"], "unchanged, full length")
        ax.set_xscale("log", base=2)
        ax.set_xticks(table.lengths[order], [str(length) for length in table.lengths[order]])
        ax.minorticks_off()
        ax.set(xlabel="number of components", ylabel=drawn(table.measure))
        ax.legend(frameon=False, loc="lower right")
        lighten(ax)
        return self
