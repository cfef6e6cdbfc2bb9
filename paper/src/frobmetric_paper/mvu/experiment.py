"""The paper's experiments with maximum variance unfolding, each also in a small version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold.graph import neighbor_graph, require_connected

from ..baselines import EMBEDDING, EmbeddingBaseline
from ..baselines.embedding import perturbed
from ..data.labelled import load_pictures
from ..harness.store import checksum
from .cells import Cell, Store, Task, compute

#: Numbers of points in the figure of time.
SIZES = (100, 200, 400, 800, 1100, 2000)
ROLL = (
    "A swiss roll is that of scikit-learn with random_state=0; the scale of the paper's is unknown."
)
TEAPOTS = (
    "The paper has 200 views in colour, of 101 × 76 pixels. There are 100 in grey here, of 50 × 38 "
    "pixels from 0 (black) to 1 (white); the scale of the paper's is unknown."
)
FEWER = (
    "Three neighbours of 100 views span the angle of six of the paper's 200. With six, some views "
    "from opposite sides of the pot are neighbours, and no unfolding can part them."
)
FACES = (
    "Pictures of 28 × 20 pixels from 0 (black) to 1 (white). The paper gives neither their scale "
    "nor their σ; this is the σ of the teapots."
)


@dataclass(frozen=True, eq=False)
class Points:
    """Points to embed, with what a figure of them needs.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
    color : ndarray of shape (n,)
        Where each point is on the manifold, as far as that is known: an angle, or its number.
    picture_shape : tuple of 2 ints, optional
        Height and width, if rows of X are pictures.
    color_name : str
        What the colour means.
    is_path : bool
        Whether points that follow each other are neighbours on a curve.
    """

    X: np.ndarray
    color: np.ndarray
    color_name: str
    picture_shape: tuple[int, int] | None = None
    is_path: bool = False


@dataclass(frozen=True)
class Scale:
    """The size of the points, without which a number for sigma means nothing.

    Attributes
    ----------
    n_samples, n_features, n_edges : int
    diameter : float
        Largest distance.
    mean_squared_edge : float
        Mean squared distance of neighbours.
    variance : float
        sum_i |x_i - mean|^2, which an unfolding can only raise.
    """

    n_samples: int
    n_features: int
    n_edges: int
    diameter: float
    mean_squared_edge: float
    variance: float

    @classmethod
    def of(cls, X, n_neighbors):
        """That of points whose neighbour graph is connected; an error says what to do if not."""
        graph = neighbor_graph(X, n_neighbors)
        require_connected(graph, X, n_neighbors)
        return cls(
            *X.shape,
            len(graph.edges),
            float(pdist(X).max()),
            float(graph.squared.mean()),
            float(np.square(X - X.mean(axis=0)).sum()),
        )


@dataclass(frozen=True)
class Experiment:
    """Some methods, each on some sets of points.

    Attributes
    ----------
    name, title : str
    note : str
        How the points differ from the paper's, as far as that is known.
    n_neighbors : int
    sigma : float
        Of the perturbed problem.
    embedders : tuple of EmbeddingBaseline
    points : callable
        () -> list of Points, the smallest set first.
    """

    name: str
    title: str
    note: str
    n_neighbors: int
    sigma: float
    embedders: tuple[EmbeddingBaseline, ...]
    points: Callable[[], list[Points]]

    @property
    def paper_names(self):
        """The paper's names of its methods, by ours."""
        return {method.name: method.paper_name for method in self.embedders}


@dataclass(frozen=True)
class Result:
    """What came of an experiment: cells in the order of points, then methods; or why nothing."""

    experiment: Experiment
    points: list[Points] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    reason: str = ""


def _embeddings(sigma):
    """The methods of the figures of embeddings."""
    names = "ours_exact", "csdp_original", "csdp_well_posed"
    first = EMBEDDING["isomap"], EMBEDDING["lle"], perturbed(sigma)
    return *first, *(EMBEDDING[name] for name in names)


def swiss_roll(n=500, n_neighbors=6, sigma=1e5):
    """A rolled sheet in three dimensions, as scikit-learn makes it with random_state=0."""
    return Experiment(
        "swiss_roll", "Swiss roll", ROLL, n_neighbors, sigma, _embeddings(sigma), lambda: [_roll(n)]
    )


def teapots(every=1, n_neighbors=6, sigma=1e10, folder=None):
    """Views of a teapot that turns by 360 degrees; `every` second, third ... of them."""
    return Experiment(
        "teapots",
        "Teapots",
        TEAPOTS,
        n_neighbors,
        sigma,
        _embeddings(sigma),
        lambda: [_pictures("teapots", every, folder, is_path=True)],
    )


def teapots_3(every=1, n_neighbors=3, sigma=1e10, folder=None):
    """The same views, each with as many neighbours as there are twice as few views."""
    return Experiment(
        "teapots_3",
        "Teapots with three neighbours",
        FEWER,
        n_neighbors,
        sigma,
        _embeddings(sigma),
        lambda: [_pictures("teapots", every, folder, is_path=True)],
    )


def faces(every=1, n_neighbors=5, sigma=1e10, folder=None):
    """Pictures of one face; the paper does not give their sigma, this is that of the teapots."""
    return Experiment(
        "faces",
        "Frey faces",
        FACES,
        n_neighbors,
        sigma,
        _embeddings(sigma),
        lambda: [_pictures("frey_faces", every, folder)],
    )


def time_against_n(sizes=SIZES, n_neighbors=6, sigma=1e2):
    """Swiss rolls of growing size."""
    methods = _embeddings(sigma)[2:]
    return Experiment(
        "time",
        "Time against n",
        ROLL,
        n_neighbors,
        sigma,
        methods,
        lambda: [_roll(n) for n in sorted(sizes)],
    )


#: What makes each experiment, by name.
EXPERIMENTS = {
    "swiss_roll": swiss_roll,
    "teapots": teapots,
    "teapots_3": teapots_3,
    "faces": faces,
    "time": time_against_n,
}
#: What makes each of them small.
QUICK = {
    "swiss_roll": {"n": 80},
    "teapots": {"every": 4},
    "teapots_3": {"every": 4},
    "faces": {"every": 30},
    "time": {"sizes": (30, 60)},
}
#: Those that read files.
FROM_FILES = ("teapots", "teapots_3", "faces")


def plan(name, *, quick=False, folder=None):
    """An experiment by name, of the paper's size or small.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    quick : bool
    folder : path, optional
        Where data files are; by default the environment variable ``FROBMETRIC_DATA``.
    """
    changes = (QUICK[name] if quick else {}) | ({"folder": folder} if name in FROM_FILES else {})
    return EXPERIMENTS[name](**changes)


class Watch:
    """Is told what happens; this one does nothing."""

    def begin(self, task, label):
        """A method begins."""

    def end(self, cell):
        """It has ended."""


def conduct(experiment, store, limit, threads, watch=None, do=compute):
    """Do what of an experiment is not done yet.

    Parameters
    ----------
    experiment : Experiment
    store : Store
        Where finished cells are kept, at once.
    limit : float
        Seconds for each method on each set of points. One that needs more is not tried on
        larger sets.
    threads : int
    watch : Watch, optional
    do : callable
        (embedder, task, X, limit) -> Cell.

    Returns
    -------
    Result
        With a reason and nothing else if the points cannot be had.
    """
    try:
        points = experiment.points()
        scales = [Scale.of(each.X, experiment.n_neighbors) for each in points]
    except (OSError, ValueError) as error:
        return Result(experiment, reason=str(error))
    run = _Run(experiment, store, limit, threads, watch or Watch(), do)
    cells = [run.cell(each.X, embedder) for each in points for embedder in experiment.embedders]
    return Result(experiment, points, scales, cells)


def collect(experiment, store, limit, threads):
    """What is done already of an experiment, as `conduct` would give it."""
    return conduct(experiment, store, limit, threads, do=_leave_out)


@dataclass(frozen=True)
class _Run:
    """What `conduct` was given, and the methods that were over the limit, with the size."""

    experiment: Experiment
    store: Store
    limit: float
    threads: int
    watch: Watch
    do: Callable
    over: dict = field(default_factory=dict)

    def cell(self, X, embedder):
        task = Task(
            self.experiment.name,
            embedder.name,
            len(X),
            self.experiment.n_neighbors,
            self.threads,
            checksum(X),
        )
        cell = self.store.find(task, self.limit)
        if cell is None and embedder.name in self.over:
            why = f"> {self.limit:g} s at n = {self.over[embedder.name]}"
            return Cell(task, embedder.label, "skipped", self.limit, why)
        cell = cell or self._compute(embedder, task, X)
        if cell.outcome == "limit":
            self.over.setdefault(embedder.name, len(X))
        return cell

    def _compute(self, embedder, task, X):
        self.watch.begin(task, embedder.label)
        cell = self.do(embedder, task, X, self.limit)
        self.store.keep(cell)
        self.watch.end(cell)
        return cell


def _leave_out(embedder, task, X, limit):
    return Cell(task, embedder.label, "skipped", limit, "not run yet")


def _roll(n):
    X, angle = make_swiss_roll(n, random_state=0)
    return Points(X, angle, "angle on the roll")


def _pictures(name, every, folder, is_path=False):
    pictures = load_pictures(name, folder=folder)
    numbers = np.arange(0, len(pictures.X), every)
    return Points(pictures.X[numbers], numbers, "number of the picture", pictures.shape, is_path)
