"""The figures of `frobmetric reproduce mvu`."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frobmetric._extras import require
from frobmetric.plotting import EmbeddingDisplay, QualityDisplay
from frobmetric.plotting.style import COLOURS, label_plane, lighten, new_axes, plane, plane_size

from .cells import at_unit_scale
from .spread import local_spread

#: Panels side by side.
COLUMNS = 3
DPI = 110


def draw(result, folder):
    """Draw all figures of an experiment.

    Parameters
    ----------
    result : Result
    folder : Path

    Returns
    -------
    list of (file name, caption)
    """
    if result.reason or not any(cell.is_done for cell in result.cells):
        return []
    drawn = []
    for name, make in FIGURES[result.experiment.name].items():
        figure, caption = make(result)
        file = f"{result.experiment.name}_{name}.png"
        figure.savefig(folder / file, dpi=DPI)
        drawn.append((file, caption))
    return drawn


def data_figure(result):
    """Points of three dimensions as they are."""
    (points,) = result.points
    figure = _new_figure(6, 5)
    ax = figure.add_subplot(projection="3d")
    shown = ax.scatter(*points.X.T, c=points.color, s=8)
    figure.colorbar(shown, ax=ax, label=points.color_name, shrink=0.7)
    ax.view_init(elev=8, azim=-75)
    ax.set_box_aspect(np.ptp(points.X, axis=0))
    return figure, f"{result.experiment.title}: the data, {len(points.X):,} points."


def embeddings_figure(result):
    """A panel for each method."""
    (points,), cells = result.points, _done(result)
    images = points.picture_shape and points.X.reshape(-1, *points.picture_shape)
    figure, panels = _grid(len(cells))
    for ax, cell in zip(panels, cells, strict=True):
        EmbeddingDisplay.from_embedding(
            cell.points,
            color=points.color,
            color_name=points.color_name,
            images=images,
            ax=ax,
            path=points.is_path,
            title=cell.label,
        )
    path = " The line joins the pictures in their order." if points.is_path else ""
    return figure, f"{result.experiment.title}: the embeddings in two dimensions.{path}"


def spread_figure(result):
    """Both principal spread directions at each point, a panel for each method."""
    cells = _done(result)
    figure, panels = _grid(len(cells))
    for ax, cell in zip(panels, cells, strict=True):
        SpreadDisplay.from_embedding(
            at_unit_scale(cell.points), n_neighbors=cell.task.n_neighbors, ax=ax, title=cell.label
        )
        ax.title.set_fontsize("small")
    return figure, (
        f"{result.experiment.title}: both principal spread directions at each point of the "
        "embeddings, which are brought to one scale."
    )


def quality_figure(result):
    """Q_NX and B_NX, a line for each method."""
    (points,) = result.points
    figure = _new_figure(12, 4.8)
    embeddings = {cell.label: cell.points for cell in _done(result)}
    QualityDisplay.from_embeddings(points.X, embeddings, axes=figure.subplots(1, 2))
    return figure, (
        f"{result.experiment.title}: the share Q_NX of the K nearest that are kept, and whether "
        "strangers intrude (B_NX > 0) or neighbours are torn away (B_NX < 0)."
    )


def time_figure(result):
    """Seconds against n, logarithmic, a line for each method."""
    figure = _new_figure(7, 4.8)
    ax = figure.add_subplot()
    for embedder, colour in zip(result.experiment.embedders, COLOURS, strict=False):
        _plot_times(
            ax,
            [cell for cell in result.cells if cell.task.method == embedder.name],
            embedder.label,
            colour,
        )
    ax.set_yscale("log")
    ax.set_xlabel("number of points n")
    ax.set_ylabel("seconds")
    ax.legend(frameon=False)
    lighten(ax)
    return figure, (
        "Swiss roll: time against the number of points, on a logarithmic axis. An open triangle "
        "stands at the limit of a method that did not end."
    )


def _plot_times(ax, cells, label, colour):
    """What is finished as a line, what is over the limit as a triangle; nothing if neither is."""
    done = [(cell.task.n, cell.seconds) for cell in cells if cell.is_done]
    over = [(cell.task.n, cell.limit) for cell in cells if cell.outcome == "limit"]
    if done or over:
        ax.plot(*np.reshape(done, (-1, 2)).T, "o-", color=colour, label=label)
        ax.plot(*np.reshape(over, (-1, 2)).T, "^", color=colour, fillstyle="none", markersize=9)


def _done(result):
    return [cell for cell in result.cells if cell.is_done]


def _new_figure(width, height):
    kind = require("matplotlib.figure", "plot").Figure
    return kind(figsize=(width, height), layout="constrained")


def _grid(n_panels):
    """A figure with so many axes."""
    rows = -(-n_panels // COLUMNS)
    figure = _new_figure(5 * min(COLUMNS, n_panels), 4.4 * rows)
    axes = figure.subplots(rows, min(COLUMNS, n_panels), squeeze=False).ravel()
    for ax in axes[n_panels:]:
        ax.remove()
    return figure, axes[:n_panels]


#: What is drawn of each experiment, by the names of the files.
PICTURES = {"embeddings": embeddings_figure, "quality": quality_figure}
FIGURES = {
    "swiss_roll": {
        "data": data_figure,
        "embeddings": embeddings_figure,
        "spread": spread_figure,
        "quality": quality_figure,
    },
    "teapots": PICTURES,
    "teapots_3": PICTURES,
    "faces": PICTURES,
    "time": {"seconds": time_figure},
}


class SpreadDisplay:
    """Principal spread directions at every point of an embedding.

    The longer line at a point is the first direction, the shorter one the second, orthogonal to
    it; their lengths show the spread of the neighbours. Create one with `from_estimator` or
    `from_embedding`, or from a result of `local_spread`.

    Parameters
    ----------
    spread : LocalSpread

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric_paper.mvu.figures import SpreadDisplay
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
        """Draw on the given axes or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : float
            Half the length of a line, in units of the local spread.
        title : str, optional
            Line above the numbers on smoothness and consistency.

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
        """Return both ends of the j-th line at each point, of shape (n_samples, 2, 2)."""
        half = scale * self.spread.scales[:, j, None] * self.spread.directions[:, j]
        return np.stack([plane(self.spread.points - half), plane(self.spread.points + half)], 1)

    def _numbers(self):
        lines = ("ALSTD", "ALED"), ("ALCD", "GSCD")  # two, so that they fit above a small panel
        return "\n".join(
            "   ".join(f"{name} {getattr(self.spread, name.lower()):#.3g}" for name in line)
            for line in lines
        )
