"""The figures of a table of methods and data sets: errors and times beside the paper's."""

from __future__ import annotations

from frobmetric._extras import require
from frobmetric.plotting.style import COLOURS, lighten

#: Panels side by side.
COLUMNS = 4
DPI = 110
#: How far ours is above the line of its method, and the paper's below it.
OFFSET = 0.14
OURS, PAPER = COLOURS[0], COLOURS[5]


def draw(view, folder):
    """Draw both figures.

    Parameters
    ----------
    view : View
    folder : Path

    Returns
    -------
    list of (file name, caption)
    """
    if not any(found.runs for found in view.summaries.values()):
        return []
    drawn = []
    for name, (plot, caption, of_paper) in FIGURES.items():
        figure = _panels(view, plot)
        figure.savefig(folder / f"{name}.png", dpi=DPI)
        drawn.append((f"{name}.png", f"{caption} {of_paper}" if view.spec.paper else caption))
    return drawn


def _panels(view, plot):
    """A panel for each data set, a line in it for each method."""
    results = view.done
    n_columns = min(COLUMNS, len(results))
    n_rows = -(-len(results) // n_columns)
    size = (2.2 + 2.6 * n_columns, 0.9 + (0.7 + 0.27 * len(view.methods)) * n_rows)
    figure = require("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
    for ax in axes[len(results) :]:
        ax.remove()
    for ax, result in zip(axes, results, strict=False):
        plot(ax, view, result)
        ax.set_title(result.column.label)
        lighten(ax)
    axes[0].set_yticks(range(len(view.methods)), [method.label for method in view.methods])
    axes[0].set_ylim(len(view.methods) - 0.5, -0.5)
    if view.spec.paper:
        _tell_apart(figure, axes[0])
    return figure


def _tell_apart(figure, ax):
    """A legend of whose numbers are which."""
    handles = [
        ax.plot([], [], "o", color=OURS, label="ours")[0],
        ax.plot([], [], "o", color=PAPER, fillstyle="none", label="the paper's")[0],
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False)


def _plot_errors(ax, view, result):
    for line, method in enumerate(view.methods):
        ours, paper = view.summary(result, method), view.published(result, method)
        if ours.error is not None:
            _dot(ax, ours.error, line - OFFSET, ours.spread, color=OURS)
        if paper and paper.error is not None:
            _dot(ax, paper.error, line + OFFSET, paper.std, color=PAPER, markerfacecolor="white")
    ax.set_xlim(left=-0.02 * ax.get_xlim()[1])  # dots at zero are whole
    ax.set_xlabel("test error, %")


def _plot_times(ax, view, result):
    ax.set_xscale("log")
    for line, method in enumerate(view.methods):
        ours, paper = view.summary(result, method), view.published(result, method)
        if ours.seconds:
            _dot(ax, ours.seconds, line - OFFSET, color=OURS)
        elif ours.outcome == "limit":
            limit = result.of(method.name)[0].limit
            ax.plot(limit, line - OFFSET, ">", color=OURS, fillstyle="none")
        if paper and paper.seconds:
            _dot(
                ax,
                paper.seconds,
                line + OFFSET,
                color=PAPER,
                markerfacecolor="white",
                marker="<" if paper.is_bound else "o",
            )
    ax.set_xlabel("seconds")


def _dot(ax, x, y, bar=None, **style):
    ax.errorbar(x, y, xerr=bar, **{"marker": "o", "markersize": 5, "elinewidth": 1, **style})


#: What is drawn, by the names of the files, what it shows, and what it shows of the paper.
FIGURES = {
    "errors": (
        _plot_errors,
        "Test error of each method on each data set. Bars are standard deviations over runs, of a "
        "single run that of a binomial distribution.",
        "Those of the paper are hollow.",
    ),
    "times": (
        _plot_times,
        "Time of the fit with the chosen parameters, on logarithmic axes. A hollow triangle to the "
        "right stands at the limit that ended a fit.",
        "Those of the paper are hollow; a triangle to the left where it took less than that.",
    ),
}
