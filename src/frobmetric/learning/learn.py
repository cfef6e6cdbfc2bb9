"""Learn: a recipe and samples become a map, in passes of search and solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..core.solution import Solution
from ..model.linear_map import LinearMap, Source
from ..model.recipe import Recipe
from ..runtime.environment import limit_threads
from ..solvers.monitor import Run
from .journal import NO_JOURNAL, Journal, Progress
from .learned import NO_DIRECTION, map_of_solution, warn_if_zero
from .options import DEFAULT, RunOptions
from .problem import check_coordinates, frobenius_problem, learned_before, solve_frobenius
from .units import MOST_SAMPLES, warn_of_doubts


@dataclass(frozen=True, eq=False)
class Answer:
    """Solution of the last pass, with the comparisons that it was learned from."""

    solution: Solution
    comparisons: Any


def learn(
    recipe: Recipe,
    samples: Any,
    options: RunOptions = DEFAULT,
    journal: Journal = NO_JOURNAL,
    before: LinearMap | None = None,
    *,
    is_chosen: bool = False,
) -> LinearMap:
    """Learn from checked samples, as an update of an earlier map if that is given.

    Parameters
    ----------
    recipe : Recipe
        Problem to solve.
    samples : Samples or ShardedSamples
        Checked samples, in memory or in shards.
    options : RunOptions
        Tolerance and limits of the solves.
    journal : Journal
        Keeper of the stages, from which an interrupted fit goes on.
    before : LinearMap, optional
        Map that is the prior of this one, in an update.
    is_chosen : bool
        Whether held-out errors chose the recipe; then nothing warns of doubts about it.

    Returns
    -------
    LinearMap
        The best map so far, of status "interrupted", if Ctrl-C ended the last solve.
    """
    earlier = {} if before is None else learned_before(before)
    with limit_threads(options.n_jobs):
        coordinates = check_coordinates(recipe, samples.coordinates(recipe, **earlier))

        def solve(progress: Progress) -> Solution:
            problem = frobenius_problem(coordinates, progress.triplets, recipe)
            listener = journal.listener(progress)
            return solve_frobenius(problem, options, progress.point, progress.run, listener)

        answer = learn_in_passes(recipe, samples, coordinates, solve, options.n_jobs, journal)
    if not is_chosen:
        warn_of_doubts(recipe, answer, coordinates, samples.excerpt(MOST_SAMPLES))
    learned = map_of_solution(
        recipe,
        options,
        answer.solution,
        coordinates,
        answer.comparisons,
        features=samples.features,
        dtype=samples.dtype,
        source=Source(n_unlabeled=samples.n_unlabeled),
        rows=samples.rows,
        weight=samples.row_weight,
        prior_components=earlier.get("prior_components"),
    )
    if answer.solution.status != "interrupted":
        warn_if_zero(learned, NO_DIRECTION)
        journal.finish()
    return learned


def learn_in_passes(
    recipe: Recipe,
    samples: Any,
    coordinates: Any,
    solve: Callable[[Progress], Solution],
    n_jobs: int | None = None,
    journal: Journal = NO_JOURNAL,
) -> Answer:
    """Solve in `n_passes` passes, each with its own search for neighbours.

    Every pass adds its triplets to those of the passes before. With a journal, the fit begins where
    that ends.
    """

    def search(triplets: Any, point: Any) -> Any:
        return samples.add_mined(triplets or samples.triplets, recipe, coordinates, point, n_jobs)

    progress = journal.begin(search)
    for number in range(progress.number, recipe.n_passes):
        if not progress.is_searched:
            journal.save(progress)
            found = search(progress.triplets, progress.point)
            progress = replace(progress, triplets=found, is_searched=True)
            journal.save(progress)
        solution, triplets = solve(progress), progress.triplets
        if solution.status == "interrupted":
            run = Run(solution.u, solution.history, solution.n_iter)
            journal.save(replace(progress, run=run))
            break
        if samples.y is None or not solution.point.rank:
            break  # nothing to search neighbours for, or with
        progress = Progress(number + 1, triplets=triplets, point=solution.point)
    return Answer(solution, triplets)
