"""What belongs to the experiment with faces, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

from . import paper as lfw_paper
from .cells import Cell, setup_of
from .methods import FROB, METHODS, Method
from .recipe import Recipe
from .rules import COUNTING, NEIGHBORS
from .splits import VARIANTS

#: The variant of the table and of the comparison with other methods.
MAIN = "people"
#: What is done, in this order; the choices that a part needs are made with it.
PARTS = ("choice", "folds", "table", "methods")
LATER = "not run yet"


@dataclass(frozen=True)
class Plan:
    """What belongs to the experiment.

    Attributes
    ----------
    recipe : Recipe
        With which every choice begins.
    methods : tuple of Method
        FrobMetric is the last of them.
    folds : tuple of int
        Of View 2.
    variants : tuple of str
    dimensions, n_triplets : tuple of int
        Columns and rows of the table.
    neighbors : tuple of int
        Of marginalised k-NN, to choose from.
    n_parts : int
        Of the training pairs, for thresholds.
    quick : bool
    """

    recipe: Recipe = field(default_factory=Recipe)
    methods: tuple[Method, ...] = tuple(METHODS.values())
    folds: tuple[int, ...] = tuple(range(10))
    variants: tuple[str, ...] = tuple(VARIANTS)
    dimensions: tuple[int, ...] = lfw_paper.DIMENSIONS
    n_triplets: tuple[int, ...] = lfw_paper.N_TRIPLETS
    neighbors: tuple[int, ...] = NEIGHBORS
    n_parts: int = 5
    quick: bool = False

    def n_cells(self, chosen):
        """How many cells the chosen parts have, if every method gives an answer."""
        n_folds, others = len(self.folds), [name for name in self.variants if name != MAIN]
        tries = {method.name: method.n_tries for method in self.methods}
        first = sum(tries.values()) if with_others(chosen) else tries[FROB.name]
        count = first + len(others) * tries[FROB.name] if chosen else 0
        rows = set()  # of cells in the main variant: those of the table may be the chosen ones
        if "table" in chosen:
            rows |= {(FROB.name, *place) for place in product(self.n_triplets, self.dimensions)}
        if "folds" in chosen or "methods" in chosen:
            rows.add((FROB.name, self.recipe.n_triplets, self.recipe.n_dimensions))
        if "methods" in chosen:
            rows |= {(name,) for name in tries if name != FROB.name}
        return count + n_folds * (len(rows) + len(others) * ("folds" in chosen))


def with_others(chosen):
    """Whether these parts need what is chosen for the other methods."""
    return "choice" in chosen or "methods" in chosen


#: Those that take seconds; the small version chooses nothing.
QUICK_METHODS = ("euclid", "whitened", "within", "frob")


def plan(*, quick=False):
    """The experiment of the paper's size, or small."""
    if not quick:
        return Plan()
    few = tuple(replace(METHODS[name], search={}) for name in QUICK_METHODS)
    return Plan(
        replace(Recipe(), n_dimensions=100, n_triplets=3_000),
        few,
        folds=(0, 1),
        variants=(MAIN,),
        dimensions=(100,),
        n_triplets=(3_000,),
        n_parts=3,
        quick=True,
    )


@dataclass(frozen=True)
class Choice:
    """What was chosen for a method on View 1.

    Attributes
    ----------
    tries : list of Cell
        In their order.
    best : Cell, optional
        That whose best rule decides most pairs right; None if no fit gave an answer.
    is_complete : bool
        Whether all values were tried.
    """

    tries: list[Cell] = field(default_factory=list)
    best: Cell | None = None
    is_complete: bool = False

    @property
    def setup(self):
        return setup_of(self.best)

    @property
    def rule(self):
        """The best rule of all."""
        return max(self.best.rules, key=self.best.both)

    @property
    def counting_rule(self):
        """The best rule that counts neighbours."""
        return max(
            (name for name in self.best.rules if name.startswith(COUNTING)), key=self.best.both
        )

    @property
    def n_neighbors(self):
        """Those that it counts."""
        return int(self.counting_rule.removeprefix(COUNTING))

    @property
    def rules(self):
        """Distance, cosine, and the best that counts neighbours."""
        return ["distance", "cosine", self.counting_rule]


@dataclass
class Result:
    """What came of the experiment; or why nothing.

    Attributes
    ----------
    plan : Plan
    sizes : list of dict
        Of each variant, View 1 and the folds of View 2: numbers of images, people and pairs.
    choices : dict
        (name of a method, variant) -> Choice.
    folds : dict
        (name of a method, variant) -> cells of the folds of View 2.
    table : dict
        (number of triplets, dimensions) -> the same for FrobMetric.
    reason : str
    interrupted : bool
    """

    plan: Plan
    sizes: list = field(default_factory=list)
    choices: dict = field(default_factory=dict)
    folds: dict = field(default_factory=dict)
    table: dict = field(default_factory=dict)
    reason: str = ""
    interrupted: bool = False

    @property
    def cells(self):
        """All cells, none twice."""
        tries = [cell for choice in self.choices.values() for cell in choice.tries]
        rows = [*self.folds.values(), *self.table.values()]
        found = [*tries, *(cell for row in rows for cell in row)]
        return list({cell.task: cell for cell in found}.values())
