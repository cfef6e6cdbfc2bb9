"""Common style of all figures: colours, axes, legends and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..checks.text import drawn
from ..core.points import Array
from ..runtime.environment import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation as Annotation
else:  # annotations are not evaluated
    Annotation = Axes = Axis = Figure = PathCollection = Any

#: Axes in the order of their panels.
Panels: TypeAlias = Sequence[Axes] | NDArray[Any]

#: Largest number of classes with a legend: more colours cannot be told apart.
MAX_LEGEND = 10
#: Colours of classes and lines; the first ones differ also for colour-blind readers.
BASIC = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
COLOURS = (*BASIC, "#8C564B", "#7F7F7F")


def colours(n_classes: int) -> Array:
    """Return one colour for each class, as an array of shape (n_classes, 4)."""
    if n_classes <= len(COLOURS):
        return require("matplotlib.colors", "plot").to_rgba_array(list(COLOURS[:n_classes]))
    return require("matplotlib", "plot").colormaps["turbo"](np.linspace(0, 1, n_classes))


def lighten(ax: Axes) -> None:
    """Draw a light grid below the data and remove the upper and right borders."""
    ax.grid(True, color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def new_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Axes, Any]:
    """Return the given axes, or new axes of this size in inches, and their figure."""
    plt = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax, ax.figure


def new_panels(
    axes: Panels | None, shape: tuple[int, int], size: tuple[float, float], **options: Any
) -> tuple[NDArray[Any], Figure]:
    """Return the given axes, or axes of a new figure of this shape, and their figure."""
    plt = require("matplotlib.pyplot", "plot")
    if axes is None:
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != shape[0] * shape[1]:
        raise ValueError(f"{len(panels)} axes were given; expected {shape[0] * shape[1]}")
    return panels, panels[0].figure


def whole_numbers(axis: Axis, **options: Any) -> None:
    """Put the ticks of an axis at whole numbers."""
    locator: Any = axis.get_major_locator()
    locator.set_params(integer=True, **options)


def draw_level(ax: Axes, height: float, label: str, x: float = 0.98, align: str = "right") -> None:
    """Draw a dashed horizontal line with its label above it."""
    ax.axhline(height, color="0.4", linestyle="--", linewidth=1)
    place: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "xytext": (0, 3),
    }
    ax.annotate(drawn(label), (x, height), **place, color="0.3", ha=align)


def draw_points(
    ax: Axes, points: Array, sizes: tuple[float, float], **style: Any
) -> PathCollection:
    """Draw points, with colours `c`, in a fixed random order, so that no class hides another."""
    order = np.random.default_rng(0).permutation(len(points))
    if "c" in style:
        style["c"] = style["c"][order]
    size = np.clip(6000 / max(1, len(points)), *sizes)
    x, y = points[order].T
    return ax.scatter(x, y, s=size, linewidths=0, **style)


def add_class_legend(ax: Axes, classes: NDArray[Any], title: str | None) -> None:
    """Add a legend of classes beside the axes, unless they are too many to tell apart."""
    if len(classes) > MAX_LEGEND:
        return
    for name, colour in zip(classes, colours(len(classes)), strict=True):
        ax.scatter([], [], color=[colour], label=drawn(name), s=24)
    title = None if title is None else drawn(title)
    ax.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def plane(points: Array) -> Array:
    """Return the first two coordinates; a missing second one is zero."""
    return np.pad(points[:, :2], ((0, 0), (0, max(0, 2 - points.shape[1]))))


def plane_size(points: Array) -> tuple[float, float]:
    """Return the size in inches of a figure that these points fill well."""
    width, height = np.ptp(points, axis=0)
    return 6.5, float(np.clip(1.2 + 5 * height / (width or 1.0), 2.4, 6.0))
