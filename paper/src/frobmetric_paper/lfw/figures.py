"""The figures of `frobmetric reproduce lfw`: curves, and triplets of faces."""

from __future__ import annotations

from frobmetric._extras import require
from frobmetric.plotting.style import COLOURS, lighten

from .methods import FROB
from .plan import MAIN
from .summary import RATES, curve, done, mean
from .words import rule_words

DPI = 110
#: File names.
ROC, TRIPLETS = "roc.png", "triplets.png"
OF_CURVES = (
    "ROC of each method, by the rule that was chosen for it on View 1: means over the folds of "
    "View 2. In brackets is the mean area below the curves, in percent. The dashed line is "
    "FrobMetric by MkNN."
)
OF_TRIPLETS = (
    "Triplets from the training pairs of a fold, two in a row: of each three pictures the first "
    "two are of one person, the third is of another."
)


def draw_curves(result, folder):
    """Draw the curves of all methods.

    Parameters
    ----------
    result : Result
    folder : Path

    Returns
    -------
    list of (file name, caption)
    """
    lines = list(_lines(result))
    if not lines:
        return []
    figure = require("matplotlib.figure", "plot").Figure(figsize=(10.5, 6), layout="constrained")
    ax = figure.add_subplot()
    for label, rates, style in lines:
        ax.plot(RATES, rates, label=label, **style)
    ax.set_xlim(0, 0.5)
    ax.set_ylim(0.5, 1)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    lighten(ax)
    figure.savefig(folder / ROC, dpi=DPI)
    return [(ROC, OF_CURVES)]


def _lines(result):
    """Label, rates and style of each curve."""
    for number, method in enumerate(result.plan.methods):
        cells = result.folds.get((method.name, MAIN), [])
        if not done(cells):
            continue
        choice = result.choices[method.name, MAIN]
        width = 2.5 if method.name == FROB.name else 1.3
        style = {"color": COLOURS[number % len(COLOURS)], "linewidth": width}
        yield _line(method, cells, choice.rule, style)
        if method.name == FROB.name and choice.counting_rule != choice.rule:
            yield _line(method, cells, choice.counting_rule, style | {"linestyle": "--"})


def _line(method, cells, rule, style):
    label = f"{method.label}, {rule_words(rule)} ({mean(cells, rule).area:.1f})"
    return label, curve(cells, rule), style


def draw_triplets(examples, pictures, folder):
    """Draw some triplets; pictures of faces carry no licence, so that this file is not to be given
    away.

    Parameters
    ----------
    examples : list of lists of 3 ints
        Rows of pictures: anchor, near, far.
    pictures : ndarray of shape (n_pictures, height, width)
    folder : Path

    Returns
    -------
    list of (file name, caption)
    """
    columns = 2
    rows = -(-len(examples) // columns)
    figure = require("matplotlib.figure", "plot").Figure(
        figsize=(6.6, 1.5 * rows), layout="constrained"
    )
    axes = figure.subplots(rows, 3 * columns, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, row in zip(axes, [row for triplet in examples for row in triplet], strict=False):
        ax.imshow(pictures[row], cmap="gray", vmin=0, vmax=255)
    figure.savefig(folder / TRIPLETS, dpi=DPI)
    return [(TRIPLETS, OF_TRIPLETS)]
