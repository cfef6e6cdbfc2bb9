"""Journal of a fit in a file: its stages as arrays, and what makes two fits the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from ..core.points import Factored
from ..core.solution import Step
from ..model.linear_map import LinearMap
from ..model.recipe import Recipe
from ..model.sets import triplets_from_arrays
from ..runtime.checkpoint import Arrays, Checkpoint, fingerprint
from ..runtime.environment import FilePath
from ..solvers.monitor import NOTHING, Monitor, Run
from .options import RunOptions
from .problem import learned_before

#: Options of a recipe and of a run that may differ when a fit goes on.
FREE = ("callback", "verbose", "n_jobs", "keep_dual", "n_components")
#: Beginning of the names of the arrays of triplets.
PREFIX = "triplets."
#: Function (triplets, point) -> triplets that searches neighbours.
Search: TypeAlias = Callable[[Any, Any], Any]
#: Function that watches the monitor of a solve.
Listener: TypeAlias = Callable[[Monitor], None]


@dataclass(frozen=True, eq=False)
class Progress:
    """Stage of a fit: the number of its pass, and what is known in it.

    `triplets` are those of this pass and all before, or only those before if this pass has not
    searched yet. Its solve starts at `point`, or goes on where `run` ended.
    """

    number: int = 0
    is_searched: bool = False
    triplets: Any = None
    point: Any = None
    run: Run = NOTHING


class Journal:
    """Journal of a fit that keeps nothing; `FileJournal` keeps a checkpoint."""

    def begin(self, search: Search) -> Progress:
        """Return the stage to begin at; `search` is a function (triplets, point) -> triplets."""
        return Progress()

    def save(self, progress: Progress) -> None:
        """Keep a stage that was reached."""

    def listener(self, progress: Progress) -> Listener | None:
        """Return a function that watches the monitor of the solve of this stage, or None."""

    def finish(self) -> None:
        """Forget everything: the fit is complete."""


NO_JOURNAL = Journal()


class FileJournal(Journal):
    """Journal of a fit that keeps its last stage in a checkpoint.

    Within a solve, states are kept in the `last` pass only. An earlier solve is repeated from its
    start: begun in its middle it would end at another metric within the tolerance, whose
    neighbours differ, and the last pass would have another problem.
    """

    def __init__(self, path: FilePath, identity: dict[str, str], seconds: float, last: int) -> None:
        self.last = last
        self.checkpoint = Checkpoint(path, identity, seconds)
        arrays = self.checkpoint.load()
        self._first = Progress() if arrays is None else from_arrays(arrays)

    def begin(self, search: Search) -> Progress:
        """Return the stage that was in the file, or the first one if there was no file."""
        return self._first

    def save(self, progress: Progress) -> None:
        """Write a stage in place of the one before."""
        run = progress.run if progress.number == self.last else NOTHING
        self.checkpoint.save(to_arrays(replace(progress, run=run)))

    def listener(self, progress: Progress) -> Listener | None:
        """Return a function that writes the best iterate of the last solve whenever it is due."""
        if progress.number != self.last:
            return None

        def watch(monitor: Monitor) -> None:
            if monitor.best is not None and self.checkpoint.due:
                run = progress.run.followed_by(monitor.best.u, monitor.history, monitor.n_steps)
                self.save(replace(progress, run=run))

        return watch

    def finish(self) -> None:
        """Remove the file."""
        self.checkpoint.remove()


class ShardedJournal(Journal):
    """Journal of a fit in shards: it keeps the metrics of the passes in a checkpoint.

    Triplets and dual variables stay in the shards. To go on, the neighbours of each pass are
    searched again under the metric that the pass began with.
    """

    def __init__(self, path: FilePath, identity: dict[str, str], seconds: float, last: int) -> None:
        self.last, self.checkpoint = last, Checkpoint(path, identity, seconds)
        self._known = self.checkpoint.load() or {}
        self._begun: Arrays = {}

    def begin(self, search: Search) -> Progress:
        """Return the stage that was in the file, with all its triplets."""
        number, triplets, point = int(self._known.get("number", 0)), None, None
        self._begun = {n: a for n, a in self._known.items() if n.startswith("begin.")}
        for i in range(number):
            triplets = search(triplets, point)
            point = Factored(self._known[f"begin.{i + 1}"])
        if "best" not in self._known:
            return Progress(number, triplets=triplets, point=point)
        triplets, run = search(triplets, point), _run(self._known)
        return Progress(number, True, triplets, Factored(self._known["best"]), run)

    def save(self, progress: Progress) -> None:
        """Write the metrics that the passes so far began with."""
        if progress.point is not None and not progress.is_searched:
            self._begun[f"begin.{progress.number}"] = progress.point.factor()
            self.checkpoint.save(self._begun | {"number": np.array(progress.number)})

    def listener(self, progress: Progress) -> Listener | None:
        """Return a function that writes the best metric of the last solve whenever it is due."""
        if progress.number != self.last:
            return None

        def watch(monitor: Monitor) -> None:
            if monitor.best is not None and self.checkpoint.due:
                run = progress.run.followed_by(None, monitor.history, monitor.n_steps)
                state = {"number": np.array(progress.number), "best": monitor.best.point.factor()}
                self.checkpoint.save(self._begun | state | _run_arrays(run))

        return watch

    def finish(self) -> None:
        """Remove the file."""
        self.checkpoint.remove()


def to_arrays(progress: Progress) -> Arrays:
    """Return a stage as arrays for a file."""
    names = ("number", "is_searched")
    arrays = {name: np.array(getattr(progress, name)) for name in names}
    if progress.triplets is not None:
        arrays |= {PREFIX + name: a for name, a in progress.triplets.to_arrays().items()}
    if progress.point is not None:
        L = progress.point.factor()
        # the order in memory decides how BLAS rounds, so it is part of the stage
        arrays |= {"transposed_factor": L.T} if np.isfortran(L) else {"factor": L}
    if progress.run.u is not None:
        arrays |= {"u": progress.run.u} | _run_arrays(progress.run)
    return arrays


def _run_arrays(run: Run) -> Arrays:
    """Return the history of a run and its number of steps as arrays."""
    history = np.array(run.history, dtype=float).reshape(-1, len(Step._fields))
    return {"history": history, "n_iter": np.array(run.n_iter)}


def _run(arrays: Arrays) -> Run:
    """Return the run that `_run_arrays` made these arrays of, with its u if that is there."""
    rows = arrays["history"].tolist()
    history = tuple(Step(*row)._replace(rank=int(row[3])) for row in rows)
    return Run(arrays.get("u"), history, int(arrays["n_iter"]))


def from_arrays(arrays: Arrays) -> Progress:
    """Return the stage that `to_arrays` made these arrays of."""
    given = {n.removeprefix(PREFIX): a for n, a in arrays.items() if n.startswith(PREFIX)}
    point, run = None, NOTHING
    if "factor" in arrays:
        point = Factored(arrays["factor"])
    if "transposed_factor" in arrays:
        point = Factored(arrays["transposed_factor"].T)
    if "u" in arrays:
        run = _run(arrays)
    triplets = triplets_from_arrays(given) if given else None
    return Progress(int(arrays["number"]), bool(arrays["is_searched"]), triplets, point, run)


def journal_of(
    recipe: Recipe,
    options: RunOptions,
    samples: Any,
    path: Any,
    seconds: float,
    before: LinearMap | None = None,
) -> Journal:
    """Return the journal of a fit, which keeps nothing without a path."""
    if path is None:
        return NO_JOURNAL
    last = 0 if samples.y is None else recipe.n_passes - 1
    kind = FileJournal if samples.is_in_memory else ShardedJournal
    return kind(path, identity_of(recipe, options, samples, before), seconds, last)


def identity_of(
    recipe: Recipe, options: RunOptions, samples: Any, before: LinearMap | None
) -> dict[str, str]:
    """Return what determines a fit: its data and options, and the map that it updates."""
    identity = samples.fingerprints()
    if before is not None:
        earlier = learned_before(before)
        known = (earlier["unit"], earlier["prior_components"], earlier["units"].weight)
        arrays = (np.asarray(each, dtype=float) for each in known if each is not None)
        identity["the earlier metric"] = fingerprint(*arrays)
    named = {f.name: getattr(part, f.name) for part in (recipe, options) for f in fields(part)}
    return identity | {name: _describe(v) for name, v in named.items() if name not in FREE}


def _describe(value: Any) -> str:
    """Return a parameter as text; equal numbers of any type have the same text."""
    if isinstance(value, str | None):
        return repr(value)
    return repr(float(value)) if isinstance(value, Real) else fingerprint(np.asarray(value, float))
