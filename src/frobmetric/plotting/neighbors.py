"""NeighborsDisplay: nearest neighbours of some queries, before and after, as pictures or labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks.arguments import as_index
from ..checks.samples import check_array, check_random_state
from ..checks.text import drawn, shown
from ..core.points import Array, Data, Index, Mask, Vector
from ..runtime.environment import require
from ..search.exact import nearest
from . import style
from .style import COLOURS, Axes

#: Lengths in heights of a cell: spaces between cells and between the distances, height of the
#: titles, height of the name of a group, width of the label of a query.
GAP, METRIC_GAP, TITLE, NAME, LABEL = 0.28, 0.8, 1.7, 0.95, 0.9
#: Width of a figure in inches, and of a letter in heights of a cell.
WIDTH, LETTER = 11.0, 0.28
RIGHT, WRONG = COLOURS[0], COLOURS[5]
#: Names of the two metrics.
EUCLID, LEARNED = "Euclidean distance", "learned distance"


class NeighborsDisplay:
    """Nearest neighbours of queries by the Euclidean and by a learned distance.

    Each line is a query, its nearest samples by the Euclidean distance, and its nearest samples by
    the learned one. Neighbours of another class than the query have a thick frame of another colour
    and a cross. Create one with `from_estimator`, as with scikit-learn's displays.

    Parameters
    ----------
    groups : dict of str to ndarray of shape (n_drawn,)
        Numbers of the queries to draw, by the reason why these were chosen.
    neighbors : dict of str to ndarray of shape (n_queries, n_neighbors)
        Numbers of the nearest samples of all queries, by the name of the distance.
    y : ndarray of shape (n_samples,)
        Classes of the samples.
    y_query : ndarray of shape (n_queries,)
        Classes of the queries.
    images, query_images : ndarray of shape (n, height, width) or (n, height, width, 3), optional
        Pictures of the samples and of the queries; without them the classes are written.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.plotting import NeighborsDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> metric = FrobMetric().fit(X[:300], y[:300])
    >>> display = NeighborsDisplay.from_estimator(
    ...     metric, X[:300], y[:300], X[300:], y[300:], image_shape=(8, 8)
    ... )  # doctest: +SKIP
    >>> display.figure_.savefig("neighbors.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        groups: dict[str, np.ndarray],
        neighbors: dict[str, np.ndarray],
        y: np.ndarray,
        y_query: np.ndarray,
        images: np.ndarray | None = None,
        query_images: np.ndarray | None = None,
    ) -> None:
        self.groups = groups
        self.neighbors = neighbors
        self.y, self.y_query = y, y_query
        self.images, self.query_images = images, query_images

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Data,
        y: ArrayLike,
        X_query: Data,
        y_query: ArrayLike,
        *,
        queries: ArrayLike | None = None,
        n_queries: int = 6,
        n_neighbors: int = 5,
        image_shape: tuple[int, ...] | None = None,
        scaled: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Search the neighbours of queries among samples, and draw.

        Parameters
        ----------
        estimator : FrobMetric or another fitted transformer
        X : array-like of shape (n_samples, n_features)
            Samples among which the neighbours are searched.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        X_query : array-like of shape (n_queries, n_features)
            Queries; give samples that the metric has not seen.
        y_query : array-like of shape (n_queries,)
            Classes of the queries.
        queries : sequence of int, optional
            Rows of X_query to draw. If None, half of them are the first ones whose nearest sample
            by the Euclidean distance is of another class, and the others are drawn at random.
        n_queries : int, default=6
            Number of queries to draw, without `queries`.
        n_neighbors : int, default=5
        image_shape : tuple of int, optional
            Shape (height, width) or (height, width, 3) of the picture that a row of X is.
        scaled : bool, default=False
            Whether features are divided by their standard deviation for the Euclidean distance.
        random_state : int, RandomState or None, default=0
            Seed of the queries that are drawn at random.
        ax : matplotlib Axes, optional
        **options
            Options of `plot`.

        Returns
        -------
        NeighborsDisplay
        """
        check_is_fitted(estimator)
        check_consistent_length(X, y)
        check_consistent_length(X_query, y_query)
        learned = [np.asarray(estimator.transform(part)) for part in (X, X_query)]
        X, X_query = (check_array(part, dtype=np.float64) for part in (X, X_query))
        unit = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0) if scaled else 1.0
        name = f"{EUCLID}, scaled features" if scaled else EUCLID
        maps = {name: (X / unit, X_query / unit), LEARNED: learned}
        neighbors = {name: _search(parts, n_neighbors) for name, parts in maps.items()}
        y, y_query = np.asarray(y), np.asarray(y_query)
        if queries is None:
            is_wrong = y[neighbors[name][:, 0]] != y_query
            groups = choose_queries(is_wrong, n_queries, check_random_state(random_state))
        else:
            n, points = len(y_query), "rows of X_query"
            groups = {"": as_index(queries, (), name="queries", n_points=n, points=points)}
        display = cls(groups=groups, neighbors=neighbors, y=y, y_query=y_query)
        if image_shape is not None:
            display.images = _as_images(X, image_shape)
            display.query_images = _as_images(X_query, image_shape)
        return display.plot(ax, **options)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw on the given axes or in a new figure, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        title : str, optional
        """
        cell, n_neighbors = self._cell_width(), next(iter(self.neighbors.values())).shape[1]
        block = n_neighbors * (cell + GAP) - GAP
        lefts = cell + METRIC_GAP + np.arange(2) * (block + METRIC_GAP)
        n_drawn = sum(map(len, self.groups.values()))
        height = TITLE + n_drawn * (1 + GAP) + len(self.groups) * NAME
        width = LABEL + lefts[1] + block
        size = WIDTH, WIDTH / width * height + (0.4 if title else 0.1)
        self.ax_, self.figure_ = ax, _ = style.new_axes(ax, size)
        self._plot_titles(ax, lefts, block)
        top = TITLE
        for reason, rows in self.groups.items():
            ax.text(0, top + 0.4 * NAME, reason, va="center", color="0.3", style="italic")
            top += NAME
            for row in rows:
                self._plot_line(ax, row, top, cell, lefts)
                top += 1 + GAP
        ax.set(xlim=(-LABEL, lefts[1] + block + 0.2), ylim=(height, 0))
        ax.set_aspect("equal")
        ax.axis("off")
        if title is not None:
            ax.set_title(title, fontsize=14)
        return self

    def _cell_width(self) -> float:
        """Return the width of a cell in heights, by the pictures or by the longest label."""
        if self.images is not None:
            return self.images.shape[2] / self.images.shape[1]
        return max(1.0, LETTER * (2 + max(len(shown(label)) for label in np.unique(self.y))))

    def shares_right(self) -> dict[str, float]:
        """Return the share of neighbours of the right class, over all queries, by distance."""
        return {
            name: float(np.mean(self.y[found] == self.y_query[:, None]))
            for name, found in self.neighbors.items()
        }

    def _plot_titles(self, ax: Axes, lefts: Vector, block: float) -> None:
        shares = self.shares_right()
        ax.text(0, 1.2, "query", va="center", color="0.3")
        for left, name, share in zip(lefts, shares, shares.values(), strict=True):
            middle: dict[str, Any] = {"x": left + block / 2, "ha": "center", "va": "center"}
            ax.text(**middle, y=0.5, s=f"Nearest by {drawn(name)}", fontsize=13, weight="bold")
            text = f"of all neighbours of {len(self.y_query)} queries, {share:.0%} are right"
            ax.text(**middle, y=1.2, s=text, color="0.3")
        right, height = lefts[1] + block, TITLE + 0.4 * NAME
        text = "another class than the query"
        ax.text(right - 0.5, height, text, ha="right", va="center", color=WRONG)
        _draw_cross(ax, right - 0.15, height)

    def _plot_line(self, ax: Axes, row: int, top: float, cell: float, lefts: Vector) -> None:
        """Draw a query and its neighbours by both distances."""
        label = self.y_query[row]
        picture = None if self.query_images is None else self.query_images[row]
        if picture is not None:
            place: dict[str, Any] = {
                "ha": "right",
                "va": "center",
                "fontsize": 13,
                "weight": "bold",
            }
            ax.text(-0.2, top + 0.5, drawn(label), **place)
        _draw_cell(ax, (0, top), cell, picture, label, "0.2")
        for left, found in zip(lefts, self.neighbors.values(), strict=True):
            for k, sample in enumerate(found[row]):
                corner = (left + k * (cell + GAP), top)
                picture = None if self.images is None else self.images[sample]
                is_right = self.y[sample] == label
                colour = RIGHT if is_right else WRONG
                _draw_cell(ax, corner, cell, picture, str(self.y[sample]), colour)
                if not is_right:
                    _mark_wrong(ax, corner, cell)


def choose_queries(
    is_wrong: Mask, n_queries: int, random: np.random.RandomState
) -> dict[str, Index]:
    """Choose queries by a rule: the first wrong ones, then as many others at random."""
    wrong = np.flatnonzero(is_wrong)
    first = wrong[: n_queries // 2]
    others = np.setdiff1d(np.arange(len(is_wrong)), first)
    drawn = np.sort(random.choice(others, min(n_queries - len(first), len(others)), replace=False))
    groups = {
        f"the first {len(first)} of {len(wrong)} queries whose nearest by Euclid is wrong": first,
        f"{len(drawn)} of all {len(is_wrong)} queries, drawn at random": drawn,
    }
    return {reason: rows for reason, rows in groups.items() if len(rows)}


def _search(parts: Sequence[Array], n_neighbors: int) -> Index:
    X, X_query = parts
    if n_neighbors > len(X):
        reason = f"n_neighbors={n_neighbors}, but there are {len(X)} samples"
        raise ValueError(f"{reason}; choose a smaller n_neighbors")
    return nearest(X_query, X, n_neighbors)


def _as_images(X: Array, shape: tuple[int, ...]) -> Array:
    if np.prod(shape) != X.shape[1]:
        raise ValueError(
            f"image_shape={tuple(shape)} has {np.prod(shape)} numbers, and a sample has "
            f"{X.shape[1]} features; they must be equal"
        )
    return X.reshape(len(X), *shape)


def _draw_cell(
    ax: Axes,
    corner: tuple[float, float],
    width: float,
    picture: Array | None,
    text: object,
    colour: str,
) -> None:
    """Draw a picture, or a text if there is none, in a frame."""
    (left, top), plt = corner, require("matplotlib.pyplot", "plot")
    if picture is None:
        ax.text(left + width / 2, top + 0.5, drawn(text), ha="center", va="center", fontsize=11)
    else:
        ax.imshow(picture, extent=(left, left + width, top + 1, top), cmap="gray_r")
    frame = plt.Rectangle(corner, width, 1, fill=False, edgecolor=colour, linewidth=1.2)
    ax.add_patch(frame)


def _mark_wrong(ax: Axes, corner: tuple[float, float], width: float) -> None:
    """Draw a thick frame and a cross, which is seen without colours too."""
    plt = require("matplotlib.pyplot", "plot")
    ax.add_patch(plt.Rectangle(corner, width, 1, fill=False, edgecolor=WRONG, linewidth=3))
    _draw_cross(ax, corner[0] + width, corner[1])


def _draw_cross(ax: Axes, x: float, y: float) -> None:
    ax.plot(x, y, "o", color=WRONG, markersize=11, zorder=4, clip_on=False)
    ax.plot(x, y, "x", color="white", markersize=5.5, markeredgewidth=2, zorder=5, clip_on=False)
