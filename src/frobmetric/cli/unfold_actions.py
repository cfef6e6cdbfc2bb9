"""What `unfold` does, once its arguments are read."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from time import perf_counter

import numpy as np

from .._atomic import replacing, target_file
from .._extras import require
from ..io.matrices import SUFFIXES, LabelledMatrix, read_matrix
from ..io.tables import Table, check_suffix, read_table, write_table
from ..manifold import MaximumVarianceUnfolding, neighborhood_quality
from ..plotting.embedding import EmbeddingDisplay, SpectrumDisplay, plane, plane_size
from .nearest import check_symmetric
from .progress import UnfoldingProgress
from .terminal import ExitCode, Report, live_line, say

typer = require("typer", "cli")

FIGURES = (".png", ".pdf", ".svg")
DPI = 150
#: Inches: how wide the spectrum is, and how high the figure is at least.
SPECTRUM_WIDTH, LEAST_HEIGHT = 4.0, 3.4
#: Of more samples than this, so many are drawn to judge the embedding by.
MANY = 5000
#: Axes whose share of the variance is told.
N_AXES = 5

#: Words of the estimator, and those of the command line; a value follows its option.
WORDS = {
    r"set on_disconnected='separate'": "give --separate",
    r"set constraints='at_most'": "give --constraints at_most",
    r"\bn_samples=(\d+)": r"the number of samples, \1",
    r" columns of embedding_": " columns",
    r"\(max_iter after": "(--max-iter reached, after",
    r"\b(solver|constraints|metric|tol)='?([\w.+-]+)'?": r"--\1 \2",
    r"\bn_(components|neighbors)=(\d+)": r"--\1 \2",
    r"\bn_(components|neighbors)\b": r"--\1",
    r"\bmax_iter\b": "--max-iter",
    r"(?<!-)\btol\b": "--tol",
}


@dataclass(frozen=True)
class Samples:
    """Features or distances, and what is copied beside the embedding; names are no colours."""

    X: np.ndarray
    labels: np.ndarray | None = None
    labels_name: str = "label"
    is_coloured: bool = False

    @property
    def color(self):
        return self.labels if self.is_coloured else None


def unfold_file(path, output, parameters, *, target, header, quality, figure):
    """Unfold the samples of a file into another; Ctrl-C writes the embedding of that moment.

    Parameters
    ----------
    path, output : Path
    parameters : dict
        Of `MaximumVarianceUnfolding`.
    target : str or None
    header : bool
    quality : bool
        Whether to judge the embedding.
    figure : Path or None
        Where to draw it.

    Returns
    -------
    Report
    """
    _check_paths(path, output, figure)
    samples = _read(path, target, header, parameters["metric"])
    estimator, began = MaximumVarianceUnfolding(**parameters), perf_counter()
    is_interrupted = not _fit(estimator, samples.X, path)
    data = _facts(estimator, samples) | {"seconds": perf_counter() - began, "output": str(output)}
    names = [f"y{j + 1}" for j in range(parameters["n_components"])]
    labels_name = "label" if samples.labels_name in names else samples.labels_name
    write_table(output, Table(estimator.embedding_, samples.labels, names), labels_name)
    data |= {"quality": None, "figure": None}
    try:
        if quality:
            data["quality"] = _judge(estimator, samples.X)
        if figure is not None:
            _draw(estimator, samples, figure, path.name)
            data["figure"] = str(figure)
    except KeyboardInterrupt:  # what is written stays
        is_interrupted = True
    return _report(estimator, data, is_interrupted)


def _check_paths(path, output, figure):
    """Before a long fit: whether all can be written where it was asked to be."""
    check_suffix(output)
    if output.resolve() == path.resolve():
        raise typer.BadParameter(
            f"{output} holds the data; give the embedding another name", param_hint="--output"
        )
    target_file(output)
    if figure is not None:
        check_suffix(figure, FIGURES)
        target_file(figure)
        require("matplotlib", "plot")


def _read(path, target, header, metric):
    if metric == "precomputed":
        samples = _read_distances(path, target, header)
    else:
        samples = _labelled(read_table(path, target, header=header), target)
    if len(samples.X) < 2:
        raise ValueError(f"{path} has one sample; expected several, to unfold them")
    return samples


def _labelled(table, target):
    if table.y is None:
        return Samples(table.X)
    is_name = target is not None and not target.lstrip("-").isdecimal()
    return Samples(table.X, table.y, target if is_name else "label", is_coloured=True)


def _read_distances(path, target, header):
    """A square matrix, with names or a column of labels."""
    if target is None and path.suffix.lower() in SUFFIXES:
        matrix = read_matrix(path)
        names = None if matrix.names is None else np.array(matrix.names)
        samples = Samples(matrix.values, names, matrix.corner or "name")
    else:
        samples = _labelled(read_table(path, target, header=header), target)
        matrix = LabelledMatrix(samples.X, path)
    n_rows, n_columns = samples.X.shape
    if n_rows != n_columns:
        raise ValueError(
            f"{path} has {n_rows} rows and {n_columns} columns of numbers; with --metric "
            "precomputed they are distances, so expected as many columns as rows"
        )
    check_symmetric(matrix)
    return samples


def _fit(estimator, X, path):
    """Fit, and tell whether it came to its end; Ctrl-C before there is an embedding goes on."""
    try:
        with live_line("looking for neighbours") as show, _own_words(path):
            estimator.set_params(callback=show and UnfoldingProgress(show)).fit(X)
    except KeyboardInterrupt:
        if not hasattr(estimator, "embedding_"):
            raise
        return False
    return True


@contextmanager
def _own_words(path):
    """Errors and warnings of the estimator in the words of the command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except ValueError as error:
            raise type(error)(_in_words(error, path)) from error
        finally:
            for warning in caught:
                say(f"warning: {_in_words(warning.message, path)}")


def _in_words(message, path):
    text = str(message)
    for pattern, words in WORDS.items():
        text = re.sub(pattern, words, text)
    return re.sub(r"\bX\b", lambda _: str(path), text)


def _judge(estimator, X):
    """How much of the neighbourhoods is kept."""
    n, k = len(X), estimator.n_neighbors
    rows = MANY if n > MANY else None
    found = neighborhood_quality(
        X,
        estimator.embedding_,
        metric=estimator.metric,
        n_rows=rows,
        random_state=estimator.random_state,
    )
    kept = float(found.q_nx[k - 1])
    return {"r_nx_area": found.area, "q_nx": kept, "K": k, "n_judged": rows or n}


def _draw(estimator, samples, path, name):
    """The embedding beside its spectrum."""
    require("matplotlib", "plot").use("agg")
    width, height = plane_size(plane(estimator.embedding_))
    figure = require("matplotlib.figure", "plot").Figure(
        figsize=(width + SPECTRUM_WIDTH, max(height, LEAST_HEIGHT)), layout="constrained"
    )
    left, right = figure.subplots(1, 2, width_ratios=(width, SPECTRUM_WIDTH))
    values = estimator.eigenvalues_
    values = np.pad(values, (0, max(0, N_AXES - len(values))))  # that there are no more is seen
    EmbeddingDisplay.from_estimator(
        estimator,
        color=samples.color,
        color_name=samples.labels_name,
        ax=left,
        title=f"{name}: {len(samples.X)} samples unfolded",
    )
    SpectrumDisplay.from_eigenvalues(values, n_components=estimator.n_components, ax=right)
    left.ticklabel_format(scilimits=(-3, 4))  # longer numbers would overlap
    right.get_legend().set_loc("center right")
    for ax in (left, right):
        ax.title.set_fontsize("medium")
    with replacing(path) as file:
        figure.savefig(file, dpi=DPI, format=path.suffix[1:].lower())


def _facts(estimator, samples):
    """What is known of a fit, as JSON has it: without infinity."""
    proof = asdict(estimator.certificate_)
    eigenvalues, graph = estimator.eigenvalues_, estimator.graph_
    is_certified = max(proof["relative_gap"], proof["violation"]) <= estimator.tol
    return {
        "status": estimator.status_,
        "certified": bool(is_certified),
        "certificate": {name: x if isfinite(x) else None for name, x in proof.items()},
        "tol": estimator.tol,
        "n_samples": len(samples.X),
        "n_points": graph.n_points,
        "n_edges": len(graph.edges),
        "n_parts": int(estimator.component_labels_.max()) + 1,
        "n_landmarks": estimator.n_landmarks if estimator.dual_coef_ is None else None,
        "rank": len(eigenvalues),
        "shares": (eigenvalues / eigenvalues.sum()).tolist(),
        "n_iter": estimator.n_iter_,
    }


def _report(estimator, data, is_interrupted):
    code = ExitCode.CERTIFIED if data["certified"] else ExitCode.NOT_CERTIFIED
    if is_interrupted:
        moment = " of that moment" if data["status"] == "interrupted" else ""
        say(f"interrupted; the embedding{moment} is in {data['output']}")
        code = ExitCode.INTERRUPTED
    return Report(code, "\n".join(_lines(data, estimator.sigma)), data)


def _lines(data, sigma):
    parts = f", in {data['n_parts']} separate parts" if data["n_parts"] > 1 else ""
    yield (
        f"samples  {data['n_samples']}, {data['n_points']} distinct points, {data['n_edges']} edges"
        f"{parts}"
    )
    verdict = "certified" if data["certified"] else "NOT certified"
    yield f"proof    {_proof(data, 'variance' if sigma is None else 'objective')}"
    ended = f"after {data['n_iter']} steps, {data['seconds']:.1f} s"
    yield f"         {verdict} to tol {data['tol']:g} {ended}"
    shares = [f"{share:.1%}" for share in data["shares"][:N_AXES]]
    more = ", ..." if data["rank"] > N_AXES else ""
    yield f"rank     {data['rank']}; of the variance each axis has {', '.join(shares)}{more}"
    if data["quality"]:
        yield f"quality  {_quality(data['quality'], data['n_samples'])}"
    written = [name for name in (data["output"], data["figure"]) if name]
    yield f"written  {' and '.join(written)}"


def _proof(data, what):
    """The certificate in words."""
    proof, n_landmarks = data["certificate"], data["n_landmarks"]
    of = f" of the {n_landmarks} landmarks" if n_landmarks else ""
    if proof["dual"] is None:
        return f"largest {what}{of} at least {proof['primal']:.6g}, no upper bound yet"
    if proof["violation"]:
        return (
            f"largest {what}{of} at most {proof['dual']:.6g}; this one has {proof['primal']:.6g} "
            f"and misses a squared distance by {proof['violation']:.1e} of it"
        )
    ends = f"[{proof['primal']:.6g}, {proof['dual']:.6g}]"
    return f"largest {what}{of} in {ends}, gap {proof['relative_gap']:.1e}"


def _quality(found, n_samples):
    drawn = "" if found["n_judged"] == n_samples else f" ({found['n_judged']} samples judged)"
    return (
        f"R_NX area {found['r_nx_area']:.3f}, Q_NX {found['q_nx']:.3f} at K = {found['K']} "
        f"neighbours{drawn}"
    )
