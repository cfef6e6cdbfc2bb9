"""The command unfold: an embedding of samples with a proof and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from os.path import realpath
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ...checks.text import drawn
from ...core.solution import Step
from ...io.preparation import Preparing
from ...io.text import format_of
from ...manifold import MaximumVarianceUnfolding, neighborhood_quality
from ...plotting import EmbeddingDisplay, SpectrumDisplay
from ...plotting.style import plane, plane_size
from ...runtime.environment import replacing, require
from ..tables.matrices import SUFFIXES, LabelledMatrix, read_matrix
from ..tables.reading import Table, check_output
from ..tables.writing import write_table
from .declaration import UnfoldingParameters, command
from .models import labels_name, read_visibly
from .progress import fit_visibly
from .terminal import ExitCode, Report, errors_about, exit_codes, say, wrong_usage

CODES = exit_codes(
    "done; the embedding is certified to --tol",
    "not certified to --tol; the embedding is written all the same",
    "the embedding of that moment is written first",
)
DEFAULTS = {"random_state": 0}  # so that two runs agree
FIGURES = (".png", ".pdf", ".svg")
#: Role of the column of --target in messages.
ROLE = "what the plot is coloured by"
#: Inches: width of the spectrum, and least height of the figure.
SPECTRUM_WIDTH, LEAST_HEIGHT = 4.0, 3.4
#: Largest number of samples on which the quality is computed; of more, this many are drawn.
MANY = 5000
#: Number of axes whose share of the variance is printed.
N_AXES = 5


@dataclass(frozen=True)
class Samples:
    """Features or distances, and the column that is copied beside the embedding."""

    X: np.ndarray
    labels: np.ndarray | None = None
    labels_name: str = "label"
    color: np.ndarray | None = None


@command(MaximumVarianceUnfolding, defaults=DEFAULTS, codes=CODES)
def unfold(
    data: Path,
    parameters: UnfoldingParameters,
    *,
    output: Path,
    target: str | None = None,
    preparation: Preparing,
    quality: bool = False,
    plot: bool = False,
    plot_file: Path | None = None,
    header: bool = True,
) -> Report:
    """Unfold samples into few dimensions.

    Finds the embedding of largest variance in which no neighbours move apart (maximum variance
    unfolding), and proves how close to the largest it is.

    Parameters
    ----------
    data
        Samples: a csv, tsv, parquet, npy or npz file. With --metric precomputed a square matrix of
        distances, in csv with names or without.
    output
        The embedding: a csv, tsv, parquet, npy or npz file with the columns y1, y2, ...
    target
        Column that is no feature, but is copied and colours the plot: its name, or its number (from
        0; -1 is the last). An npz file with X and y needs none.
    quality
        Measure how many of the nearest neighbours are preserved.
    plot
        Draw embedding and spectrum, in a png file with the name of the output.
    plot_file
        Draw them in this png, pdf or svg file instead.
    """
    figure = plot_file or (output.with_suffix(".png") if plot and output.name else None)
    _check_usage(data, output, figure, parameters["metric"], preparation)
    samples = _read(data, target, header, parameters["metric"], preparation)
    estimator, began = MaximumVarianceUnfolding(**parameters), perf_counter()
    with errors_about(data):
        is_interrupted = fit_visibly(estimator, _describe, samples.X)
    facts = _facts(estimator) | {"seconds": perf_counter() - began, "output": str(output)}
    names = [f"y{j + 1}" for j in range(parameters["n_components"])]
    name = "label" if samples.labels_name in names else samples.labels_name
    write_table(output, Table(estimator.embedding_, samples.labels, names), labels_name=name)
    facts |= {"quality": None, "figure": None}
    try:
        if quality:
            facts["quality"] = _measure_quality(estimator, samples.X)
        if figure is not None:
            _draw(estimator, samples, figure, data.name)
            facts["figure"] = str(figure)
    except KeyboardInterrupt:  # the files that are written stay
        is_interrupted = True
    code = ExitCode.of(facts["certified"])
    if is_interrupted:
        moment = " of that moment" if facts["status"] == "interrupted" else ""
        say(f"interrupted; the embedding{moment} is in {facts['output']}")
        code = ExitCode.INTERRUPTED
    return Report(code, "\n".join(_lines(facts, estimator.sigma)), facts)


def _check_usage(
    data: Path, output: Path, figure: Path | None, metric: str, preparation: Preparing
) -> None:
    """Raise the errors of usage that would otherwise come after a long fit."""
    check_output(output)
    if realpath(output) == realpath(data):
        raise wrong_usage("--output", f"{output} holds the data; give the embedding another name")
    if figure is not None:
        check_output(figure, FIGURES)
        require("matplotlib", "plot")
    if metric == "precomputed" and preparation != Preparing():
        reason = "--columns, --drop, --impute and --categories do not apply to distances"
        raise wrong_usage("--metric", f"{reason}; leave them out")


def _read(
    path: Path, target: str | None, header: bool, metric: str, preparation: Preparing
) -> Samples:
    is_matrix = metric == "precomputed"
    if is_matrix and target is None and format_of(path) in SUFFIXES:
        matrix = read_matrix(path)
        names = None if matrix.names is None else np.array(matrix.names)
        samples = Samples(matrix.values, names, matrix.corner or "name")
    else:
        table = read_visibly(path, target, header=header, preparation=preparation, role=ROLE)
        samples = Samples(table.X, table.y, labels_name(target), color=table.y)
        matrix = LabelledMatrix(table.X, path)
    n_rows, n_columns = samples.X.shape
    if is_matrix and n_rows != n_columns:
        raise ValueError(
            f"{path} has {n_rows} rows and {n_columns} columns of numbers; with --metric "
            "precomputed they are distances, so expected as many columns as rows"
        )
    if is_matrix:
        matrix.require_symmetric()
    if n_rows < 2:
        raise ValueError(f"{path} has one sample; expected several, to unfold them")
    return samples


def _describe(step: Step) -> str:
    bound = f"   at most {step.dual:.6g}" if isfinite(step.dual) else ""
    return f"value {step.primal:.6g}{bound}   rank {step.rank}"


def _measure_quality(
    estimator: MaximumVarianceUnfolding, X: np.ndarray, most: int = MANY
) -> dict[str, Any]:
    """Return how much of the neighbourhoods is preserved."""
    n, k = len(X), estimator.n_neighbors
    rows = most if n > most else None
    metric, seed = estimator.metric, estimator.random_state
    result = neighborhood_quality(
        X, estimator.embedding_, n_rows=rows, metric=metric, random_state=seed
    )
    share = float(result.q_nx[k - 1])
    return {"r_nx_area": result.area, "q_nx": share, "K": k, "n_evaluated": rows or n}


def _draw(estimator: MaximumVarianceUnfolding, samples: Samples, path: Path, name: str) -> None:
    """Draw the embedding beside its spectrum."""
    require("matplotlib", "plot").use("agg")
    width, height = plane_size(plane(estimator.embedding_))
    size = (width + SPECTRUM_WIDTH, max(height, LEAST_HEIGHT))
    figure = require("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(width, SPECTRUM_WIDTH))
    values = estimator.eigenvalues_
    values = np.pad(values, (0, max(0, N_AXES - len(values))))  # shows that there are no more
    colours = {"color": samples.color, "color_name": samples.labels_name}
    title = f"{drawn(name)}: {len(samples.X)} samples unfolded"
    EmbeddingDisplay.from_estimator(estimator, **colours, ax=left, title=title)
    SpectrumDisplay.from_eigenvalues(values, n_components=estimator.n_components, ax=right)
    left.ticklabel_format(scilimits=(-3, 4))  # longer numbers would overlap
    right.get_legend().set_loc("center right")
    for ax in (left, right):
        ax.title.set_fontsize("medium")
    with replacing(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:].lower())


def _facts(estimator: MaximumVarianceUnfolding) -> dict[str, Any]:
    """Return the results of a fit for JSON, which has no infinity."""
    proof, eigenvalues = estimator.certificate_, estimator.eigenvalues_
    names = ("primal", "dual", "relative_gap", "violation")
    numbers = {name: getattr(proof, name) for name in names}
    return {
        "status": estimator.status_,
        "certified": proof.is_within(estimator.tol),
        "certificate": {name: x if isfinite(x) else None for name, x in numbers.items()},
        "tol": estimator.tol,
        "n_samples": len(estimator.embedding_),
        "n_points": estimator.graph_.n_points,
        "n_edges": len(estimator.graph_.edges),
        "n_parts": int(estimator.component_labels_.max()) + 1,
        "n_landmarks": estimator.n_landmarks if estimator.dual_coef_ is None else None,
        "rank": len(eigenvalues),
        "shares": (eigenvalues / eigenvalues.sum()).tolist(),
        "n_iter": estimator.n_iter_,
    }


def _lines(facts: dict[str, Any], sigma: float | None) -> Iterator[str]:
    parts = f", in {facts['n_parts']} separate parts" if facts["n_parts"] > 1 else ""
    counts = f"{facts['n_points']} distinct points, {facts['n_edges']} edges{parts}"
    yield f"samples  {facts['n_samples']}, {counts}"
    yield f"proof    {_describe_proof(facts, 'variance' if sigma is None else 'objective')}"
    verdict = f"{'' if facts['certified'] else 'NOT '}certified to tol {facts['tol']:g}"
    yield f"         {verdict} after {facts['n_iter']} steps, {facts['seconds']:.1f} s"
    shares = ", ".join(f"{share:.1%}" for share in facts["shares"][:N_AXES])
    more = ", ..." if facts["rank"] > N_AXES else ""
    yield f"rank     {facts['rank']}; of the variance each axis has {shares}{more}"
    if quality := facts["quality"]:
        n_evaluated = quality["n_evaluated"]
        drawn = "" if n_evaluated == facts["n_samples"] else f" (on {n_evaluated} samples)"
        share = f"Q_NX {quality['q_nx']:.3f} at K = {quality['K']} neighbours{drawn}"
        yield f"quality  R_NX area {quality['r_nx_area']:.3f}, {share}"
    yield f"written  {' and '.join(filter(None, (facts['output'], facts['figure'])))}"


def _describe_proof(facts: dict[str, Any], objective: str) -> str:
    """Return the certificate as a sentence."""
    proof, n_landmarks = facts["certificate"], facts["n_landmarks"]
    of = f" of the {n_landmarks} landmarks" if n_landmarks else ""
    if proof["dual"] is None:
        return f"largest {objective}{of} at least {proof['primal']:.6g}, no upper bound yet"
    if proof["violation"]:
        miss = f"misses a squared distance by {proof['violation']:.1e} of it"
        ends = f"at most {proof['dual']:.6g}; this one has {proof['primal']:.6g} and {miss}"
        return f"largest {objective}{of} {ends}"
    ends = f"[{proof['primal']:.6g}, {proof['dual']:.6g}]"
    return f"largest {objective}{of} in {ends}, gap {proof['relative_gap']:.1e}"
