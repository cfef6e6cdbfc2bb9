"""The command `unfold`: people's own samples, laid out in few dimensions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from .._extras import require
from . import options
from .terminal import reports

typer = require("typer", "cli")

CODES = options.exit_codes(
    "done; the embedding is certified to --tol",
    "not certified to --tol; the embedding is written all the same",
    "the embedding of that moment is written first",
)


class Kept(StrEnum):
    """The `constraints` of the estimator."""

    at_most = "at_most"
    equal = "equal"


class Method(StrEnum):
    """The `solver` of the estimator."""

    auto = "auto"
    lowrank = "lowrank"
    dual = "dual"


Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        show_default=False,
        help=f"The embedding: a {options.FORMATS} file with the columns y1, y2, ...",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        "--color",
        show_default=False,
        help="Column that is no feature, but is copied and colours the plot: its name, or "
        "its number (from 0; -1 is the last). An npz file with X and y needs none.",
    ),
]
Components = Annotated[
    int, typer.Option("--components", "-d", min=1, help="Dimensions of the embedding.")
]
Neighbors = Annotated[
    int,
    typer.Option(
        "--neighbors", "-k", min=1, help="Nearest of each sample to which no distance may grow."
    ),
]
Sigma = Annotated[
    float | None,
    typer.Option(
        "--sigma",
        callback=options.positive,
        show_default=False,
        help="Take |Gram matrix|^2 / (2 sigma) off the variance, which is to be as large "
        "as possible; nothing if not given.",
    ),
]
Constraints = Annotated[
    Kept,
    typer.Option(
        "--constraints",
        help="Neighbours may come closer (at_most), or keep their distance (equal).",
    ),
]
HowToSolve = Annotated[
    Method,
    typer.Option(
        "--solver",
        help="By coordinates (lowrank) or by the whole Gram matrix (dual), which a small "
        "--sigma may need.",
    ),
]
Tol = Annotated[
    float, typer.Option("--tol", callback=options.positive, help="Relative gap to reach.")
]
MaxIter = Annotated[int, typer.Option("--max-iter", min=1, help="Largest number of steps.")]
Landmarks = Annotated[
    int | None,
    typer.Option(
        "--landmarks",
        min=3,
        show_default=False,
        help="Unfold so many samples only, drawn at random, and place the others between "
        "them: for very large data.",
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="A metric of scikit-learn; or precomputed: the file is a square matrix of "
        "distances, in csv with names or without.",
    ),
]
ExtraEdges = Annotated[
    bool,
    typer.Option(
        "--extra-edges", help="Also keep the distances between the neighbours of a common sample."
    ),
]
Separate = Annotated[
    bool,
    typer.Option(
        "--separate",
        help="Where neighbours do not connect all samples: unfold each part alone, and "
        "lay them side by side along y1.",
    ),
]
Quality = Annotated[
    bool, typer.Option("--quality", help="Tell how many of the nearest stay the nearest.")
]
Plot = Annotated[
    bool,
    typer.Option(
        "--plot", help="Draw embedding and spectrum, in a png file with the name of the output."
    ),
]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot-file", show_default=False, help="Draw them in this png, pdf or svg file instead."
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", "--random-state", min=0, help="Of the draw of landmarks.")
]


@reports
def unfold(
    data: options.Data,
    output: Output,
    target: Target = None,
    n_components: Components = 2,
    n_neighbors: Neighbors = 6,
    sigma: Sigma = None,
    constraints: Constraints = Kept.at_most,
    solver: HowToSolve = Method.auto,
    tol: Tol = 1e-5,
    max_iter: MaxIter = 1000,
    landmarks: Landmarks = None,
    metric: Metric = "euclidean",
    extra_edges: ExtraEdges = False,
    separate: Separate = False,
    quality: Quality = False,
    plot: Plot = False,
    plot_file: PlotFile = None,
    header: options.Header = True,
    seed: Seed = 0,
    as_json: options.Json = False,
):
    """Unfold samples into few dimensions.

    Finds the embedding of largest variance in which no neighbours move apart (maximum variance
    unfolding), and proves how close to the largest it is.
    """
    from .unfold_actions import unfold_file

    parameters = {
        "n_components": n_components,
        "n_neighbors": n_neighbors,
        "sigma": sigma,
        "constraints": constraints.value,
        "solver": solver.value,
        "tol": tol,
        "max_iter": max_iter,
        "n_landmarks": landmarks,
        "random_state": seed,
        "metric": metric,
        "extra_edges": extra_edges,
        "on_disconnected": "separate" if separate else "connect",
    }
    figure = plot_file or (output.with_suffix(".png") if plot and output.name else None)
    return unfold_file(
        data, output, parameters, target=target, header=header, quality=quality, figure=figure
    )
