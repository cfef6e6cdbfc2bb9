"""Choice of a bridge between encoders: strength, number of maps, protection, by held-out recall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...core.points import Array, Vector
from ...core.solution import Certificate
from ...evaluation.paired import PairedDifference, format_interval, paired_recalls
from ...evaluation.report import Report
from ...model.value import frozen_numbers
from .paired import PairedVectors
from .protection import mine_neighbors, protected_map
from .ridge import Cells, RidgePath
from .trust import OldIndex, Questions

#: Strengths of the ridge that are tried, relative to the mean squared singular value.
STRENGTHS = tuple(10.0 ** np.arange(-3, 1.1, 0.5))
#: Weights of the hinge that are tried, for each pair relative to its squared error.
WEIGHTS = (0.5, 2.0)
#: Strengths tried with the hinge, relative to the best one without: the hinge likes more.
STRONGER = (1.0, 3.0)
#: Largest number of held-out queries of a choice.
MAX_QUERIES = 500
#: Share of the pairs that the choice of a hinge is made on.
HELD_OUT = 0.25
#: Relative gap that the choice of a hinge is content with.
ROUGH = 1e-2


@dataclass(frozen=True)
class BridgeSetting:
    """Options of a bridge: number of maps, strength of the ridge, weight of the hinge (0: none)."""

    n_maps: int
    strength: float
    neighbor_weight: float = 0.0

    def __str__(self) -> str:
        maps = "one map" if self.n_maps == 1 else f"{self.n_maps} local maps"
        hinge = f", neighbours protected with weight {self.neighbor_weight:g}"
        end = hinge if self.neighbor_weight else ""
        return f"{maps}, strength {self.strength:.3g}{end}"


@dataclass(frozen=True)
class Trial:
    """A setting beside a simpler one: the gain in recall of the same held-out pairs."""

    setting: BridgeSetting
    gain: PairedDifference

    @property
    def is_chosen(self) -> bool:
        """Whether the setting finds significantly more than the simpler one."""
        return self.gain.verdict == "helped"

    def cells(self) -> tuple[str, ...]:
        gain = self.gain
        gained = f"{100 * gain.estimate:+.1f} {format_interval(gain.interval, 1, sign='+')}"
        return str(self.setting), f"{100 * gain.before:.1f}", f"{100 * gain.after:.1f}", gained


@dataclass(frozen=True, eq=False)
class Bridge:
    """A map from the new space to the old one, with its certificate."""

    cells: Cells
    coefficients: Array
    certificate: Certificate
    setting: BridgeSetting
    status: str = "optimal"
    n_iter: int = 1

    def __post_init__(self) -> None:
        (n_cells, n_new), shape = self.cells.centers.shape, self.coefficients.shape
        if len(shape) != 2 or shape[0] != (n_cells + 1) * (n_new + 1):
            raise ValueError(f"coefficients has shape {shape}; expected one row for each feature")
        frozen_numbers("coefficients", self.coefficients)

    def __call__(self, X: Array) -> Array:
        """Return mapped vectors, not yet at unit length."""
        return self.cells.predict(X, self.coefficients)


@dataclass(frozen=True, eq=False)
class Solver:
    """Tolerance and limit of the solver of problems with a hinge."""

    tol: float
    max_iter: int

    def bridge(
        self,
        pairs: PairedVectors,
        path: RidgePath,
        cells: Cells,
        setting: BridgeSetting,
        questions: Questions,
    ) -> Bridge:
        """Return the map of a setting: the closed form, or with a hinge the solver's.

        `questions` are those of the pairs.
        """
        strength, weight = setting.strength, setting.neighbor_weight
        if weight:
            mapped = questions.index.finish(pairs.Y - path.left_out_errors(strength))
            triplets = mine_neighbors(pairs.Y, mapped, questions)
            if len(triplets.index):
                given: dict = {"tol": self.tol, "max_iter": self.max_iter}
                total = weight * len(pairs.Y)
                coefficients, solution = protected_map(path, strength, triplets, total, **given)
                how = (solution.certificate, setting, solution.status, solution.n_iter)
                return Bridge(cells, coefficients, *how)
        coefficients = path.coefficients(strength)
        return Bridge(cells, coefficients, path.certificate(strength), setting)


def choose_ridge(
    pairs: PairedVectors, index: OldIndex, n_maps: int, strength: float | None
) -> tuple[BridgeSetting, list[Trial]]:
    """Return the best setting without a hinge, and the trial of local maps beside one map.

    Recalls are those of left-out pairs, in closed form. Local maps are chosen only if they find
    more than one map, by an interval of paired differences.
    """
    rows = np.sort(np.random.default_rng(pairs.seed).permutation(len(pairs.Y))[:MAX_QUERIES])
    questions = index.questions(pairs.Y[rows])
    best: list[tuple[BridgeSetting, Vector]] = []
    for number in sorted({1, n_maps}):
        path = pairs.path(Cells.of(pairs.X, number, pairs.seed))
        tried = []
        for each in STRENGTHS if strength is None else (float(strength),):
            mapped = pairs.Y[rows] - path.left_out_errors(each)[rows]
            tried.append((BridgeSetting(number, each), questions.recall(mapped)))
        best.append(max(tried, key=lambda pair: pair[1].mean()))
    if len(best) == 1:
        return best[0][0], []
    trial = Trial(best[1][0], paired_recalls(best[0][1], best[1][1]))
    return best[int(trial.is_chosen)][0], [trial]


def choose_protection(
    pairs: PairedVectors, index: OldIndex, setting: BridgeSetting, cells: Cells, solver: Solver
) -> tuple[BridgeSetting, list[Trial]]:
    """Return the setting with the best hinge, or as it was if no hinge finds significantly more."""
    order = np.random.default_rng(pairs.seed).permutation(len(pairs.Y))
    n_held = min(MAX_QUERIES, round(HELD_OUT * len(order)))
    held, rest = order[:n_held], pairs.take(np.sort(order[n_held:]))
    questions, own, path = index.questions(pairs.Y[held]), index.questions(rest.Y), rest.path(cells)
    rough = replace(solver, tol=max(solver.tol, ROUGH))

    def recall(each: BridgeSetting) -> Vector:
        return questions.recall(rough.bridge(rest, path, cells, each, own)(pairs.X[held]))

    before = recall(setting)
    tried = [(each, recall(each)) for each in _with_hinge(setting)]
    best, after = max(tried, key=lambda pair: pair[1].mean())
    trial = Trial(best, paired_recalls(before, after))
    return (best if trial.is_chosen else setting), [trial]


def _with_hinge(setting: BridgeSetting) -> Iterator[BridgeSetting]:
    for factor in STRONGER:
        for weight in WEIGHTS:
            yield BridgeSetting(setting.n_maps, factor * setting.strength, weight)


@dataclass(frozen=True, eq=False, repr=False)
class BridgeReport(Report):
    """Chosen setting of a bridge, and its recall on pairs that had no part in fit and choice.

    Attributes
    ----------
    setting : BridgeSetting
        The options that were chosen.
    trials : tuple of Trial
        Local maps beside one map, and the protection of neighbours beside none.
    recall : tuple of 3 floats, or None
        Mean recall on the calibration pairs, with its 95 % interval.
    n_pairs, n_calibration, n_duplicates, n_index, n_neighbors : int
    shares, recalls : tuples of float
        Curve: recall of all queries if this share of them, those least trusted, is re-embedded.
    """

    setting: BridgeSetting
    trials: tuple[Trial, ...]
    recall: tuple[float, float, float] | None
    n_pairs: int
    n_calibration: int
    n_duplicates: int
    n_index: int
    n_neighbors: int
    shares: tuple[float, ...] = ()
    recalls: tuple[float, ...] = ()

    header = ("tried, % of true neighbours found", "before", "after", "gain")

    def sentences(self) -> list[str]:
        """Return the report in words."""
        lines = [f"Chosen on {self.n_pairs} pairs: {self.setting}."]
        if self.recall:
            mean, low, high = (100 * value for value in self.recall)
            lines.insert(
                0,
                f"A mapped query finds {mean:.1f} % [{low:.1f}, {high:.1f}] of the "
                f"{self.n_neighbors} nearest vectors that re-embedding finds among {self.n_index} "
                f"({self.n_calibration} held-out pairs).",
            )
        if self.n_duplicates:
            lines.append(f"{self.n_duplicates} duplicate pairs were left out.")
        return lines

    def cells(self) -> list[tuple[str, ...]]:
        return [trial.cells() for trial in self.trials]

    def __repr__(self) -> str:
        return f"BridgeReport(setting='{self.setting}', recall={self.recall})"


def trust_curve(score: Vector, recall: Vector) -> tuple[Vector, Vector]:
    """Return shares of re-embedded queries, the least trusted first, and the recall of all.

    A re-embedded query finds all its true neighbours.
    """
    order = np.argsort(score, kind="stable")
    n = len(order)
    missed = np.concatenate([[0.0], np.cumsum((1 - recall[order])[::-1])])[::-1]
    return np.arange(n + 1) / n, 1 - missed / n
