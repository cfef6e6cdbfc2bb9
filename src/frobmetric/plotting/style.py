"""The common style of all figures: colours, axes, legends and layouts."""

from __future__ import annotations

import numpy as np

from ..checks.text import drawn
from ..runtime.environment import require

#: Largest number of classes with a legend: more colours cannot be told apart.
MAX_LEGEND = 10
#: Colours of classes and lines; the first ones differ also for colour-blind readers.
BASIC = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
COLOURS = (*BASIC, "#8C564B", "#7F7F7F")


def colours(n_classes):
    """Return one colour for each class, as an array of shape (n_classes, 4)."""
    if n_classes <= len(COLOURS):
        return require("matplotlib.colors", "plot").to_rgba_array(list(COLOURS[:n_classes]))
    return require("matplotlib", "plot").colormaps["turbo"](np.linspace(0, 1, n_classes))


def lighten(ax):
    """Draw a light grid below the data and remove the upper and right borders."""
    ax.grid(True, color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def new_axes(ax, size):
    """Return the given axes, or those of a new figure of this size in inches, and their figure."""
    plt = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax, ax.figure


def new_panels(axes, shape, size, **options):
    """Return the given axes, or those of a new figure of this shape, and their figure."""
    plt = require("matplotlib.pyplot", "plot")
    if axes is None:
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
    axes = np.ravel(axes)
    if len(axes) != shape[0] * shape[1]:
        raise ValueError(f"{len(axes)} axes were given; expected {shape[0] * shape[1]}")
    return axes, axes[0].figure


def draw_level(ax, height, label, x=0.98, align="right"):
    """Draw a dashed horizontal line with its label above it."""
    ax.axhline(height, color="0.4", linestyle="--", linewidth=1)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (0, 3)}
    ax.annotate(drawn(label), (x, height), **place, color="0.3", ha=align)


def draw_points(ax, points, sizes, **style):
    """Draw points, with colours `c`, in a fixed random order, so that no class hides another."""
    order = np.random.default_rng(0).permutation(len(points))
    if "c" in style:
        style["c"] = style["c"][order]
    size = np.clip(6000 / max(1, len(points)), *sizes)
    return ax.scatter(*points[order].T, s=size, linewidths=0, **style)


def add_class_legend(ax, classes, title):
    """Add a legend of classes beside the axes, unless they are too many to tell apart."""
    if len(classes) > MAX_LEGEND:
        return
    for name, colour in zip(classes, colours(len(classes)), strict=True):
        ax.scatter([], [], color=[colour], label=drawn(name), s=24)
    title = None if title is None else drawn(title)
    ax.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def plane(points):
    """Return the first two coordinates; a missing second one is zero."""
    return np.pad(points[:, :2], ((0, 0), (0, max(0, 2 - points.shape[1]))))


def plane_size(points):
    """Return the size in inches of a figure that these points fill well."""
    width, height = np.ptp(points, axis=0)
    return 6.5, float(np.clip(1.2 + 5 * height / (width or 1.0), 2.4, 6.0))
