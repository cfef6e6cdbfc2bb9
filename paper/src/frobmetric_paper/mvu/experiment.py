"""Experiments with maximum variance unfolding, each also in a small version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold.graph import neighbor_graph, require_connected
from frobmetric.manifold.quality import neighborhood_quality

from ..baselines import EMBEDDING
from ..baselines.embedding import OUR_TOL, perturbed
from ..data.labelled import load_pictures
from ..harness import formatting, task
from ..harness.task import checksum, done, grouped
from .report import FIGURES, UnfoldingResults, file_name
from .spread import EVENNESS, at_unit_scale, local_spread

#: Numbers of points of the time measurement.
SIZES = (100, 200, 400, 800, 1100, 2000)


# Tasks and cells


@dataclass(frozen=True, kw_only=True)
class Task(task.Task):
    """Embedding of one set of points."""

    part: str  # name of the part of the experiment
    n: int  # number of points
    n_neighbors: int

    @property
    def place(self):
        return f"{self.part}-{self.n}"

    @property
    def where(self):
        return f"{self.part}, n = {self.n}"


@dataclass(frozen=True, kw_only=True)
class Cell(task.Cell):
    """Result of one method on one set of points."""

    task_type: ClassVar = Task
    unsaved: ClassVar = ("machine", "embedding")

    objective: float | None = None  # variance of `Embedded`, as is the certificate
    certificate: dict | None = None
    embedding: list | None = None  # a row for each point
    # result of `measure`; "perturbation" too if the problem is perturbed
    measures: dict = field(default_factory=dict)

    @property
    def is_certified(self):
        return self.is_done and self.certificate["relative_gap"] <= OUR_TOL

    @property
    def summary(self):
        return formatting.seconds(self.seconds)

    @property
    def points(self):
        """The embedding as an array."""
        return np.array(self.embedding)


def measure(X, Y, n_neighbors):
    """Measure the quality of an embedding Y of the points X.

    Return the measures of `EVENNESS` of Y at unit scale, the area under R_NX, and the mean of B_NX
    over all sizes of neighbourhoods, by name.
    """
    spread = local_spread(at_unit_scale(Y), n_neighbors)
    quality = neighborhood_quality(X, Y)
    measures = {"area": quality.area, "mean_b_nx": float(quality.b_nx.mean())}
    return {name: getattr(spread, name) for name in EVENNESS} | measures


def perturbation(spectrum, sigma):
    """Return the size of the Frobenius term relative to the variance, |X|^2 / (2 sigma tr X)."""
    return float(np.square(spectrum).sum() / (2 * sigma * np.sum(spectrum)))


# Data


@dataclass(frozen=True, eq=False)
class Points:
    """Points to embed, with what a figure of them needs."""

    X: np.ndarray  # of shape (n, n_features)
    color: np.ndarray  # position of each point on the manifold: an angle, or its number
    color_name: str  # meaning of the colour
    picture_shape: tuple[int, int] | None = None  # height and width, if pictures are to be drawn
    is_path: bool = False  # whether consecutive points are neighbours on a curve


@dataclass(frozen=True)
class Scale:
    """Size of the points, without which a number for sigma means nothing."""

    n_samples: int
    n_features: int
    n_edges: int
    diameter: float  # largest distance
    mean_squared_edge: float  # mean squared distance of neighbours
    variance: float  # sum_i |x_i - mean|^2, which an unfolding can only raise

    @classmethod
    def of(cls, X, n_neighbors):
        """Return the Scale of points, whose neighbour graph has to be connected."""
        graph = neighbor_graph(X, n_neighbors)
        require_connected(graph, X, n_neighbors)
        lengths = pdist(X).max(), graph.squared.mean(), np.square(X - X.mean(axis=0)).sum()
        return cls(*X.shape, len(graph.edges), *map(float, lengths))


def rolls(*sizes):
    """Return swiss rolls of scikit-learn with random_state=0, the smallest first."""
    made = (make_swiss_roll(n, random_state=0) for n in sorted(sizes))
    return [Points(X, angle, "angle on the roll") for X, angle in made]


def pictures(name, every, folder=None, *, is_path=False, are_drawn=False):
    """Return every second, third ... picture of a data set; figures show some if `are_drawn`."""
    data = load_pictures(name, folder=folder)
    numbers, shape = np.arange(0, len(data.X), every), data.shape if are_drawn else None
    return [Points(data.X[numbers], numbers, "number of the picture", shape, is_path)]


# The experiment


@dataclass(frozen=True)
class Part:
    """Part of the experiment: some methods, each on some sets of points."""

    name: str
    n_neighbors: int
    sigma: float  # parameter of the perturbed problem
    embedders: tuple
    points: Callable[[], list[Points]]  # () -> list of Points, the smallest set first
    n_sets: int = 1  # number of these sets

    @property
    def paper_names(self):
        """The paper's names of its methods, by ours."""
        return {method.name: method.paper_name for method in self.embedders}


def plan(*, quick=False, data=None, show_pictures=False):
    """Return the parts of the experiment, of the paper's size or small."""
    every, every_face = (4, 30) if quick else (1, 1)
    views = partial(pictures, "teapots", every, data, is_path=True, are_drawn=show_pictures)
    faces = partial(pictures, "frey_faces", every_face, data, are_drawn=show_pictures)
    roll = partial(rolls, 80 if quick else 500)
    sizes = (30, 60) if quick else SIZES
    exact = [EMBEDDING[name] for name in ("ours_exact", "csdp_original", "csdp_well_posed")]

    def methods(sigma):
        return EMBEDDING["isomap"], EMBEDDING["lle"], perturbed(sigma), *exact

    return (
        Part("swiss_roll", 6, 1e5, methods(1e5), roll),
        Part("teapots", 6, 1e10, methods(1e10), views),
        Part("teapots_3", 3, 1e10, methods(1e10), views),
        Part("faces", 5, 1e10, methods(1e10), faces),
        Part("time", 6, 1e2, methods(1e2)[2:], partial(rolls, *sizes), len(sizes)),
    )


@dataclass(frozen=True)
class PartResult:
    """Result of a part: cells in the order of points, then methods; or a reason without any."""

    part: Part
    points: list[Points] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True)
class UnfoldingExperiment:
    """All parts of the experiment."""

    name: ClassVar = "mvu"
    template: ClassVar = Path(__file__).with_name("page.md")
    cell_type: ClassVar = Cell
    merges: ClassVar = True
    figures: ClassVar = tuple(file_name(part, kind) for part in FIGURES for kind in FIGURES[part])

    parts: tuple[Part, ...]
    quick: bool = False

    def conduct(self, runner, *, only=()):
        """Run the chosen parts, all if `only` is empty; find what is stored of the others.

        A method that needs more than the limit on some points is not tried on more points. A part
        that is neither chosen nor stored is that of the previous page, if there is one.
        """
        wanted = [part for part in self.parts if not only or part.name in only]
        runner.n_cells = sum(part.n_sets * len(part.embedders) for part in wanted)
        before = runner.previous.results if runner.previous else ()
        known, results = {each.part.name: each for each in before}, []
        for part in self.parts:
            is_wanted, result = part in wanted, known.get(part.name)
            if is_wanted or runner.store.has_some(part.name):
                found = _run_part(runner, part, is_wanted)
                result = found if is_wanted or done(found.cells) else result
            results += [result] if result else []
        return UnfoldingResults(results, self.parts)

    def load(self, data):
        """Return the results that results.json holds, without points."""
        parts = {part.name: part for part in self.parts}
        cells = grouped(map(Cell.from_dict, data["cells"]), "part")
        results = []
        for each in data["parts"]:
            name, scales = each["name"], [Scale(**scale) for scale in each["scales"]]
            known = [], scales, cells.get(name, []), each["left_out"]
            results.append(PartResult(parts[name], *known))
        return UnfoldingResults(results, self.parts)


def experiment(*, quick=False, data=None, pictures=False):
    """Return the experiment, of the paper's size or small.

    `data` is the folder of data files; `pictures` says whether figures show some of the pictures.
    """
    return UnfoldingExperiment(plan(quick=quick, data=data, show_pictures=pictures), quick)


def _run_part(runner, part, is_wanted):
    def load():
        points = part.points()
        return points, [Scale.of(each.X, part.n_neighbors) for each in points]

    read, reason = runner.read(part.name, load)
    if reason:
        return PartResult(part, reason=reason)
    over, (points, scales) = {}, read
    cells = [
        _run_method(runner, part, embedder, each.X, is_wanted, over)
        for each in points
        for embedder in part.embedders
    ]
    return PartResult(part, points, scales, cells)


def _run_method(runner, part, embedder, X, is_wanted, over):
    """Return the cell of a method; `over` has the methods over the limit, with the size."""
    name, known = embedder.name, {"threads": runner.threads, "data": checksum(X)}
    job = Task(part=part.name, method=name, n=len(X), n_neighbors=part.n_neighbors, **known)
    reason = f"> {runner.limit:g} s at n = {over[name]}" if name in over else ""
    work = partial(_embed, part, embedder, X, runner.limit, runner.threads)
    cell = runner.cell(job, embedder.label, work, is_wanted=is_wanted, reason=reason)
    if cell.outcome == "limit":
        over.setdefault(name, len(X))
    return cell


def _embed(part, embedder, X, limit, threads):
    """Return the fields of the cell of a method."""
    answer = embedder.embed(X, part.n_neighbors, 2, limit, threads)
    measures = measure(X, answer.embedding, part.n_neighbors)
    if embedder.paper_name == "FrobMetric":
        measures["perturbation"] = perturbation(answer.spectrum, part.sigma)
    names = ("seconds", "objective", "certificate", "remark")
    fields = {"embedding": answer.embedding.tolist(), "measures": measures}
    return fields | {name: getattr(answer, name) for name in names}
