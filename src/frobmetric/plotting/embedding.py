"""EmbeddingDisplay and SpectrumDisplay: an embedding, and the number of dimensions it needs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..checks import text as _text
from ..checks.samples import check_array
from ..core.points import Array, Data, Vector
from . import style
from .style import COLOURS, Axes, lighten, whole_numbers

#: Longer side of a thumbnail, as a share of the longer side of the embedding.
THUMBNAIL = 0.11


class EmbeddingDisplay:
    """Points of an embedding in the plane of its first two coordinates.

    Create one with `from_estimator` or `from_embedding`, as with scikit-learn's displays.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        A single coordinate is drawn as a line; of three or more coordinates the first two are
        drawn, and the axis labels say so.
    color : ndarray of shape (n_samples,), optional
        Values that colour the points. Texts, and whole numbers with at most 10 different values,
        are classes and get a legend; other numbers get a colour bar.
    color_name : str, optional
        Title of the legend or colour bar.
    images : ndarray of shape (n_samples, height, width) or (n_samples, height, width, 3), optional
        Grey values or colours; some of the images are shown at their points.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from sklearn.manifold import Isomap
    >>> from frobmetric.plotting import EmbeddingDisplay
    >>> X, position = make_swiss_roll(100, random_state=0)
    >>> unrolled = Isomap(n_neighbors=8).fit(X)
    >>> display = EmbeddingDisplay.from_estimator(unrolled, color=position)  # doctest: +SKIP
    >>> display.figure_.savefig("unrolled.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        embedding: Array,
        color: NDArray[Any] | None = None,
        color_name: str | None = None,
        images: NDArray[Any] | None = None,
    ) -> None:
        self.embedding = embedding
        self.color = color
        self.color_name = color_name
        self.images = images

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the `embedding_` of a fitted estimator; parameters as for `from_embedding`."""
        check_is_fitted(estimator, "embedding_")
        return cls.from_embedding(estimator.embedding_, **options)

    @classmethod
    def from_embedding(
        cls,
        embedding: Data,
        *,
        color: ArrayLike | None = None,
        color_name: str | None = None,
        images: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw points; the parameters are as in the class and in `plot`."""
        embedding = check_array(embedding, dtype=np.float64, input_name="embedding")
        color = None if color is None else np.asarray(color)
        images = None if images is None else np.asarray(images)
        for name, array in (("color", color), ("images", images)):
            if array is not None and (array.ndim == 0 or len(array) != len(embedding)):
                raise ValueError(
                    f"{name} has shape {array.shape} and the embedding {len(embedding)} points; "
                    f"expected one of {name} for each point"
                )
        if color is not None and color.ndim != 1:
            raise ValueError(f"color has shape {color.shape}; expected one value for each sample")
        if images is not None and not (images.ndim == 3 or images.shape[3:] in ((3,), (4,))):
            shape = f"images has shape {images.shape}; expected (n_samples, height, width)"
            raise ValueError(f"{shape} or (n_samples, height, width, 3): reshape flat images")
        display = cls(embedding=embedding, color=color, color_name=color_name, images=images)
        return display.plot(**options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        path: bool = False,
        n_thumbnails: int = 20,
        cmap: str = "viridis",
        title: str | None = None,
    ) -> Self:
        """Draw on the given axes or in a new figure, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        path : bool
            Whether to join the points in their order.
        n_thumbnails : int
            Largest number of images; fewer are shown where they would overlap.
        cmap : str
            Colour map of numbers.
        title : str, optional
        """
        points = style.plane(self.embedding)
        self.ax_, self.figure_ = ax, _ = style.new_axes(ax, style.plane_size(points))
        if path:
            ax.plot(*points.T, color="0.7", linewidth=1, zorder=1)
        point_colours = self._plot_points(ax, points, cmap)
        n_components = self.embedding.shape[1]
        of_more = f" of {n_components}" if n_components > 2 else ""
        ax.set_xlabel(f"coordinate 1{of_more}")
        ax.set_aspect("equal", adjustable="datalim")
        lighten(ax)
        if n_components > 1:
            ax.set_ylabel(f"coordinate 2{of_more}")
        else:
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        if self.images is not None:
            _plot_thumbnails(ax, self.images, points, point_colours, n_thumbnails)
        if title is not None:
            ax.set_title(title)
        return self

    def _plot_points(self, ax: Axes, points: Array, cmap: str) -> Array:
        """Draw the points with a legend or colour bar; return the colour of each point."""
        options: dict[str, Any] = {"sizes": (4, 24), "zorder": 2}
        if self.color is not None and not _is_classes(self.color):
            drawn = style.draw_points(ax, points, c=self.color, cmap=cmap, **options)
            self.figure_.colorbar(
                drawn, ax=ax, label=_text.drawn(self.color_name or ""), shrink=0.8
            )
            return drawn.to_rgba(self.color)
        labels = np.zeros(len(points)) if self.color is None else self.color
        classes, labels = np.unique(labels, return_inverse=True)
        point_colours = style.colours(len(classes))[labels]
        style.draw_points(ax, points, c=point_colours, **options)
        if self.color is not None:
            style.add_class_legend(ax, classes, self.color_name)
        return point_colours


def _plot_thumbnails(
    ax: Axes, images: NDArray[Any], points: Array, point_colours: Array, n_thumbnails: int
) -> None:
    height, width = images.shape[1:3]
    longest = np.ptp(points, axis=0).max() or 1.0
    size = THUMBNAIL * longest * np.array([width, height]) / max(height, width)
    # one grey scale for all
    shown = {"cmap": "gray", "vmin": images.min(), "vmax": images.max(), "zorder": 3}
    for i in spread_out(points, size, n_thumbnails):
        (left, bottom), (right, top) = points[i] - size / 2, points[i] + size / 2
        ax.imshow(images[i], extent=(left, right, bottom, top), **shown)
        corners = [left, right, right, left, left], [bottom, bottom, top, top, bottom]
        ax.plot(*corners, color=point_colours[i], linewidth=1.5, zorder=4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()


class SpectrumDisplay:
    """Eigenvalues of the Gram matrix of an embedding, as shares of its variance.

    Create one with `from_estimator` or `from_eigenvalues`.

    Parameters
    ----------
    shares : ndarray of shape (n_eigenvalues,)
        Largest first; negative rounding errors are replaced by zero.
    n_components : int, optional
        Number of dimensions that the embedding keeps.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from frobmetric.plotting import SpectrumDisplay
    >>> display = SpectrumDisplay.from_eigenvalues([6, 3, 1], n_components=2)  # doctest: +SKIP
    >>> display.ax_.get_title()  # doctest: +SKIP
    '90.0% of the variance in 2 dimensions'
    """

    def __init__(self, *, shares: np.ndarray, n_components: int | None = None) -> None:
        self.shares = shares
        self.n_components = n_components

    @classmethod
    def from_estimator(cls, estimator: Any, *, total: float | None = None, **options: Any) -> Self:
        """Draw the `eigenvalues_` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator with `eigenvalues_`
            Its `embedding_`, if present, gives the number of dimensions that are kept.
        total : float, optional
            Sum of all eigenvalues, where `eigenvalues_` holds only the largest.
        **options
            Options of `plot`.
        """
        check_is_fitted(estimator, "eigenvalues_")
        embedding = getattr(estimator, "embedding_", None)
        n_components = None if embedding is None else embedding.shape[1]
        return cls.from_eigenvalues(
            estimator.eigenvalues_, n_components=n_components, total=total, **options
        )

    @classmethod
    def from_eigenvalues(
        cls,
        eigenvalues: ArrayLike,
        *,
        n_components: int | None = None,
        total: float | None = None,
        **options: Any,
    ) -> Self:
        """Draw eigenvalues in any order; the parameters are as in `from_estimator`."""
        values = np.asarray(eigenvalues, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise ValueError(
                f"eigenvalues has shape {values.shape}; expected a vector of finite numbers"
            )
        values = np.maximum(np.sort(values)[::-1], 0.0)
        total = values.sum() if total is None else total
        shares = values / total if total > 0 else values
        return cls(shares=shares, n_components=n_components).plot(**options)

    def plot(self, ax: Axes | None = None, *, log: bool = False, n_shown: int = 10) -> Self:
        """Draw on the given axes or in a new figure, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        log : bool
            Whether to use a logarithmic axis, which shows small eigenvalues, and to omit the sum.
        n_shown : int
            Largest number of dimensions to show.
        """
        self.ax_, self.figure_ = ax, _ = style.new_axes(ax, (6.0, 4.0))
        shown, n_components = 100 * self.shares[:n_shown], self.n_components
        dimensions = np.arange(1, len(shown) + 1)
        is_kept = dimensions <= (len(self.shares) if n_components is None else n_components)
        ax.bar(dimensions, shown, color=np.where(is_kept, COLOURS[0], COLOURS[4]), width=0.7)
        if not log:
            line: dict[str, Any] = {
                "markersize": 4,
                "color": COLOURS[5],
                "label": "sum up to this dimension",
            }
            ax.plot(dimensions, np.cumsum(shown), "o-", **line)
            ax.set_ylim(0, 108)
            ax.legend(frameon=False, loc="best")
        elif shown.any():  # from a little below the smallest positive value
            ax.set(yscale="log", ylim=(shown[shown > 0].min() / 3, 2 * shown.max()))
        whole_numbers(ax.xaxis, nbins=12)
        ax.set(xlabel="dimension", ylabel="share of the variance, %", xlim=(0.4, len(shown) + 0.6))
        title = f"Spectrum: {np.count_nonzero(self.shares)} positive eigenvalues"
        if n_components is not None:
            name = "1 dimension" if n_components == 1 else f"{n_components} dimensions"
            title = f"{self.shares[:n_components].sum():.1%} of the variance in {name}"
        ax.set_title(title)
        lighten(ax)
        return self


def spread_out(points: Array, size: float | Vector, n_chosen: int) -> list[int]:
    """Choose points far from each other, so that boxes of this size around them do not overlap.

    Each next point is the one farthest from all chosen ones, in units of the box.
    """
    chosen = [int(np.linalg.norm(points - points.mean(axis=0), axis=1).argmax())]
    distance = np.full(len(points), np.inf)
    while len(chosen) < n_chosen:
        boxes_away = (np.abs(points - points[chosen[-1]]) / size).max(axis=1)
        distance = np.minimum(distance, boxes_away)
        if distance.max() < 1:
            break
        chosen.append(int(distance.argmax()))
    return chosen[:n_chosen]


def _is_classes(color: NDArray[Any]) -> bool:
    if color.dtype.kind not in "iuf":
        return True
    return bool((color == np.round(color)).all()) and len(np.unique(color)) <= style.MAX_LEGEND
