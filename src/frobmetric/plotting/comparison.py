"""ComparisonDisplay: errors of models and baselines with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..checks.text import drawn
from ..evaluation.row import ComparisonRow
from ..evaluation.table import Comparison
from .style import COLOURS, Axes, draw_level, lighten, new_axes

#: Factor of room beside the first and the last dot: there is always a power of ten in sight.
ROOM = 4.0
#: Places of a name beside its dot, the nearest first: offset in points and alignment.
HEIGHTS = (0, 11, -11, 22, -22, 33, -33, 44, -44)
PLACES = [
    ((side, height), "left" if side > 0 else "right") for height in HEIGHTS for side in (7, -7)
]


class ComparisonDisplay:
    """Errors of a `Comparison` with their 95 % intervals; the dashed line is the better Euclid.

    Of one model: a dot for each method, and the verdict in the title. Of several: errors against
    the seconds of a fit, where full dots are answers that are proven to be optimal.

    Create one with `from_comparison`, as with scikit-learn's displays. Intervals are for
    single errors: as all methods are tested on the same samples, two can differ significantly
    although their intervals overlap. The verdict takes that into account.

    Parameters
    ----------
    comparison : Comparison
        Result of `frobmetric.compare`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    names_ : list of matplotlib Annotation
        Names of several models beside their dots.

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
        rows, is_of_one = self.comparison.measured, self.comparison.is_of_one
        if all(row.is_euclidean for row in rows):
            raise ValueError(
                "the comparison has no answer of a model, so there is nothing to draw; print it "
                "to see why, and compare again with a larger budget"
            )
        size = (6.5, 1.2 + 0.4 * len(rows)) if is_of_one else (7.5, 5.0)
        self.ax_, self.figure_ = new_axes(ax, size)
        if is_of_one:
            self._draw_methods(rows[::-1])  # the first row at the top
        else:
            self._draw_models([row for row in rows if not row.is_euclidean])
        return self

    def _draw_methods(self, rows: Sequence[ComparisonRow]) -> None:
        ax, comparison = self.ax_, self.comparison
        for height, row in enumerate(rows):
            colour = COLOURS[0] if row.is_baseline else COLOURS[5]
            ends, error = [100 * end for end in row.interval], 100 * row.error
            ax.plot(ends, [height, height], color=colour, linewidth=2)
            ax.plot(error, height, "o", color=colour)
            place: dict[str, Any] = {
                "textcoords": "offset points",
                "xytext": (6, 0),
                "va": "center",
            }
            ax.annotate(row.percent(), (ends[1], height), **place, color="0.3")
        level: dict[str, Any] = {"color": "0.4", "linestyle": "--", "linewidth": 1, "zorder": 0}
        ax.axvline(100 * comparison.euclidean.error, **level)
        ax.set_yticks(range(len(rows)), [drawn(row.label) for row in rows])
        widest = max(row.interval[1] for row in rows)
        ax.set(xlim=(0, 115 * widest), ylim=(-0.6, len(rows) - 0.4))
        ax.set_xlabel(f"{comparison.evaluation.name}, %")
        ax.set_title(f"{drawn(comparison['model'].label)}: {comparison.verdict}")
        lighten(ax)

    def _draw_models(self, rows: Sequence[ComparisonRow]) -> None:
        ax, comparison = self.ax_, self.comparison
        for row in rows:
            colour = COLOURS[0] if row.is_proven else COLOURS[5]
            ends = [100 * end for end in row.interval]
            seconds_of_fit = row.seconds or 0.0
            ax.plot([seconds_of_fit] * 2, ends, color=colour, linewidth=1.5, alpha=0.45)
            face = colour if row.is_proven else "white"
            dot: dict[str, Any] = {"color": colour, "markerfacecolor": face, "zorder": 3}
            ax.plot(seconds_of_fit, 100 * row.error, "o", **dot)
        tops = [row.interval[1] for row in rows]
        if any(row.is_euclidean for row in comparison.measured):
            euclidean = comparison.euclidean
            tops.append(euclidean.error)
            # its label is where no dots are
            draw_level(ax, 100 * euclidean.error, euclidean.label, x=1.01, align="left")
        ax.set(xscale="log", xlabel="seconds of the fit")
        ax.set_ylabel(f"{drawn(comparison.evaluation.name)}, %")
        ax.set_title(f"{comparison.n_test} held-out samples; full dots are proven optimal")
        top = 105 * max(tops)
        ax.set_ylim(-0.04 * top, top)  # a dot at zero is whole
        seconds = [float(row.seconds or 0.0) for row in rows]
        ax.set_xlim(min(seconds) / ROOM, max(seconds) * ROOM)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        lighten(ax)
        self.names_ = self._write_names(rows)

    def _write_names(self, rows: Sequence[ComparisonRow]) -> list[Any]:
        """Write each name at the first place in the axes where it covers no dot and no text."""
        self.figure_.draw_without_rendering()  # names need the final scales
        taken, names = [text.get_window_extent() for text in self.ax_.texts], []
        dots = [(row.seconds or 0.0, 100 * row.error) for row in rows]
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


def _write(ax: Any, text: str, dot: tuple[Any, float], place: Any) -> Any:
    offset, across = place
    back = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    style = {"ha": across, "va": "center", "parse_math": False, "fontsize": "small", "bbox": back}
    style["in_layout"] = False  # the axes keep their size
    return ax.annotate(drawn(text), dot, xytext=offset, textcoords="offset points", **style)
