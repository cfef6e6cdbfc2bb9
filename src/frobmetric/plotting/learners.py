"""LearnersDisplay: held-out errors of learners against the time of their fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

from ..checks.text import drawn
from ..evaluation.comparing import LearnersComparison
from ..evaluation.comparing.table import LearnerRow
from .style import COLOURS, Annotation, Axes, draw_level, lighten, new_axes

#: Factor of room beside the first and the last dot: there is always a power of ten in sight.
ROOM = 4.0
#: Offset of a name in points, and its alignment.
Place: TypeAlias = tuple[tuple[int, int], str]

#: Places of a name beside its dot, the nearest first: offset in points and alignment.
HEIGHTS = (0, 11, -11, 22, -22, 33, -33, 44, -44)
PLACES: list[Place] = [
    ((side, height), "left" if side > 0 else "right") for height in HEIGHTS for side in (7, -7)
]


class LearnersDisplay:
    """Errors of a `LearnersComparison` with their 95 % intervals, against the seconds of a fit.

    Create one with `from_comparison`, as with scikit-learn's displays. Full dots are answers that
    are proven to be optimal, empty ones are not; the dashed line is the better Euclid. Learners are
    tested on the same samples, so two can differ significantly although their intervals overlap.

    Parameters
    ----------
    comparison : LearnersComparison
        Result of `frobmetric.compare(X, y)`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    names_ : list of matplotlib Annotation
        Names of the learners beside their dots.

    Examples
    --------
    >>> from frobmetric.plotting import LearnersDisplay
    >>> display = LearnersDisplay.from_comparison(compare(X, y))  # doctest: +SKIP
    >>> display.figure_.savefig("learners.png")  # doctest: +SKIP
    """

    def __init__(self, *, comparison: LearnersComparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: LearnersComparison, *, ax: Axes | None = None) -> Self:
        """Draw a comparison on the given axes or in a new figure."""
        return cls(comparison=comparison).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display."""
        comparison = self.comparison
        rows = [row for row in comparison.measured if not row.is_baseline]
        if not rows:
            raise ValueError(
                "the comparison has no answer of a learner, so there is nothing to draw; print it "
                "to see why, and compare again with a larger budget"
            )
        self.ax_, self.figure_ = ax, _ = new_axes(ax, (7.5, 5.0))
        for row in rows:
            self._draw(row)
        euclidean = comparison.euclidean
        if euclidean is not None:
            height = 100 * comparison.error(euclidean)
            draw_level(ax, height, euclidean.label, x=1.01, align="left")  # where no dots are
        ax.set(xscale="log", xlabel="seconds of the fit")
        ax.set_ylabel(f"{drawn(comparison.evaluation.name)}, %")
        ax.set_title(f"{comparison.n_test} held-out samples; full dots are proven optimal")
        ends = [comparison.interval(row)[1] for row in rows]
        top = 105 * max(ends if euclidean is None else [*ends, comparison.error(euclidean)])
        ax.set_ylim(-0.04 * top, top)  # a dot at zero is whole
        seconds = [self._dot(row)[0] for row in rows]
        ax.set_xlim(min(seconds) / ROOM, max(seconds) * ROOM)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        lighten(ax)
        self.names_ = self._write_names(rows)
        return self

    def _draw(self, row: LearnerRow) -> None:
        colour = COLOURS[0] if row.is_proven else COLOURS[5]
        ends = [100 * end for end in self.comparison.interval(row)]
        seconds, height = self._dot(row)
        self.ax_.plot([seconds] * 2, ends, color=colour, linewidth=1.5, alpha=0.45)
        face = colour if row.is_proven else "white"
        self.ax_.plot(seconds, height, "o", color=colour, markerfacecolor=face, zorder=3)

    def _dot(self, row: LearnerRow) -> tuple[float, float]:
        """Return the place of a row: the seconds of its fit and its error in percent."""
        return float(row.seconds or 0.0), 100 * self.comparison.error(row)

    def _write_names(self, rows: Sequence[LearnerRow]) -> list[Annotation]:
        """Write each name at the first place in the axes where it covers no dot and no text."""
        self.figure_.draw_without_rendering()  # names need the final scales
        taken, names = [text.get_window_extent() for text in self.ax_.texts], []
        dots = [self._dot(row) for row in rows]
        pixels = self.ax_.transData.transform(dots)
        for row, dot in zip(rows, dots, strict=True):
            for place in PLACES:
                name = _write(self.ax_, row.label, dot, place)
                box = name.get_window_extent().padded(1)
                inside = self.ax_.bbox.x0 <= box.x0 and box.x1 <= self.ax_.bbox.x1
                if inside and not (box.count_overlaps(taken) or box.count_contains(pixels)):
                    break
                if place is not PLACES[-1]:
                    name.remove()
            taken.append(box)
            names.append(name)
        return names


def _write(ax: Axes, text: str, dot: tuple[float, float], place: Place) -> Annotation:
    offset, across = place
    back: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    style: dict[str, Any] = {
        "ha": across,
        "va": "center",
        "parse_math": False,
        "fontsize": "small",
        "bbox": back,
    }
    style["in_layout"] = False  # the axes keep their size
    return ax.annotate(drawn(text), dot, xytext=offset, textcoords="offset points", **style)
